"""Terminal output of `train` and `corpora`: training steps, training summaries, named corpora."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tokctl.analysis.explain.languages import LanguageShares, language_shares
from tokctl.analysis.metrics import Undefined
from tokctl.core.humanize import plural
from tokctl.model import Merge, Model, Recipe, Round, TrainingRecord
from tokctl.report.inspect.training import cost_name
from tokctl.report.visible import visible
from tokctl.sources.corpora import Corpus

#: Merges or pieces shown from each end of the list.
_ENDS = 5

#: Rounds at each end whose sizes are shown.
_ROUNDS = 4

#: Space at which a row is not wrapped; `visible` leaves no such character in a token.
_HELD = "\u00a0"

#: Width of the labels of the summary, in columns.
_LABEL = 12


def show_training(
    console: Console,
    model: Model,
    tokens: Sequence[str],
    seconds: Mapping[str, float],
    *,
    verbose: bool = False,
    replaced: str | None = None,
) -> None:
    """Print the summary of a training: the text read, the resulting model, and the time taken.

    Args:
        console: console to print on.
        model: trained model; a model without a training record prints nothing.
        tokens: spelling of the model's tokens, by id.
        seconds: duration of each phase, in seconds.
        verbose: whether to add the digest of the text and the recipe.
        replaced: path of the file that the model replaced; None if the file is new.
    """
    record = model.training
    if record is None:
        return
    recipe = model.recipe
    special = len(model.special_ids)
    documents = "document" if record.documents == 1 else "documents"
    rows = [("read", f"{record.documents:,} {documents}, {record.bytes:,} bytes")]
    if verbose:
        rows.append(("sha256", record.sha256))
        rows.append(("recipe", _recipe_line(recipe)))
    rows.append(("pre-tokens", f"{record.pre_tokens:,} ({record.distinct_pre_tokens:,} distinct)"))
    if record.alphabet_size:  # 0 for an alphabet of words
        rows.append(("alphabet", f"{record.alphabet_size:,}"))
    vocabulary = f"{len(model.tokens):,}" + (f" ({special} special)" if special else "")
    if record.extended:
        vocabulary += f", {record.extended:,} of them from the model that was extended"
    size = ("vocabulary", vocabulary)
    if recipe.maximizes_probability:
        rows += [*_round_rows(model.rounds), size, *_piece_rows(model, tokens)]
    elif recipe.traits.learns != "merges":
        rows += [size, *_frequency_rows(model, tokens)]
    else:
        merges = model.merges
        if model.events is not None:
            merges = model.events.merges
            tokens = [*tokens, *model.events.spelled(is_byte_level=recipe.is_byte_level)]
            rows.append(("removed", f"{len(model.events.removed):,} tokens"))
        rows += [("merges", f"{len(merges):,}"), size, *_merge_rows(merges, tokens)]
        rows += [*_stage_rows(model, record), *_superword_rows(model, tokens)]
    if model.parity:
        rows += _language_rows(language_shares(model.parity))
    phases = {} if recipe.traits.learns == "merges" else {"merge": "train"}
    spent = ((phases.get(phase, phase), time) for phase, time in seconds.items())
    rows.append(("seconds", ", ".join(f"{phase} {time:.2f}" for phase, time in spent)))
    if replaced is not None:
        rows.append(("replaced", replaced))
    for label, text in rows:
        _print_row(console, label, _visible_line(text))
    if record.exhausted:
        why = recipe.traits.why_stopped(record)
        stopped = f"stopped at {len(model.tokens):,} of {record.vocab_size:,}: {why}"
        console.print(Text(stopped, style="yellow"), soft_wrap=True)


def _recipe_line(recipe: Recipe) -> str:
    facts = [recipe.algorithm, recipe.units]
    if recipe.normalizers:
        facts.append(" + ".join(map(str, recipe.normalizers)))
    facts.append(" + ".join(map(str, recipe.pre_tokenizers)) or "none")
    facts += recipe.traits.criteria(recipe)
    return f"{recipe.name}: {', '.join(facts)}"


def _merge_rows(merges: Sequence[Merge], tokens: Sequence[str]) -> list[tuple[str, str]]:
    if len(merges) > 2 * _ENDS:
        return [
            ("first", _merge_list(tokens, merges[:_ENDS])),
            ("last", _merge_list(tokens, merges[-_ENDS:])),
        ]
    return [("all merges", _merge_list(tokens, merges))] if merges else []


def _stage_rows(model: Model, record: TrainingRecord) -> Iterator[tuple[str, str]]:
    """Yield where each later stage of a training began, and how many words its tokens have."""
    ends = [*record.stage_ends, len(model.tokens)]
    for number, (begin, end) in enumerate(pairwise(ends), start=2):
        tokens = (model.tokens[id_].split(b" ") for id_ in range(begin, end))
        words = [sum(map(bool, token)) for token in tokens]
        several = sum(count > 1 for count in words)
        text = f"began at {begin:,} ids and made {plural(len(words), 'token')}"
        if several:
            text += f", {several:,} of them of several words, up to {max(words):,}"
        yield f"stage {number}", text


def _superword_rows(model: Model, tokens: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the number of supermerges, their first id, and the count of the first one."""
    found = model.supermerges
    if found:
        words = len(model.tokens) - len(found)
        first = _merge_list(tokens, found[:_ENDS]) + (", …" if len(found) > _ENDS else "")
        counted = f"the ids from {words:,} on; the first counted {found[0].count:,} times"
        yield "superwords", f"{len(found):,}, {counted}: {first}"


#: Most languages that are shown; of a longer list, half from each end.
_LANGUAGES = 12


def _language_rows(found: LanguageShares) -> list[tuple[str, str]]:
    """Return one row per language, the costliest first, and the Gini coefficients."""
    cost = {one.name: one.cost_after for one in found.languages}
    ordered = sorted(
        found.languages,
        key=lambda one: c if not isinstance(c := cost[one.name], Undefined) else 0.0,
    )[::-1]
    shown = [
        f"{visible(one.name)}: {one.before:,} → {one.after:,} tokens, {plural(one.merges, 'merge')}"
        for one in ordered
    ]
    if len(shown) > _LANGUAGES:
        half = _LANGUAGES // 2
        shown = [*shown[:half], f"… {len(shown) - 2 * half} more", *shown[-half:]]
    rows = [("" if place else "languages", text) for place, text in enumerate(shown)]
    if found.together:
        rows.append(("", f"all together: {plural(found.together, 'merge')}"))
    if isinstance(found.gini_before, Undefined) or isinstance(found.gini_after, Undefined):
        return rows
    figures = f"{found.gini_before:.4f} → {found.gini_after:.4f}"
    return [*rows, ("gini", f"{figures}, of {cost_name(found.measure)}")]


def _round_rows(rounds: Sequence[Round]) -> list[tuple[str, str]]:
    if not rounds:
        return []
    first, last = rounds[0], rounds[-1]
    sizes = [f"{one.pieces:,}" for one in rounds] + [f"{last.pieces - last.dropped:,}"]
    if len(sizes) > 2 * _ROUNDS:
        sizes = [*sizes[:_ROUNDS], "…", *sizes[-_ROUNDS:]]
    dropped, unused = sum(one.dropped for one in rounds), sum(one.unused for one in rounds)
    return [
        ("rounds", f"{len(rounds)}: {' → '.join(sizes)} pieces"),
        ("dropped", f"{dropped:,} pieces, and {unused:,} that no segmentation used"),
        ("objective", f"{first.objective:.4f} to {last.objective:.4f} nats per pre-token"),
    ]


def _piece_rows(model: Model, tokens: Sequence[str]) -> list[tuple[str, str]]:
    """Return the highest and the lowest scores; ids of pieces are in the order of their scores."""
    reserved = model.reserved_ids
    scores = model.scores
    # Special tokens and fallback bytes have no score.
    ids = [id_ for id_ in range(len(tokens)) if id_ not in reserved and scores[id_] < 0]
    shown = [f"{visible(tokens[id_])}{_HELD}{scores[id_]:.2f}" for id_ in ids]
    if len(shown) > 2 * _ENDS:
        return [("likeliest", ", ".join(shown[:_ENDS])), ("least", ", ".join(shown[-_ENDS:]))]
    return [("all pieces", ", ".join(shown))] if shown else []


def _frequency_rows(model: Model, tokens: Sequence[str]) -> list[tuple[str, str]]:
    """Return the most frequent tokens; an extended model's ids are not in order of frequency."""
    counts = model.counts
    if not counts:
        return []
    reserved = model.reserved_ids
    ids = [id_ for id_ in range(len(counts)) if id_ not in reserved]
    ids = sorted(ids, key=lambda id_: -counts[id_])[: 2 * _ENDS]
    shown = ", ".join(f"{visible(tokens[id_])}{_HELD}{counts[id_]:,}" for id_ in ids)
    return [("frequent", shown)] if shown else []


def _print_row(console: Console, label: str, text: str) -> None:
    """Print a label and its text; further lines of the text are indented by the label's width."""
    first, *more = _wrapped(text, max(20, console.width - _LABEL))
    line = Text(f"{label:<{_LABEL}}", style="bold").append(first, style="not bold")
    console.print(line, soft_wrap=True)
    for part in more:
        console.print(Text(" " * _LABEL + part), soft_wrap=True)


def _wrapped(text: str, width: int) -> list[str]:
    """Return lines of up to `width` columns, broken only at spaces.

    `textwrap` counts an emoji as one column; a terminal needs two.
    """
    lines = [""]
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}" if lines[-1] else word
        if lines[-1] and cell_len(longer) > width:
            lines.append(word)
        else:
            lines[-1] = longer
    return [line.replace(_HELD, " ") for line in lines]


def _visible_line(text: str) -> str:
    """Return the text with control characters escaped; spaces stay."""
    kept = (" ", _HELD)
    return "".join(char if char in kept else visible(char) for char in text)


def _merge_list(tokens: Sequence[str], merges: Sequence[Merge]) -> str:
    return ", ".join(
        f"{visible(tokens[merge.left])}{_HELD}{visible(tokens[merge.right])}" for merge in merges
    )


def show_corpora(console: Console, corpora: Sequence[Corpus]) -> None:
    """Print the named corpora as a table."""
    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("name", no_wrap=True)
    table.add_column("bytes", justify="right", no_wrap=True)
    table.add_column("here", no_wrap=True)
    table.add_column("what it is")
    for corpus in corpora:
        here = "yes" if corpus.path else "fetch"
        table.add_row(corpus.name, f"{corpus.bytes:,}", here, f"{corpus.title} ({corpus.licence})")
    console.print(table)


#: Dropped pieces shown per round.
_DROPPED = 5


def show_rounds(console: Console, rounds: Sequence[Round]) -> None:
    """Print the rounds of a Unigram training: pieces, objective and the first dropped pieces."""
    for number, found in enumerate(rounds, 1):
        title = f"round {number}: {found.pieces:,} pieces, {found.objective:.4f} nats per pre-token"
        console.print(Text(title, style="bold cyan"), soft_wrap=True)
        facts = f"expected tokens {found.tokens:,}; unused {found.unused:,}"
        console.print(Text(f"  {facts}; dropped {found.dropped:,}"), soft_wrap=True)
        shown = [
            visible(piece) if loss is None else f"{visible(piece)} ({loss:.3g})"
            for piece, loss in found.examples[:_DROPPED]
        ]
        if shown:
            what = "dropped" if found.examples[0][1] is None else "dropped with the highest loss"
            console.print(Text(f"  {what}: {', '.join(shown)}"), soft_wrap=True)
    console.print()


@dataclass(frozen=True)
class StepWord:
    """Pre-token of a corpus state: its count, its tokens, and whether the step changed it."""

    count: int
    tokens: list[str]
    changed: bool


@dataclass(frozen=True)
class TrainingStep:
    """Corpus state after one merge.

    Attributes:
        number: number of the step, from 1; 0 is the state before the first merge.
        merge: merge of the step; None for step 0.
        names: left, right and new token of the merge; empty for step 0.
        words: pre-tokens to show.
        more: number of pre-tokens left out.
        language: language that chose the merge, see `MergeRecord`.
    """

    number: int
    merge: Merge | None
    names: tuple[str, ...]
    words: list[StepWord]
    more: int
    language: str | None = None


def show_steps(console: Console, steps: Iterable[TrainingStep], score: str) -> None:
    """Print corpus states, step by step; a pre-token that the step changed is marked with `*`."""
    for step in steps:
        console.print(Text(_step_title(step, score), style="bold cyan"), soft_wrap=True)
        width = max((len(f"{word.count:,}") for word in step.words), default=0)
        for word in step.words:
            names = " ".join(map(visible, word.tokens))
            mark, style = ("*", "bold") if word.changed else (" ", "")
            line = Text(f"  {word.count:>{width},} {mark} {names}", style=style)
            console.print(line, soft_wrap=True)
        if step.more:
            more = "more changed" if step.number else "more"
            console.print(Text(f"  … and {step.more:,} {more}", style="dim"))
    console.print()


def _step_title(step: TrainingStep, score: str) -> str:
    if step.merge is None:
        return "before the first merge"
    left, right, token = map(visible, step.names)
    why = _why(score, step.merge)
    if step.language is not None:
        why += f", chosen for {visible(step.language) or 'all'}"
    return f"step {step.number}: {left} + {right} → {token}  ({why})"


def _why(score: str, merge: Merge) -> str:
    if score == "count":
        return f"count {merge.count:,}"
    value = merge.count / (merge.left_count * merge.right_count)
    return f"score {merge.count:,} / ({merge.left_count:,} * {merge.right_count:,}) = {value:.4g}"
