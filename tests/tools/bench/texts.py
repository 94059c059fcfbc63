"""The texts, and the models and ids that encoding and decoding start from."""

from __future__ import annotations

import json
import os
import re
import sys
from dataclasses import dataclass, replace
from functools import cache as once
from pathlib import Path
from typing import TYPE_CHECKING

from tests.tools.bench import made
from tests.tools.bench.job import ids_to_bytes, short
from tests.tools.bench.rows import LONG, SCRIPTS, TEXTS, Row, amount

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from tokctl.tokenizer import Tokenizer

CHECKOUT = Path(__file__).parents[3]
CORPORA = CHECKOUT.parent / "shared" / "corpora"
VOCABULARIES = CHECKOUT.parent / "shared" / "vocab"
#: tiktoken's ranks of GPT-4's encoding; without the file its rows are left out.
CL100K = VOCABULARIES / "cl100k_base.tiktoken"
#: GPT-2's own vocabulary; without the file, one that tokctl trains takes its place.
GPT2 = "gpt2.tokenizer.json"
#: Peers that load nothing but Hugging Face's format: they get the model in that.
JSON_ONLY = ("huggingface", "tokie_", "splintr_", "fastokens_")
#: Pre-tokenizers whose pre-tokens are lines: tokens reach over words.
LINES = [
    {"kind": "digit-groups"},
    {"kind": "split", "pattern": "\n", "behaviour": "merged-with-previous"},
]
#: Algorithms whose models are trained on all the texts that they encode.
WITH_SUPERWORDS = ("superbpe", "boundless")
#: A model of SentencePiece's is trained on so much of a long text, in bytes.
PIECES_FROM = 2_000_000
_LONG = re.compile(rf"({'|'.join(LONG)})-(\d+(?:GB|MB|kB|B))")
_UNITS = {"GB": 10**9, "MB": 10**6, "kB": 10**3, "B": 1}
#: Bytes of a token in the model of o200k's pattern, as in OpenAI's: quicktok takes no longer ones.
LONGEST = 128
#: Ids of the model that takes the place of GPT-2's under the added tokens.
FALLBACK = 4_000
#: Pieces of the model that SentencePiece loads where the others load a larger one.
OWN_PIECES = 8_000
SAMPLE = CHECKOUT / "corpora" / "the-lamplighters-atlas.txt"
#: What the bundled sample is repeated to, in place of a text that is not here.
REPEATED_TO = 4_000_000
#: A line for whole processes.
LINE = b"There is still a lot of treasure buried on the island.\n"


@dataclass(frozen=True)
class Text:
    """path: of the bytes that every contender gets; about: what they are."""

    name: str
    path: Path
    size: int
    about: str


def _bytes(size: str) -> int:
    """Of what `amount` writes, or of digits alone."""
    digits = size.rstrip("GMkB")
    return int(digits) * _UNITS[size[len(digits) :] or "B"]


def default_cache() -> Path:
    """Where long texts stay, and the model trained on them: outside the project."""
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "tokctl-bench"


class Materials:
    """Texts, models and ids in one folder; each is made when it is first asked for."""

    def __init__(
        self,
        folder: Path,
        *,
        cache: Path | None = None,
        limit: int | None = None,
        corpora: Path = CORPORA,
        vocabularies: Path = VOCABULARIES,
    ) -> None:
        """`limit` cuts every text that is not made behind the last line that ends within so
        many bytes. What takes long to make stays in `kept`."""
        self.folder = folder
        self.kept = cache or folder
        self.kept.mkdir(parents=True, exist_ok=True)
        self.limit = limit
        self.corpora = corpora
        self.vocabularies = vocabularies
        # Methods of one object: the cache must not outlive it.
        self.text = once(self._text)
        self.model = once(self._model)
        self.ids = once(self._ids)
        self.converted = once(self._converted)

    def packed(self, kind: str) -> Path:
        """The file of a long text's real part."""
        return self.corpora / "large" / f"{kind}.txt.zst"

    def missing(self, row: Row) -> bool:
        """Whether the row needs a long text that is not here."""
        found = _LONG.fullmatch(row.text)
        kinds = LONG if row.model == "o200k" else [found[1]] if found else []
        kinds = [SCRIPTS] if row.text.startswith("languages@") else kinds
        return not all(self.packed(kind).exists() for kind in kinds)

    def _text(self, name: str) -> Text:
        """A text by its name; `NAME@SIZE` is one that is made, of about that size."""
        if found := _LONG.fullmatch(name):
            return self._long(name, found[1], _bytes(found[2]))
        kind, _, size = name.partition("@")
        if kind == "languages":
            return self._languages(name, _bytes(size))
        if kind == "line":
            data, about = LINE, "one line"
        elif size:
            data, about = self._made(kind, _bytes(size))
        else:
            data, about = self._source(name)
            if self.limit is not None and len(data) > self.limit:
                data = data[: data.rfind(b"\n", 0, self.limit) + 1]
                about = f"the start of {about}"
        path = self.folder / f"{name.replace(' ', '-')}.txt"
        path.write_bytes(data)
        return Text(name, path, len(data), about)

    def _long(self, name: str, kind: str, size: int) -> Text:
        """It stays in the cache, with what is known of its words; under another name where its
        source or its generator change."""
        packed = self.packed(kind).read_bytes()
        generator = Path(made.__file__).read_bytes()
        path = self.kept / f"{name}-{short(packed + generator)[:8]}.txt"
        notes = path.with_suffix(".json")
        if not notes.exists():
            data, unfinished = zstd.decompress(packed), path.with_suffix(".part")
            found = {}
            for about, part in (("real", len(data)), ("made", size)):
                if part <= size:
                    with unfinished.open("wb") as file:
                        file.writelines(made.varied(data, part))
                    found[about] = made.heaps(unfinished)
            unfinished.replace(path)
            notes.write_text(json.dumps({"real_size": len(data), **found}), encoding="utf-8")
        known = json.loads(notes.read_bytes())
        about = f"{kind}.txt, blocks of it"
        if size > known["real_size"]:
            (_, real), (_, made_) = known["real"], known["made"]
            about = (
                f"{kind}.txt ({known['real_size']:,} bytes, Heaps' exponent {real:.3f}) and copies "
                f"with rare words spelled anew (all together {made_:.3f})"
            )
        return Text(name, path, path.stat().st_size, f"{about}, {known['made'][0]:,} words")

    def _languages(self, name: str, size: int) -> Text:
        """A folder: each language of the text of many scripts, as large as it is there."""
        parts = made.languages(zstd.decompress(self.packed(SCRIPTS).read_bytes()))
        folder, whole = self.folder / name, sum(map(len, parts.values()))
        folder.mkdir()
        for language, data in parts.items():
            with (folder / f"{language}.txt").open("wb") as file:
                file.writelines(made.varied(data, size * len(data) // whole))
        written = sum(path.stat().st_size for path in folder.iterdir())
        about = f"{', '.join(parts)}: {SCRIPTS}.txt by its letters, repeated with varied words"
        return Text(name, folder, written, about)

    def _source(self, name: str) -> tuple[bytes, str]:
        source = self.corpora / f"{name}.txt"
        if source.exists():
            return source.read_bytes(), source.name
        sample = SAMPLE.read_bytes()
        times = -(-REPEATED_TO // len(sample))
        return sample * times, f"the bundled sample {times} times, for {source.name}"

    def _made(self, kind: str, size: int) -> tuple[bytes, str]:
        if kind == "dna":
            return made.dna(size), "the letters A, C, G, T by a seeded generator"
        if kind in made.SHAPES:
            data, about = self._source("books")
            return made.SHAPES[kind](data, size), f"{kind}, made from {about} or a seed"
        if kind == "spans":
            data, about = self._source("books")
            return b"".join(made.spans(data, size)), f"random spans of words of {about}"
        if kind == "mixed":
            parts = [self._source(name) for name in TEXTS]
            data, about = b"".join(part[0] for part in parts), "books, code and multilingual text"
        else:
            data, about = self._source(kind)
        return b"".join(made.varied(data, size)), f"{about}, repeated with varied words"

    def _trained(self, kind: str, vocab: int) -> Tokenizer:
        from tests.tools.bench.peers.tokctl_ import wordpiece_by_count
        from tokctl.model.parts import PRE_TOKENIZERS
        from tokctl.model.presets import default_recipe, preset
        from tokctl.tokenizer import Tokenizer

        presets = {
            "bpe": "gpt2",
            "o200k": "o200k",
            "bert": "bert",
            "unigram": "sentencepiece-unigram",
        }
        if kind in WITH_SUPERWORDS:
            texts = [self.text(name).path for name in TEXTS]
            return Tokenizer.train(texts, vocab_size=vocab, recipe=default_recipe(kind))
        recipe = preset(presets[kind]) if kind in presets else wordpiece_by_count()
        if kind == "lines":
            recipe = replace(default_recipe("bpe"), pre_tokenizers=PRE_TOKENIZERS.steps(LINES))
        if kind == "o200k":
            texts = [self.packed(long) for long in LONG]
            return Tokenizer.train(texts, vocab_size=vocab, recipe=recipe, max_token_length=LONGEST)
        return Tokenizer.train([self.text("books").path], vocab_size=vocab, recipe=recipe)

    def _model(self, kind: str, vocab: int) -> Path:
        if kind.startswith("sentencepiece-"):
            from tests.tools.bench.peers.sentencepiece_ import train_model

            name, _, of = kind.removeprefix("sentencepiece-").partition("-")
            books = self.text(f"{of}-{amount(PIECES_FROM)}" if of else "books").path
            prefix = self.folder / f"{kind}-{vocab}"
            # With a piece for each byte, or gigatoken would not take the BPE.
            options = {"byte_fallback": True} if name == "bpe" else {}
            return train_model(books, prefix, name, vocab, hard_vocab_limit=False, **options)
        if kind == "cl100k":
            return CL100K
        if kind == "gpt2":
            known = self.vocabularies / GPT2
            return known if known.exists() else self.model("bpe", vocab)
        path = self.folder / f"{kind}-{vocab}.json"
        if kind == "o200k":
            sources = [self.packed(long).read_bytes() for long in LONG]
            made_of = b"".join([*sources, f"{LONGEST}".encode()])
            path = self.kept / f"{kind}-{vocab}-{short(made_of)[:8]}.json"
            if path.exists():
                return path
        if kind == "added":
            _add_tokens(self.model("gpt2", FALLBACK), path, vocab)
        else:
            self._trained(kind, vocab).save(path)
        return path

    def model_for(self, peer: str, kind: str, vocab: int) -> Path:
        """The model in a format that the peer reads; for SentencePiece, whose models nobody
        else trains, one of its own."""
        if peer == "sentencepiece_" and not kind.startswith("sentencepiece-"):
            return self.model("sentencepiece-unigram", min(vocab, OWN_PIECES))
        foreign = kind.startswith("sentencepiece-") or (kind == "cl100k" and peer == "tokie_")
        path = self.model(kind, vocab)
        # iree-tokenizer takes no field that it does not know, as those of tokctl.
        ours = path.parent in (self.folder, self.kept)
        if (foreign and peer in JSON_ONLY) or (ours and peer == "iree_"):
            return self.converted(kind, vocab)
        return path

    def _converted(self, kind: str, vocab: int) -> Path:
        from tokctl.tokenizer import Tokenizer

        path = self.folder / f"{kind}-{vocab}.tokenizer.json"
        Tokenizer.load(self.model(kind, vocab)).save(path, "huggingface", lossy=True)
        return path

    def _ids(self, kind: str, vocab: int, text: str) -> tuple[Path, int]:
        """The file of a text's ids, and their number."""
        from tokctl.tokenizer import Tokenizer

        tokenizer = Tokenizer.load(self.model(kind, vocab))
        ids = tokenizer.encode_ids(self.text(text).path.read_bytes())
        path = self.folder / f"{kind}-{vocab}-{text}.ids"
        path.write_bytes(ids_to_bytes(ids))
        return path, len(ids)


def _add_tokens(source: Path, path: Path, number: int) -> None:
    """A model with so many more tokens, which every text is searched for."""
    document = json.loads(source.read_bytes())
    first = max(document["model"]["vocab"].values()) + 1
    document["added_tokens"] += [
        {
            "id": first + place,
            "content": f"<extra {place}>",
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": False,
        }
        for place in range(number)
    ]
    document["model"].pop("tokctl", None)
    path.write_text(json.dumps(document), encoding="utf-8")
