"""What goes with `--count`, and what does not."""

from __future__ import annotations

from collections.abc import Sequence

from tokctl.cli import options
from tokctl.errors import TokctlError

SORTS = ("tokens", "bytes", "name")


def check(
    models: Sequence[str] | None,
    *,
    count: bool,
    json: bool,
    csv: bool,
    sort: str | None,
    pad: str | None,
    pad_token: str | None,
    max_length: int | None,
    stride: int | None,
    sample: float | None,
    seed: int | None,
) -> None:
    """TokctlError where options of `--count` do not go together, or come without it."""
    if not count and models and len(models) > 1:
        raise TokctlError(
            "several models are for --count", "name one with -m, or add --count to count for all"
        )
    if not count:
        option = "--csv" if csv else "--sort"
        raise TokctlError(f"{option} is for --count", f"add --count, or leave {option} out")
    if csv and json:
        raise TokctlError("--csv and --json are two forms", "leave one of them out")
    if sort is not None:
        options.choose("--sort", sort, SORTS)
    if pad is not None:
        raise TokctlError("--count does not count padding", "leave --pad out")
    if pad_token is not None:
        raise TokctlError("--pad-token is for --pad", "leave --pad-token out")
    if stride is not None and max_length is None:
        raise TokctlError("--stride is for windows of --max-length", "add --max-length N")
    if sample is not None and stride is not None:
        raise TokctlError("--sample gives no windows", "leave --sample or --stride out")
    if seed is not None and sample is None:
        raise TokctlError("--seed is for --sample", "add --sample ALPHA")
