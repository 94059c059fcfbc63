"""Charts built with Altair and drawn by vl-convert, for the page and as files.

Drawing needs no network. This module only names the charts; Altair and vl-convert are imported when
a chart is drawn.
"""

from __future__ import annotations

from importlib.util import find_spec

from tokctl.core.errors import Unsupported

#: Chart names of each command with their descriptions, the most useful first.
COMPARE = {
    "sweep": "tokens against vocabulary size, with several sizes",
    "languages": "tokens relative to the reference language, with languages",
    "relative": "metrics relative to the baseline, with two models or more",
    "lengths": "how long the tokens of the text are",
    "frequencies": "how often each token occurs, by rank",
    "texts": "tokens per word, text by text, with two texts or more",
}
INSPECT = {
    "vocabulary": "the vocabulary by length",
    "kinds": "the vocabulary by kind",
    "merges": "the count or score of each merge, where they are known",
    "loss": "the loss of a Unigram training, round by round",
    "scores": "the scores of a Unigram model's pieces",
    "lengths": "how long the tokens of the texts are, with texts",
    "frequencies": "how often each token of the texts occurs, with texts",
}


#: Modules that charts and pages need, with the packages that provide them.
_NEEDED = {"altair": "altair", "jinja2": "jinja2", "vl_convert": "vl-convert-python"}


def check_extra() -> None:
    """Check that the packages of the `report` extra are installed.

    Raises:
        TokctlError: a package is missing.
    """
    missing = [package for module, package in _NEEDED.items() if find_spec(module) is None]
    if missing:
        raise Unsupported(
            f"pages and charts need {' and '.join(missing)}",
            "pip install 'tokctl[report]'",
            "missing-package",
        )
