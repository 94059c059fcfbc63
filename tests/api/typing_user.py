"""What people write with tokctl: mypy in strict mode finds nothing to say of it, and types
are what they should be.

Read by `test_typing.py`; nothing here runs.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import assert_type

import numpy as np

import tokctl
from tokctl import Encoding, Padding, Texts, Tokenizer, Truncation
from tokctl._native import IdArray
from tokctl.sources import Document, ReadOptions, open_sources

tok = Tokenizer.train(["book.txt"], algorithm="bpe", vocab_size=10_000)
same: Tokenizer = tokctl.train([Path("book.txt")], vocab_size=300, min_frequency=2)
tok.save(Path("book.json"))
tok = tokctl.load("book.json")
gpt2 = Tokenizer.load("r50k.tiktoken", pattern="gpt2", special_tokens={"<|endoftext|>": 50256})
made = Tokenizer.train(Texts(line for line in ["a", "b"]), vocab_size=300, threads=2)
hub: Tokenizer = Tokenizer.from_pretrained("openai-community/gpt2", revision="main")
end: int | None = hub.eos_token_id
begin: str | None = hub.bos_token
there: bool = "Ġthe" in hub and hub == made
more: Tokenizer = made.with_special_tokens(["<|user|>"])
longer = Tokenizer.train("a.txt", vocab_size=400, extend=made, special_tokens=("<|end|>",))
counted = Tokenizer.train({"low": 5}, vocab_size=300, recipe=tokctl.preset("gpt2"))

encoding: Encoding = tok.encode("text", b"pair", add_special=True, truncation=Truncation(8))
first: tuple[int, int] = encoding.offsets[0]
assert_type(encoding.ids, list[int])
assert_type(tok.decode(encoding), str)
assert_type(tok.decode_batch([encoding]), list[str])
page: str = tokctl.to_html(tok) + tokctl.to_html(encoding)
assert_type(tok.encode_ids("text"), list[int])
assert_type(tok.encode_ids(["a", b"b"], threads=2, padding=8), list[list[int]])
assert_type(tok.encode_array("text"), IdArray)
assert_type(tok.encode_batch([("a", "b"), "c"]), list[Encoding])

ids, offsets = tok.encode_array(["a", "b"])
assert_type(offsets, array[int])
part = ids[offsets[0] : offsets[1]]
assert_type(part, IdArray)
assert_type(ids[0], int)
view = np.asarray(ids)
text: str = tok.decode(view)
texts: list[str] = tok.decode_batch(ids, offsets)
rows = np.zeros((2, 3), dtype=np.int64)
texts = tok.decode_batch(rows, skip_special=True)
texts = tok.decode_batch([[1, 2], [3]], errors="replace")
texts = tok.decode_batch([1, 2, 3], [0, 1, 3])
texts = tok.decode_batch(np.zeros(3, dtype=np.uint16), np.array([0, 3]))
data: bytes = tok.decode_bytes(array("H", [1, 2]))


def lines() -> Iterator[str]:
    yield "one"


for row in tok.encode_iter(lines(), truncation=128, padding=Padding(128)):
    assert_type(row, list[int])
for some, places in tok.encode_iter_array(lines(), batch_size=100):
    assert_type(some, IdArray)
    assert_type(places, array[int])
tok.encode_ids(np.array(["a", "b"], dtype=object))
tok.encode_ids(line for line in lines())

every, ends = tok.encode_file(
    "corpus.jsonl", reading=ReadOptions("jsonl", text_field="body"), threads=2
)
assert_type(every, IdArray)
for document in tok.encode_file_iter([Path("a.txt"), "b.txt"], lines=True, eos="<|endoftext|>"):
    assert_type(document, IdArray)
own = Document("mine", None, lambda: iter([b"text"]))
tok.encode_file([own, *open_sources(["a.txt"])], eos=0)

stream = tok.decode_stream()
piece: str = stream.push(5) + stream.finish()
names: list[str] = tok.tokens
known: dict[str, int] = tok.vocabulary
size: int = tok.vocab_size
try:
    tok.encode_ids("\ud800")
except tokctl.TokctlError as error:
    hint: str | None = error.hint
