"""All that a recipe's post-processors do, in one object."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tokctl.errors import TokctlError
from tokctl.model.parts import POST_PROCESSORS, Steps, check_template
from tokctl.tokenizer.encoding import Encoding
from tokctl.tokenizer.postprocess.padding import Padding, pad_batch
from tokctl.tokenizer.postprocess.templates import Template
from tokctl.tokenizer.postprocess.trimming import trim
from tokctl.tokenizer.postprocess.truncation import Truncation


@dataclass(frozen=True)
class PostProcessor:
    """Post-processors that are ready to be used, over and over.

    Attributes:
        single, pair: the templates of one text and of two.
        trims: for each `trim-offsets`, whether a prefix space was added.
    """

    single: Template
    pair: Template
    trims: tuple[bool, ...] = ()

    @classmethod
    def of(cls, parts: Steps, special_ids: Mapping[str, int]) -> PostProcessor:
        """What these parts describe; without a template, two texts stand side by side.

        Raises:
            TokctlError: two templates, a template that names what is no special token.
        """
        single, pair = "$A", "$A $B:1"
        trims = []
        templates = 0
        for part in POST_PROCESSORS.steps(parts):
            if part.kind == "trim-offsets":
                trims.append(part["prefix_space"])
            elif templates:
                raise TokctlError(
                    "two templates can't follow one another", "put all tokens into one template"
                )
            else:
                single, pair = part["single"], part["pair"]
                templates += 1
        check_template(single, pair, tuple(special_ids))
        read = [Template.read(text, special_ids) for text in (single, pair)]
        return cls(read[0], read[1], tuple(trims))

    def template(self, pair: bool, add_special: bool = True) -> Template:
        """The template of one text or of two."""
        template = self.pair if pair else self.single
        return template if add_special else template.bare

    def added_tokens_count(self, pair: bool = False) -> int:
        """How many special tokens come to one text, or to two."""
        return self.template(pair).added_tokens_count

    def process(
        self,
        first: Encoding,
        second: Encoding | None = None,
        *,
        add_special: bool = True,
        truncation: Truncation | None = None,
    ) -> Encoding:
        """The tokens of a text, or of two, as the model wants them: cut first, then wrapped.

        Raises:
            TokctlError: a truncation that can't be.
        """
        template = self.template(second is not None, add_special)
        if truncation is not None:
            first, second = truncation.apply(first, second, template.added_tokens_count)
        for prefix_space in self.trims:
            first = trim(first, prefix_space)
            second = None if second is None else trim(second, prefix_space)
        return template.apply(first, second)

    def process_ids(
        self,
        ids: list[int],
        pair_ids: list[int] | None = None,
        *,
        add_special: bool = True,
        truncation: Truncation | None = None,
    ) -> list[int]:
        """`process`, for the ids alone: faster, and without windows."""
        template = self.template(pair_ids is not None, add_special)
        if truncation is not None:
            added = template.added_tokens_count
            other = None if pair_ids is None else len(pair_ids)
            kept = truncation.lengths(len(ids), other, added)
            ids = truncation.truncate_ids(ids, kept[0])
            pair_ids = None if pair_ids is None else truncation.truncate_ids(pair_ids, kept[1])
        return template.wrap_ids(ids, pair_ids)


def postprocess(
    first: Encoding,
    second: Encoding | None = None,
    *,
    parts: Steps,
    special_ids: Mapping[str, int],
    add_special: bool = True,
    truncation: Truncation | None = None,
    padding: Padding | None = None,
) -> Encoding:
    """Cuts, wraps and pads the tokens of a text, or of two.

    Args:
        first, second: as the model segments the texts.
        parts: the recipe's post-processors.
        special_ids: the ids of the special tokens.
        add_special: puts the template's special tokens there. Its type ids, and trimmed
            offsets, come in any case.
        truncation, padding: see there. A batch is padded by `pad_batch`.

    Raises:
        TokctlError: settings that can't be.
    """
    processor = PostProcessor.of(parts, special_ids)
    processed = processor.process(first, second, add_special=add_special, truncation=truncation)
    return processed if padding is None else pad_batch([processed], padding, special_ids)[0]
