"""A recipe and its training in plain words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.table import Table
from rich.text import Text

from tokctl.analysis.explain import FileFacts
from tokctl.analysis.metrics import space_mark
from tokctl.model import FilledRecipe, Recipe, TrainingRecord
from tokctl.model.parts import AddedToken, Part
from tokctl.render.console import visible
from tokctl.render.inspect.plain import brief, readable
from tokctl.wording import plural

#: Characters of an option's value that people are shown; rules out of a SentencePiece
#: model have some hundred thousand.
LONGEST_VALUE = 400
#: Special and other added tokens that are listed.
FEW = 12

Facts = Iterable[tuple[str, str]]

_MARKERS = {
    "none": "no word marker",
    "end": "the symbol {} after each word",
    "end-fused": "{} on the last symbol of each word",
    "start": "the symbol {} before each word",
    "continuation": "{} on every symbol but the first of a word",
}

_SCORES = {
    "count": "the pair with the highest count",
    "likelihood": "the pair with the highest count(ab) / (count(a) count(b))",
}

_TIES = {
    "first-seen": "of equals the one seen first",
    "rewritten-last": "of equals the one seen first, rewritten words moved to the end",
    "lowest-id": "of equals the one with the lowest ids",
}

_SEGMENTATIONS = {
    "merges": "merges by rank, the earliest learned first",
    "replay": "merges replayed in the order learned",
    "ranks": "any two neighbours that spell a token merge, the token of the lowest rank first",
    "longest-match": "the longest token first, from left to right",
    "viterbi": "the segmentation with the highest sum of scores (Viterbi)",
    "lookup": "each pre-token is looked up whole",
    "symbols": "one token per character",
}


def recipe_facts(recipe: Recipe, *, trained: bool = True) -> Iterator[tuple[str, str]]:
    """What each stage does, in the order of the stages; one entry for each part of a stage.

    Args:
        trained: by tokctl: other files don't say how their tokens were chosen.
    """
    yield from _parts("normalized", recipe.normalizers)
    yield from _parts("split", recipe.pre_tokenizers)
    if not recipe.pre_tokenizers:
        yield "split", "not at all: a text is one pre-token"
    if not recipe.looks_up_pre_tokens:
        yield "symbols", f"{recipe.units}, {_marked(recipe)}"
    if trained:
        yield from _choice(recipe)
    yield "encoded", _encoded(recipe)
    yield "unknown", _unknown(recipe)
    yield from _parts("around", recipe.post_processors)
    yield from _parts("decoded", recipe.decoders)


def _marked(recipe: Recipe) -> str:
    kind, mark = recipe.marker
    if not mark and (space := space_mark(recipe)):
        return f"{visible(space)} for each space"
    return _MARKERS[kind].format(visible(mark))


def _parts(label: str, parts: Iterable[Part]) -> Iterator[tuple[str, str]]:
    for part in parts:
        yield label, f"{part_text(part)} ({part.family.kinds[part.kind].about})"


def part_text(part: Part) -> str:
    """A part's text form for people; values of great length are cut."""
    changed = part.to_dict()
    del changed["kind"]
    if all(len(str(value)) <= LONGEST_VALUE for value in changed.values()):
        text = str(part)
        # Patterns, templates and JSON are read by their spaces; in other values a space
        # could go unseen.
        spaced = part.kind in ("split", "template") or text.startswith("{")
        return readable(text) if spaced else visible(text)
    values = []
    for name, value in changed.items():
        cut = len(str(value)) > LONGEST_VALUE
        shown = readable(str(value)[: 24 if cut else None])
        values.append(f"{name} {shown}" + (f"… ({len(value):,} characters)" if cut else ""))
    return f"{part.kind} with {', '.join(values)}"


def _choice(recipe: Recipe) -> Iterator[tuple[str, str]]:
    """How the training chose the tokens."""
    ties = f"{_TIES[recipe.tie_break]} ({recipe.tie_break})"
    if recipe.traits.learns_merges:
        yield "merged", f"{_SCORES[recipe.score]}; {ties}"
    elif recipe.traits.has_scores:
        yield "chosen", "pieces that the text's likelihood would lose most without (EM, pruning)"
    else:
        what = "pre-tokens" if recipe.looks_up_pre_tokens else "characters"
        yield "chosen", f"the most frequent {what}; of equals the one seen first"


def _encoded(recipe: Recipe) -> str:
    text = _SEGMENTATIONS[recipe.segmentation]
    if recipe.whole_words:
        text = f"a pre-token that is a token stays whole; else {text}"
    if recipe.precision == "single" and recipe.traits.has_scores:
        text += ", sums in single precision"
    return text


def _unknown(recipe: Recipe) -> str:
    if recipe.byte_fallback:
        text = "a character without a token becomes the tokens of its bytes"
        lacking = recipe.unk_token and f", or {visible(recipe.unk_token)} where one is missing"
        return text + (lacking or "")
    if recipe.unk_token is None:
        if recipe.is_byte_level:
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


def training_facts(recipe: Recipe, record: TrainingRecord) -> Iterator[tuple[str, str]]:
    """What the training read, and what it was asked for."""
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
    if record.min_count > 1:
        asked += f", pre-tokens from {record.min_count:,} occurrences"
    if record.min_frequency > 1:
        asked += f", pairs from {record.min_frequency:,} occurrences"
    if record.max_token_length is not None:
        asked += f", tokens up to length {record.max_token_length:,}"
    if record.coverage is not None:
        asked += f", characters that cover {record.coverage:g} of the text"
    if record.alphabet_limit is not None:
        asked += f", an alphabet of {record.alphabet_limit:,} at most"
    if record.initial_alphabet:
        asked += f", with {brief(record.initial_alphabet)} in the alphabet"
    yield "asked for", asked + (f", but {_exhausted(recipe)}" if record.exhausted else "")
    if record.extended:
        yield "went on from", f"a model of {record.extended:,} ids"
    if record.pruned_from is not None:
        yield "pruned", f"from {record.pruned_from:,} ids"


def _exhausted(recipe: Recipe) -> str:
    if recipe.traits.learns_merges:
        return "no pair was left"
    return f"the text gave no more {'pieces' if recipe.traits.has_scores else 'tokens'}"


def whole_recipe(model: FilledRecipe, source: FileFacts) -> Iterator[tuple[str, str]]:
    """A model's recipe with its name, its file, its added tokens and its training."""
    recipe, training = model.recipe, model.training
    yield "recipe", visible(recipe.name)
    yield from source_facts(source)
    yield "algorithm", recipe.algorithm
    yield from recipe_facts(recipe, trained=training is not None)
    others = (token for token in model.added if not token.special)
    yield from added_facts(model.special_ids.items(), others)
    if training is not None:
        yield from training_facts(recipe, training)


def source_facts(source: FileFacts) -> Facts:
    """The file's format, where the model came from before, and what came with it."""
    if source.format is not None:
        yield "format", source.title
    if source.origin is not None and source.is_converted:
        name = source.origin.name
        title = readable(source.origin_title)
        yield "origin", f"{title}, {readable(name)}" if name else title
    if source.companions:
        few = ", ".join(map(brief, source.companions[:FEW]))
        more = len(source.companions) - FEW
        yield "companions", few + (f", … {more:,} more" if more > 0 else "")


def added_facts(special: Iterable[tuple[str, int]], added: Iterable[AddedToken]) -> Facts:
    """The special tokens, and the others that are found before the model segments."""
    yield "special", _named(list(special)) or "none"
    if others := [(token.text, token.id) for token in added]:
        yield "found first", _named(others)


def _named(tokens: Sequence[tuple[str, int]]) -> str:
    few = ", ".join(f"{brief(token)} ({id_})" for token, id_ in tokens[:FEW])
    return few + (f", … {len(tokens) - FEW:,} more" if len(tokens) > FEW else "")


def how_found(token: AddedToken) -> str:
    """Where an added token is found."""
    facts = ["where the caller allows it" if token.special else "always"]
    facts.append("in the normalized text" if token.normalized else "in the text as given")
    if token.single_word:
        facts.append("between no word characters")
    strips = {"left": token.strip_left, "right": token.strip_right}
    sides = [side for side, strip in strips.items() if strip]
    if sides:
        facts.append(f"with the white space on the {' and '.join(sides)}")
    return ", ".join(facts)


def facts_table(facts: Facts) -> Table:
    """Facts below one another; a label that repeats is shown once."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    last = None
    for label, text in facts:
        table.add_row("" if label == last else label, Text(text))
        last = label
    return table
