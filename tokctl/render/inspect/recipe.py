"""A recipe and its training in plain words."""

from __future__ import annotations

from collections.abc import Iterator

from tokctl.recipe import Recipe, TrainingRecord
from tokctl.render.console import visible
from tokctl.render.inspect.plain import named

_NORMALIZERS = {"delete-newlines": "newlines deleted"}

_SPLITS = {
    "whitespace": "at white space, which is dropped",
    "bert": "at white space, which is dropped; each punctuation mark alone (BERT)",
    "gpt2-words": "into letters, digits and signs as GPT-2 does, white space dropped",
    "gpt2": "by GPT-2's pattern: words with the space before them, digits, signs",
    "none": "not at all: a text is one pre-token",
}

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
    "longest-match": "the longest token first, from left to right",
}


def recipe_facts(recipe: Recipe) -> Iterator[tuple[str, str]]:
    """What each stage does, in the order of the stages."""
    if recipe.normalizers:
        yield "normalized", ", ".join(_NORMALIZERS[name] for name in recipe.normalizers)
    split = f"by the pattern {recipe.pre_tokenizer.removeprefix('regex:')}"
    yield "split", visible(_SPLITS.get(recipe.pre_tokenizer, split)).replace("␣", " ")
    kind, mark = recipe.marker
    yield "symbols", f"{recipe.units}, {_MARKERS[kind].format(visible(mark))}"
    yield "merged", f"{_SCORES[recipe.score]}; {_TIES[recipe.tie_break]} ({recipe.tie_break})"
    yield "encoded", _SEGMENTATIONS[recipe.segmentation]
    yield "unknown", _unknown(recipe)


def _unknown(recipe: Recipe) -> str:
    if recipe.unk_token is None:
        if recipe.alphabet == "bytes":
            return "never: every byte has a token"
        return "an error: there is no unknown token"
    name = visible(recipe.unk_token)
    if recipe.segmentation != "longest-match" or recipe.unknown == "char":
        text = f"a character without a token is {name}"
    else:
        text = f"a word with a stretch that no token fits is {name}"
    if recipe.max_input_chars is not None and recipe.segmentation == "longest-match":
        text += f"; a word of over {named(recipe.max_input_chars, 'character')} too"
    return text


def training_facts(record: TrainingRecord) -> Iterator[tuple[str, str]]:
    """What the training read, and what it was asked for."""
    read = f"{named(record.documents, 'document')}, {named(record.bytes, 'byte')}"
    yield "trained on", f"{read}, sha256 {record.sha256[:12]}…"
    counted = f"{named(record.pre_tokens, 'pre-token')}, {record.distinct_pre_tokens:,} distinct"
    yield "counted", counted
    asked = f"{record.vocab_size:,} ids"
    if record.min_count > 1:
        asked += f", pre-tokens from {record.min_count:,} occurrences"
    if record.min_frequency > 1:
        asked += f", pairs from {record.min_frequency:,} occurrences"
    if record.max_token_length is not None:
        asked += f", tokens up to length {record.max_token_length:,}"
    yield "asked for", asked + (", but no pair was left" if record.exhausted else "")
