"""The algorithms, each in a file of its own: the one place that knows them by name."""

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

#: Every algorithm by its name, in the order in which they are listed.
ALGORITHMS = {
    one.name: one
    for one in (BPE, WORDPIECE, UNIGRAM, WORD, CHAR, SUPERBPE, BOUNDLESS, PICKY, SCAFFOLD)
}
