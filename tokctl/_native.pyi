"""The native core. Private: use `tokctl.Tokenizer`. What is computed is documented in
`native/core`; all offsets and lengths are bytes."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol, TypeAlias, final, overload

__all__ = [
    "LEAST_CACHE_MEMORY",
    "NO_ID",
    "REGEX_RELEASE",
    "CountLines",
    "Counter",
    "Counts",
    "DecodeStream",
    "Decoder",
    "Encoder",
    "IdArray",
    "IdCollector",
    "LineSampler",
    "Matchers",
    "ModelFile",
    "ParityTraining",
    "RunWords",
    "StoredModel",
    "TextColumn",
    "Training",
    "UnigramTraining",
    "alphabet_of",
    "collect_counts",
    "framed",
    "ids_from_bytes",
    "last_cut",
    "merge_counts",
    "normalize",
    "normalize_aligned",
    "pre_tokenize",
    "pre_tokens",
    "train",
    "train_by_frequency",
    "train_parity",
    "train_superwords",
    "train_unigram",
]

#: (coverage as numerator and denominator, most characters, initial characters)
_Limits: TypeAlias = tuple[tuple[int, int] | None, int | None, str]

#: Steps of a pipeline, `{"kind": …}` with its options each, or the name of a kind without
#: options. For pre-tokenizers a name alone is a list of one.
_Parts: TypeAlias = str | Sequence[str | dict[str, Any]]
#: How a recipe segments: segmentation, units, marker, user_defined, fuse_unknown, whole_words,
#: precision, unknown_id, unknown, max_input_chars, supermerges. See `tokctl.model.Recipe`.
_Settings: TypeAlias = dict[str, Any]
#: Memory of Arrow's, which nobody writes to.
_Memory: TypeAlias = bytes | memoryview
#: What gives the bytes of a text that can't be read where it stands: one with lone surrogates, or
#: bytes that are not UTF-8.
_Otherwise: TypeAlias = Callable[[str | bytes], bytes]
#: Starts and ends, in bytes.
_Ranges: TypeAlias = list[tuple[int, int]]
#: (pieces, objective, tokens, unused, dropped, [(text, loss)])
_RoundRow: TypeAlias = tuple[int, float, int, int, int, list[tuple[bytes, float | None]]]

LEAST_CACHE_MEMORY: int
NO_ID: int
REGEX_RELEASE: str

class _Scratch(Protocol):
    def append(self, data: bytes, /) -> None: ...
    def read(self, at: int, size: int, /) -> bytes: ...

class _Store(Protocol):
    def scratch(self) -> _Scratch: ...

@final
class Counter:
    def __new__(
        cls,
        pre_tokenizers: _Parts,
        normalizers: _Parts,
        threads: int,
        *,
        memory: int | None = None,
        store: _Store | None = None,
        words: RunWords | None = None,
    ) -> Counter: ...
    def feed(self, block: bytes) -> None: ...
    def feed_documents(
        self, texts: Sequence[bytes], weights: Sequence[int] | None = None
    ) -> None: ...
    def feed_counts(self, counts: Counts) -> None: ...
    def end_document(self) -> None: ...
    def go_on(self) -> None: ...
    def end_part(self) -> None: ...
    def cut(self, text: bytes) -> int | None: ...
    def add(self, pre_token: bytes, count: int) -> None: ...
    def set_weight(self, weight: int) -> None: ...
    def take(self) -> Counts: ...
    def memory(self) -> int: ...
    def finish(
        self, min_count: int, progress: Callable[[int, int], None] | None = None
    ) -> Counts: ...

@final
class RunWords:
    def __new__(cls, training: Training, first: int) -> RunWords: ...

def last_words(names: list[str]) -> None: ...
def framed(texts: Sequence[bytes], counts: Sequence[int] | None = None) -> bytes: ...
def collect_counts(
    stretches: Iterable[Sequence[tuple[TextColumn, _Memory, _Memory, _Memory]]],
    pre_tokens: int,
    size: int,
) -> Counts: ...
def merge_counts(
    tables: Sequence[tuple[TextColumn, _Memory, _Memory, _Memory]],
) -> tuple[Counts, bytes, bytes]: ...

@final
class TextColumn(Sequence[bytes]):
    """Texts in a buffer of Arrow's, which must not change: a sequence of bytes."""

    def __new__(
        cls, data: _Memory, offsets: _Memory, start: int, count: int, wide: bool
    ) -> TextColumn: ...
    def chosen(self, numbers: _Memory) -> TextColumn: ...
    @property
    def size(self) -> int: ...
    def batches(self, size: int) -> list[TextColumn]: ...
    def first_not_utf8(self) -> int | None: ...
    def parts(self, parts: int) -> list[bytes]: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[bytes]: ...
    @overload
    def __getitem__(self, index: int, /) -> bytes: ...
    @overload
    def __getitem__(self, index: slice, /) -> TextColumn: ...

@final
class Counts:
    def __len__(self) -> int: ...
    def total(self) -> int: ...
    def memory(self) -> int: ...
    def items(self) -> list[tuple[bytes, int]]: ...
    def columns(self) -> tuple[bytes, bytes, bytes]: ...
    def at_least(self, least: int) -> Counts: ...
    def first_not_utf8(self) -> bytes | None: ...
    def to_lines(self, start: int = 0, stop: int | None = None) -> bytes: ...

@final
class CountLines:
    def __new__(cls, characters: bool) -> CountLines: ...
    def feed(self, block: bytes, counter: Counter) -> None: ...
    def end(self, counter: Counter) -> None: ...

@final
class LineSampler:
    def __new__(cls, share: tuple[int, int], seed: int) -> LineSampler: ...
    def keep(self, block: bytes) -> bytes: ...
    def choose(self, documents: int) -> list[bool]: ...
    def end_document(self) -> None: ...

@final
class Utf8Check:
    def __new__(cls) -> Utf8Check: ...
    def feed(self, block: bytes) -> tuple[int, int] | None: ...
    def end(self) -> tuple[int, int] | None: ...

@final
class Training:
    @property
    def model(self) -> StoredModel: ...
    @property
    def initial_merges(self) -> int: ...
    @property
    def alphabet_end(self) -> int: ...
    @property
    def exhausted(self) -> bool: ...
    @property
    def events(
        self,
    ) -> tuple[list[bytes], list[tuple[int, ...]], list[tuple[int, int, int, int]]] | None: ...

def train(
    counts: Counts,
    *,
    criterion: str,
    ties: str,
    units: str,
    marker: tuple[str, str],
    vocab_size: int,
    special_tokens: list[bytes],
    reserved: list[bytes],
    initial_alphabet: list[bytes],
    bare_characters: bool,
    min_frequency: int,
    max_token_length: int | None,
    max_words: int | None,
    forbidden: list[bytes],
    whole_characters: bool,
    initial_tokens: list[bytes],
    limits: _Limits,
    extend: tuple[list[bytes], list[tuple[int, int, int]]] | None,
    start: Encoder | None,
    threads: int,
    removal: tuple[str, tuple[int, int] | None] | None,
    progress: Callable[[int], None] | None,
) -> Training: ...

@final
class ParityTraining:
    @property
    def training(self) -> Training: ...
    @property
    def chosen(self) -> list[int]: ...
    @property
    def global_merges(self) -> int: ...
    @property
    def pre_tokens(self) -> int: ...
    @property
    def before(self) -> list[int]: ...
    @property
    def after(self) -> list[int]: ...
    @property
    def lengths(self) -> list[int]: ...

def train_parity(
    languages: list[Counts],
    dev: list[Counts] | None,
    settings: dict[str, Any],
    *,
    global_merges: tuple[int, int | None],
    window: tuple[int, tuple[int, int]] | None,
    measure: str,
    targets: list[tuple[int, int]],
    progress: Callable[[int], None] | None,
) -> ParityTraining: ...
def train_by_frequency(
    counts: Counts,
    *,
    kind: str,
    vocab_size: int,
    first: list[bytes],
    reserved: list[bytes],
    initial_tokens: list[bytes],
    min_frequency: int,
    max_token_length: int | None,
    limits: _Limits,
) -> tuple[list[bytes], list[int], bool]: ...
def alphabet_of(counts: Counts, *, limits: _Limits) -> str: ...

@final
class UnigramTraining:
    @property
    def pieces(self) -> list[tuple[bytes, float]]: ...
    @property
    def rounds(self) -> list[_RoundRow]: ...
    @property
    def alphabet_size(self) -> int: ...
    @property
    def exhausted(self) -> bool: ...

def train_unigram(
    counts: Counts,
    *,
    vocab_size: int,
    special_tokens: list[bytes],
    byte_fallback: bool,
    seed_size: int,
    shrinking_factor: float,
    sub_iterations: int,
    max_piece_length: int,
    alphabet: list[str] | None,
    required: list[str],
    initial_tokens: list[str],
    threads: int,
    progress: Callable[[int], None] | None,
) -> UnigramTraining: ...
def train_superwords(
    first: Training,
    words: RunWords,
    pre_tokens: Counts,
    runs: Counts,
    *,
    ties: str,
    vocab_size: int,
    special_tokens: list[bytes],
    reserved: list[bytes],
    min_frequency: int,
    max_token_length: int | None,
    progress: Callable[[int], None] | None,
) -> tuple[Training, list[tuple[int, int, int, int, int, int]]]: ...
def chars_map_named(name: str) -> bytes: ...
def compile_chars_map(rules: dict[str, str]) -> bytes: ...
def normalize(parts: _Parts, text: bytes) -> bytes: ...
def normalize_aligned(parts: _Parts, text: bytes) -> tuple[bytes, _Ranges]: ...
def scripts_of(text: str) -> list[str]: ...
def last_cut(parts: _Parts, text: bytes, from_: int) -> int | None: ...
def pre_tokens(parts: _Parts, text: bytes) -> _Ranges: ...
def pre_tokenize(parts: _Parts, text: bytes) -> tuple[bytes, _Ranges, _Ranges]: ...

@final
class Matchers:
    """Each token is (text, id, (single word, strip left, strip right, longest first), (normalized,
    literal), refused)."""

    def __new__(
        cls,
        encoder: Encoder,
        tokens: list[tuple[bytes, int, tuple[bool, bool, bool, bool], tuple[bool, bool], bool]],
    ) -> Matchers: ...

@final
class IdArray:
    """A read-only array of ids: what `Tokenizer.encode_array` gives. It has the buffer
    protocol (format `I`, or `H` of 16 bits; one dimension); slices are arrays, too. Equal to an
    array or a list of the same ids."""

    def __new__(cls, ids: Iterable[int]) -> IdArray: ...
    def tolist(self) -> list[int]: ...
    def wrapped(
        self, offsets: bytes, before: list[int], behind: list[int], most: int, last: bool
    ) -> tuple[IdArray, bytes]: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[int]: ...
    @overload
    def __getitem__(self, index: int, /) -> int: ...
    @overload
    def __getitem__(self, index: slice, /) -> IdArray: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
    def __copy__(self) -> IdArray: ...
    def __deepcopy__(self, _memo: Any) -> IdArray: ...

def ids_from_bytes(data: bytes, bits: int = ...) -> IdArray: ...

@final
class PlacedTokens:
    """The tokens of a text with their places in characters."""

    def __len__(self) -> int: ...
    def ids(self, start: int, stop: int) -> list[int]: ...
    def offsets(
        self, start: int, stop: int, shift: int, trims: Sequence[tuple[bool, bool]], spaces: bytes
    ) -> list[tuple[int, int]] | None: ...
    def words(self, start: int, stop: int) -> list[int]: ...

@final
class Encoder:
    def __new__(
        cls,
        normalizers: _Parts,
        pre_tokenizers: _Parts,
        settings: _Settings,
        *,
        tokens: list[tuple[bytes, int]],
        merges: Sequence[tuple[int, ...]],
        scores: list[float],
        byte_ids: list[int] | None,
    ) -> Encoder: ...
    def ids(
        self,
        text: str | bytes,
        matchers: Matchers | None = None,
        otherwise: _Otherwise | None = None,
        strict: bool = False,
    ) -> list[int]: ...
    def array(
        self,
        text: str | bytes,
        threads: int,
        matchers: Matchers | None = None,
        otherwise: _Otherwise | None = None,
        strict: bool = False,
        chunk: int = ...,
        bits: int = ...,
    ) -> IdArray: ...
    def batch(
        self,
        texts: Iterable[str | bytes],
        threads: int,
        matchers: Matchers | None,
        otherwise: _Otherwise | None = None,
        strict: bool = False,
    ) -> list[list[int]]: ...
    def batch_array(
        self,
        texts: Iterable[str | bytes],
        threads: int,
        matchers: Matchers | None,
        otherwise: _Otherwise | None = None,
        strict: bool = False,
        bits: int = ...,
    ) -> tuple[IdArray, bytes]: ...
    def rows(
        self,
        texts: Iterable[bytes],
        threads: int,
        matchers: Matchers | None,
        form: str | TokenNames,
        last_id: int | None = None,
    ) -> tuple[bytes, bytes, int | None]: ...
    def tokens(
        self, text: bytes, matchers: Matchers | None = None
    ) -> tuple[list[int], list[int], list[int], list[int]]: ...
    def placed(
        self, text: str, matchers: Matchers | None = None, strict: bool = False
    ) -> PlacedTokens: ...
    def cuts(
        self, texts: Iterable[bytes], matchers: Matchers | None, threads: int
    ) -> list[int]: ...
    cache_memory: int
    def cache_stats(self) -> tuple[int, int]: ...
    def pre_tokens(
        self, text: bytes, matchers: Matchers | None = None
    ) -> tuple[bytes, _Ranges, _Ranges, list[int | None]]: ...
    def replay(self, pre_token: bytes, steps: int) -> tuple[list[int], list[int], list[int]]: ...
    def supermerge_steps(self, words: list[int]) -> list[int]: ...
    def made(self, tokens: list[tuple[bytes, int]]) -> list[tuple[int, int, int]]: ...
    def nbest(self, pre_token: bytes, n: int) -> list[tuple[list[int], list[int], float]]: ...
    def total(self, pre_token: bytes) -> float: ...
    def sample(
        self, text: bytes, ranges: _Ranges, alpha: float, nbest_size: int, seed: int
    ) -> list[tuple[list[int], list[int]]]: ...

#: Bytes, characters, spaces, words, whole words, split words, tokens, unknown tokens, lines,
#: lines that come back.
_Counts = list[int]

@final
class Measured:
    """What a model makes of a text, for the metrics."""

    @staticmethod
    def of(
        encoder: Encoder,
        decoder: Decoder,
        text: bytes,
        matchers: Matchers | None,
        unknown_id: int | None,
        *,
        words: str,
        threads: int,
        boundaries: bool,
        lines: bool,
        ends: Sequence[int] | None = None,
        weights: Sequence[int] | None = None,
        chunk: int = ...,
    ) -> Measured: ...
    @property
    def counts(self) -> _Counts: ...
    @property
    def id_counts(self) -> dict[int, int]: ...
    @property
    def lines(self) -> list[_Counts]: ...
    def shared_boundaries(self, other: Measured) -> int: ...

def resample_lines(
    models: Sequence[Sequence[Measured]], resamples: int, seed: int, threads: int
) -> list[list[_Counts]]: ...

@final
class IdWriter:
    """A text that comes in blocks, to its ids as they are written."""

    def __new__(
        cls,
        encoder: Encoder,
        matchers: Matchers | None,
        *,
        cuts: str,
        form: str | TokenNames,
        threads: int,
        last_id: int | None = None,
    ) -> IdWriter: ...
    def feed(
        self, block: bytes, last: bool = False, start: int = 0, end: int | None = None
    ) -> tuple[bytes, int, tuple[int, bytes] | None]: ...
    def ends(self) -> bytes: ...
    @property
    def waiting(self) -> int: ...

@final
class TokenNames:
    """What tokens are called, as a form of output has it."""

    def __new__(cls, names: Sequence[bytes], json: bool) -> TokenNames: ...

@final
class IdCollector:
    """Documents that come in blocks, to arrays of their ids."""

    def __new__(
        cls,
        encoder: Encoder,
        matchers: Matchers | None,
        *,
        cuts: str,
        threads: int,
        separator: int | None = None,
        bits: int = ...,
    ) -> IdCollector: ...
    def feed(self, block: bytes, last: bool = False) -> tuple[int, bytes] | None: ...
    def add(self, texts: Iterable[bytes]) -> None: ...
    def documents(self) -> int: ...
    def take(self) -> tuple[IdArray, bytes]: ...

def read_as_serde_json(text: str) -> float | None: ...
def texts_for_serde_json(numbers: list[float]) -> tuple[list[str | None], int]: ...

@final
class ModelFile:
    """The long lists of a `tokenizer.json`: tokens, merges, scores and counts."""

    @staticmethod
    def scan(data: bytes) -> ModelFile | None: ...
    @staticmethod
    def of(
        tokens: list[str | None],
        merges: list[list[int]],
        *,
        scores: list[float],
        scored: bool,
        columns: tuple[list[int] | None, ...],
    ) -> ModelFile: ...
    @property
    def rest(self) -> bytes: ...
    @property
    def is_scored(self) -> bool: ...
    def scores(self) -> list[float]: ...
    def take_scores_of_serde_json(self) -> None: ...
    def drop_repeated_merges(self) -> None: ...
    def drop_merges(self) -> None: ...
    def merges_go_on_with(self, mark: str) -> bool: ...
    def __len__(self) -> int: ...
    def id(self, token: str) -> int | None: ...
    def spelled(self, id: int) -> str: ...  # noqa: A002
    def fill(
        self, *, byte_level: bool, mark: str, size: int, reserved: list[tuple[str, int]]
    ) -> StoredModel: ...

@final
class RankFile:
    """Tokens with their ranks, in the order of these."""

    @staticmethod
    def scan(data: bytes) -> RankFile | None: ...
    @staticmethod
    def of(entries: list[tuple[bytes, int]]) -> RankFile: ...
    def __len__(self) -> int: ...
    def __contains__(self, key: int, /) -> bool: ...
    @property
    def end(self) -> int: ...
    def free(self, end: int) -> list[int]: ...
    def missing_byte(self) -> int | None: ...
    def fill(self, others: dict[int, bytes]) -> StoredModel: ...

@final
class StoredModel:
    """Tokens, merges, scores and counts, without an object for each."""

    def __len__(self) -> int: ...
    @property
    def lengths(self) -> dict[str, Any]: ...
    def token(self, id: int) -> bytes: ...  # noqa: A002
    def tokens(self) -> list[bytes]: ...
    def byte_tokens(self) -> list[int]: ...
    def merge_columns(self) -> tuple[list[int], ...]: ...
    def highest_merged(self) -> int | None: ...
    def scores(self) -> list[float]: ...
    def check_supermerges(self, supermerges: list[tuple[int, int, int]]) -> None: ...
    def token_counts(self) -> list[int]: ...
    def encoder(
        self,
        normalizers: _Parts,
        pre_tokenizers: _Parts,
        settings: _Settings,
        *,
        reserved_ids: frozenset[int],
        byte_fallback: bool,
    ) -> Encoder: ...
    def decoder(self, steps: list[dict[str, Any]], special: list[int]) -> Decoder: ...

@final
class Decoder:
    """`steps` are the decoders of the chain: their kinds are those of
    `tokctl.model.parts.DECODERS`, and `markers` (marker, text), and `join`."""

    def __new__(
        cls, steps: list[dict[str, Any]], tokens: list[bytes], special: list[bool]
    ) -> Decoder: ...
    def decode(self, ids: Iterable[int], skip_special: bool) -> bytes: ...
    def text(self, ids: Iterable[int], skip_special: bool, errors: str) -> str: ...
    def decode_tokens(self, tokens: list[bytes]) -> bytes: ...
    def lines(self, block: bytes, first_line: int, skip_special: bool) -> bytes: ...

@final
class FewestTokens:
    """Spells texts with as few tokens of a vocabulary as possible."""

    def __new__(cls, tokens: Sequence[bytes], *, byte_fallback: bool) -> FewestTokens: ...
    def counts(self, texts: Sequence[bytes], threads: int) -> list[int | None]: ...
    def lengths(self, text: bytes) -> list[int] | None: ...
    def across(
        self, encoder: Encoder, text: bytes, matchers: Matchers | None = None
    ) -> int | None: ...

def vocabulary_bound(
    texts: Sequence[bytes],
    counts: Sequence[int],
    *,
    symbols: str,
    budget: int,
    rounds: int,
    most_edges: int,
    threads: int,
    progress: Callable[[int], object] | None = None,
) -> tuple[int, bool, int, int]: ...

@final
class DecodeStream:
    def __new__(cls, decoder: Decoder, skip_special: bool) -> DecodeStream: ...
    def push(self, ids: Iterable[int]) -> bytes: ...
    def push_text(self, ids: int | Iterable[int]) -> str: ...
    def finish(self) -> bytes: ...
    def finish_text(self) -> str: ...
