"""The texts, and the models and ids that encoding and decoding start from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from tests.bench.job import ids_to_bytes

if TYPE_CHECKING:
    from tokctl.tokenizer import Tokenizer

CHECKOUT = Path(__file__).parents[2]
CORPORA = CHECKOUT.parent / "shared" / "corpora"
#: tiktoken's ranks of GPT-4's encoding; without the file its rows are left out.
CL100K = CHECKOUT.parent / "shared" / "vocab" / "cl100k_base.tiktoken"
#: Trained by tokctl; by SentencePiece; and ranks in tiktoken's format.
MODELS = (
    *("bpe", "wordpiece", "bert", "unigram"),
    *("sentencepiece-unigram", "sentencepiece-bpe"),
    "cl100k",
)
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


class Materials:
    """Texts, models and ids in one folder; each is made when it is first asked for."""

    def __init__(self, folder: Path, *, limit: int | None = None, corpora: Path = CORPORA) -> None:
        """`limit` cuts every text behind the last line that ends within so many bytes."""
        self.folder = folder
        self.limit = limit
        self.corpora = corpora
        # Methods of one object: the cache must not outlive it.
        self.text = cache(self._text)
        self.model = cache(self._model)
        self.ids = cache(self._ids)

    def _text(self, name: str) -> Text:
        if name == "line":
            path = self.folder / "line.txt"
            path.write_bytes(LINE)
            return Text(name, path, len(LINE), "one line")
        source = self.corpora / f"{name}.txt"
        if source.exists():
            data, about = source.read_bytes(), source.name
        else:
            sample = SAMPLE.read_bytes()
            times = -(-REPEATED_TO // len(sample))
            data, about = sample * times, f"the bundled sample {times} times, for {source.name}"
        if self.limit is not None and len(data) > self.limit:
            data, about = data[: data.rfind(b"\n", 0, self.limit) + 1], f"the start of {about}"
        path = self.folder / f"{name}.txt"
        path.write_bytes(data)
        return Text(name, path, len(data), about)

    def _trained(self, kind: str, vocab: int) -> Tokenizer:
        from tests.bench.peers.tokctl_ import wordpiece_by_count
        from tokctl.presets import preset
        from tokctl.tokenizer import Tokenizer

        presets = {"bpe": "gpt2", "bert": "bert", "unigram": "sentencepiece-unigram"}
        recipe = preset(presets[kind]) if kind in presets else wordpiece_by_count()
        books = self.text("books").path
        return Tokenizer.train([books], vocab_size=vocab, recipe=replace(recipe))

    def _model(self, kind: str, vocab: int) -> Path:
        if kind.startswith("sentencepiece-"):
            from tests.bench.peers.sentencepiece_ import train_model

            books, name = self.text("books").path, kind.removeprefix("sentencepiece-")
            prefix = self.folder / f"{kind}-{vocab}"
            return train_model(books, prefix, name, vocab, hard_vocab_limit=False)
        if kind == "cl100k":
            return CL100K
        path = self.folder / f"{kind}-{vocab}.json"
        self._trained(kind, vocab).save(path)
        return path

    def _ids(self, kind: str, vocab: int, text: str) -> tuple[Path, int]:
        """The file of a text's ids, and their number."""
        from tokctl.tokenizer import Tokenizer

        tokenizer = Tokenizer.load(self.model(kind, vocab))
        ids = tokenizer.encode_ids(self.text(text).path.read_bytes())
        path = self.folder / f"{kind}-{vocab}-{text}.ids"
        path.write_bytes(ids_to_bytes(ids))
        return path, len(ids)
