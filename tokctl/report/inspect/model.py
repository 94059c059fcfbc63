"""Facts about a model as documents: a summary, the recipe stage by stage, and the health report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from tokctl.analysis.explain import Checks, FileFacts, MergeRecord, Summary
from tokctl.analysis.health import Example, Finding, Health
from tokctl.core.humanize import file_names, plural
from tokctl.core.options import options_of
from tokctl.model import Model, ParityRecord, Recipe, TrainingRecord, TrainingStage
from tokctl.model.parts import AddedToken, Part
from tokctl.report.document import (
    Block,
    Column,
    Content,
    Figure,
    Flow,
    Gap,
    Heading,
    Inline,
    Name,
    Paragraph,
    Report,
    Span,
    Table,
    facts,
)
from tokctl.report.inspect.training import (
    cost_name,
    languages_data,
    languages_table,
    merge_data,
    merges_table,
    rounds_data,
    rounds_table,
)
from tokctl.report.inspect.words import added_data
from tokctl.report.visible import brief, readable, visible

# A model at a glance.

#: Length of the longest bar, in characters.
_BAR = 30
#: Greatest token length with a row of its own on a terminal.
_EACH = 16
_BY_LENGTH = "tokens by length"
#: Names shown on one line of a check.
_NAMES = 8


def summary(name: str, found: Summary) -> Report:
    """Return the summary of the model in the file `name`."""
    return Report(
        "inspect",
        f"Tokenizer: {file_names([name])[0]}",
        lambda: _summary_blocks(name, found),
        lambda: _summary_data(found),
    )


def _summary_blocks(name: str, summary: Summary) -> Iterator[Block]:
    yield facts(_labels_once(summary_facts(summary)), title=visible(name))
    for title, counts in _counted(summary):
        yield Heading(title)
        yield _bars(_together(counts) if title.startswith(_BY_LENGTH) else counts)
    yield Heading(f"longest tokens, in {summary.unit}")
    yield _named_figures([(token, Figure(length)) for token, length in summary.longest], "length")
    for title, kind, values in _best(summary):
        yield Heading(title)
        yield _named_figures([(token, Figure(value, kind)) for token, value in values], "value")
    for title, merges in histories(summary):
        yield Heading(title)
        yield merges_table(merges)
    if summary.languages:
        yield Heading("languages of the training")
        yield languages_table(summary.languages)
    if summary.rounds:
        yield Heading("rounds of the training")
        yield rounds_table(summary.rounds)
    yield Heading("checks")
    yield facts(check_rows(summary.checks, summary))


def _named_figures(values: Sequence[tuple[str, Figure]], field: str) -> Table:
    """Return a table of figures, called `field` in CSV, with the tokens that have them."""
    columns = (Column(style="dim", field=field), Column(fold=True, field="token"))
    return Table(columns, [[figure, Name(token)] for token, figure in values])


def _bars(counts: Sequence[tuple[str, int]]) -> Table:
    """Return a table with a bar for each count; a count above 0 has at least a sliver."""
    columns = (
        Column(fold=True, field="group"),
        Column(right=True, field="tokens"),
        Column(style="cyan", is_drawing=True),
    )
    most = max((count for _, count in counts), default=1) or 1
    rows: list[list[Content]] = [
        [key, Figure(count), "█" * round(_BAR * count / most) or ("▏" if count else "")]
        for key, count in counts
    ]
    return Table(columns, rows)


def _summary_data(summary: Summary) -> dict[str, Any]:
    checks = summary.checks
    return {
        **_source_data(summary.source),
        "recipe": summary.recipe.to_dict(),
        "training": summary.training,
        "obstacle": summary.obstacle,
        "differences": summary.differences,
        "vocab_size": summary.vocab_size,
        "merges": summary.merges,
        "removed": summary.removed,
        "supermerges": summary.supermerges,
        "merges_before_superwords": summary.merges_before,
        "special": summary.special,
        "added": list(map(added_data, summary.added)),
        "kinds": summary.kinds,
        "places": summary.places,
        "contents": summary.contents,
        "scripts": summary.scripts,
        "lengths": {
            "unit": summary.unit,
            "tokens": {str(length): count for length, count in summary.lengths.items()},
        },
        "longest": [{"token": name, "length": length} for name, length in summary.longest],
        "first_merges": list(map(merge_data, summary.first_merges)),
        "last_merges": list(map(merge_data, summary.last_merges)),
        "first_supermerges": list(map(merge_data, summary.first_supermerges)),
        "frequent": [{"token": name, "count": count} for name, count in summary.frequent],
        "highest": [{"token": name, "score": score} for name, score in summary.highest],
        "lowest": [{"token": name, "score": score} for name, score in summary.lowest],
        "rounds": rounds_data(summary.rounds),
        **({"languages": languages_data(summary.languages)} if summary.languages else {}),
        "checks": {
            "unreachable": checks.reach.unreachable,
            "undecided": checks.reach.undecided,
            "trials": checks.reach.trials,
            "duplicates": checks.duplicates,
            "holes": [],
            "two_places": checks.two_places,
            "remade": checks.remade,
        },
    }


def _source_data(source: FileFacts) -> dict[str, Any]:
    return {
        "format": source.format,
        "origin": source.origin and source.origin._asdict(),
        "companions": source.extra_files,
    }


def summary_facts(summary: Summary) -> Iterator[tuple[str, str]]:
    """Yield labels and values that say what the model is and where it came from."""
    recipe = summary.recipe
    yield from source_facts(summary.source)
    yield "algorithm", f"{recipe.traits.title}, recipe {visible(recipe.name)}"
    yield "vocabulary", f"{plural(summary.vocab_size, 'id')}{_merges_known(summary)}"
    if summary.supermerges:
        yield "superwords", _superwords(summary)
    yield from added_facts(summary.special.items(), summary.added)
    yield from recipe_facts(recipe, trained=summary.training is not None)
    refused = f"Hugging Face refuses it: {readable(summary.obstacle or '')}"
    loaded = "Hugging Face loads it, with the same ids"
    if summary.differences:
        what = "; ".join(map(readable, summary.differences))
        loaded = f"Hugging Face loads it, and ids can differ: it can't hold {what}"
    yield "elsewhere", refused if summary.obstacle else loaded
    if summary.training:
        parity = summary.languages.record if summary.languages else None
        yield from training_facts(recipe, summary.training, parity)
    else:
        yield "trained on", "not known: the file does not say"


def _superwords(summary: Summary) -> str:
    first = summary.first_supermerges[0]
    words = summary.vocab_size - summary.supermerges
    return (
        f"{plural(summary.supermerges, 'supermerge')} of whole pre-tokens: the ids from {words:,} "
        f"on; the first, counted {first.count or 0:,} times, came after "
        f"{plural(summary.merges_before, 'merge')}"
    )


def _merges_known(summary: Summary) -> str:
    if summary.merges is not None:
        merges = f", {plural(summary.merges, 'merge')}"
        if summary.removed is None:
            return merges
        return f"{merges}, {plural(summary.removed, 'token')} removed again"
    return ", ranked; merges follow from that" if summary.recipe.has_ranks else ""


def _counted(summary: Summary) -> Iterator[tuple[str, list[tuple[str, int]]]]:
    yield "tokens by origin", list(summary.kinds.items())
    yield "tokens by place in the word", list(summary.places.items())
    yield "tokens by content", list(summary.contents.items())
    yield "tokens by script", list(summary.scripts.items())
    lengths = [(str(length), count) for length, count in summary.lengths.items()]
    yield f"{_BY_LENGTH} in {summary.unit}", lengths


def _together(lengths: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Return the counts with lengths above `_EACH` grouped by powers of two, from 17 to 32 on.

    Otherwise long lists would not fit on a terminal.
    """
    found: dict[str, int] = {}
    for name, count in lengths:
        length = int(name)
        if length > _EACH:
            least = 1 << (length - 1).bit_length() - 1
            name = f"{least + 1:,} to {2 * least:,}"
        found[name] = found.get(name, 0) + count
    return list(found.items())


def _best(summary: Summary) -> Iterator[tuple[str, str, Sequence[tuple[str, float]]]]:
    """Yield title and kind of figure, and tokens with the figure that they were chosen by."""
    if summary.frequent:
        yield "most frequent tokens in training", "count", summary.frequent
    for title, pieces in (
        ("pieces with the highest scores", summary.highest),
        ("pieces with the lowest scores", summary.lowest),
    ):
        if pieces:
            yield title, "score", pieces


def histories(summary: Summary) -> Iterator[tuple[str, Sequence[MergeRecord]]]:
    """Yield the titles and merges of both ends of the training; empty lists are left out."""
    if summary.first_merges:
        yield "first merges", summary.first_merges
    if summary.last_merges:
        yield "last merges", summary.last_merges
    if summary.first_supermerges:
        yield "first supermerges", summary.first_supermerges


def check_rows(checks: Checks, summary: Summary) -> Iterator[tuple[str, str]]:
    """Yield the name and the result of each check."""
    reach = checks.reach
    if reach.undecided:
        yield "unreachable tokens", f"{reach.undecided:,} undecided after {reach.trials:,} trials"
    else:
        yield "unreachable tokens", _listed(reach.unreachable)
    yield "duplicates", _listed([" = ".join(names) for names in checks.duplicates])
    yield "holes in ids", f"none: 0 to {summary.vocab_size - 1}, checked when the file was read"
    if mark := summary.recipe.marker.text or summary.recipe.space_mark:
        how = f"one with {visible(mark)} and one without"
        yield "texts with two tokens", f"{checks.two_places:,}, {how}"
    if summary.merges is not None:
        yield "tokens made twice", f"{checks.remade:,}" if checks.remade else "none"
    yield "more checks", "--check, with a text or without"


def _listed(names: Sequence[str]) -> str:
    if not names:
        return "none"
    some = ", ".join(brief(name) for name in names[:_NAMES])
    return f"{len(names):,}: {some}" + (", …" if len(names) > _NAMES else "")


# Recipe.

#: Longest value of an option shown whole, in characters; the rules of a SentencePiece model have
#: some hundred thousand.
_LONGEST_VALUE = 400
#: Special and other added tokens that are listed.
_FEW = 12

_MARKERS = {
    "none": "no word marker",
    "end": "the symbol {} after each word",
    "end-fused": "{} on the last symbol of each word",
    "start": "the symbol {} before each word",
    "continuation": "{} on every symbol but the first of a word",
}


def _labels_once(pairs: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield the pairs with each repeated label replaced by an empty one."""
    last = None
    for label, text in pairs:
        yield "" if label == last else label, text
        last = label


def recipe(model: Model, source: FileFacts) -> Report:
    """Return a model's recipe, stage by stage; the JSON has every field."""
    return Report(
        "inspect",
        "Recipe",
        lambda: [facts(_labels_once(_whole_recipe(model, source)))],
        lambda: model.recipe.to_dict() | _source_data(source),
    )


def recipe_facts(recipe: Recipe, *, trained: bool = True) -> Iterator[tuple[str, str]]:
    """Yield label and text of each part of the recipe, in the order of the stages.

    Args:
        recipe: recipe to describe.
        trained: whether tokctl trained the model; other files don't say how tokens were chosen.
    """
    yield from _parts("normalized", recipe.normalizers)
    yield from _parts("split", recipe.pre_tokenizers)
    if not recipe.pre_tokenizers:
        yield "split", "not at all: a text is one pre-token"
    if not recipe.looks_up_pre_tokens:
        yield "symbols", f"{recipe.units}, {_marked(recipe)}"
    if trained:
        yield from _choice(recipe)
    yield "encoded", recipe.traits.encoding(recipe)
    yield "unknown", _unknown(recipe)
    yield from _parts("around", recipe.post_processors)
    yield from _parts("decoded", recipe.decoders)


def _marked(recipe: Recipe) -> str:
    kind, mark = recipe.marker
    if not mark and (space := recipe.space_mark):
        return f"{visible(space)} for each space"
    return _MARKERS[kind].format(visible(mark))


def _parts(label: str, parts: Iterable[Part]) -> Iterator[tuple[str, str]]:
    for part in parts:
        yield label, f"{part_text(part)} ({part.about})"


def part_text(part: Part) -> str:
    """Return the text form of a part for people; very long values are cut."""
    changed = part.to_dict()
    del changed["kind"]
    if all(len(str(value)) <= _LONGEST_VALUE for value in changed.values()):
        text = str(part)
        # Spaces matter in patterns, templates and JSON, so they stay readable. In other values a
        # space could be overlooked, so it is made visible.
        spaced = part.kind in ("split", "template") or text.startswith("{")
        return readable(text) if spaced else visible(text)
    values = []
    for name, value in changed.items():
        cut = len(str(value)) > _LONGEST_VALUE
        shown = readable(str(value)[: 24 if cut else None])
        values.append(f"{name} {shown}" + (f"… ({len(value):,} characters)" if cut else ""))
    return f"{part.kind} with {', '.join(values)}"


def _choice(recipe: Recipe) -> Iterator[tuple[str, str]]:
    """Yield how the training chose the tokens."""
    yield recipe.traits.choice(recipe)
    for number, stage in enumerate(recipe.stages, start=1):
        name = f"stage {number}" if len(recipe.stages) > 1 else "limits"
        yield name, "; ".join(_stage(stage)) or "whatever the pre-tokenizers leave together"


def _stage(stage: TrainingStage) -> Iterator[str]:
    """Yield where a stage of the training ends, and what limits its tokens."""
    if stage.until:
        yield f"up to {stage.until}{' of the ids' if stage.is_share else ' ids'}"
    if stage.pre_tokenizers:
        yield f"tokens within what {', '.join(map(part_text, stage.pre_tokenizers))} splits off"
    if stage.max_words is not None:
        yield f"tokens of up to {plural(stage.max_words, 'word')}"
    if stage.forbidden:
        yield f"none contains {' or '.join(map(visible, stage.forbidden))}"


def _unknown(recipe: Recipe) -> str:
    if recipe.byte_fallback:
        text = "a character without a token becomes the tokens of its bytes"
        lacking = recipe.unk_token and f", or {visible(recipe.unk_token)} where one is missing"
        return text + (lacking or "")
    if recipe.unk_token is None:
        if recipe.drops_unknown:
            return "what has no token is left out, without a trace"
        if recipe.has_every_byte:
            return "never: every byte has a token"
        return "an error: there is no unknown token"
    name = visible(recipe.unk_token)
    if recipe.looks_up_pre_tokens:
        text = f"a pre-token without a token is {name}"
    elif not recipe.matches_longest or recipe.unknown == "char":
        text = f"a character without a token is {name}"
        if recipe.fuse_unknown:
            text += "; several side by side are one"
    else:
        text = f"a word with a stretch that no token fits is {name}"
    if recipe.max_input_chars is not None and recipe.matches_longest:
        text += f"; a word of over {plural(recipe.max_input_chars, 'character')} too"
    return text


def training_facts(
    recipe: Recipe, record: TrainingRecord, parity: ParityRecord | None
) -> Iterator[tuple[str, str]]:
    """Yield labels and values on the text that the training read, and on its options."""
    # Imported late, because models that tokctl has not trained don't need it.
    from tokctl.training.options import TrainOptions

    read = f"{plural(record.documents, 'document')}, {plural(record.bytes, 'byte')}"
    yield "trained on", f"{read}, sha256 {record.sha256[:12]}…"
    if record.sample is not None:
        yield "sample", f"{record.sample:g} of the lines, seed {record.seed}"
    if record.weights:
        few = ", ".join(record.weights[:8]) + (", …" if len(record.weights) > 8 else "")
        yield "weights", f"{few}, of the documents in their order"
    counted = f"{plural(record.pre_tokens, 'pre-token')}, {record.distinct_pre_tokens:,} distinct"
    if record.count_scale != 1:
        counted += f"; counts are {record.count_scale:,} times the weighted ones"
    yield "counted", counted
    asked = f"{record.vocab_size:,} ids"
    usual = TrainOptions()
    for name, option in options_of(usual).items():
        if option.told and (value := getattr(record, name)) != getattr(usual, name):
            asked += ", " + option.told.replace("{}", _option_value(value))
    yield (
        "asked for",
        asked + (f", but {recipe.traits.exhausted_briefly}" if record.exhausted else ""),
    )
    if record.stage_ends:
        begun = enumerate(record.stage_ends, start=2)
        yield "stages", ", ".join(f"stage {n} began at {end:,}" for n, end in begun) + " ids"
    if parity:
        yield "languages", _turns(parity)
    if record.extended:
        yield "went on from", f"a model of {record.extended:,} ids"
    if record.pruned_from is not None:
        yield "pruned", f"from {record.pruned_from:,} ids"


def _option_value(value: Any) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(_option_value, value[:8])) + (", …" if len(value) > 8 else "")
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:g}" if isinstance(value, float) else brief(value)


def _turns(record: ParityRecord) -> str:
    """Return how languages took turns to choose the merges."""
    names = list(map(brief, record.languages))
    few = ", ".join(names[:_FEW]) + (", …" if len(names) > _FEW else "")
    text = "development text" if record.dev else "text"
    chose = f"{few}: the one whose {text} costs the most {cost_name(record.measure)}"
    if record.targets:
        targets = zip(names[:_FEW], record.targets, strict=False)
        wanted = ", ".join(f"{name} {target}" for name, target in targets if target != "1")
        chose += f" (times its target: {wanted})"
    chose += " chooses, by the counts of its own"
    if record.window is not None:
        chose += (
            f"; not if it chose over {record.limit} times its equal share of the last "
            f"{record.window:,} merges"
        )
    if record.global_merges:
        chose += f"; the first {plural(record.global_merges, 'merge')} by the counts of all"
    return chose


def _whole_recipe(model: Model, source: FileFacts) -> Iterator[tuple[str, str]]:
    """Yield the recipe with its name, its file, its added tokens and its training."""
    recipe, training = model.recipe, model.training
    yield "recipe", visible(recipe.name)
    yield from source_facts(source)
    yield "algorithm", recipe.algorithm
    yield from recipe_facts(recipe, trained=training is not None)
    others = (token for token in model.added if not token.special)
    yield from added_facts(model.special_ids.items(), others)
    if training is not None:
        yield from training_facts(recipe, training, model.parity)


def source_facts(source: FileFacts) -> Iterator[tuple[str, str]]:
    """Yield the file's format, the format that the model was converted from, and extra files."""
    if source.format is not None:
        yield "format", source.title
    if source.origin is not None and source.is_converted:
        name = source.origin.name
        title = readable(source.origin_title)
        yield "origin", f"{title}, {readable(name)}" if name else title
    if source.extra_files:
        few = ", ".join(map(brief, source.extra_files[:_FEW]))
        more = len(source.extra_files) - _FEW
        yield "companions", few + (f", … {more:,} more" if more > 0 else "")


def added_facts(
    special: Iterable[tuple[str, int]], added: Iterable[AddedToken]
) -> Iterator[tuple[str, str]]:
    """Yield the special tokens, and the other added tokens that are found before segmentation."""
    yield "special", _named(list(special)) or "none"
    if others := [(token.text, token.id) for token in added]:
        yield "found first", _named(others)


def _named(tokens: Sequence[tuple[str, int]]) -> str:
    few = ", ".join(f"{brief(token)} ({id_})" for token, id_ in tokens[:_FEW])
    return few + (f", … {len(tokens) - _FEW:,} more" if len(tokens) > _FEW else "")


# Health report: findings from the worst on, checks that passed, checks that were not made.

#: Marks and styles; each mark contains its word, for readers who see no colour.
_MARKS = {
    "error": ("✗ error", "bold red"),
    "warning": ("! warning", "bold yellow"),
    "info": ("· info", "bold cyan"),
    "passed": ("✓ passed", "bold green"),
    "not made": ("- not made", "dim"),
}
_WIDEST = max(len(mark) for mark, _ in _MARKS.values())
#: Bytes of a token that are written out beside it.
_MOST_BYTES = 8


def health(name: str, report: Health) -> Report:
    """Return the health report of the model in the file `name`."""
    return Report(
        "inspect",
        f"Health of {name}",
        lambda: _health_blocks(name, report),
        report.to_dict,
    )


def _health_blocks(name: str, health: Health) -> Iterator[Block]:
    yield Paragraph(["Health of ", readable(name)], "bold")
    if health.texts:
        what = plural(len(health.texts.names), "text")
        if health.texts.documents != len(health.texts.names):
            what += f" of {plural(health.texts.documents, 'document')}"
        sizes = f"{health.texts.bytes:,} bytes, {plural(health.texts.tokens, 'token')}"
        yield Paragraph(f"on {what}: {sizes}", "dim")
    rows: list[list[Content]] = []
    for finding in health.findings:
        rows += [["", ""], [_mark(finding.severity), _headline(finding)]]
        said = " ".join(part for part in (finding.what, finding.detail) if part)
        rows.append(["", readable(said)])
        if finding.examples:
            rows.append(["", _examples(finding)])
        if finding.severity != "info":
            rows.append(["", Span(f"→ {finding.why}", "dim")])
    if health.passed:
        passed = ", ".join(finding.name + _undecided(finding) for finding in health.passed)
        rows += [["", ""], [_mark("passed"), passed]]
    by_reason: dict[str, list[str]] = {}
    for check in health.not_made:
        by_reason.setdefault(check.reason, []).append(check.name)
    if by_reason:
        rows.append(["", ""])
    first: Content = _mark("not made")
    for reason, checks in by_reason.items():
        rows.append([first, Span(f"{', '.join(checks)}: {readable(reason)}", "dim")])
        first = ""
    yield Table((Column(width=_WIDEST, field="result"), Column(fold=True, field="check")), rows)
    yield Gap()
    yield Paragraph(["Verdict: ", _mark(health.verdict), f"; {_tally(health)}"], "bold")
    yield Paragraph("docs/health.md explains what to do about each check.", "dim")


def _mark(name: str) -> Span:
    return Span(*_MARKS[name])


def _headline(finding: Finding) -> Content:
    what = f"  {finding.count:,} of {finding.of:,} {finding.things}"
    return [Span(finding.name, "bold"), what, _undecided(finding)]


def _undecided(finding: Finding) -> str:
    return f" ({finding.undecided:,} undecided)" if finding.undecided else ""


def _examples(finding: Finding) -> Flow:
    entries = list(map(_example, finding.examples))
    # Occurrences in a text count separately, but each token is shown once.
    more = finding.count - len(entries) if finding.things != "tokens of the text" else 0
    if more > 0:
        entries.append([Span(f"… {more:,} more", "dim")])
    return Flow(entries)


def _example(one: Example) -> list[Inline]:
    id_ = [] if one.id is None else [Span(f"#{one.id} ", "dim")]
    notes = [note for note in (_bytes(one), readable(one.note)) if note]
    return [
        *id_,
        Name(one.token, "cyan"),
        Span(f" ({'; '.join(notes)})" if notes else "", "dim"),
    ]


def _bytes(one: Example) -> str:
    """Return the bytes of a token in hexadecimal if its spelling does not show them."""
    plain = all(0x20 <= byte < 0x7F for byte in one.data)
    if one.id is None or plain or one.token.encode("utf-8", "surrogatepass") == one.data:
        return ""
    return one.data[:_MOST_BYTES].hex(" ") + (" …" if len(one.data) > _MOST_BYTES else "")


def _tally(health: Health) -> str:
    found = [
        plural(sum(one.severity == severity for one in health.findings), *words)
        for severity, words in (
            ("error", ("error",)),
            ("warning", ("warning",)),
            ("info", ("note",)),
        )
    ]
    passed = f"{plural(len(health.passed), 'check')} passed"
    return ", ".join([*found, passed, f"{len(health.not_made):,} not made"])
