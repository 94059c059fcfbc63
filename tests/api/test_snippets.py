"""Calls that public programs make of Hugging Face's tokenizers and of tiktoken, and ours.

Each entry of `CALLS` is a call as such programs have it, what one writes with tokctl, and what the
library itself gives: both have to be equal. The models are trained here.
"""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.cli.run import tokctl
from tokctl import Padding, Texts, TokctlError, Tokenizer, Truncation, count_tokens, preset
from tokctl.core.foreign_names import NAMES

np = pytest.importorskip("numpy")
tiktoken: Any = pytest.importorskip("tiktoken")
tokenizers: Any = pytest.importorskip("tokenizers")

END, USER = "<|endoftext|>", "<|user|>"
TEXT = "There is still a lot of treasure, naïve ☕ people say. " * 3
TEXTS = [TEXT, "", "a lot of treasure", "people say it's still there"]
CHAT = f"{USER}Is it there?{END}"
QUESTION, CONTEXT = "is it there", "there is still a lot of treasure"
PATTERN = (
    r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"  # GPT-2's
)


@dataclass
class Both:
    """A byte-level model and a WordPiece model, each as ours and as the libraries have it."""

    tok: Tokenizer
    hf: Any
    enc: Any
    bert: Tokenizer
    hf_bert: Any
    folder: Path

    @property
    def ids(self) -> list[int]:
        return self.tok.encode_ids(TEXT)

    def padded(self, **padding: Any) -> Any:
        """Hugging Face's, which changes for good."""
        other = copy.deepcopy(self.hf_bert)
        other.enable_padding(**padding)
        return other

    def cut(self, *length: int, **truncation: Any) -> Any:
        other = copy.deepcopy(self.hf_bert)
        other.enable_truncation(*length, **truncation)
        return other

    def with_more(self, *tokens: str) -> Any:
        other = copy.deepcopy(self.hf)
        other.add_special_tokens(list(tokens))
        return other


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Both:
    folder = tmp_path_factory.mktemp("snippets")
    tok = Tokenizer.train(Texts(TEXTS), vocab_size=320, special_tokens=[END, USER])
    bert = Tokenizer.train(Texts(TEXTS), vocab_size=70, recipe=preset("bert"))
    for name, one in (("gpt", tok), ("bert", bert)):
        one.save(folder / f"{name}.json", "huggingface")
    hf, hf_bert = (tokenizers.Tokenizer.from_file(str(folder / f"{n}.json")) for n in NAMES_HERE)
    # tiktoken's special tokens come last: the ranks are the others, in our order.
    shift = len(tok.special_ids)
    ranks = {token: id_ - shift for id_, token in enumerate(tok.model.tokens) if id_ >= shift}
    special = {END: len(ranks), USER: len(ranks) + 1}
    enc = tiktoken.Encoding("ours", pat_str=PATTERN, mergeable_ranks=ranks, special_tokens=special)
    return Both(tok, hf, enc, bert, hf_bert, folder)


NAMES_HERE = ("gpt", "bert")


def tk(both: Both, ids: Any) -> list[int]:
    """tiktoken's ids as ours: special tokens come first here."""
    size = len(both.enc.special_tokens_set)
    most = both.enc.n_vocab - size
    return [id_ - most if id_ >= most else id_ + size for id_ in ids]


def back(both: Both, ids: Any) -> list[int]:
    """Ours as tiktoken's."""
    size = len(both.enc.special_tokens_set)
    most = both.enc.n_vocab - size
    return [id_ + most if id_ < size else id_ - size for id_ in ids]


def columns(encoding: Any, mask: str) -> list[Any]:
    names = ("ids", "tokens", "offsets", "type_ids", "attention_mask", "word_ids", "sequence_ids")
    return [*(getattr(encoding, name) for name in names), getattr(encoding, mask)]


def ours(encoding: Any) -> list[Any]:
    return columns(encoding, "special_mask")


def theirs(encoding: Any) -> list[Any]:
    return columns(encoding, "special_tokens_mask")


def chunks(ids: list[int], decode: Callable[[list[int]], str], size: int, step: int) -> list[str]:
    return [decode(ids[start : start + size]) for start in range(0, len(ids), step)]


def streamed(push: Callable[[int], str | None], ids: list[int]) -> str:
    return "".join(push(id_) or "" for id_ in ids)


def span(encoding: Any, start: int, end: int) -> str:
    """The characters of an answer's words, as programs for question answering find them."""
    first = encoding.word_to_chars(encoding.token_to_word(start), sequence_index=1)[0]
    last = encoding.word_to_chars(encoding.token_to_word(end), sequence_index=1)[1]
    return CONTEXT[first:last]


def hf_trained(**options: Any) -> Any:
    made = tokenizers.ByteLevelBPETokenizer()
    made.train_from_iterator(TEXTS, show_progress=False, **options)
    return made


def hf_stream(both: Both) -> Callable[[int], str | None]:
    stream = tokenizers.decoders.DecodeStream(skip_special_tokens=True)
    return partial(stream.step, both.hf)


def with_template(both: Both) -> Tokenizer:
    part = f"template:$A {END}=>$A {END} $B:1 {END}:1"
    recipe = replace(both.tok.recipe, post_processors=(*both.tok.recipe.post_processors, part))
    return Tokenizer(replace(both.tok.model, recipe=recipe))


def hf_with_template(both: Both) -> Any:
    other = copy.deepcopy(both.hf)
    other.post_processor = tokenizers.processors.TemplateProcessing(
        single=f"$A {END}",
        pair=f"$A {END} $B:1 {END}:1",
        special_tokens=[(END, other.token_to_id(END))],
    )
    return other


def saved(both: Both, name: str, tokenizer: Tokenizer, format: str = "tokctl") -> Tokenizer:  # noqa: A002
    tokenizer.save(both.folder / name, format)
    return Tokenizer.load(both.folder / name)


def files_of(both: Both) -> list[str]:
    both.tok.save(both.folder / "merges", "vocab-merges")
    return [str(both.folder / "merges" / name) for name in ("vocab.json", "merges.txt")]


def own_bin(both: Both) -> list[int]:
    """The ids of documents, each with an end, as 16-bit numbers in a file."""
    path = both.folder / "documents.jsonl"
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS))
    ids, _ = both.tok.encode_file(path, eos=END, dtype="uint16")
    (both.folder / "train.bin").write_bytes(ids)
    return np.memmap(both.folder / "train.bin", dtype=np.uint16, mode="r").tolist()  # type: ignore[no-any-return]


def their_bin(both: Both) -> list[int]:
    rows = [[*both.enc.encode_ordinary(text), both.enc.eot_token] for text in TEXTS]
    return tk(both, [id_ for row in rows for id_ in row])


def in_processes(both: Both) -> list[list[int]]:
    with ProcessPoolExecutor(2) as pool:
        return list(pool.map(both.tok.encode_ids, TEXTS))


def counted(both: Both) -> int:
    path = both.folder / "counted.txt"
    path.write_text(TEXT)
    return count_tokens([path], [both.tok]).files[0].tokens[0]


Side = Callable[[Both], Any]
_ALL = {"special": "all"}
CALLS: list[tuple[str, Side, Side]] = [
    # -- counting, cost, chunks for retrieval
    ("len(enc.encode(text))", lambda b: len(b.ids), lambda b: len(b.enc.encode(TEXT))),
    ("len(tok.encode(text).ids)", lambda b: len(b.ids), lambda b: len(b.hf.encode(TEXT).ids)),
    ("len(enc.encode(open(f).read()))", counted, lambda b: len(b.enc.encode(TEXT))),
    (
        "enc.encode(text, disallowed_special=())",
        lambda b: b.tok.encode_ids(CHAT),
        lambda b: tk(b, b.enc.encode(CHAT, disallowed_special=())),
    ),
    (
        "sum(len(enc.encode(value)) for value in message)",
        lambda b: sum(map(len, b.tok.encode_ids(TEXTS))),
        lambda b: sum(len(b.enc.encode(text)) for text in TEXTS),
    ),
    (
        "enc.decode(ids[i : i + n]) of chunks that overlap",
        lambda b: chunks(b.ids, lambda ids: b.tok.decode(ids, errors="replace"), 8, 6),
        lambda b: chunks(b.enc.encode(TEXT), b.enc.decode, 8, 6),
    ),
    (
        "enc.decode(enc.encode(text)[:n])",
        lambda b: b.tok.decode(b.ids[:9]),
        lambda b: b.enc.decode(b.enc.encode(TEXT)[:9]),
    ),
    # -- ids for a language model
    (
        "enc.encode_ordinary(text)",
        lambda b: b.tok.encode_ids(TEXT),
        lambda b: tk(b, b.enc.encode_ordinary(TEXT)),
    ),
    (
        "enc.encode_ordinary_batch(texts, num_threads=2)",
        lambda b: b.tok.encode_ids(TEXTS, threads=2),
        lambda b: [tk(b, ids) for ids in b.enc.encode_ordinary_batch(TEXTS, num_threads=2)],
    ),
    (
        "enc.encode_batch(texts, allowed_special='all')",
        lambda b: b.tok.encode_ids([CHAT, TEXT], special="all"),
        lambda b: [tk(b, ids) for ids in b.enc.encode_batch([CHAT, TEXT], allowed_special="all")],
    ),
    (
        "enc.encode(text, allowed_special={END})",
        lambda b: b.tok.encode_ids(CHAT, special={END}),
        lambda b: tk(b, b.enc.encode(CHAT, allowed_special={END}, disallowed_special=())),
    ),
    (
        "enc.encode(text, allowed_special='all')",
        lambda b: b.tok.encode_ids(CHAT, special="all"),
        lambda b: tk(b, b.enc.encode(CHAT, allowed_special="all")),
    ),
    (
        "tok.encode(text) that finds special tokens",
        lambda b: ours(b.tok.encode(CHAT, **_ALL)),
        lambda b: theirs(b.hf.encode(CHAT)),
    ),
    ("np.array(ids, dtype=np.uint16).tofile(f)", own_bin, their_bin),
    (
        "enc.encode_to_numpy(text)",
        lambda b: np.asarray(b.tok.encode_array(TEXT)).tolist(),
        lambda b: tk(b, b.enc.encode_to_numpy(TEXT).tolist()),
    ),
    (
        "dataset.map(lambda row: tok.encode_batch_fast(row))",
        lambda b: b.tok.encode_ids(TEXTS),
        lambda b: [encoding.ids for encoding in b.hf.encode_batch_fast(TEXTS)],
    ),
    ("pool.map(enc.encode_ordinary, texts)", in_processes, lambda b: b.tok.encode_ids(TEXTS)),
    (
        "ids.append(enc.eot_token)",
        lambda b: [*b.ids, b.tok.eos_token_id],
        lambda b: tk(b, [*b.enc.encode(TEXT), b.enc.eot_token]),
    ),
    # -- back to text
    (
        "enc.decode(ids)",
        lambda b: b.tok.decode(b.ids),
        lambda b: b.enc.decode(back(b, b.ids)),
    ),
    (
        "enc.decode(array.tolist())",
        lambda b: b.tok.decode(np.array(b.ids)),
        lambda b: b.enc.decode(np.array(back(b, b.ids)).tolist()),
    ),
    (
        "enc.decode_bytes(ids)",
        lambda b: b.tok.decode_bytes(b.ids[:17]),
        lambda b: b.enc.decode_bytes(back(b, b.ids)[:17]),
    ),
    (
        "enc.decode_single_token_bytes(id)",
        lambda b: b.tok.decode_bytes([b.ids[3]]),
        lambda b: b.enc.decode_single_token_bytes(back(b, b.ids)[3]),
    ),
    (
        "enc.decode_tokens_bytes(ids)",
        lambda b: [b.tok.decode_bytes([id_]) for id_ in b.ids],
        lambda b: b.enc.decode_tokens_bytes(back(b, b.ids)),
    ),
    (
        "enc.decode_with_offsets(ids)",
        lambda b: [start for start, _ in b.tok.encode(TEXT).offsets],
        lambda b: b.enc.decode_with_offsets(back(b, b.ids))[1],
    ),
    (
        "enc.decode_batch(batch)",
        lambda b: b.tok.decode_batch(b.tok.encode_ids(TEXTS)),
        lambda b: b.enc.decode_batch(b.enc.encode_batch(TEXTS)),
    ),
    (
        "tok.decode(ids)",
        lambda b: b.tok.decode(b.tok.encode_ids(CHAT, **_ALL), skip_special=True),
        lambda b: b.hf.decode(b.hf.encode(CHAT).ids),
    ),
    (
        "tok.decode(ids, skip_special_tokens=False)",
        lambda b: b.tok.decode(b.tok.encode_ids(CHAT, **_ALL)),
        lambda b: b.hf.decode(b.hf.encode(CHAT).ids, skip_special_tokens=False),
    ),
    (
        "tok.decode_batch([encoding.ids for encoding in …])",
        lambda b: b.tok.decode_batch(b.tok.encode_batch(TEXTS)),
        lambda b: b.hf.decode_batch([encoding.ids for encoding in b.hf.encode_batch(TEXTS)]),
    ),
    (
        "DecodeStream().step(tok, id)",
        lambda b: streamed(b.tok.decode_stream(skip_special=True).push, b.ids),
        lambda b: streamed(hf_stream(b), b.ids),
    ),
    # -- the vocabulary
    ("enc.n_vocab", lambda b: len(b.tok), lambda b: b.enc.n_vocab),
    ("enc.max_token_value + 1", lambda b: len(b.tok), lambda b: b.enc.max_token_value + 1),
    ("tok.get_vocab_size()", lambda b: len(b.tok), lambda b: b.hf.get_vocab_size()),
    ("tok.get_vocab()", lambda b: b.tok.get_vocab(), lambda b: b.hf.get_vocab()),
    (
        "'Ġlot' in tok.get_vocab()",
        lambda b: ["Ġlot" in b.tok, "no such" in b.tok],
        lambda b: [name in b.hf.get_vocab() for name in ("Ġlot", "no such")],
    ),
    (
        "tok.token_to_id(token)",
        lambda b: [b.tok.token_to_id(token) for token in (END, "Ġlot", "no such")],
        lambda b: [b.hf.token_to_id(token) for token in (END, "Ġlot", "no such")],
    ),
    (
        "tok.id_to_token(id)",
        lambda b: [b.tok.id_to_token(id_) for id_ in (0, 300, 99_999)],
        lambda b: [b.hf.id_to_token(id_) for id_ in (0, 300, 99_999)],
    ),
    (
        "enc.encode_single_token(END)",
        lambda b: b.tok.token_to_id(END),
        lambda b: tk(b, [b.enc.encode_single_token(END)])[0],
    ),
    (
        "enc._special_tokens[END], enc.special_tokens_set",
        lambda b: set(b.tok.special_ids),
        lambda b: b.enc.special_tokens_set,
    ),
    (
        "enc.token_byte_values()",
        lambda b: sorted(b.tok.model.tokens[len(b.tok.special_ids) :]),
        lambda b: sorted(b.enc.token_byte_values()),
    ),
    (
        "tok.get_added_tokens_decoder()",
        lambda b: {token.id: token.text for token in b.tok.model.added},
        lambda b: {id_: t.content for id_, t in b.hf.get_added_tokens_decoder().items()},
    ),
    # -- BERT and its like: two texts, padding, truncation, masks
    (
        "tok.encode(text)",
        lambda b: ours(b.bert.encode(CONTEXT, add_special=True)),
        lambda b: theirs(b.hf_bert.encode(CONTEXT)),
    ),
    (
        "tok.encode(text, add_special_tokens=False)",
        lambda b: ours(b.bert.encode(CONTEXT)),
        lambda b: theirs(b.hf_bert.encode(CONTEXT, add_special_tokens=False)),
    ),
    (
        "tok.encode(question, context)",
        lambda b: ours(b.bert.encode(QUESTION, CONTEXT, add_special=True)),
        lambda b: theirs(b.hf_bert.encode(QUESTION, CONTEXT)),
    ),
    (
        "tok.encode_batch([(question, context)])",
        lambda b: [ours(e) for e in b.bert.encode_batch([(QUESTION, CONTEXT)], add_special=True)],
        lambda b: [theirs(e) for e in b.hf_bert.encode_batch([(QUESTION, CONTEXT)])],
    ),
    (
        "tok.enable_padding(); tok.encode_batch(texts)",
        lambda b: [
            ours(e) for e in b.bert.encode_batch(TEXTS, add_special=True, padding=Padding())
        ],
        lambda b: [
            theirs(e) for e in b.padded(pad_id=b.bert.pad_token_id or 0).encode_batch(TEXTS)
        ],
    ),
    (
        "tok.enable_padding(direction='left', length=64, pad_token='[PAD]')",
        lambda b: b.bert.encode_ids(TEXTS, padding=Padding(64, direction="left")),
        lambda b: [
            e.ids
            for e in b.padded(
                direction="left", length=64, pad_id=b.hf_bert.token_to_id("[PAD]")
            ).encode_batch(TEXTS, add_special_tokens=False)
        ],
    ),
    (
        "tok.enable_padding(pad_to_multiple_of=8)",
        lambda b: b.bert.encode_ids(TEXTS[2:], padding=Padding(multiple_of=8)),
        lambda b: [
            e.ids
            for e in b.padded(
                pad_to_multiple_of=8, pad_id=b.hf_bert.token_to_id("[PAD]")
            ).encode_batch(TEXTS[2:], add_special_tokens=False)
        ],
    ),
    (
        "tok.enable_truncation(max_length=8)",
        lambda b: ours(b.bert.encode(TEXT, add_special=True, truncation=8)),
        lambda b: theirs(b.cut(8).encode(TEXT)),
    ),
    (
        "tok.enable_truncation(8, strategy='only_second', stride=2); .overflowing",
        lambda b: [
            ours(window)
            for window in b.bert.encode(
                "is", TEXT, add_special=True, truncation=Truncation(8, 2, "only-second")
            ).overflowing
        ],
        lambda b: [
            theirs(window)
            for window in b.cut(8, strategy="only_second", stride=2).encode("is", TEXT).overflowing
        ],
    ),
    (
        "tok.enable_truncation(8, direction='left')",
        lambda b: b.bert.encode_ids(TEXT, truncation=Truncation(8, direction="left")),
        lambda b: b.cut(8, direction="left").encode(TEXT, add_special_tokens=False).ids,
    ),
    (
        "tok.no_padding(); tok.no_truncation()",
        lambda b: b.bert.encode_ids(TEXT),
        lambda b: b.hf_bert.encode(TEXT, add_special_tokens=False).ids,
    ),
    (
        "tok.num_special_tokens_to_add(False)",
        lambda b: len(b.bert.encode("", add_special=True)),
        lambda b: b.hf_bert.num_special_tokens_to_add(False),
    ),
    (
        "tok.post_processor = TemplateProcessing(…)",
        lambda b: ours(with_template(b).encode(QUESTION, CONTEXT, add_special=True)),
        lambda b: theirs(hf_with_template(b).encode(QUESTION, CONTEXT)),
    ),
    # -- labels for words, answers in a context
    (
        "encoding.word_ids, for labels of words",
        lambda b: b.bert.encode(CONTEXT).word_ids,
        lambda b: b.hf_bert.encode(CONTEXT, add_special_tokens=False).word_ids,
    ),
    (
        "encoding.char_to_token(text.find(entity))",
        lambda b: b.bert.encode(CONTEXT).char_to_token(CONTEXT.find("lot")),
        lambda b: b.hf_bert.encode(CONTEXT, add_special_tokens=False).char_to_token(
            CONTEXT.find("lot")
        ),
    ),
    (
        "encoding.word_to_chars(encoding.token_to_word(i), sequence_index=1)",
        lambda b: span(b.bert.encode(QUESTION, CONTEXT, add_special=True), 8, 10),
        lambda b: span(b.hf_bert.encode(QUESTION, CONTEXT), 8, 10),
    ),
    (
        "tok.normalizer.normalize_str(text)",
        lambda b: b.bert.pre_tokens("Naïve PEOPLE")[0].decode(),
        lambda b: b.hf_bert.normalizer.normalize_str("Naïve PEOPLE"),
    ),
    (
        "tok.pre_tokenizer.pre_tokenize_str(text)",
        lambda b: b.bert.pre_tokens("people, say")[1],
        lambda b: [place for _, place in b.hf_bert.pre_tokenizer.pre_tokenize_str("people, say")],
    ),
    # -- training, saving, loading, more tokens
    (
        "ByteLevelBPETokenizer().train_from_iterator(texts, special_tokens=…, min_frequency=2)",
        lambda _: Tokenizer.train(
            Texts(TEXTS), vocab_size=300, special_tokens=["<s>", "</s>"], min_frequency=2
        ).get_vocab(),
        lambda _: hf_trained(
            vocab_size=300, special_tokens=["<s>", "</s>"], min_frequency=2
        ).get_vocab(),
    ),
    (
        "train_from_iterator(batches of lists)",
        lambda _: Tokenizer.train(Texts([TEXTS[:2], TEXTS[2:]]), vocab_size=300).merges,
        lambda _: Tokenizer.train(Texts(TEXTS), vocab_size=300).merges,
    ),
    (
        "tok.save(path); Tokenizer.from_file(path)",
        lambda b: saved(b, "again.json", b.tok),
        lambda b: b.tok,
    ),
    (
        "Tokenizer.from_pretrained(folder)",
        lambda b: (
            saved(b, "folder", b.tok, "huggingface-folder")
            and Tokenizer.from_pretrained(b.folder / "folder").encode_ids(TEXT)
        ),
        lambda b: b.hf.encode(TEXT).ids,
    ),
    (
        "tok.save_model(folder); BPE.from_file(vocab, merges)",
        lambda b: (
            saved(b, "vocab", b.tok, "vocab-merges")
            and Tokenizer.load(b.folder / "vocab").encode_ids(TEXT)
        ),
        lambda b: tokenizers.ByteLevelBPETokenizer(*files_of(b)).encode(TEXT).ids,
    ),
    (
        "pickle.loads(pickle.dumps(enc))",
        lambda b: pickle.loads(pickle.dumps(b.tok)).encode_ids(TEXT),
        lambda b: tk(b, b.enc.encode(TEXT)),
    ),
    (
        "tok.add_special_tokens([…]); tok.encode(chat)",
        lambda b: ours(
            b.tok.with_special_tokens(["<|im_start|>", "<|im_end|>"]).encode(
                f"<|im_start|>it's{CHAT}<|im_end|>", **_ALL
            )
        ),
        lambda b: theirs(
            b.with_more("<|im_start|>", "<|im_end|>").encode(f"<|im_start|>it's{CHAT}<|im_end|>")
        ),
    ),
    (
        "tok.add_special_tokens([…]); tok.get_vocab_size()",
        lambda b: len(b.bert.with_special_tokens(["[E1]", "[PAD]"])),
        lambda b: b.hf_bert.get_vocab_size() + 1,
    ),
    (
        "tok.get_vocab_size() after training",
        lambda _: len(Tokenizer.train(Texts(TEXTS), vocab_size=290)),
        lambda _: hf_trained(vocab_size=290).get_vocab_size(),
    ),
]


@pytest.mark.parametrize(
    ("ours", "theirs"), [entry[1:] for entry in CALLS], ids=[e[0] for e in CALLS]
)
def test_a_call_gives_what_it_gives_there(both: Both, ours: Side, theirs: Side) -> None:
    assert ours(both) == theirs(both)


# -- names and options of theirs ---------------------------------------------------------------

Call = Callable[[Tokenizer], object]
ANSWERS: list[tuple[Call, str]] = [
    (lambda t: t.encode_ordinary("a"), "in tokctl: encode_ids(text)"),  # type: ignore[attr-defined]
    (lambda _: Tokenizer.from_file("a"), "in tokctl: Tokenizer.load(path)"),  # type: ignore[attr-defined]
    (lambda t: t.add_special_tokens(["a"]), "with_special_tokens(tokens) makes another"),  # type: ignore[attr-defined]
    (lambda t: t.n_vocab, "in tokctl: len(tok)"),  # type: ignore[attr-defined]
    (lambda t: t.EncodeAsPieces("a"), "in tokctl: encode(text).tokens"),  # type: ignore[attr-defined]
    (lambda t: t.encode("a").special_tokens_mask, "in tokctl: special_mask"),  # type: ignore[attr-defined]
    (lambda t: t.decode_stream().step(5), "in tokctl: push(ids)"),  # type: ignore[attr-defined]
    (lambda t: setattr(t, "pre_tokenizer", None), "recipe=replace(recipe, pre_tokenizers=…)"),
    (lambda t: t.encode("a", add_special_tokens=True), "did you mean 'add_special'?"),  # type: ignore[call-arg]
    (lambda t: t.encode_ids("a", allowed_special="all"), "argument 'allowed_special'"),  # type: ignore[call-overload]
    (lambda t: t.encode("a", disallowed_special=()), "leave it out"),  # type: ignore[call-arg]
    (lambda t: t.encode_ids(["a"], num_threads=2), "argument 'num_threads'"),  # type: ignore[call-overload]
    (lambda t: t.decode([1], skip_special_tokens=True), "argument 'skip_special_tokens'"),  # type: ignore[arg-type]
    (lambda t: t.decode_bytes([1], skipspecial=True), "argument 'skipspecial'"),  # type: ignore[arg-type]
    (lambda t: t.decode_batch([[1]], skip_special_tokens=True), "mean 'skip_special'?"),  # type: ignore[call-overload]
    (lambda t: t.encode_array("a", dtyp="uint16"), "did you mean 'dtype'?"),  # type: ignore[call-overload]
    (lambda t: t.train("a", trainer=5), "are options of the call"),  # type: ignore[call-arg]
    (lambda t: t.get_vocab(with_added_tokens=True), "all tokens are there"),  # type: ignore[call-arg]
    (lambda _: Padding(pad_id=0), "Padding() has no option 'pad_id'; did you mean 'id'?"),  # type: ignore[call-arg]
    (lambda _: Truncation(8, side="left"), "did you mean 'direction'?"),  # type: ignore[call-arg]
    (lambda t: t.encode(["a", "b"]), "encode_batch and encode_ids take many"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("call", "answer"), ANSWERS, ids=[answer for _, answer in ANSWERS])
def test_a_habit_gets_an_answer(both: Both, call: Call, answer: str) -> None:
    with pytest.raises((AttributeError, TypeError)) as error:
        call(both.tok)
    assert answer in str(error.value)


def test_answers_name_what_is_there(both: Both) -> None:
    """The first word of each answer that is a name is one."""
    there = {"Tokenizer": both.tok, "Encoding": both.tok.encode("a"), "DecodeStream": None}
    for kind, answers in NAMES.items():
        one = there[kind] or both.tok.decode_stream()
        for name, answer in answers.items():
            assert not hasattr(one, name), name
            said = answer.removeprefix("[tok.").removeprefix("Tokenizer.").split(";")[-1].strip()
            word = said.split("(")[0].split(".")[0]
            if "(" in said.split(" ")[0] and word not in ("len", "encode"):
                assert hasattr(one, word) or hasattr(both.tok, word), answer


def test_what_is_no_habit_is_as_python_has_it(both: Both) -> None:
    with pytest.raises(
        AttributeError, match=r"'Tokenizer' object has no attribute 'quite_another'$"
    ):
        both.tok.quite_another  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(AttributeError, match=r"type object 'Tokenizer' has no attribute 'other'$"):
        Tokenizer.other  # type: ignore[attr-defined]  # noqa: B018
    assert not hasattr(both.tok, "encode_ordinary")
    assert getattr(both.tok, "name", None) is None


def test_wrong_types_are_told_with_what_is_right(both: Both, tmp_path: Path) -> None:
    tok, path = both.tok, tmp_path / "text.txt"
    path.write_text(TEXT)
    wrong: list[tuple[Callable[[], object], str]] = [
        (lambda: Tokenizer("gpt2"), "Tokenizer.load(path)"),  # type: ignore[arg-type]
        (lambda: Tokenizer.load(5), "a str or a Path"),  # type: ignore[arg-type]
        (lambda: tok.save(5), "a str or a Path"),  # type: ignore[arg-type]
        (lambda: Tokenizer.from_pretrained(None), "a str or a Path"),  # type: ignore[arg-type]
        (lambda: Tokenizer.load(path, special_tokens=["<s>"]), "a dict of their ids"),  # type: ignore[arg-type]
        (lambda: Tokenizer.train(5, vocab_size=300), "give paths, tokctl.Texts"),  # type: ignore[arg-type]
        (lambda: Tokenizer.train(path, vocab_size=300, extend="m.json"), "give a Tokenizer"),  # type: ignore[arg-type]
        (lambda: Tokenizer.train(path, vocab_size=300, weights=[2]), "a dict"),  # type: ignore[arg-type]
        (lambda: Tokenizer.train(path, vocab_size=300, reading="jsonl"), "ReadOptions('jsonl'"),  # type: ignore[arg-type]
        (lambda: Tokenizer.train(path, vocab_size=300, progress=True), "give a function"),  # type: ignore[arg-type]
        (
            lambda: Tokenizer.train(path, vocab_size=300, special_tokens="<s>"),
            "give a list of texts",
        ),
        (lambda: tok.with_special_tokens([5]), "give a list of texts"),  # type: ignore[list-item]
        (lambda: Tokenizer.train([("a", 1)], vocab_size=300), "a dict"),  # type: ignore[arg-type]
        (lambda: Tokenizer.train({5: 1}, vocab_size=300), "a word"),  # type: ignore[dict-item]
        (lambda: tok.decode(5), "a list or an array"),  # type: ignore[arg-type]
        (lambda: tok.decode("a"), "a list or an array"),  # type: ignore[arg-type]
        (lambda: tok.decode_batch(5), "a list of lists"),  # type: ignore[call-overload]
        (lambda: tok.decode_tokens([5]), "decode(ids) takes ids"),  # type: ignore[list-item]
        (lambda: tok.id_to_token("a"), "a whole number"),  # type: ignore[arg-type]
        (lambda: tok.token_to_id(5), "a str"),  # type: ignore[arg-type]
        (lambda: tok.encode_batch([("a", "b", "c")]), "(first, second)"),  # type: ignore[list-item]
        (lambda: setattr(tok, "cache_memory", "64M"), "a number of bytes"),
        (lambda: tok.corpus_state("5", "low"), "choose a step"),  # type: ignore[arg-type]
        (lambda: tok.train("a", 300), "by name, for example vocab_size"),  # type: ignore[arg-type]
    ]
    for call, hint in wrong:
        with pytest.raises(TokctlError) as error:
            call()
        assert hint in f"{error.value.hint}", error.value


# -- more special tokens -------------------------------------------------------------------------


def test_more_special_tokens(both: Both) -> None:
    for one in (both.tok, both.bert, unigram := both.tok.train(
        Texts(TEXTS), vocab_size=60, algorithm="unigram"
    )):  # fmt: skip
        more = one.with_special_tokens(["<|im_start|>", "<|im_end|>", "<|im_start|>"])
        assert len(more) == len(one) + 2
        assert list(more.special_ids.items())[-2:] == [
            ("<|im_start|>", len(one)),
            ("<|im_end|>", len(one) + 1),
        ]
        assert more.encode_ids(TEXTS) == one.encode_ids(TEXTS)
        chat = "<|im_start|>people say<|im_end|>"
        inner = one.encode_ids("people say")
        assert more.encode_ids(chat, special="all") == [len(one), *inner, len(one) + 1]
        assert more.decode([len(one), *inner], skip_special=True) == one.decode(inner)
        assert saved(both, "more.json", more) == more
        assert one.with_special_tokens([]) == one
        assert more.with_special_tokens(["<|im_end|>"]) == more
    assert unigram.model.scores
    for wrong, message in (
        ([""], "can't be empty"),
        (["Ġlot"], "spelled like a token"),
        (["\ud800"], "not UTF-8"),
    ):
        with pytest.raises(TokctlError, match=message):
            both.tok.with_special_tokens(wrong)


def test_special_tokens_of_a_training(tmp_path: Path) -> None:
    """They get the lowest ids, as those of `tokctl train --special-token`."""
    path = tmp_path / "text.txt"
    path.write_text(TEXT)
    tok = Tokenizer.train(path, vocab_size=300, special_tokens=[END, USER])
    assert list(tok.special_ids.items()) == [(END, 0), (USER, 1)]
    made = tmp_path / "made.json"
    options = ("-v", "300", "--special-token", END, "--special-token", USER, "-o", made)
    assert tokctl("train", *options, path).code == 0
    tok.save(tmp_path / "ours.json")
    assert made.read_bytes() == (tmp_path / "ours.json").read_bytes()
    # A model that is extended brings its recipe; its new special tokens come last.
    more = Tokenizer.train(path, vocab_size=310, extend=tok, special_tokens=["<|im_end|>"])
    assert more == Tokenizer.train(
        path, vocab_size=310, extend=tok.model, recipe=more.recipe, threads=1
    )
    assert more.encode_ids(CHAT, special="all")[0] == 1
    assert more.token_to_id("<|im_end|>") == len(more) - 1
