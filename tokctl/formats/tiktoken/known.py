"""What `tiktoken_ext/openai_public.py` publishes of the encodings."""

from __future__ import annotations

from typing import NamedTuple

from tokctl.model.parts import Part


class Encoding(NamedTuple):
    """What a rank file leaves out."""

    name: str
    pre_tokenizers: str | tuple[Part, ...]
    special: dict[str, int]


_END = {"<|endoftext|>": 50256}
_O200K = {"<|endoftext|>": 199999, "<|endofprompt|>": 200018}
_HARMONY = {
    199998: "<|startoftext|>",
    199999: "<|endoftext|>",
    200002: "<|return|>",
    200003: "<|constrain|>",
    200005: "<|channel|>",
    200006: "<|start|>",
    200007: "<|end|>",
    200008: "<|message|>",
    200012: "<|call|>",
}


def _harmony() -> dict[str, int]:
    """o200k_harmony's special tokens: 200018 has two names, of which the first counts here, as
    an id has one token."""
    names = {id_: f"<|reserved_{id_}|>" for id_ in range(199998, 201088)}
    names |= _HARMONY | {id_: text for text, id_ in _O200K.items()}
    return {text: id_ for id_, text in names.items()}


#: By their names.
ENCODINGS = {
    encoding.name: encoding
    for encoding in (
        Encoding("gpt2", "gpt2", _END),
        Encoding("r50k_base", "gpt2", _END),
        Encoding("p50k_base", "gpt2", _END),
        Encoding(
            "p50k_edit",
            "gpt2",
            _END | {"<|fim_prefix|>": 50281, "<|fim_middle|>": 50282, "<|fim_suffix|>": 50283},
        ),
        Encoding(
            "cl100k_base",
            "cl100k",
            {
                "<|endoftext|>": 100257,
                "<|fim_prefix|>": 100258,
                "<|fim_middle|>": 100259,
                "<|fim_suffix|>": 100260,
                "<|endofprompt|>": 100276,
            },
        ),
        Encoding("o200k_base", "o200k", _O200K),
        Encoding("o200k_harmony", "o200k", _harmony()),
    )
}

#: By the sha256 of the published file. (p50k_edit and o200k_harmony share the files of p50k_base
#: and o200k_base: they are told by name alone.)
KNOWN = {
    "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930": ENCODINGS["r50k_base"],
    "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069": ENCODINGS["p50k_base"],
    "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7": ENCODINGS["cl100k_base"],
    "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d": ENCODINGS["o200k_base"],
}
