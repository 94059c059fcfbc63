"""The values of options whose help does not list them all; each from where the code has them."""

from __future__ import annotations

from collections.abc import Callable, Iterable


def of(command: str, names: Iterable[str]) -> tuple[str, ...]:
    """All values of an option (or, by its metavar, an argument) of a command; empty where it
    takes others, too, or its metavar says them."""
    for name in names:
        for key in ((command, name), ("", name)):
            if key in _VALUES:
                return tuple(_VALUES[key]())
    return ()


def _presets() -> Iterable[str]:
    from tokctl.model.presets import PRESETS

    return PRESETS


def _algorithms() -> Iterable[str]:
    from tokctl.model import ALGORITHMS

    return (*ALGORITHMS, *(name for name in _presets() if name not in ALGORITHMS))


def _tie_breaks() -> Iterable[str]:
    from tokctl.model import TIE_BREAKS

    return TIE_BREAKS


def _normalizers() -> Iterable[str]:
    from tokctl.model.parts import NORMALIZERS

    return ("none", *NORMALIZERS.names())


def _pre_tokenizers() -> Iterable[str]:
    from tokctl.model.parts import PRE_TOKENIZERS

    return ("none", *PRE_TOKENIZERS.names())


def _decoders() -> Iterable[str]:
    from tokctl.model.parts import DECODERS

    return ("none", *DECODERS.names())


def _forms() -> Iterable[str]:
    from tokctl.cli.forms import FORMS

    return FORMS


def _forms_of_ids() -> Iterable[str]:
    from tokctl.idfiles.readers.reading import FORMS

    return FORMS


def _dtypes_of_ids() -> Iterable[str]:
    from tokctl.idfiles.readers.kinds import KINDS

    return KINDS


def _sources() -> Iterable[str]:
    from tokctl.sources.reading import FORMATS

    return FORMATS


def _model_formats() -> Iterable[str]:
    from tokctl.formats import FORMATS

    return (known.name for known in FORMATS if known.writes)


def _metrics() -> Iterable[str]:
    from tokctl.analysis.metrics import DEFINITIONS

    return ("all", *DEFINITIONS)


def _charts_of_compare() -> Iterable[str]:
    from tokctl.render.charts import COMPARE

    return ("list", *COMPARE)


def _charts_of_inspect() -> Iterable[str]:
    from tokctl.render.charts import INSPECT

    return ("list", *INSPECT)


def _corpora() -> Iterable[str]:
    from tokctl.sources.corpora import list_corpora

    return (corpus.name for corpus in list_corpora())


def _commands() -> Iterable[str]:
    from tokctl.cli.app import COMMANDS

    return COMMANDS


#: By command and option; by option alone where every command takes the same.
_VALUES: dict[tuple[str, str], Callable[[], Iterable[str]]] = {
    ("", "--format"): _sources,
    ("train", "--preset"): _presets,
    ("train", "--tie-break"): _tie_breaks,
    ("train", "--normalize"): _normalizers,
    ("train", "--pretokenize"): _pre_tokenizers,
    ("train", "--decoder"): _decoders,
    ("encode", "--as"): _forms,
    ("decode", "--from"): _forms_of_ids,
    ("decode", "--dtype"): _dtypes_of_ids,
    ("compare", "--algo"): _algorithms,
    ("compare", "--explain"): _metrics,
    ("compare", "--chart"): _charts_of_compare,
    ("inspect", "--chart"): _charts_of_inspect,
    ("convert", "--to"): _model_formats,
    ("convert", "--pattern"): _pre_tokenizers,
    ("corpora path", "NAME"): _corpora,
    ("corpora fetch", "NAME"): _corpora,
    ("man", "[COMMAND]..."): _commands,
}
