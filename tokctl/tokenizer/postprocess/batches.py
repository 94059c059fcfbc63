"""The ids of a batch, without their places: cut, put between special tokens, filled up."""

from __future__ import annotations

from collections.abc import Mapping

from tokctl.tokenizer.postprocess.padding import Padding
from tokctl.tokenizer.postprocess.processor import PostProcessor
from tokctl.tokenizer.postprocess.truncation import Truncation


def finish_ids(
    batch: list[list[int]],
    processor: PostProcessor,
    special_ids: Mapping[str, int],
    *,
    add_special: bool = False,
    truncation: Truncation | int | None = None,
    padding: Padding | int | None = None,
) -> list[list[int]]:
    """The ids of each text as `Tokenizer.encode` would give them with these options; a number
    is a length."""
    if add_special or truncation is not None:
        cut = Truncation(truncation) if isinstance(truncation, int) else truncation
        process = processor.process_ids
        batch = [process(ids, add_special=add_special, truncation=cut) for ids in batch]
    if padding is not None:
        wanted = Padding(padding) if isinstance(padding, int) else padding
        known = wanted.with_id(special_ids)
        target = known.target([len(ids) for ids in batch])
        batch = [known.pad_ids(ids, target) for ids in batch]
    return batch
