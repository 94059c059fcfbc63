"""`tokctl.compare`: the name under which the package offers the comparison."""

from __future__ import annotations

from tokctl.comparison import Comparison, compare

__all__ = ["Comparison", "compare"]
