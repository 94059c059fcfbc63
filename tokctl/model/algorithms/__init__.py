"""The algorithms, one per file; no other package compares their names."""

from tokctl.model.algorithms.algorithm import Algorithm
from tokctl.model.algorithms.boundless import BOUNDLESS
from tokctl.model.algorithms.bpe import BPE
from tokctl.model.algorithms.char import CHAR
from tokctl.model.algorithms.picky import PICKY
from tokctl.model.algorithms.scaffold import SCAFFOLD
from tokctl.model.algorithms.superbpe import SUPERBPE
from tokctl.model.algorithms.unigram import UNIGRAM
from tokctl.model.algorithms.word import WORD
from tokctl.model.algorithms.wordpiece import WORDPIECE

__all__ = ["ALGORITHMS", "Algorithm"]

#: Every algorithm by name, in display order.
ALGORITHMS = {
    one.name: one
    for one in (BPE, WORDPIECE, UNIGRAM, WORD, CHAR, SUPERBPE, BOUNDLESS, PICKY, SCAFFOLD)
}
