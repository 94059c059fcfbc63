"""Post-processors: what each kind is there, and what theirs are here.

Definitions: `tokenizers/src/processors` of Hugging Face tokenizers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tokctl.errors import TokctlError
from tokctl.formats.huggingface.component import Fields, Json, flatten, in_sequence, unknown_type
from tokctl.model.parts import POST_PROCESSORS, Part, template_pieces

_part = POST_PROCESSORS.part


def to_json(parts: tuple[Part, ...], ids: Mapping[str, int]) -> Json | None:
    """The component for post-processors; `ids` are those of the special tokens."""
    return in_sequence((_WRITERS[part.kind](part, ids) for part in parts), "processors")


def from_json(data: Any, ids: Mapping[str, int]) -> list[Part]:
    """The post-processors that a component stands for; `ids` are those of all tokens."""
    parts: list[Part] = []
    for fields in flatten(data, "post-processor", "processors"):
        if fields.type not in _READERS:
            raise unknown_type(fields)
        parts += _READERS[fields.type](fields, ids)
    if sum(part.kind == "template" for part in parts) > 1:
        raise TokctlError("it has two templates, and tokctl fills in one")
    return parts


# -- writing --------------------------------------------------------------------------


def _template(part: Part, ids: Mapping[str, int]) -> Json:
    templates = [template_pieces(part[name]) for name in ("single", "pair")]
    named = sorted({piece.token for pieces in templates for piece in pieces if piece.token})
    single, pair = (
        [
            {"Sequence": {"id": piece.sequence, "type_id": piece.type_id}}
            if piece.sequence
            else {"SpecialToken": {"id": piece.token, "type_id": piece.type_id}}
            for piece in pieces
        ]
        for pieces in templates
    )
    tokens = {name: {"id": name, "ids": [ids[name]], "tokens": [name]} for name in named}
    return {"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": tokens}


def _trim_offsets(part: Part, _ids: Mapping[str, int]) -> Json:
    return {
        "type": "ByteLevel",
        "add_prefix_space": part["prefix_space"],
        "trim_offsets": True,
        "use_regex": True,
    }


_WRITERS = {"template": _template, "trim-offsets": _trim_offsets}


# -- reading --------------------------------------------------------------------------


def _piece(text: str, type_id: int) -> str:
    """A piece of our template; its type id is written where it is not 0 or would be misread."""
    if re.search(r"\s", text) or not text:
        raise TokctlError(
            f"its template names the token {text!r}, and tokctl's templates are split at spaces"
        )
    return f"{text}:{type_id}" if type_id or re.search(r":[0-9]{1,9}$", text) else text


def _check(name: Any, id_: Any, ids: Mapping[str, int]) -> str:
    if not isinstance(name, str) or ids.get(name) != id_ or type(id_) is not int:
        raise TokctlError(f"its post-processor gives {name!r} the id {id_!r}, the vocabulary not")
    return name


def _read_template(fields: Fields, ids: Mapping[str, int]) -> list[Part]:
    tokens = fields.data.get("special_tokens")
    if not isinstance(tokens, dict):
        raise ValueError("the special_tokens of the post-processor TemplateProcessing are none")
    texts = [_read_pieces(fields.data.get(name), tokens, ids) for name in ("single", "pair")]
    return [_part("template", single=texts[0], pair=texts[1])]


def _read_pieces(pieces: Any, tokens: dict[str, Any], ids: Mapping[str, int]) -> str:
    if not isinstance(pieces, list):
        raise ValueError("a template of the post-processor TemplateProcessing is no list")
    words = []
    for piece in pieces:
        if not isinstance(piece, dict) or len(piece) != 1:
            raise ValueError("a piece of a template is not as it should be")
        ((kind, given),) = piece.items()
        inner = Fields("piece of a template", given)
        name, type_id = inner.text("id"), inner.number("type_id")
        if kind == "Sequence" and name in ("A", "B"):
            words.append(f"${name}:{type_id}" if type_id else f"${name}")
            continue
        if kind != "SpecialToken":
            raise ValueError(f"a piece of a template is a {kind} {name!r}")
        token = Fields("token of a template", tokens.get(name))
        for text, id_ in zip(token.data["tokens"], token.data["ids"], strict=True):
            words.append(_piece(_check(text, id_, ids), type_id))
    return " ".join(words)


def _token(fields: Fields, name: str, ids: Mapping[str, int]) -> str:
    given = fields.data.get(name)
    if not isinstance(given, list) or len(given) != 2:
        raise ValueError(f"{name!r} of the post-processor {fields.type} is no token with its id")
    return _check(given[0], given[1], ids)


def _read_bert(fields: Fields, ids: Mapping[str, int]) -> list[Part]:
    from tokctl.tokenizer.postprocess import bert

    return [bert(_token(fields, "cls", ids), _token(fields, "sep", ids))]


def _read_roberta(fields: Fields, ids: Mapping[str, int]) -> list[Part]:
    from tokctl.tokenizer.postprocess import roberta

    template = roberta(_token(fields, "cls", ids), _token(fields, "sep", ids))
    return [*_read_byte_level(fields, ids), template]


def _read_byte_level(fields: Fields, _ids: Mapping[str, int]) -> list[Part]:
    if not fields.flag("trim_offsets"):
        return []
    return [_part("trim-offsets", prefix_space=fields.flag("add_prefix_space"))]


_READERS = {
    "TemplateProcessing": _read_template,
    "BertProcessing": _read_bert,
    "RobertaProcessing": _read_roberta,
    "ByteLevel": _read_byte_level,
}
