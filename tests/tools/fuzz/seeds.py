"""Small files of every kind that is read, to start from."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import random
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.formats.models import RECIPES, filled, with_added
from tests.many import records
from tests.sources.made import COMPRESS
from tests.tools.fuzz.structures import table
from tokctl import Tokenizer, formats, idfiles
from tokctl.formats import FORMATS, UnsupportedByFormat
from tokctl.model import Model

#: What a case of several files is cut at.
CUT = b"\n=====\n"


def models() -> Iterator[Model]:
    """Small models of every algorithm, some with added tokens of every sort."""
    for name in ("gpt2", "bert", "llama2", "chars", "unigram", "word", "char", "end marker"):
        yield filled(RECIPES[name])
    yield with_added(RECIPES["unigram that they load"])
    yield with_added(RECIPES["gpt2"])
    counts = {"low": 5, "lower": 2, "newest": 6, "widest": 3, "naïve": 1}
    for algorithm in ("bpe", "wordpiece", "unigram"):
        yield Tokenizer.train(counts, vocab_size=290, algorithm=algorithm).model


def sentencepieces() -> Iterator[bytes]:
    """Models that SentencePiece trains, small enough to be changed everywhere."""
    odd = {"normalization_rule_name": "identity", "user_defined_symbols": ["<sep>", "low"]}
    yield from trained_there(**odd)


def vocabs() -> Iterator[bytes]:
    """What stands beside such models, of their default options."""
    for model in trained_there():
        yield formats.write(formats.parse(model, "m.model"), "sentencepiece-vocab")[""]


def trained_there(**options: Any) -> Iterator[bytes]:
    """A model of each kind."""
    try:
        import sentencepiece
    except ImportError:
        return
    text = ["low lower newest widest naïve", "the lowest of the low"] * 4
    for kind in ("unigram", "bpe", "char", "word"):
        out = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(text),
            model_writer=out,
            model_type=kind,
            vocab_size=40,
            hard_vocab_limit=False,
            minloglevel=2,
            num_threads=1,
            **options,
        )
        yield out.getvalue()


def ggufs() -> Iterator[bytes]:
    """GGUF files of both kinds of BPE, made by the library that defines the format."""
    try:
        import gguf
    except ImportError:
        return
    tokens = [b"<unk>", b"<s>", b"</s>", *(b"<0x%02X>" % byte for byte in range(256)), b"a", b"b"]
    tokens += [b"ab", "▁".encode(), "▁ab".encode()]
    types = [2, 3, 3, *[6] * 256, *[1] * 5]
    model = filled(RECIPES["gpt2"])
    names = [name.encode() for name in model.spelled]
    pairs = [f"{model.spelled[a]} {model.spelled[b]}" for a, b, *_ in model.merges]
    kinds: list[tuple[str, list[bytes], list[int], list[str]]] = [
        ("llama", tokens, types, []),
        ("gpt2", names, [1] * len(names), pairs),
        ("t5", [*tokens[:3], *tokens[259:]], [*types[:3], *types[259:]], []),
        ("bert", [b"[UNK]", b"[CLS]", b"[SEP]", b"\xe2\x96\x81a", b"b"], [3, 3, 3, 1, 1], []),
    ]
    for kind, vocabulary, sorts, merges in kinds:
        with TemporaryDirectory() as folder:
            path = Path(folder) / "x.gguf"
            writer = gguf.GGUFWriter(path, "llama")
            writer.add_tokenizer_model(kind)
            if kind == "gpt2":
                writer.add_tokenizer_pre("gpt-2")
                writer.add_token_merges(merges)
            writer.add_token_list(vocabulary)
            writer.add_token_types(sorts)
            writer.add_token_scores([-float(at) for at in range(len(vocabulary))])
            writer.add_unk_token_id(0)
            writer.write_header_to_file()
            writer.write_kv_data_to_file()
            writer.close()
            yield path.read_bytes()


def tekkens() -> Iterator[bytes]:
    """A `tekken.json` of the 256 bytes and a few tokens more."""
    import base64

    tokens = [bytes([byte]) for byte in range(256)] + [b"ab", b"abc"]
    vocabulary: list[dict[str, Any]] = [
        {"rank": rank, "token_bytes": base64.b64encode(token).decode(), "token_str": None}
        for rank, token in enumerate(tokens)
    ]
    config = {
        "pattern": r"\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+|\s+",
        "num_vocab_tokens": 258,
        "default_vocab_size": 278,
        "default_num_special_tokens": 20,
        "version": "v3",
    }
    yield json.dumps({"config": config, "vocab": vocabulary}).encode()


_MERGES = b"l o\nlo w</w>\ne r</w>\nlo w\nlow er</w>\n"


def clip_merges() -> Iterator[bytes]:
    """CLIP's list, packed and not."""
    listed = b'"bpe_simple_vocab_16e6.txt#version: 0.2\n' + _MERGES
    yield listed
    yield gzip.compress(listed, mtime=0)


def subword_nmt() -> Iterator[bytes]:
    """Codes with their vocabulary, which lacks what one of them makes."""
    codes = b"#version: 0.2\n" + _MERGES
    vocabulary = b"lo@@ 9\nw 8\ner 7\nlow@@ 6\nn@@ 5\ne@@ 4\nlow 2\n"
    yield joined({"": codes, ".vocab": vocabulary})
    yield joined({"": codes, ".vocab": vocabulary + b"lower 1\n<unk> 1\n"})


def written(name: str) -> Iterator[bytes]:
    """The models in a format that tokctl writes; several files are cut at `CUT`."""
    theirs = (formats.parse(data, "their.model") for data in sentencepieces())
    for model in (*models(), *theirs):
        try:
            lost = formats.losses(model, name)
            files = formats.write(model, name)
        except UnsupportedByFormat:
            continue
        # What is lost may be what reading needs: a case that is refused leads nowhere.
        if all(loss.minor for loss in lost) or name == "word-counts":
            yield files[""] if set(files) == {""} else joined(files)


def tables() -> Iterator[bytes]:
    """Tables of every layout: of the parts that a draw is made of, all come."""
    try:
        import pyarrow as _  # noqa: F401
    except ImportError:
        return
    draw = random.Random(1)
    yield from (table(draw) for _ in range(40))


def lines() -> Iterator[bytes]:
    """JSON Lines, and words with their counts."""
    yield b'{"text": "low lower"}\n{"text": "na\\u00efve \\ud83d\\ude42", "id": 1}\n'
    yield b'{"text": ""}\r\n\n{"text": "a\\nb"}'
    yield b'{"text": {"text": "a"}}\n{"text": null}\n{"text": ["a"]}\n[1]\n'
    yield b"low\t5\nlower\t2\n'a b'\t1\n"


def archives() -> Iterator[bytes]:
    """Archives, in each form that they are written in, and every compression of them."""
    texts = {"a.txt": b"low lower", "b/c.jsonl": next(lines()), "d" * 120: b"", "e.gz": b""}
    for form in (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w", format=form) as file:
            for name, content in texts.items():
                about = tarfile.TarInfo(name)
                data = gzip.compress(b"low", mtime=0) if name.endswith(".gz") else content
                about.size = len(data)
                with contextlib.suppress(ValueError):  # a name that the form has no room for
                    file.addfile(about, io.BytesIO(data))
        yield out.getvalue()
    for compress in COMPRESS.values():
        yield compress(b"low lower newest\n" * 9)
        yield compress(out.getvalue())


def id_files() -> Iterator[bytes]:
    """Files of ids in every form; Megatron's two are a case of two files."""
    tokenizer = Tokenizer(filled(RECIPES["gpt2"]))
    texts = [b"low lower", b"", "na\u00efve".encode()]
    for form in idfiles.BINARY_FORMS:
        with TemporaryDirectory() as name:
            folder = Path(name)
            idfiles.write(tokenizer, [records(texts)], folder / "ids", form=form)
            files = {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
        yield files["ids"] if set(files) == {"ids"} else joined(files)
    yield b"1 2 3\n\n4\n"


def templates() -> Iterator[bytes]:
    """Chat templates in the forms of published ones, and expressions that do harm."""
    from tests.chat.forms import TEMPLATES
    from tests.chat.test_bounds import ONCE

    yield from (template.encode() for template in TEMPLATES.values())
    yield from (f"{{% set t = 'a' * 9 %}}{{{{ {each} }}}}".encode() for each in ONCE)


def embeddings() -> Iterator[bytes]:
    """Weights with a row for each id: in one file, and in two that an index names."""
    tokenizer = Tokenizer(filled(RECIPES["gpt2"]))
    rows = tokenizer.vocab_size
    for dtype, size in (("F32", 4), ("BF16", 2), ("F16", 2)):
        yield weights({"model.embed_tokens.weight": (dtype, [rows, 2], bytes(rows * 2 * size))})
    one = weights({"model.embed_tokens.weight": ("F16", [rows, 2], bytes(rows * 4))})
    two = weights({"lm_head.weight": ("F16", [rows, 2], bytes(rows * 4))})
    names = {"model.embed_tokens.weight": "a.safetensors", "lm_head.weight": "b.safetensors"}
    index = json.dumps({"metadata": {"total_size": rows * 8}, "weight_map": names}).encode()
    yield joined(
        {"model.safetensors.index.json": index, "a.safetensors": one, "b.safetensors": two}
    )


def weights(tensors: dict[str, tuple[str, list[int], bytes]]) -> bytes:
    """A file of safetensors."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    at = 0
    for name, (dtype, shape, data) in tensors.items():
        offsets = [at, at + len(data)]
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": offsets}
        at += len(data)
    told = json.dumps(header).encode()
    return len(told).to_bytes(8, "little") + told + b"".join(data for *_, data in tensors.values())


def manifests() -> Iterator[bytes]:
    """Folders of shards with their manifest, finished and stopped."""
    from tests.cli.run import tokctl

    for form in ("npy", "bin"):
        with TemporaryDirectory() as name:
            folder = Path(name)
            model, text = folder / "m.json", folder / "t.txt"
            model.write_bytes(formats.serialize(filled(RECIPES["gpt2"])))
            text.write_bytes(SHARDED)
            line = ("encode", "-m", model, "--as", form, "--shard-size", "60", "-q", text)
            done = tokctl(*line, "-o", folder / "ids")
            assert done.code == 0, done.err
            files = {path.name: path.read_bytes() for path in sorted((folder / "ids").iterdir())}
        yield joined(files)


#: The text that the shards of `manifests` hold.
SHARDED = b"low lower lowest newer newest\n" * 9


def joined(files: dict[str, bytes]) -> bytes:
    """Files as one case: name and content by turns."""
    return CUT.join(part for name, data in files.items() for part in (name.encode(), data))


def parted(case: bytes) -> dict[str, bytes]:
    """The files of a case."""
    parts = case.split(CUT)
    pairs = zip(parts[::2], parts[1::2], strict=False)
    return {name.decode("ascii", "ignore"): data for name, data in pairs}


_MORE: dict[str, Callable[[], Iterator[bytes]]] = {
    "sentencepiece": sentencepieces,
    "sentencepiece-vocab": vocabs,
    "gguf": ggufs,
    "tekken": tekkens,
    "clip-merges": clip_merges,
    "subword-nmt": subword_nmt,
    "tables": tables,
    "lines": lines,
    "archives": archives,
    "ids": id_files,
    "templates": templates,
    "embeddings": embeddings,
    "manifests": manifests,
}


#: The readers of models.
READERS = [known.name for known in FORMATS]


def seeds(name: str) -> list[bytes]:
    """The cases that the fuzzing of a target starts from."""
    found = list(written(name)) if name in READERS and formats.format_named(name).writes else []
    return found + list(_MORE.get(name, lambda: iter(()))())
