"""One published file, read here and by the library that defines it, and what they differ in.

A difference has a kind: refused (here alone), unrefused (there alone), ids, tokens, offsets,
type ids, masks, truncation, decoding, damaged ids (decoding of id lists that no text gives); and
two that are meant, "special tokens as text" and "offsets after dropped bytes" (docs/formats.md).
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, Protocol

from tests.tools.zoo.cases import Case
from tests.tools.zoo.listed import Listed
from tokctl import Encoding, Tokenizer, Truncation
from tokctl._native import NO_ID
from tokctl.analysis.verification import without_lengths
from tokctl.core.errors import TokctlError

#: A kind that is meant: see docs/formats.md.
BEHIND = "offsets after dropped bytes"
#: Kind, what is here, what is there.
Difference = tuple[str, object, object]


class Peer(Protocol):
    """Two tokenizers, one of each side."""

    ours: Tokenizer
    own: list[str]

    def differences(self, case: Case) -> Iterator[Difference]: ...

    def decodings(self, ids: list[int]) -> Iterator[Difference]:
        """Compare the texts of `ids`; they need not be the ids of a text."""
        ...


class HuggingFace:
    """`tokenizers`, which has everything that is compared."""

    def __init__(self, ours: Tokenizer, theirs: Any, decoder: Any = None) -> None:
        self.ours, self.theirs, self.decoder = ours, theirs, decoder or theirs
        added = theirs.get_added_tokens_decoder()
        self.added = {id_: token.content for id_, token in added.items()}
        self.own = [content for content in self.added.values() if content]
        without_lengths(theirs)
        special = [token for token in ours.model.added if token.special]
        #: Special tokens, but for the one that stands for what is unknown.
        self.special = {token.id for token in special if token.text != ours.recipe.unk_token}
        #: Ids without a token, which have names here.
        self.unnamed = frozenset(
            id_ for id_ in range(ours.vocab_size) if theirs.id_to_token(id_) is None
        )
        #: Those that their models make of text.
        self.made = [token.text for token in special if token.made]

    def _as_text(self, case: Case) -> bool:
        """Is a special token text, which their model makes tokens of, or is it made of text?"""
        if case.special:
            return False
        text = f"{case.text}\n{case.pair}"
        if any(token in text for token in self.made):
            return True
        self.theirs.encode_special_tokens = True
        found = self.theirs.encode(case.text, case.pair, add_special_tokens=False)
        return not self.special.isdisjoint(found.ids)

    def differences(self, case: Case) -> Iterator[Difference]:
        found = list(self._differences(case))
        if found and self._as_text(case):
            text = "special tokens as text"
            found = [(BEHIND if kind == BEHIND else text, *both) for kind, *both in found]
        yield from found

    def _differences(self, case: Case) -> Iterator[Difference]:
        theirs, ours = self.theirs, self.ours
        theirs.encode_special_tokens = not case.special
        cut = None
        if case.length:
            if case.length - theirs.num_special_tokens_to_add(case.pair is not None) <= case.stride:
                case = case._replace(length=0)
            else:
                cut = Truncation(case.length, case.stride, case.strategy, case.direction)
        try:
            if case.length:
                theirs.enable_truncation(
                    case.length,
                    stride=case.stride,
                    strategy=case.strategy.replace("-", "_"),
                    direction=case.direction,
                )
            there = theirs.encode(case.text, case.pair, add_special_tokens=case.around)
        except BaseException as error:
            if isinstance(error, (KeyboardInterrupt, SystemExit, MemoryError)):
                raise
            if not isinstance(error, Exception):
                return  # their library panics: there is nothing to compare with
            there = error
        finally:
            theirs.no_truncation()
        try:
            here = ours.encode(
                case.text,
                case.pair,
                special="all" if case.special else "none",
                add_special=case.around,
                truncation=cut,
            )
        except TokctlError as error:
            if not isinstance(there, Exception):
                yield "refused", str(error), there.tokens
            return
        if isinstance(there, Exception):
            # Both may have no token for a character; here that is seen when ids are asked for.
            if NO_ID not in ours.encode(case.text, case.pair).raw_ids:
                yield "unrefused", here.tokens, str(there)
            return
        if list(here.raw_ids) != there.ids:
            yield "truncation" if case.length else "ids", here.tokens, there.tokens
            return
        yield from differing_columns(ours, here, there, self.added)
        if case.length:
            mine = [list(window.raw_ids) for window in here.overflowing]
            wanted = [window.ids for window in there.overflowing]
            if mine != wanted:
                yield "truncation", mine, wanted
        yield from self.decodings(there.ids)

    def decodings(self, ids: list[int]) -> Iterator[Difference]:
        for skip in (False, True):
            theirs = partial(self.decoder.decode, ids, skip_special_tokens=skip)
            named = [id_ for id_ in ids if id_ not in self.unnamed]
            yield from _decoding(self.ours, named, theirs, skip_special=skip)


def differing_columns(
    ours: Tokenizer, here: Encoding, there: Any, added: Mapping[int, str]
) -> Iterator[Difference]:
    """What differs of two encodings that have the same ids."""
    # Their Unigram names an unknown token by its text, and so are added tokens named; padding is
    # called what it was told to be.
    unknown = {ours.unk_id: ours.recipe.unk_token, **added}
    names = [
        name if around else unknown.get(id_, name)
        for id_, name, around in zip(
            there.ids, there.tokens, there.special_tokens_mask, strict=True
        )
    ]
    columns: tuple[tuple[str, Any, Any], ...] = (
        ("tokens", here.tokens, names),
        ("offsets", here.offsets, there.offsets),
        ("type ids", here.type_ids, there.type_ids),
        ("masks", here.special_mask, there.special_tokens_mask),
        ("masks", here.attention_mask, there.attention_mask),
    )
    for kind, mine, wanted in columns:
        if list(mine) != list(wanted):
            if kind == "offsets" and ours.recipe.drops_unknown:
                kind = BEHIND
            yield kind, list(zip(here.tokens, mine, strict=False)), list(wanted)


def _decoding(
    ours: Tokenizer, ids: list[int], theirs: Callable[[], str], *, skip_special: bool = False
) -> Iterator[Difference]:
    try:
        wanted = theirs()
    except BaseException as error:
        if isinstance(error, (KeyboardInterrupt, SystemExit, MemoryError)):
            raise
        return  # their library has no text for such ids: there is nothing to compare with
    try:
        mine = ours.decode(ids, skip_special=skip_special, errors="replace")
    except TokctlError as error:
        mine = f"refused: {error}"
    if mine != wanted:
        yield "decoding", mine, wanted


class Ids:
    """A peer of which ids, and the texts that they give, are compared, and where it has them
    its places."""

    def __init__(
        self,
        ours: Tokenizer,
        encode: Callable[[str], list[int]],
        decode: Callable[[list[int]], str] | None,
        places: Callable[[str], list[tuple[int, int]]] | None = None,
    ) -> None:
        self.ours, self.encode, self.decode, self.places = ours, encode, decode, places
        self.own = list(ours.special_ids)
        #: Ids that their library writes nothing for, and that have names here.
        self.unnamed: frozenset[int] = frozenset()

    def differences(self, case: Case) -> Iterator[Difference]:
        there = self.encode(case.text)
        try:
            here = self.ours.encode(case.text)
        except TokctlError as error:
            yield "refused", str(error), there
            return
        if list(here.raw_ids) != there:
            yield "ids", here.tokens, [self.ours.id_to_token(id_) for id_ in there]
            return
        if self.places is not None:
            places = self.places(case.text)
            if list(here.byte_offsets) != places:
                yield "offsets", list(zip(here.tokens, here.byte_offsets, strict=False)), places
        yield from self.decodings(there)

    def decodings(self, ids: list[int]) -> Iterator[Difference]:
        if (decode := self.decode) is not None:
            named = [id_ for id_ in ids if id_ not in self.unnamed]
            yield from _decoding(self.ours, named, partial(decode, ids))


class SentencePiece(Ids):
    """`sentencepiece`, whose places say something else than ours, which can be told from them.

    There a piece goes on to where the next one begins, or is empty where that is the same
    character; so it has what was removed behind it, too. Here it has the characters that it was
    made of. That is compared by the library's own alignment of the normalized text.
    """

    def __init__(self, ours: Tokenizer, theirs: Any) -> None:
        super().__init__(ours, theirs.encode, theirs.decode)
        self.theirs = theirs
        self.unnamed = frozenset(filter(theirs.is_control, range(theirs.vocab_size())))

    def differences(self, case: Case) -> Iterator[Difference]:
        found = list(super().differences(case))
        yield from found
        if any(kind in ("refused", "ids") for kind, *_ in found):
            return
        text, here = case.text, self.ours.encode(case.text)
        covers = list(self.covers(text))
        for (begin, end), cover in zip(here.offsets, covers, strict=True):
            if cover is not None and begin == cover[1] and self.leaves_nothing(text[slice(*cover)]):
                continue  # Of several spaces that make one there is the first, and here the last.
            if cover is not None and not (
                cover[0] <= begin < end <= cover[1]
                and self.leaves_nothing(text[cover[0] : begin])
                and self.leaves_nothing(text[end : cover[1]])
            ):
                yield "offsets", list(zip(here.tokens, here.offsets, strict=True)), covers
                return

    def decodings(self, ids: list[int]) -> Iterator[Difference]:
        """Compare texts. The library leaves control pieces out, and names the unknown piece; here
        `skip_special` leaves out both. A control piece ends a run of bytes in both."""
        if not self.unnamed.intersection(ids):
            yield from super().decodings(ids)
            return
        known = [id_ for id_ in ids if id_ != self.theirs.unk_id()]
        yield from _decoding(
            self.ours, known, partial(self.theirs.decode, known), skip_special=True
        )

    def covers(self, text: str) -> Iterator[tuple[int, int] | None]:
        """By pieces: the characters of what each has a part of, with what was removed behind them;
        None for the space at an end that no text stands for."""
        normalized, begins = self.theirs.normalize(text, with_offsets=True)
        ends: list[int] = []
        end = begins[-1]
        for begin, following in reversed(list(pairwise(begins))):
            end = following if following != begin else end
            ends.append(end)
        ends.reverse()
        at = bytes_left = 0
        for piece in self.theirs.encode(text, out_type="proto").pieces:
            first = at
            if self.theirs.is_byte(piece.id):
                bytes_left = (bytes_left or len(normalized[at].encode())) - 1
                at += not bytes_left
                yield begins[first], ends[first]
                continue
            at += len(piece.piece)
            cover = begins[first], ends[at - 1]
            at_an_end = not first or at == len(normalized)
            empty = piece.begin == piece.end or self.leaves_nothing(text[slice(*cover)])
            yield None if at_an_end and piece.piece == "▁" and empty else cover

    def leaves_nothing(self, text: str) -> bool:
        return not text or not self.theirs.normalize(text).replace("▁", "")


def opened(listed: Listed, path: Path) -> Peer:
    """Both tokenizers of a file; TokctlError where it is refused here, `TheirError` there."""
    if listed.kind == "ranks":
        return _ranks(path, listed.pattern)
    return OPENERS[listed.kind](path)


class TheirError(Exception):
    """The library that defines the file does not read it."""


def _tokenizer_json(path: Path) -> Peer:
    from tokenizers import Tokenizer as Their

    try:
        theirs = Their.from_file(str(path))
    except Exception as error:
        raise TheirError(str(error)) from None
    return HuggingFace(Tokenizer.load(path), theirs)


def _vocab_merges(path: Path) -> Peer:
    from tokenizers.implementations import byte_level_bpe, char_level_bpe
    from tokenizers.models import BPE

    merges = path.with_name(path.name.replace("vocab.json", "merges.txt"))
    try:
        vocabulary, pairs = BPE.read_file(str(path), str(merges))
    except Exception as error:
        raise TheirError(str(error)) from None
    made: Any
    if {"!", "!</w>"} <= vocabulary.keys() and "Ġ</w>" in vocabulary:
        from transformers import CLIPTokenizer

        made = CLIPTokenizer(vocabulary, pairs)
    elif any(token.endswith("</w>") for token in vocabulary):
        made = char_level_bpe.CharBPETokenizer(vocabulary, pairs)
    else:
        made = byte_level_bpe.ByteLevelBPETokenizer(vocabulary, pairs)
    ours = Tokenizer.load(path)
    # The files don't say which tokens are special: what is special here is so there.
    made._tokenizer.add_special_tokens(list(ours.special_ids))
    return HuggingFace(ours, made._tokenizer)


def _folder(path: Path) -> Peer:
    from transformers import AutoTokenizer

    try:
        theirs = AutoTokenizer.from_pretrained(str(path.parent), trust_remote_code=False)
    except Exception as error:
        raise TheirError(f"{type(error).__name__}: {error}") from None
    return HuggingFace(Tokenizer.load(path.parent), theirs.backend_tokenizer, theirs)


def _bert_vocab(path: Path) -> Peer:
    from tokenizers import BertWordPieceTokenizer

    ours = Tokenizer.load(path)
    # The file does not say it: see docs/formats.md.
    lowercase = ("lowercase", True) in ours.recipe.normalizers[0].options
    theirs = BertWordPieceTokenizer(str(path), lowercase=lowercase)._tokenizer
    theirs.add_special_tokens(list(ours.special_ids))
    return HuggingFace(ours, theirs)


def _sentencepiece(path: Path) -> Peer:
    import sentencepiece

    try:
        theirs = sentencepiece.SentencePieceProcessor(model_file=str(path))
    except Exception as error:
        raise TheirError(str(error)) from None

    return SentencePiece(Tokenizer.load(path), theirs)


def _tiktoken(ours: Tokenizer, pattern: str, ranks: dict[bytes, int], shift: int = 0) -> Peer:
    import tiktoken

    theirs = tiktoken.Encoding(
        "zoo", pat_str=pattern, mergeable_ranks=ranks, special_tokens={}, explicit_n_vocab=None
    )

    def encode(text: str) -> list[int]:
        return [id_ + shift for id_ in theirs.encode_ordinary(text)]

    def decode(ids: list[int]) -> str:
        return theirs.decode([id_ - shift for id_ in ids])

    def places(text: str) -> list[tuple[int, int]]:
        # Every byte of a text is in a token.
        ends = list(accumulate(map(len, theirs.decode_tokens_bytes(theirs.encode_ordinary(text)))))
        return list(zip([0, *ends], ends, strict=False))

    peer = Ids(ours, encode, decode, places)
    if b"" in ranks:
        peer.unnamed = frozenset({ranks[b""] + shift})
    return peer


def _ranks(path: Path, pattern: str) -> Peer:
    lines = (line.split() for line in path.read_bytes().splitlines())
    ranks = {base64.b64decode(line[0]): int(line[1]) for line in lines if len(line) == 2}
    return _tiktoken(Tokenizer.load(path, pattern=pattern), PATTERNS[pattern], ranks)


#: As tiktoken's own encodings have them.
CL100K = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
O200K = "|".join(
    (
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    )
)
#: By the names of our pre-tokenizers.
PATTERNS = {
    "gpt2": r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+""",
    "cl100k": CL100K,
    "llama3": CL100K,
    "qwen2": CL100K.replace(r"\p{N}{1,3}", r"\p{N}"),
    "o200k": O200K,
}


def _tekken(path: Path) -> Peer:
    made = json.loads(path.read_bytes())
    config = made["config"]
    special = config["default_num_special_tokens"]
    vocabulary = made["vocab"][: config["default_vocab_size"] - special]
    ranks = {base64.b64decode(entry["token_bytes"]): entry["rank"] for entry in vocabulary}
    return _tiktoken(Tokenizer.load(path), config["pattern"], ranks, special)


class Recorded:
    """llama.cpp's own cases, texts and the ids that are right."""

    own: list[str]

    def __init__(self, ours: Tokenizer, texts: list[str], ids: list[list[int]]) -> None:
        self.ours, self.own = ours, []
        self.answers = dict(zip(texts, ids, strict=True))

    def differences(self, case: Case) -> Iterator[Difference]:
        wanted = self.answers[case.text]
        try:
            here = self.ours.encode(case.text)
        except TokctlError as error:
            yield "refused", str(error), wanted
            return
        if list(here.raw_ids) != wanted:
            yield "ids", here.tokens, [self.ours.id_to_token(id_) for id_ in wanted]

    def decodings(self, ids: list[int]) -> Iterator[Difference]:  # noqa: ARG002
        """Compare nothing: no texts of `ids` are recorded."""
        yield from ()


def _gguf(path: Path) -> Peer:
    ours = Tokenizer.load(path)
    texts, ids = (path.with_name(path.name + end) for end in (".inp", ".out"))
    if not texts.exists():
        return Recorded(ours, [], [])
    found = texts.read_bytes().decode().split("\n__ggml_vocab_test__\n")
    numbers = [[int(id_) for id_ in line.split()] for line in ids.read_text().split("\n")]
    return Recorded(ours, found, numbers[: len(found)])


OPENERS: dict[str, Callable[[Path], Peer]] = {
    "tokenizer.json": _tokenizer_json,
    "folder": _folder,
    "vocab-merges": _vocab_merges,
    "bert-vocab": _bert_vocab,
    "sentencepiece": _sentencepiece,
    "tekken": _tekken,
    "gguf": _gguf,
}
