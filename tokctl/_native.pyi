"""The native core, a private module: use `tokctl.Tokenizer` instead.

The Rust crate in `native/core` documents the computations. Offsets and lengths are in bytes,
unless a docstring says otherwise.
"""

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
    "Stepper",
    "StoredModel",
    "TextColumn",
    "Training",
    "UnigramTraining",
    "alphabet_of",
    "collect_counts",
    "framed",
    "ids_from_bytes",
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

#: Limits of an alphabet: (coverage as numerator and denominator, most characters, initial
#: characters).
_Limits: TypeAlias = tuple[tuple[int, int] | None, int | None, str]

#: Steps of a pipeline: each is `{"kind": …}` with its options, or the name of a kind without
#: options. For pre-tokenizers, a name alone is a list with one step.
_Parts: TypeAlias = str | Sequence[str | dict[str, Any]]
#: Settings of the segmentation: segmentation, units, marker, user_defined, fuse_unknown,
#: whole_words, precision, unknown_id, unknown, max_input_chars, events, supermerges. See
#: `tokctl.model.Recipe`.
_Settings: TypeAlias = dict[str, Any]
#: An Arrow buffer, which nobody writes to.
_Memory: TypeAlias = bytes | memoryview
#: A function that returns the bytes of a text with lone surrogates, or that is not UTF-8.
_Otherwise: TypeAlias = Callable[[str | bytes], bytes]
#: (start, end) of ranges.
_Ranges: TypeAlias = list[tuple[int, int]]
#: (left, right, count, left count, right count, reason why it may not be merged) of a pair.
_PairRow: TypeAlias = tuple[int, int, int, int, int, str | None]
#: A round of a Unigram training: (pieces, objective, tokens, unused, dropped, [(text, loss)]).
_RoundRow: TypeAlias = tuple[int, float, int, int, int, list[tuple[bytes, float | None]]]

LEAST_CACHE_MEMORY: int
NO_ID: int
REGEX_RELEASE: str

class _Scratch(Protocol):
    """A temporary file for counting within a limit of memory."""

    def append(self, data: bytes, /) -> None:
        """Append bytes to the file."""
    def read(self, at: int, size: int, /) -> bytes:
        """Return `size` bytes from offset `at`."""

class _Store(Protocol):
    """A provider of temporary files."""

    def scratch(self) -> _Scratch:
        """Create a temporary file."""

@final
class Counter:
    """Counts pre-tokens, or with `words` runs of words, in documents that arrive in blocks."""

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
    def feed_counts(self, counts: Counts) -> None:
        """Count each pre-token of `counts` as a document, as often as its count."""
    def end_document(self) -> None: ...
    def go_on(self) -> None:
        """Continue a document whose beginning, up to a `cut`, another counter has."""
    def end_part(self) -> None:
        """End a text whose document another counter continues."""
    def cut(self, text: bytes) -> int | None:
        """Return the first byte where two counters can divide a document; None: no such byte."""
    def add(self, pre_token: bytes, count: int) -> None:
        """Add a pre-token that the caller has split and counted."""
    def set_weight(self, weight: int) -> None: ...
    def take(self) -> Counts:
        """Return the counts so far, and continue without them."""
    def memory(self) -> int:
        """Return the bytes of memory that the tables need."""
    def finish(
        self, min_count: int, progress: Callable[[int, int], None] | None = None
    ) -> Counts: ...

@final
class RunWords:
    """Words whose runs BoundlessBPE counts: tokens from `first` on that are whole pre-tokens."""

    def __new__(cls, training: Training, first: int) -> RunWords: ...

def last_words(names: list[str]) -> None:
    """Set the files to delete if the process runs out of memory and has to end at once."""

def framed(texts: Sequence[bytes], counts: Sequence[int] | None = None) -> bytes:
    """Return documents as one unambiguous byte stream, for a digest."""

def collect_counts(
    stretches: Iterable[Sequence[tuple[TextColumn, _Memory, _Memory, _Memory]]],
    pre_tokens: int,
    size: int,
) -> Counts:
    """Collect tables of counts that arrive in groups, each with the next range of places."""

def merge_counts(
    tables: Sequence[tuple[TextColumn, _Memory, _Memory, _Memory]],
) -> tuple[Counts, bytes, bytes]:
    """Merge tables of counts; return the counts, and each pre-token's first source and place."""

@final
class TextColumn(Sequence[bytes]):
    """A sequence of texts in an Arrow buffer. A writable buffer is copied.

    `offsets` have 32 bits, or 64 with `wide`. The first of the `count` texts has number `start`.
    """

    def __new__(
        cls, data: _Memory, offsets: _Memory, start: int, count: int, wide: bool
    ) -> TextColumn: ...
    def chosen(self, numbers: _Memory) -> TextColumn:
        """Return the texts with these 64-bit numbers, without copying them."""
    @property
    def size(self) -> int:
        """The bytes of all texts together."""
    def batches(self, size: int) -> list[TextColumn]:
        """Divide the texts into columns of at most `size` bytes, or of one text."""
    def first_not_utf8(self) -> int | None:
        """Return the number of the first text that is not UTF-8."""
    def parts(self, parts: int) -> list[bytes]:
        """Return the 64-bit numbers of the texts in each of `parts` parts, by their hash."""
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[bytes]: ...
    @overload
    def __getitem__(self, index: int, /) -> bytes: ...
    @overload
    def __getitem__(self, index: slice, /) -> TextColumn: ...

@final
class Counts:
    """Distinct pre-tokens with their counts, in first-seen order."""

    def __len__(self) -> int: ...
    def total(self) -> int: ...
    def memory(self) -> int:
        """Return the bytes of memory that the counts need."""
    def items(self) -> list[tuple[bytes, int]]: ...
    def columns(self) -> tuple[bytes, bytes, bytes]:
        """Return all pre-tokens end to end, their offsets, and their counts, in 64 bits."""
    def at_least(self, least: int) -> Counts:
        """Return the pre-tokens with a count of at least `least`."""
    def first_not_utf8(self) -> bytes | None:
        """Return the first pre-token that is not UTF-8."""
    def to_lines(self, start: int = 0, stop: int | None = None) -> bytes:
        """Return pre-tokens `start` to `stop` as lines `word<TAB>count`."""

@final
class CountLines:
    """Reads lines `word<TAB>count` into a `Counter`; with `characters`, words must be UTF-8."""

    def __new__(cls, characters: bool) -> CountLines: ...
    def feed(self, block: bytes, counter: Counter) -> None: ...
    def end(self, counter: Counter) -> None: ...

@final
class LineSampler:
    """Keeps a random share of the lines of documents, drawn with `seed`."""

    def __new__(cls, share: tuple[int, int], seed: int) -> LineSampler: ...
    def keep(self, block: bytes) -> bytes:
        """Return the bytes of a block that are in kept lines."""
    def choose(self, documents: int) -> list[bool]:
        """Return for each document whether it is kept as a whole."""
    def end_document(self) -> None: ...

@final
class Utf8Check:
    """Looks for bytes that are not UTF-8: (line, from 1; byte, from 0) of the first, or None."""

    def __new__(cls) -> Utf8Check: ...
    def feed(self, block: bytes) -> tuple[int, int] | None: ...
    def end(self) -> tuple[int, int] | None: ...

@final
class Training:
    """The result of a BPE or WordPiece training."""

    @property
    def model(self) -> StoredModel: ...
    @property
    def initial_merges(self) -> int:
        """The number of merges that make the initial tokens; they come first."""
    @property
    def alphabet_end(self) -> int:
        """One more than the highest id of the alphabet."""
    @property
    def exhausted(self) -> bool:
        """Whether the text had too few pairs for the vocabulary size."""
    @property
    def events(
        self,
    ) -> tuple[list[bytes], list[tuple[int, ...]], list[tuple[int, int, int, int]]] | None:
        """Removed tokens, merges and removals of a training that removes tokens."""

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
) -> Training:
    """Train BPE or WordPiece."""

@final
class ParityTraining:
    """The result of a parity-aware BPE training; lists are by language."""

    @property
    def training(self) -> Training: ...
    @property
    def chosen(self) -> list[int]:
        """The language that chose each merge after the global merges."""
    @property
    def global_merges(self) -> int: ...
    @property
    def pre_tokens(self) -> int:
        """The number of distinct pre-tokens in all training texts."""
    @property
    def before(self) -> list[int]:
        """The number of tokens in the measured text before the first merge."""
    @property
    def after(self) -> list[int]:
        """The number of tokens in the measured text after the last merge."""
    @property
    def lengths(self) -> list[int]:
        """The length of the measured text, in the unit of `measure`."""

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
) -> ParityTraining:
    """Train parity-aware BPE.

    `global_merges` is a number, or a share with its denominator. `window` is the size of the
    window, and the limit as numerator and denominator.
    """

@final
class Stepper:
    """A training by merges on counted pre-tokens ("words"), at one of its steps.

    `encoder` gives the initial symbols, `merges` are rows of (left, right, token). `rules` decide
    between pairs: criterion, ties, units, marker, special_tokens, initial_alphabet, min_frequency,
    max_token_length, max_words, forbidden, whole_characters.
    """

    def __new__(
        cls,
        encoder: Encoder,
        counts: Sequence[tuple[bytes, int]],
        tokens: Sequence[bytes],
        merges: Sequence[tuple[int, int, int]],
        rules: dict[str, Any],
        *,
        keeps_scan_order: bool,
    ) -> Stepper: ...
    @property
    def step(self) -> int:
        """The number of merges made."""
    def goto(self, step: int) -> None:
        """Go to the state after `step` merges."""
    @property
    def symbols(self) -> int:
        """The weighted number of symbols, including those without an id."""
    @property
    def distinct_pairs(self) -> int:
        """The number of distinct pairs."""
    @property
    def unknown_pairs(self) -> int:
        """The weighted number of neighbours of which one has no id."""
    def rewritten(self) -> list[int]:
        """Return the numbers of the words that the last merge rewrote, ascending."""
    def scan_order(self) -> list[int]:
        """Return the numbers of the words in the order in which the tie rule scans them."""
    def leading(self, limit: int) -> tuple[list[_PairRow], _PairRow | None, int]:
        """Return the best pairs, the pair that would merge, and how many tie with that pair.

        Rare pairs are left out.
        """
    def all_pairs(self) -> list[_PairRow]:
        """Return all pairs in the order that the training prefers."""
    def pair(self, left: int, right: int) -> tuple[_PairRow, int] | None:
        """Return a pair and the number of pairs of a higher score; None if it does not occur."""

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
) -> tuple[list[bytes], list[int], bool]:
    """Train a word or character model: tokens by id, their counts, and whether none were left."""

def alphabet_of(counts: Counts, *, limits: _Limits) -> str:
    """Return the characters that get an id, by code point."""

@final
class UnigramTraining:
    """The result of a Unigram training."""

    @property
    def pieces(self) -> list[tuple[bytes, float]]:
        """Pieces with their scores, by descending score, then text."""
    @property
    def rounds(self) -> list[_RoundRow]: ...
    @property
    def alphabet_size(self) -> int:
        """The number of pieces that are single characters."""
    @property
    def exhausted(self) -> bool:
        """Whether fewer pieces than requested were found."""

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
) -> UnigramTraining:
    """Train a Unigram model."""

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
) -> tuple[Training, list[tuple[int, int, int, int, int, int]]]:
    """Train the second phase of BoundlessBPE; return both phases and the supermerges.

    A supermerge is (left, right, token, count, left count, right count).
    """

def chars_map_named(name: str) -> bytes:
    """Return the `precompiled_charsmap` of SentencePiece's rules with this name."""

def compile_chars_map(rules: dict[str, str]) -> bytes:
    """Return the `precompiled_charsmap` of rules, each a text and its replacement."""

def normalize(parts: _Parts, text: bytes) -> bytes:
    """Return the normalized text."""

def normalize_aligned(parts: _Parts, text: bytes) -> tuple[bytes, _Ranges]:
    """Return the normalized text, and for each of its bytes the range in the given text."""

def scripts_of(text: str) -> list[str]:
    """Return the names of the scripts of the text's characters."""

def pre_tokens(parts: _Parts, text: bytes) -> _Ranges:
    """Return the ranges of the pre-tokens; an error if a step changes the text."""

def pre_tokenize(parts: _Parts, text: bytes) -> tuple[bytes, _Ranges, _Ranges]:
    """Return the rewritten text, and the pre-tokens' ranges in it and in the given text."""

@final
class Matchers:
    """The added tokens that an encoder looks for in texts.

    Each of `tokens` is (text, id, (single word, strip left, strip right, longest first),
    (normalized, literal), refused).
    """

    def __new__(
        cls,
        encoder: Encoder,
        tokens: list[tuple[bytes, int, tuple[bool, bool, bool, bool], tuple[bool, bool], bool]],
    ) -> Matchers: ...

@final
class IdArray:
    """A read-only array of ids, as returned by `Tokenizer.encode_array`.

    The array has the buffer protocol (format `I`, or `H` for 16 bits; one dimension). Slices are
    arrays, too. An array equals an array or a list of the same ids.
    """

    def __new__(cls, ids: Iterable[int]) -> IdArray: ...
    def tolist(self) -> list[int]: ...
    def wrapped(
        self, offsets: bytes, before: list[int], behind: list[int], most: int, last: bool
    ) -> tuple[IdArray, bytes]:
        """Cut the ids of each text to `most`, with `before` and `behind` around them.

        `offsets` divide the ids into texts. With `last` the last ids stay, otherwise the first.
        """
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[int]: ...
    @overload
    def __getitem__(self, index: int, /) -> int: ...
    @overload
    def __getitem__(self, index: slice, /) -> IdArray: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
    def __copy__(self) -> IdArray: ...
    def __deepcopy__(self, _memo: Any) -> IdArray: ...

def ids_from_bytes(data: bytes, bits: int = ...) -> IdArray:
    """Return the array of little-endian ids of 16 or 32 bits."""

class _Tokenizer(Protocol):
    @property
    def tokens(self) -> Sequence[str | None]:
        """The list of the texts of all ids; None if the text of an id depends on the input."""
    def token_names(self, tokens: TextTokens, start: int, stop: int, /) -> list[str]:
        """Return the texts of tokens `start` to `stop`, some of which `tokens` lacks."""
    def as_bytes(self, text: str | bytes, /) -> bytes:
        """Return the bytes of a text that has lone surrogates or is not UTF-8."""

@final
class TextTokens:
    """The tokens of a text: ids at once; spans are computed when they are first read."""

    def __len__(self) -> int: ...
    @property
    def has_all_ids(self) -> bool: ...
    @property
    def text(self) -> str | bytes: ...
    def column(self, name: str, start: int, stop: int) -> list[Any]:
        """Return a column of `tokctl.Encoding` for tokens `start` to `stop`.

        The texts in `tokens` are those of the tokenizer's list `tokens`. If one is not there, its
        `token_names` makes all of them.
        """

def trim_offsets(
    offsets: list[tuple[int, int]], tokens: list[str], prefix_space: bool, begins: bool
) -> list[tuple[int, int]]:
    """Return offsets without the spaces that byte-level tokens start and end with.

    With `prefix_space`, one leading space of a first token stays. `begins`: the first token is the
    first of its encoding.
    """

@final
class Encoder:
    """Encodes texts; safe to use from several threads.

    `tokens` are the ordinary tokens with their ids, `merges` rows of (left, right, token), `scores`
    are by id, and `byte_ids` are the ids of `<0x00>` to `<0xFF>`. `otherwise` is called with texts
    that have lone surrogates or are not UTF-8, and returns their bytes. With `strict`, a character
    without an id is an error. Offsets are 64-bit numbers in the processor's byte order.
    """

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
    ) -> IdArray:
        """Encode one text into an array; threads encode chunks of `chunk` bytes."""
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
    ) -> tuple[IdArray, bytes]:
        """Encode texts into one array, with the offsets where the ids of each begin."""
    def rows(
        self,
        texts: Iterable[bytes],
        threads: int,
        matchers: Matchers | None,
        form: str | TokenNames,
        last_id: int | None = None,
    ) -> tuple[bytes, bytes, int | None]:
        """Encode documents in the form of `IdWriter`, each followed by `last_id`.

        Returns the bytes, the number of ids up to the end of each document (64 bits), and the first
        document with a character that has no id.
        """
    def tokens(
        self, text: bytes, matchers: Matchers | None = None
    ) -> tuple[list[int], list[int], list[int], list[int]]:
        """Return ids, starts, ends and pre-token numbers of the tokens."""
    def encode(
        self,
        text: str | bytes,
        tokenizer: _Tokenizer,
        matchers: Matchers | None = None,
        strict: bool = False,
    ) -> TextTokens:
        """Return the tokens of a text; only their ids are computed now."""
    def encode_batch(
        self,
        texts: list[Any],
        tokenizer: _Tokenizer,
        threads: int,
        matchers: Matchers | None = None,
        strict: bool = False,
    ) -> list[TextTokens]:
        """Return the tokens of many texts, as `encode` does of one."""
    def cuts(self, texts: Iterable[bytes], matchers: Matchers | None, threads: int) -> list[int]:
        """Return a mask of the bytes where tokens begin or end, for texts of up to 127 bytes."""
    cache_memory: int
    def cache_stats(self) -> tuple[int, int]:
        """Return the number of cached pre-tokens, and their bytes."""
    def pre_tokens(
        self, text: bytes, matchers: Matchers | None = None
    ) -> tuple[bytes, _Ranges, _Ranges, list[int | None]]:
        """Return the rewritten text, pre-token ranges in it and in the given text, added ids."""
    def replay(self, pre_token: bytes, steps: int) -> tuple[list[int], list[int], list[int]]:
        """Return ids, lengths and ranks of a pre-token after the first `steps` merges."""
    def supermerge_steps(self, words: list[int]) -> list[int]:
        """Return the ranks of the supermerges in a sequence of words, in order."""
    def made(self, tokens: list[tuple[bytes, int]]) -> list[tuple[int, int, int]]:
        """Return the merges that are ever applied, as (left, right, token), by rank."""
    def nbest(self, pre_token: bytes, n: int) -> list[tuple[list[int], list[int], float]]:
        """Return the `n` best segmentations of a pre-token: ids, lengths, score."""
    def total(self, pre_token: bytes) -> float:
        """Return the logarithm of the summed probability of all segmentations."""
    def sample(
        self, text: bytes, ranges: _Ranges, alpha: float, nbest_size: int, seed: int
    ) -> list[tuple[list[int], list[int]]]:
        """Draw a segmentation of each pre-token: its ids and lengths."""

#: Numbers of bytes, characters, spaces, words, whole words, split words, tokens, unknown tokens,
#: lines, and lines that decode to the same text.
_Counts = list[int]

@final
class Measured:
    """The counts of a text for the metrics."""

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
    ) -> Measured:
        """Measure a text. `ends` are the ends of its documents, `weights` how often each counts."""
    @property
    def counts(self) -> _Counts: ...
    @property
    def id_counts(self) -> dict[int, int]:
        """The number of occurrences of each id."""
    @property
    def lines(self) -> list[_Counts]:
        """The counts of each line, without weights; measured only with `lines`."""
    def shared_boundaries(self, other: Measured) -> int:
        """Return how many boundaries inside words both models have."""

def resample_lines(
    models: Sequence[Sequence[Measured]], resamples: int, seed: int, threads: int
) -> list[list[_Counts]]:
    """Return the counts of each model for each resample of the lines, summed over its lines."""

@final
class IdWriter:
    """Encodes a text that arrives in blocks into ids in the form in which they are written.

    `cuts` is `lines`, `pieces` or `nowhere`; `form` is `decimal`, `16`, `32`, `counted` or names.
    `last_id` is added after each line, or after the text.
    """

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
    ) -> tuple[bytes, int, tuple[int, bytes] | None]:
        """Encode `block[start:end]`; return bytes, number of tokens, first text without an id."""
    def ends(self) -> bytes:
        """Return the number of ids up to the end of each line of the last `feed`, in 64 bits."""
    @property
    def waiting(self) -> int:
        """The number of bytes that were fed and are not yet encoded."""

@final
class TokenNames:
    """The names of all tokens by id, as written; with `json` as JSON strings."""

    def __new__(cls, names: Sequence[bytes], json: bool) -> TokenNames: ...

@final
class IdCollector:
    """Encodes documents that arrive in blocks into arrays of ids.

    `cuts` is `lines` or `pieces`; `separator` is added after each document.
    """

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
    def feed(self, block: bytes, last: bool = False) -> tuple[int, bytes] | None:
        """Take the next block of a document; return the first line without an id."""
    def add(self, texts: Iterable[bytes]) -> None:
        """Take whole documents."""
    def documents(self) -> int:
        """Return the number of complete documents that were not taken yet."""
    def take(self) -> tuple[IdArray, bytes]:
        """Return the ids of the complete documents, and their offsets."""

def read_as_serde_json(text: str) -> float | None:
    """Return the number that Rust's serde_json reads; None if too large."""

def texts_for_serde_json(numbers: list[float]) -> tuple[list[str | None], int]:
    """Return texts for numbers that serde_json misreads, and how many have none."""

@final
class ModelFile:
    """The long lists of a `tokenizer.json`: tokens, merges, scores and counts."""

    @staticmethod
    def scan(data: bytes) -> ModelFile | None:
        """Read a file; None if it is not in the form that libraries write."""
    @staticmethod
    def of(
        tokens: list[str | None],
        merges: list[list[int]],
        *,
        scores: list[float],
        scored: bool,
        columns: tuple[list[int] | None, ...],
    ) -> ModelFile:
        """Create the lists from tokens, and columns of ids of the merges."""
    @property
    def rest(self) -> bytes:
        """The JSON with null in place of the long lists."""
    @property
    def is_scored(self) -> bool:
        """Whether the vocabulary has scores."""
    def scores(self) -> list[float]: ...
    def take_scores_of_serde_json(self) -> None:
        """Replace the scores by those that serde_json reads."""
    def drop_repeated_merges(self) -> None:
        """Remove every merge that occurs again later."""
    def drop_merges(self) -> None: ...
    def merges_go_on_with(self, mark: str) -> bool:
        """Return whether the right side of every merge begins with `mark`."""
    def __len__(self) -> int: ...
    def id(self, token: str) -> int | None: ...
    def spelled(self, id: int) -> str:  # noqa: A002
        """Return the token of an id as the file spells it."""
    def fill(
        self, *, byte_level: bool, mark: str, size: int, reserved: list[tuple[str, int]]
    ) -> StoredModel:
        """Return the model, once. `reserved` are tokens that are spelled literally, with ids."""

@final
class RankFile:
    """Tokens with their ranks, in the order of the ranks."""

    @staticmethod
    def scan(data: bytes) -> RankFile | None:
        """Read a file; None if it has to be read in another way."""
    @staticmethod
    def of(entries: list[tuple[bytes, int]]) -> RankFile:
        """Create the list from tokens with ranks, all different."""
    def __len__(self) -> int: ...
    def __contains__(self, key: int, /) -> bool: ...
    @property
    def end(self) -> int:
        """One more than the highest rank."""
    def free(self, end: int) -> list[int]:
        """Return the numbers below `end` that are no token's rank."""
    def missing_byte(self) -> int | None:
        """Return the lowest byte that is not a token."""
    def fill(self, others: dict[int, bytes]) -> StoredModel:
        """Return the model; `others` are tokens by id whose ids are not ranks."""

@final
class StoredModel:
    """Tokens, merges, scores and counts, without a Python object for each."""

    def __len__(self) -> int: ...
    @property
    def lengths(self) -> dict[str, Any]:
        """The number of merges, of counts in each column, of scores and of token counts."""
    def token(self, id: int) -> bytes: ...  # noqa: A002
    def tokens(self) -> list[bytes]: ...
    def byte_tokens(self) -> list[int]:
        """Return the ids of `<0x00>` to `<0xFF>` that the vocabulary has."""
    def merge_columns(self) -> tuple[list[int], ...]:
        """Return the columns left, right, token, and three counts (0: unknown)."""
    def highest_merged(self) -> int | None:
        """Return the highest id in a merge."""
    def scores(self) -> list[float]: ...
    def check_supermerges(self, supermerges: list[tuple[int, int, int]]) -> None:
        """Check that the tokens can have these supermerges."""
    def token_counts(self) -> list[int]: ...
    def encoder(
        self,
        normalizers: _Parts,
        pre_tokenizers: _Parts,
        settings: _Settings,
        *,
        reserved_ids: frozenset[int],
        byte_fallback: bool,
    ) -> Encoder:
        """Return an encoder; `reserved_ids` are never made from ordinary text."""
    def decoder(self, steps: list[dict[str, Any]], special: list[int]) -> Decoder:
        """Return a decoder; `special` are the ids of the special tokens."""

@final
class Decoder:
    """Decodes ids to text.

    `steps` are the decoders of the chain: the kinds in `tokctl.model.parts.DECODERS`, `markers`
    (marker, text), and `join`.
    """

    def __new__(
        cls, steps: list[dict[str, Any]], tokens: list[bytes], special: list[bool]
    ) -> Decoder: ...
    def decode(self, ids: Iterable[int], skip_special: bool) -> bytes: ...
    def text(self, ids: Iterable[int], skip_special: bool, errors: str) -> str: ...
    def decode_tokens(self, tokens: list[bytes]) -> bytes: ...
    def lines(self, block: bytes, first_line: int, skip_special: bool) -> bytes:
        """Decode lines of decimal ids; `first_line` is the number of the first, for errors."""

@final
class FewestTokens:
    """Finds the fewest tokens of a vocabulary that spell a text."""

    def __new__(cls, tokens: Sequence[bytes], *, byte_fallback: bool) -> FewestTokens: ...
    def counts(self, texts: Sequence[bytes], threads: int) -> list[int | None]:
        """Return the number of tokens of each text; None if no tokens spell it."""
    def lengths(self, text: bytes) -> list[int] | None:
        """Return the lengths of the tokens in bytes."""
    def across(self, encoder: Encoder, text: bytes, matchers: Matchers | None = None) -> int | None:
        """Return the number of tokens of a document if they may cross pre-tokens."""

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
) -> tuple[int, bool, int, int]:
    """Return a lower bound for all vocabularies of a size; see `VocabularyBound` in the core."""

@final
class DecodeStream:
    """Decodes a stream of ids; a piece of text never ends inside a character."""

    def __new__(cls, decoder: Decoder, skip_special: bool) -> DecodeStream: ...
    def push(self, ids: Iterable[int]) -> bytes: ...
    def push_text(self, ids: int | Iterable[int]) -> str: ...
    def finish(self) -> bytes: ...
    def finish_text(self) -> str: ...
