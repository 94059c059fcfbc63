"""The native core. Private: use `tokctl.Tokenizer`. What is computed is documented in
`native/core`; all offsets and lengths are bytes."""

from collections.abc import Callable, Sequence
from typing import final

__all__ = [
    "NO_ID",
    "REGEX_RELEASE",
    "CoreError",
    "Counter",
    "Counts",
    "Decoder",
    "Encoder",
    "SpecialTokens",
    "Training",
    "last_cut",
    "normalize",
    "pre_tokens",
    "train",
]

NO_ID: int
REGEX_RELEASE: str

class CoreError(ValueError):
    """Its arguments are (message, kind, details)."""

@final
class Counter:
    def __new__(cls, pre_tokenizer: str, normalizers: list[str], threads: int) -> Counter: ...
    def feed(self, block: bytes) -> None: ...
    def end_document(self) -> None: ...
    def add(self, pre_token: bytes, count: int) -> None: ...
    def finish(self, min_count: int) -> Counts: ...

@final
class Counts:
    def __len__(self) -> int: ...
    def total(self) -> int: ...
    def items(self) -> list[tuple[bytes, int]]: ...

@final
class Training:
    @property
    def tokens(self) -> list[bytes]: ...
    @property
    def merges(self) -> list[tuple[int, int, int, int, int, int]]: ...
    @property
    def alphabet_end(self) -> int: ...
    @property
    def exhausted(self) -> bool: ...

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
    progress: Callable[[int], None] | None,
) -> Training: ...
def normalize(names: list[str], text: bytes) -> bytes: ...
def last_cut(name: str, text: bytes, from_: int) -> int | None: ...
def pre_tokens(name: str, text: bytes) -> list[tuple[int, int]]: ...

@final
class SpecialTokens:
    def __new__(cls, tokens: list[tuple[bytes, int]]) -> SpecialTokens: ...
    def find(self, text: bytes) -> list[tuple[int, int, int]]: ...

@final
class Encoder:
    def __new__(
        cls,
        *,
        normalizers: list[str],
        pre_tokenizer: str,
        segmentation: str,
        units: str,
        marker: tuple[str, str],
        tokens: list[tuple[bytes, int]],
        merges: Sequence[tuple[int, ...]],
        unknown_id: int | None,
        unknown: str,
        max_input_chars: int | None,
    ) -> Encoder: ...
    def ids(self, text: bytes, special: SpecialTokens | None = None) -> list[int]: ...
    def batch(
        self, texts: list[bytes], threads: int, special: SpecialTokens | None
    ) -> list[list[int]]: ...
    def packed(
        self, text: bytes, width: int, special: SpecialTokens | None
    ) -> tuple[bytes, int]: ...
    def tokens(self, text: bytes) -> tuple[list[int], list[int], list[int], list[int]]: ...
    def tokens_of(
        self, text: bytes, pre_tokens: list[tuple[int, int]]
    ) -> tuple[list[int], list[int], list[int], list[int]]: ...
    def measure(
        self, text: bytes, pre_tokens: list[tuple[int, int]] | None, unknown_id: int | None
    ) -> tuple[tuple[int, int, int], tuple[int, int], tuple[int, int, list[int]]]: ...
    def lines(
        self, block: bytes, special: SpecialTokens | None
    ) -> tuple[bytes, int, int | None]: ...
    def pre_tokens(self, text: bytes) -> tuple[bytes, list[tuple[int, int]]]: ...
    def replay(self, pre_token: bytes, steps: int) -> tuple[list[int], list[int], list[int]]: ...

@final
class Decoder:
    def __new__(
        cls, marker: tuple[str, str], tokens: list[bytes], special: list[bool]
    ) -> Decoder: ...
    def decode(self, ids: list[int], skip_special: bool) -> bytes: ...
    def decode_tokens(self, tokens: list[bytes]) -> bytes: ...
    def lines(self, block: bytes, first_line: int, skip_special: bool) -> bytes: ...
