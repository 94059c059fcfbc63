"""The added tokens of a folder: those of `tokenizer.json`, and what the files beside it add.

As `PreTrainedTokenizerBase._from_pretrained` and `TokenizersBackend.__init__` of transformers
5.23 do it: tokens of the files that are listed otherwise, or not at all, are added once more,
the special tokens that have a role behind them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tokctl.errors import TokctlError
from tokctl.formats.huggingface.components import Fields, Json

#: The roles that special tokens have in transformers, in its order.
ROLES = (
    "bos_token",
    "eos_token",
    "unk_token",
    "sep_token",
    "pad_token",
    "cls_token",
    "mask_token",
)
_FLAGS = ("single_word", "lstrip", "rstrip", "normalized", "special")


def token(data: Any, *, special: bool | None = None) -> Json:
    """An added token with all its flags, from a text or an object."""
    if isinstance(data, str):
        data = {"content": data, "special": True}
    fields = Fields("added token", data)
    found: Json = {"content": fields.text("content")}
    found["special"] = fields.flag("special", False) if special is None else special
    for name in ("single_word", "lstrip", "rstrip"):
        found[name] = fields.flag(name, False)
    found["normalized"] = fields.flag("normalized", not found["special"])
    return found


class Vocabulary:
    """The tokens of a tokenizer to which others are added, with the ids that they get.

    own: the ids of the model's own tokens, by text.
    """

    def __init__(self, own: Mapping[str, int], count: int) -> None:
        self.own = own
        self.count = count
        self.added: dict[str, Json] = {}

    def add(self, tokens: list[Json]) -> None:
        """Adds tokens, or changes the flags of those that were; as one call of `add_tokens`."""
        highest = max((entry["id"] for entry in self.added.values()), default=-1)
        new = highest + 1 if highest >= self.count else self.count
        for entry in tokens:
            text = entry["content"]
            if not text:
                continue
            id_ = self.own.get(text)
            if text in self.added:
                id_ = self.added[text]["id"]
            if id_ is None:
                id_, new = new, new + 1
            self.added[text] = {"id": id_, **{name: entry[name] for name in ("content", *_FLAGS)}}

    @property
    def ids(self) -> dict[str, int]:
        return {**self.own, **{text: entry["id"] for text, entry in self.added.items()}}


class Named:
    """The special tokens that the files name: those with a role, and the others.

    config: `tokenizer_config.json`, or what is left of it; `roles` are the class's own.
    """

    def __init__(self, config: Json, roles: Mapping[str, str], extra: Sequence[Any]) -> None:
        self.roles: dict[str, Any] = {role: roles[role] for role in ROLES if role in roles}
        more = {role: text for role, text in roles.items() if role not in ROLES}
        for role in ROLES:
            if role in config:
                self.roles[role] = config[role]
        self.roles |= more
        for name, value in config.items():
            if name.endswith("_token") and name not in ROLES and isinstance(value, (str, dict)):
                self.roles[name] = value
        found = config.get("extra_special_tokens")
        if not found and "additional_special_tokens" in config:
            found = config["additional_special_tokens"]
        if isinstance(found, dict):
            self.roles |= found
            found = None
        if found is not None and not isinstance(found, list):
            raise ValueError("its extra special tokens are no list")
        self.extra: list[Any] = list(extra) if found is None else found
        self.roles = {name: value for name, value in self.roles.items() if value is not None}

    @property
    def texts(self) -> dict[str, str]:
        """The text of each role's token."""
        return {name: token(value)["content"] for name, value in self.roles.items()}


def configured(config: Json, special_map: Json | None) -> Json:
    """The configuration with what `special_tokens_map.json` says; only files from before
    `added_tokens_decoder` have it from there."""
    if "added_tokens_decoder" in config or special_map is None:
        return config
    values = {
        name: value | {"special": True} if isinstance(value, dict) and "content" in value else value
        for name, value in special_map.items()
    }
    return config | values


def listed(config: Json, named: Named, added: Json | None, own: list[Json]) -> dict[int, Json]:
    """The added tokens that the files list, by the id that stands there."""
    found: dict[int, Json] = {}
    if "added_tokens_decoder" in config:
        entries = config["added_tokens_decoder"]
        if not isinstance(entries, dict):
            raise ValueError("its added_tokens_decoder is no object")
        for id_, entry in entries.items():
            found[_number(id_)] = token(entry)
        return found
    special = {*named.texts.values(), *(token(one)["content"] for one in named.extra)}
    for text, id_ in (added or {}).items():
        entry = {"content": text, "special": text in special}
        found[_number(id_)] = token(entry)
    for entry in own:
        found[_number(entry.get("id"))] = token(entry)
    return found


def _number(value: Any) -> int:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
        return int(value)
    if type(value) is int and 0 <= value < 2**32:
        return value
    raise ValueError(f"an added token has the id {value!r:.20}")


def add_all(vocabulary: Vocabulary, found: dict[int, Json], named: Named) -> None:
    """Adds what is listed and what is named to the tokens that are there."""
    present = {text: _bare(entry) for text, entry in vocabulary.added.items()}
    new = [e for _, e in sorted(found.items()) if present.get(e["content"]) != e]
    by_text = {entry["content"]: entry for entry in found.values()}
    special = set(named.texts.values())
    texts = {*present, *(entry["content"] for entry in new)}
    for role, value in named.roles.items():
        one = token(value)
        if role in ROLES:
            one = by_text.get(one["content"], one)
        if one["content"] not in texts:
            texts.add(one["content"])
            new.append(one)
    for value in named.extra:
        one = token(value)
        if one["content"] not in texts:
            texts.add(one["content"])
            new.append(one)
    for entry in new:
        if entry["content"] in special:
            entry["special"] = True
    vocabulary.add(new)
    _check_ids(vocabulary, found)


def again(vocabulary: Vocabulary, config: Json, named: Named) -> list[Json]:
    """The special tokens as `_post_init` adds them once more: those of the files with their
    flags, those of the class without."""
    found = []
    for role, value in named.roles.items():
        one = token(value)
        there = vocabulary.added.get(one["content"], one) if role in config else one
        found.append({**there, "special": True})
    return found + [token(one, special=True) for one in named.extra]


def _check_ids(vocabulary: Vocabulary, found: dict[int, Json]) -> None:
    for id_, entry in sorted(found.items()):
        text = entry["content"]
        if text and vocabulary.added[text]["id"] != id_:
            raise TokctlError(
                f"its files give the added token {text!r} the id {id_}, and transformers makes it "
                f"{vocabulary.added[text]['id']}",
                "load it with transformers and save it, and its files agree",
            )


def _bare(entry: Json) -> Json:
    return {name: entry[name] for name in ("content", *_FLAGS)}
