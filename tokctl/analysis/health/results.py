"""Results of a health check as plain data, and the table of all checks.

`docs/health.md` has the same table; a test compares both. An **error** loses or breaks text. A
**warning** is usually a mistake that costs something. An **info** is worth knowing, and normal in
many models.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

#: Severities of findings, worst first.
SEVERITIES = ("error", "warning", "info")


@dataclass(frozen=True)
class Example:
    """An item that a finding counts, usually a token.

    Attributes:
        id: id of the token; None for an item without an id, such as a missing byte.
        token: the token as the vocabulary spells it.
        data: bytes of the token, markers included.
        note: detail about the item, such as its duplicates, its step or its count.
    """

    id: int | None
    token: str
    data: bytes
    note: str = ""


@dataclass(frozen=True)
class Finding:
    """The result of one check.

    Attributes:
        name: one of `tokctl.analysis.health.CHECKS`.
        severity: severity of the check: `error`, `warning` or `info`.
        count: number of items concerned.
        of: number of items examined.
        things: kind of the items: `tokens`, `merges`, `bytes`, ….
        examples: first items concerned, as many as were asked for.
        what: the finding in one sentence.
        why: why the finding matters, and what to do.
        detail: more about the finding in this model; often empty.
        undecided: number of items that the check could not decide; `count` excludes them.
    """

    name: str
    severity: str
    count: int
    of: int
    things: str
    examples: tuple[Example, ...]
    what: str
    why: str
    detail: str = ""
    undecided: int = 0


@dataclass(frozen=True)
class SkippedCheck:
    """A check that does not apply to the model, or that needs a text or embeddings.

    Attributes:
        name: one of `tokctl.analysis.health.CHECKS`.
        reason: why the check was not made.
    """

    name: str
    reason: str


#: Result of a check.
CheckResult = Finding | SkippedCheck


@dataclass(frozen=True)
class TextFacts:
    """The texts that a model was checked on.

    Attributes:
        names: names of the files.
        documents: number of documents, each as often as it counts.
        bytes: size of the documents.
        tokens: number of ids that the documents were encoded to.
    """

    names: tuple[str, ...]
    documents: int
    bytes: int
    tokens: int


@dataclass(frozen=True)
class Health:
    """The health of a model.

    Attributes:
        vocab_size: number of ids.
        texts: texts of the check; None without a text.
        findings: checks that found something, worst first.
        passed: checks that were made and found nothing.
        not_made: checks that don't apply to the model, or need a text or embeddings.
    """

    vocab_size: int
    texts: TextFacts | None
    findings: tuple[Finding, ...]
    passed: tuple[Finding, ...]
    not_made: tuple[SkippedCheck, ...]

    @property
    def verdict(self) -> str:
        """Worst severity found, or `passed` if nothing was found."""
        return self.findings[0].severity if self.findings else "passed"

    def at_least(self, severity: str) -> tuple[Finding, ...]:
        """Return the findings of this severity or a worse one."""
        worst = SEVERITIES[: SEVERITIES.index(severity) + 1]
        return tuple(finding for finding in self.findings if finding.severity in worst)

    def to_dict(self) -> dict[str, Any]:
        """Return the results as JSON data, with bytes as hexadecimal digits."""
        found: dict[str, Any] = {
            "verdict": self.verdict,
            "vocab_size": self.vocab_size,
            "texts": None if self.texts is None else asdict(self.texts),
            "findings": [_plain(finding) for finding in self.findings],
            "passed": [_plain(finding) for finding in self.passed],
            "not_made": [asdict(check) for check in self.not_made],
        }
        return found


def _plain(finding: Finding) -> dict[str, Any]:
    data = asdict(finding)
    data["examples"] = [
        {"id": one.id, "token": one.token, "bytes": one.data.hex(), "note": one.note}
        for one in finding.examples
    ]
    return data


class Check(NamedTuple):
    """The description of a check.

    Attributes:
        severity: severity of its findings; see the module's text.
        things: kind of the items counted.
        what: a finding in one sentence.
        why: why a finding matters, and what to do.
    """

    severity: str
    things: str
    what: str
    why: str


CHECKS: dict[str, Check] = {
    # -- unreachable tokens
    "unreachable-by-encoding": Check(
        "warning",
        "tokens",
        "No text is ever encoded to them, because other tokens always win (by merges, longest "
        "match or probability).",
        "Their ids and embedding rows are never trained, so a language model that is given one "
        "produces nonsense; train the tokenizer again, or prune them.",
    ),
    "unreachable-by-pre-tokenizer": Check(
        "warning",
        "tokens",
        "The pre-tokenizer always splits their text, in every context, so they can't occur.",
        "The model was probably trained with a different pre-tokenizer from the one in its file; "
        "put in the right one, or train again.",
    ),
    "unreachable-by-normalizer": Check(
        "warning",
        "tokens",
        "The normalizer changes their text, so they can't occur.",
        "The model was probably trained on text with a different normalization (for example, it "
        "has capitals but lowercases text); put in the right normalizer, or train again.",
    ),
    "unreachable-by-added-token": Check(
        "warning",
        "tokens",
        "An added token is found in their text before the model reads it.",
        "The added token hides them; remove it, or make it match whole words only.",
    ),
    # -- use by a text
    "unknown-in-text": Check(
        "warning",
        "tokens of the text",
        "Text was encoded to the unknown token, or to nothing.",
        "Unknown text is lost; add its characters to the alphabet, or use byte fallback "
        "or a byte-level model.",
    ),
    "never-used": Check(
        "info",
        "tokens",
        "The text never uses them; the tokens of single bytes are left out.",
        "If the language model is trained on text like this, their embeddings stay untrained; "
        "use a smaller vocabulary, or train the tokenizer on more similar text.",
    ),
    "rarely-used": Check(
        "info",
        "tokens",
        "The text uses them, but so rarely that a language model would hardly learn them.",
        "They are likely to stay under-trained; use a smaller vocabulary, or more text.",
    ),
    "only-parts": Check(
        "info",
        "tokens",
        "The text never uses them, but it uses tokens that are merged from them.",
        "They are intermediate steps: merging needs them, but their embeddings stay untrained.",
    ),
    # -- the embeddings of a language model
    "under-trained": Check(
        "warning",
        "tokens",
        "Their rows of the embeddings are outliers: unusually short, or similar to those of "
        "unused ids.",
        "A language model that has hardly seen a token responds to it with nonsense; try each in "
        "a prompt, train on text that contains them, or prune them.",
    ),
    # -- merges
    "merges-without-effect": Check(
        "warning",
        "merges",
        "No text needs them: their token is unreachable, or another pair always makes it, and "
        "no reachable token depends on them.",
        "Without them, every text is encoded the same; prune the model.",
    ),
    "merges-without-use": Check(
        "info",
        "merges",
        "The text never needs them: it uses neither the tokens that they make nor tokens merged "
        "from those.",
        "If the text is typical, their number says how much smaller the vocabulary could be "
        "(convert --prune).",
    ),
    # -- duplicates
    "duplicates-in-place": Check(
        "warning",
        "tokens",
        "Two or more ids represent the same text at the same place in a word.",
        "Encoding only ever gives one of them; the other ids are wasted, or the vocabulary is "
        "damaged.",
    ),
    "duplicates-alone": Check(
        "info",
        "tokens",
        "Decoded on their own, they give the same text as another id.",
        "This is normal if words have a marker (▁the and the); a program that looks up a token "
        "by its text must say which one it means.",
    ),
    # -- ids
    "holes-in-ids": Check(
        "info",
        "ids",
        "The file has no token for these ids; tokctl fills each with <|unused_ID|>.",
        "No text is encoded to them, and a language model that emits one has made a mistake; "
        "formats that allow no holes keep the fillers as special tokens.",
    ),
    # -- special tokens
    "special-from-text": Check(
        "error",
        "special tokens",
        "Ordinary text that spells them is encoded to their id, even if you didn't allow it.",
        "Anyone who writes the text can end a turn or a document; give the special token a "
        "spelling that no ordinary token has.",
    ),
    "control-from-text": Check(
        "warning",
        "tokens",
        "They look like control tokens or are spelled like one, and text can produce them.",
        "If a program treats them as control tokens, text can forge them; make them special, "
        "or rename them.",
    ),
    "special-without-id": Check(
        "warning",
        "names",
        "The files name them as special tokens, but they have no id.",
        "Programs that write them get ordinary tokens or the unknown token; add them to the "
        "vocabulary, or correct the files.",
    ),
    "no-unknown-token": Check(
        "error",
        "models",
        "Some characters have no token, and the model has no unknown token for them.",
        "Encoding such a character is an error, and other libraries drop it silently; give the "
        "model an unknown token, byte fallback or a byte-level alphabet.",
    ),
    # -- bytes
    "missing-bytes": Check(
        "error",
        "bytes",
        "The byte-level alphabet lacks bytes that UTF-8 needs.",
        "Text that contains them can't be encoded; add the bytes to the vocabulary.",
    ),
    "missing-binary-bytes": Check(
        "info",
        "bytes",
        "The byte-level alphabet lacks bytes that never occur in UTF-8.",
        "Text can still be encoded, but data that is not UTF-8 can't.",
    ),
    "missing-byte-tokens": Check(
        "error",
        "bytes",
        "Byte fallback lacks the tokens of bytes that UTF-8 needs.",
        "Characters with these bytes become unknown, or are an error; add all of <0x00> to "
        "<0xFF> to the vocabulary.",
    ),
    "partial-utf8": Check(
        "info",
        "tokens",
        "Their bytes are not whole characters.",
        "This is normal in byte-level models, where other tokens complete them; decoded on their "
        "own they give U+FFFD, so decode ids together.",
    ),
    "never-utf8": Check(
        "info",
        "tokens",
        "Their bytes can't be part of valid UTF-8, whatever comes before and after them.",
        "Only data that is not UTF-8 is encoded to them; single bytes belong to the alphabet, but "
        "longer tokens were trained on damaged text.",
    ),
    # -- scripts and digits
    "lookalike-scripts": Check(
        "warning",
        "tokens",
        "They mix Latin, Greek or Cyrillic letters.",
        "Letters that look alike are a sign of forged or badly recognized text (a "
        "Cyrillic a in a Latin word); normalize the training text.",
    ),
    "mixed-scripts": Check(
        "info",
        "tokens",
        "They mix scripts (Japanese, Korean and Bopomofo may include Han, and characters that "
        "all scripts share may go with any).",
        "They are rarely useful beyond one text; a pre-tokenizer that splits scripts avoids them.",
    ),
    "digits-with-letters": Check(
        "info",
        "tokens",
        "They contain both digits and letters.",
        "Numbers are split differently next to letters than on their own; a pre-tokenizer that "
        "splits off digits avoids that.",
    ),
    "long-numbers": Check(
        "info",
        "tokens",
        "They contain more than three digits in a row.",
        "Numbers of the same length are split differently, which makes arithmetic hard to learn; "
        "split digits singly or in groups of three.",
    ),
    # -- characters
    "replacement-characters": Check(
        "warning",
        "tokens",
        "They contain U+FFFD, which replaces text that could not be read.",
        "The training text was damaged; find out where it was decoded incorrectly.",
    ),
    "control-characters": Check(
        "info",
        "tokens",
        "They contain control characters other than tabs and line ends.",
        "They usually come from files that were not text; the single bytes of a byte-level "
        "alphabet are not counted.",
    ),
    "trailing-spaces": Check(
        "info",
        "tokens",
        "They end in a space after other characters.",
        "Text that ends in a space is split differently, so a trailing space in a prompt changes "
        "what comes next; most pre-tokenizers put spaces at the start of tokens.",
    ),
    "long-tokens": Check(
        "info",
        "tokens",
        "They are longer than 32 characters.",
        "They are usually rulers, indentation or text that was repeated many times; check the "
        "training text for duplicates.",
    ),
}
