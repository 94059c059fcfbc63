"""Values of options that the code knows; each is looked up only when it is needed."""

from collections.abc import Iterable

#: Forms of `encode --as` that are lines of text; `tokctl.idfiles.BINARY_FORMS` has the others.
LINE_FORMS = ("ids", "tokens", "pieces", "jsonl")


def presets() -> Iterable[str]:
    """Return the names of presets."""
    from tokctl.model.presets import PRESETS

    return PRESETS


def algorithms() -> Iterable[str]:
    """Return the names of algorithms."""
    from tokctl.model import ALGORITHMS

    return ALGORITHMS


def algorithms_and_presets() -> Iterable[str]:
    """Return the names of algorithms and presets."""
    return dict.fromkeys((*algorithms(), *presets()))


def tie_breaks() -> Iterable[str]:
    """Return the names of tie rules."""
    from tokctl.model import TIE_BREAKS

    return TIE_BREAKS


def normalizers() -> Iterable[str]:
    """Return the names of normalizers, and `none`."""
    from tokctl.model.parts import NORMALIZERS

    return ("none", *NORMALIZERS.names())


def pre_tokenizers() -> Iterable[str]:
    """Return the names of pre-tokenizers, and `none`."""
    from tokctl.model.parts import PRE_TOKENIZERS

    return ("none", *PRE_TOKENIZERS.names())


def decoders() -> Iterable[str]:
    """Return the names of decoders, and `none`."""
    from tokctl.model.parts import DECODERS

    return ("none", *DECODERS.names())


def forms() -> Iterable[str]:
    """Return the output forms of `encode`."""
    from tokctl.idfiles import BINARY_FORMS

    return (*LINE_FORMS, *BINARY_FORMS)


def id_forms() -> Iterable[str]:
    """Return the forms of ids that `decode` reads."""
    from tokctl.idfiles.reader import INPUT_FORMS

    return INPUT_FORMS


def id_dtypes() -> Iterable[str]:
    """Return the number types of ids."""
    from tokctl.idfiles.dtypes import DTYPES

    return DTYPES


def sources() -> Iterable[str]:
    """Return the formats of texts."""
    from tokctl.sources.document import FORMATS

    return FORMATS


def model_formats() -> Iterable[str]:
    """Return the names of model formats that are written."""
    from tokctl.formats import FORMATS

    return (known.name for known in FORMATS if known.writes)


def metrics() -> Iterable[str]:
    """Return the names of metrics, and `all`."""
    from tokctl.analysis.metrics import DEFINITIONS
    from tokctl.analysis.suite_metrics import DEFINITIONS as OF_SUITE

    return ("all", *DEFINITIONS, *OF_SUITE)


def comparison_charts() -> Iterable[str]:
    """Return the charts of `compare`, and `list`."""
    from tokctl.report.charts import COMPARE

    return ("list", *COMPARE)


def model_charts() -> Iterable[str]:
    """Return the charts of `inspect`, and `list`."""
    from tokctl.report.charts import INSPECT

    return ("list", *INSPECT)


def exercises() -> Iterable[str]:
    """Return the numbers of the exercises."""
    from tokctl.extras.course.exercises import EXERCISES

    return EXERCISES


def corpora() -> Iterable[str]:
    """Return the names of corpora."""
    from tokctl.sources.corpora import list_corpora

    return (corpus.name for corpus in list_corpora())


def commands() -> Iterable[str]:
    """Return the names of commands."""
    from tokctl.cli.command import COMMANDS

    return COMMANDS


def candidates() -> Iterable[str]:
    """Return the algorithms and presets that `recommend` tries."""
    from tokctl.extras.recommend.candidates import CANDIDATES

    return (*dict.fromkeys(one.recipe.algorithm for one in CANDIDATES.values()), *CANDIDATES)
