"""The algorithms, one class each; no other package compares their names."""

from tokctl.model.algorithms.algorithm import Algorithm
from tokctl.model.algorithms.boundless import BoundlessBpe
from tokctl.model.algorithms.bpe import Bpe
from tokctl.model.algorithms.frequency import CharacterLevel, WordLevel
from tokctl.model.algorithms.picky import PickyBpe
from tokctl.model.algorithms.scaffold import ScaffoldBpe
from tokctl.model.algorithms.superbpe import SuperBpe
from tokctl.model.algorithms.unigram import Unigram
from tokctl.model.algorithms.wordpiece import WordPiece

__all__ = ["ALGORITHMS", "Algorithm"]

_CLASSES: tuple[type[Algorithm], ...] = (
    Bpe,
    WordPiece,
    Unigram,
    WordLevel,
    CharacterLevel,
    SuperBpe,
    BoundlessBpe,
    PickyBpe,
    ScaffoldBpe,
)
#: Every algorithm by name, in display order.
ALGORITHMS: dict[str, Algorithm] = {one.name: one() for one in _CLASSES}
