"""What a health check says: plain data, and the table of all checks.

`docs/health.md` has the same table; a test holds the two together. An **error** loses or
breaks text; a **warning** is most often a mistake that costs something; **info** is
worth knowing, and normal in many models.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

#: From bad to harmless.
SEVERITIES = ("error", "warning", "info")


@dataclass(frozen=True)
class Example:
    """One of the things that a finding counts.

    Attributes:
        id: None where it has none: a byte without a token, for instance.
        token: as the vocabulary spells it.
        data: its bytes, markers included.
        note: what is to be said of it: what it is equal to, its step, its count.
    """

    id: int | None
    token: str
    data: bytes
    note: str = ""


@dataclass(frozen=True)
class Finding:
    """What one check has found.

    Attributes:
        name: one of `tokctl.analysis.health.CHECKS`.
        severity: `error`, `warning` or `info`: what a finding of this name is worth.
        count: how many are affected.
        of: how many were looked at.
        things: what is counted: `tokens`, `merges`, `bytes`, ….
        examples: the first of them, as many as were asked for.
        what: what it is, in one sentence.
        why: why it matters, and what to do.
        detail: what else this model's finding has to say; often empty.
        undecided: how many the check could not decide; they are not in `count`.
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
class NotMade:
    """A check that says nothing of this model, or of no text, and why."""

    name: str
    reason: str


#: What a check answers.
Answer = Finding | NotMade


@dataclass(frozen=True)
class TextFacts:
    """The texts that a model was checked on.

    Attributes:
        names: of the files.
        documents: in them, each as often as it counts.
        bytes: their size.
        tokens: ids that they were encoded to.
    """

    names: tuple[str, ...]
    documents: int
    bytes: int
    tokens: int


@dataclass(frozen=True)
class Health:
    """The health of a model.

    Attributes:
        vocab_size: everything that has an id.
        texts: None without a text.
        findings: what was found, the worst first.
        passed: checks that were made and found nothing.
        not_made: checks that can't be made of this model, or that need a text.
    """

    vocab_size: int
    texts: TextFacts | None
    findings: tuple[Finding, ...]
    passed: tuple[Finding, ...]
    not_made: tuple[NotMade, ...]

    @property
    def verdict(self) -> str:
        """The worst severity that was found; `passed` where nothing was."""
        return self.findings[0].severity if self.findings else "passed"

    def at_least(self, severity: str) -> tuple[Finding, ...]:
        """The findings of that severity or worse."""
        worst = SEVERITIES[: SEVERITIES.index(severity) + 1]
        return tuple(finding for finding in self.findings if finding.severity in worst)

    def to_dict(self) -> dict[str, Any]:
        """As JSON holds it: bytes in hexadecimal digits."""
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
    """severity: see above; things: what it counts; what: what a finding is, in one sentence;
    why: why it matters, and what to do."""

    severity: str
    things: str
    what: str
    why: str


CHECKS: dict[str, Check] = {
    # -- tokens that no text gives
    "unreachable-by-encoding": Check(
        "warning",
        "tokens",
        "No text is encoded to them: other tokens always win, by merges, longest match or "
        "probability.",
        "They take ids and rows of the embedding that are never trained, so a program that "
        "puts one in gets nonsense; train again, or prune them.",
    ),
    "unreachable-by-pre-tokenizer": Check(
        "warning",
        "tokens",
        "The pre-tokenizer cuts inside their text, wherever it stands, so they can't occur.",
        "The model was likely trained with another pre-tokenizer than its file names; put "
        "the right one in, or train again.",
    ),
    "unreachable-by-normalizer": Check(
        "warning",
        "tokens",
        "The normalizer changes their text, so they can't occur.",
        "The model was likely trained on text that was normalized otherwise (capitals in a "
        "model that lowers them, say); put the right normalizer in, or train again.",
    ),
    "unreachable-by-added-token": Check(
        "warning",
        "tokens",
        "An added token is found in their text before the model reads it.",
        "The added token hides them; take it out, or mark it as a whole word only.",
    ),
    # -- what a text uses
    "unknown-in-text": Check(
        "warning",
        "tokens of the text",
        "Text was encoded to the unknown token, or to nothing.",
        "What is unknown is lost; add its characters to the alphabet, or use byte fallback "
        "or a byte-level model.",
    ),
    "never-used": Check(
        "info",
        "tokens",
        "The text never uses them; the tokens of single bytes are left out.",
        "On a text like the one a language model is trained on, their embeddings stay "
        "untrained; take a smaller vocabulary, or more fitting text.",
    ),
    "rarely-used": Check(
        "info",
        "tokens",
        "The text uses them, and so rarely that a language model would hardly learn them.",
        "They are candidates for under-trained tokens; take a smaller vocabulary, or more text.",
    ),
    "only-parts": Check(
        "info",
        "tokens",
        "The text never uses them, and tokens that it uses are merged from them.",
        "They are scaffolding: merging needs them, and their embeddings stay untrained.",
    ),
    # -- the embeddings of a language model
    "under-trained": Check(
        "warning",
        "tokens",
        "Their rows of the embeddings stand apart from those of other tokens: short, or like "
        "those of ids that are known to be unused.",
        "A language model that has hardly met a token answers it with nonsense; try each in a "
        "prompt, train on text that has them, or prune them.",
    ),
    # -- merges
    "merges-without-effect": Check(
        "warning",
        "merges",
        "No text needs them: their token is unreachable, or another pair always makes it, and "
        "no reachable token is merged from it by them.",
        "They can be left out without changing any encoding; prune the model.",
    ),
    "merges-without-use": Check(
        "info",
        "merges",
        "The text never needs them: no token that it uses is, or is merged from, what they make.",
        "On a fitting text the merges that are never needed say how much smaller the "
        "vocabulary could be (convert --prune).",
    ),
    # -- duplicates
    "duplicates-in-place": Check(
        "warning",
        "tokens",
        "Two ids or more stand for the same text in the same place of a word.",
        "Encoding only ever gives one of them; the others take ids for nothing, or come from "
        "a damaged vocabulary.",
    ),
    "duplicates-alone": Check(
        "info",
        "tokens",
        "By themselves they are decoded to the same text as another id.",
        "Normal where words have a marker (▁the and the); programs that look a token up by its "
        "text must say which they mean.",
    ),
    # -- ids
    "holes-in-ids": Check(
        "info",
        "ids",
        "The file gives these ids to no token; here <|unused_ID|> fills each.",
        "No text gives them, and a language model that does has made a mistake; formats "
        "without holes keep the fillers as special tokens.",
    ),
    # -- special tokens
    "special-from-text": Check(
        "error",
        "special tokens",
        "Ordinary text that spells them is encoded to their id, without permission.",
        "Whoever writes the text can end a turn or a document; give the special token a "
        "text that no ordinary token has.",
    ),
    "control-from-text": Check(
        "warning",
        "tokens",
        "They look like control tokens, or are spelled like one, and ordinary text gives them.",
        "If a program takes them for control tokens, text can forge them; make them special, "
        "or rename them.",
    ),
    "special-without-id": Check(
        "warning",
        "names",
        "The files name them as special tokens, and they have no id.",
        "Programs that write them get ordinary tokens, or the unknown one; add them to the "
        "vocabulary, or mend the files.",
    ),
    "no-unknown-token": Check(
        "error",
        "models",
        "The model can meet characters without a token, and nothing stands for them.",
        "Encoding stops there with an error, and other libraries drop the character in "
        "silence; give it an unknown token, byte fallback or a byte-level alphabet.",
    ),
    # -- bytes
    "missing-bytes": Check(
        "error",
        "bytes",
        "The byte-level alphabet lacks bytes that UTF-8 needs.",
        "Text that holds them can't be encoded; put the bytes into the vocabulary.",
    ),
    "missing-binary-bytes": Check(
        "info",
        "bytes",
        "The byte-level alphabet lacks bytes that are in no UTF-8.",
        "Text is encoded all the same, and data that is not UTF-8 is not.",
    ),
    "missing-byte-tokens": Check(
        "error",
        "bytes",
        "Byte fallback lacks the tokens of bytes that UTF-8 needs.",
        "Characters with these bytes become unknown, or stop the encoding; put all of <0x00> "
        "to <0xFF> into the vocabulary.",
    ),
    "partial-utf8": Check(
        "info",
        "tokens",
        "Their bytes are no whole characters.",
        "Normal in byte-level models: other tokens complete them; decoded by themselves they "
        "give U+FFFD, so decode ids together.",
    ),
    "never-utf8": Check(
        "info",
        "tokens",
        "Their bytes can be in no valid UTF-8, whatever stands beside them.",
        "Only data that is not UTF-8 gives them; single bytes are part of the alphabet, and "
        "longer tokens were trained on damaged text.",
    ),
    # -- scripts and digits
    "lookalike-scripts": Check(
        "warning",
        "tokens",
        "Latin, Greek and Cyrillic letters stand side by side in them.",
        "Letters that look alike are a sign of forged or badly recognized text (a "
        "Cyrillic a in a Latin word); normalize the training text.",
    ),
    "mixed-scripts": Check(
        "info",
        "tokens",
        "They mix scripts; Japanese, Korean and Bopomofo with Han are one, and signs that all "
        "scripts share fit with each.",
        "Rarely of use in more than one text; a pre-tokenizer that splits scripts prevents them.",
    ),
    "digits-with-letters": Check(
        "info",
        "tokens",
        "They hold digits and letters.",
        "Numbers are split otherwise beside letters than alone; a pre-tokenizer that splits "
        "digits off prevents it.",
    ),
    "long-numbers": Check(
        "info",
        "tokens",
        "They hold more than three digits in a row.",
        "Numbers of equal length are split unlike one another, which makes arithmetic hard to "
        "learn; split digits one by one or in threes.",
    ),
    # -- characters
    "replacement-characters": Check(
        "warning",
        "tokens",
        "They hold U+FFFD, which stands for text that could not be read.",
        "The training text was damaged; find where it was decoded wrongly.",
    ),
    "control-characters": Check(
        "info",
        "tokens",
        "They hold control characters other than tab and line ends.",
        "Most often remains of files that were no text; the single bytes of a byte-level "
        "alphabet are not counted.",
    ),
    "trailing-spaces": Check(
        "info",
        "tokens",
        "They end in a space behind something else.",
        "What ends in a space is split otherwise there, so a prompt's last space changes what "
        "comes next; most pre-tokenizers put spaces in front.",
    ),
    "long-tokens": Check(
        "info",
        "tokens",
        "They are longer than 32 characters.",
        "Most often rulers, indentation or a text that was there many times; see whether "
        "the training text has duplicates.",
    ),
}
