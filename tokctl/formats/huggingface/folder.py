"""A folder of `transformers`: a `tokenizer.json` or vocabulary files, and configuration files.

A model is read as AutoTokenizer reads the folder. Reading turns the files into one document of the
format `tokenizer.json`. The folder's class (`classes`) determines the pipeline. Added tokens are
added as by `PreTrainedTokenizerBase._from_pretrained` and `TokenizersBackend.__init__` of
transformers 5.24. Writing puts a configuration beside the `tokenizer.json`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tokctl.core import orjson
from tokctl.core.errors import BadModel, Unsupported
from tokctl.formats.contract import Files, LostFeature, ModelInput, damaged, unless_damaged
from tokctl.formats.huggingface.class_names import BACKEND, chosen, refused
from tokctl.formats.huggingface.classes import (
    ROLES,
    ModelClass,
    build,
    ends_template,
    known_classes,
)
from tokctl.formats.huggingface.components import Fields, Json, replace_json, with_ids
from tokctl.formats.huggingface.document import document as document_of
from tokctl.formats.huggingface.document import (
    document_losses,
    read_document,
    with_scores_as_read,
)
from tokctl.formats.huggingface.vocab_files import (
    fairseq,
    merges_txt,
    no_such_class,
    read_pieces,
    vocab_json,
    vocab_txt,
)
from tokctl.formats.registry import CONFIG, TEKKEN, TOKENIZER
from tokctl.model import ImportedFrom, Model

SPECIAL_MAP, ADDED = "special_tokens_map.json", "added_tokens.json"
#: The pieces of a Marian model, whose ids are in a vocab.json.
MARIAN = "source.spm"
TEMPLATE, TEMPLATES = "chat_template.jinja", "additional_chat_templates"
#: Files that are kept unread with the model.
COMPANIONS = (CONFIG, SPECIAL_MAP, ADDED, TEMPLATE)
_TEMPLATE_NAME = re.compile(rf"{TEMPLATES}/[\w.+ -]{{1,100}}\.jinja", re.ASCII)
#: Most bytes of a companion file. People write these files, and never this much.
_LONGEST_TEXT = 1 << 22
_MOST_TEMPLATES = 64
_MOST_TEXT = 1 << 24
#: The texts that `clean_up_tokenization_spaces` replaces in decoded text, in this order.
_CLEANED = (" .", " ?", " !", " ,", " ' ", " n't", " 'm", " 's", " 've", " 're")
#: Classes that build a template from `add_bos_token` and `add_eos_token` if there is no
#: `tokenizer.json`.
_ADDING_ENDS = (
    "GPT2Tokenizer",
    "GPTNeoXTokenizer",
    "Qwen2Tokenizer",
    "LlamaTokenizer",
    "AlbertTokenizer",
)
#: This file is read but never written: its tokens are in the `tokenizer.json`.
NEIGHBOURS = (ADDED,)


def read(source: ModelInput) -> Model:
    """Return the model in the folder.

    Raises:
        TokctlError: a file is damaged, or tokctl can't run the folder's class.
    """
    with unless_damaged(source.name):
        texts = _companions(source)
        files = _files(source, texts)
        document, name = _document(source, files)
        origin = ImportedFrom("huggingface-folder", name)
        return read_document(document, origin=origin, companions=texts)


def losses(model: Model) -> list[LostFeature]:
    """Return what the files lose of the model.

    Raises:
        UnsupportedByFormat: `tokenizer.json` can't hold a model of this kind.
    """
    found = document_losses(model)
    if left := [name for name in model.companions if not is_carried(name)]:
        found.append(LostFeature(f"the files that came with it ({', '.join(left)})", minor=True))
    return found


def write(model: Model) -> Files:
    """Return the `tokenizer.json`, the configuration, and the chat templates as they were read.

    Raises:
        UnsupportedByFormat: `tokenizer.json` can't hold a model of this kind.
    """
    document = document_of(model)
    texts = {name: text for name, text in model.companions.items() if is_carried(name)}
    texts.pop(ADDED, None)
    texts |= _configuration(model, document)
    files = {name: text.encode() for name, text in texts.items()}
    files[TOKENIZER] = orjson.dumps(document, option=orjson.OPT_APPEND_NEWLINE)
    return files


# -- the files of a folder ----------------------------------------------------------------


class FolderFiles(NamedTuple):
    """The content of the configuration files in a folder.

    Attributes:
        name: the name of the folder in messages.
        config: the content of `tokenizer_config.json`; empty if there is none.
        special_map: the content of `special_tokens_map.json`, if any.
        added: the content of `added_tokens.json`, if any.
        model_config: the content of `config.json`; empty if there is none.
    """

    name: str
    config: Json
    special_map: Json | None
    added: Json | None
    model_config: Json


def is_carried(name: str) -> bool:
    """Return whether a file of this name is kept with the model."""
    return name in COMPANIONS or _TEMPLATE_NAME.fullmatch(name) is not None


def _companions(source: ModelInput) -> dict[str, str]:
    """Return the texts of the files that are kept with the model, by name."""
    found = [(name, source.beside(name)) for name in COMPANIONS]
    assert source.path is not None
    folder = source.path / TEMPLATES
    if folder.is_dir():
        names = sorted(path.name for path in folder.glob("*.jinja"))[: _MOST_TEMPLATES + 1]
        if len(names) > _MOST_TEMPLATES:
            raise BadModel(
                f"{folder} holds more than {_MOST_TEMPLATES} chat templates",
                "remove some of them",
                "too-large",
            )
        for name in (f"{TEMPLATES}/{name}" for name in names):
            if is_carried(name):
                found.append((name, source.beside(name)))
    texts = {}
    for name, file in found:
        if file is None:
            continue
        if file.size > _LONGEST_TEXT:
            raise damaged(file.name, f"it has {file.size} bytes")
        try:
            texts[name] = file.data.decode()
        except UnicodeDecodeError as error:
            raise damaged(file.name, f"it is not UTF-8 at byte {error.start}") from None
        if sum(map(len, texts.values())) > _MOST_TEXT:
            raise BadModel(
                f"the files next to tokenizer.json are too large in {source.name}",
                f"name its tokenizer.json: {source.name}/tokenizer.json",
                "too-large",
            )
    return texts


def parsed(text: str, name: str) -> Json:
    """Return the JSON object in a text.

    Python's parser is used because it keeps numbers that are too long for other parsers.

    Args:
        text: the content of the file.
        name: the name of the file in messages.

    Raises:
        TokctlError: the text is not JSON, or not an object.
    """
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise damaged(name, f"it is not valid JSON ({str(error)[:100]})") from None
    if not isinstance(found, dict):
        raise damaged(name, "it is not a JSON object")
    return found


def _files(source: ModelInput, texts: dict[str, str]) -> FolderFiles:
    """Return the content of the configuration files."""

    def read(name: str) -> Json | None:
        return parsed(texts[name], f"{source.name}/{name}") if name in texts else None

    beside = source.beside("config.json")
    model: Json = {}
    if beside is not None and beside.size <= _LONGEST_TEXT:
        model = parsed(beside.data.decode(errors="replace"), beside.name)
    return FolderFiles(source.name, read(CONFIG) or {}, read(SPECIAL_MAP), read(ADDED), model)


def _document(source: ModelInput, files: FolderFiles) -> tuple[Json, str]:
    """Return the document of the tokenizer that AutoTokenizer builds, and the name of its class."""
    own = source.beside(TOKENIZER)
    given: Json | None = None
    if own is not None:
        given = own.document
        if not isinstance(given, dict) or not isinstance(given.get("model"), dict):
            raise damaged(own.name, "it has no model in it")
    tekken = source.beside(TEKKEN) is not None
    name = chosen(files.config, files.model_config, given, tekken=tekken)
    known = known_classes().get(name)
    error = refused(name, source.name)
    if given is not None and error is not None:
        raise error
    if given is None and (known is None or not known.vocab_files):
        if source.beside(MARIAN) is not None:
            raise Unsupported(
                f"{source.name} is a Marian model: the ids of its pieces in {MARIAN} are in "
                "vocab.json, which tokctl does not support",
                f"-m {source.name}/{MARIAN} reads the pieces, with ids of their own",
            )
        if error is not None:
            readable = ", ".join(name for name, one in known_classes().items() if one.vocab_files)
            hint = f"without it, tokctl reads the vocabulary files of {readable}"
            raise no_such_class(source.name, error.message, hint)
        if name == BACKEND:
            reason = "its tokenizer_class does not say how its vocabulary is used"
        else:
            reason = f"tokctl does not build its class {name} from vocabulary files"
        raise no_such_class(source.name, reason)
    config = _configured(files.config, files.special_map)
    fields = Fields("tokenizer_config", config)
    named = NamedTokens(
        config, known.roles if known else {}, known.extra_tokens(fields) if known else []
    )
    mask = named.roles.get("mask_token")
    if known and known.mask and isinstance(mask, str):
        named.roles["mask_token"] = {"content": mask, **known.mask}
    if given is None:
        assert known is not None
        made = _from_files(source, name, known, fields, named)
    else:
        assert own is not None
        if known is None or known.kept:
            # The other classes rebuild their model from what Python's parser reads, which is exact.
            given = with_scores_as_read(given, own)
        made = dict(given)
        if known:
            made = _rebuilt(given, name, known, fields, named)
    entries = (given or {}).get("added_tokens") or []
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise ValueError("the added tokens are not a list of objects")
    vocabulary = _vocabulary(made["model"])
    if known is None or (known.kept and given is not None):
        vocabulary.add(list(map(_token, entries)))
    listed = _listed(config, named, files.added, entries)
    _add_all(vocabulary, listed, named)
    if name == "Qwen2Tokenizer":
        # This class adds the tokens again, without flags.
        texts = dict.fromkeys((*named.texts.values(), *map(_content, named.extra)))
        vocabulary.add(list(map(_token, texts)))
    if known and known.again:
        vocabulary.add(_again(listed, config, named))
    made["added_tokens"] = sorted(vocabulary.added.values(), key=lambda entry: entry["id"])
    if (
        given is None
        and name in _ADDING_ENDS
        and config.keys() & {"add_bos_token", "add_eos_token"}
    ):
        made["post_processor"] = _configured_ends(fields, named)
    made["post_processor"] = with_ids(made.get("post_processor"), vocabulary.ids)
    if fields.flag("clean_up_tokenization_spaces", False):
        made["decoder"] = _cleaning(made.get("decoder"), made["model"], fields)
    return made, name


def _content(value: Any) -> str:
    return str(_token(value)["content"])


def _configured_ends(fields: Fields, named: NamedTokens) -> Json:
    bos, eos = (
        named.texts.get(f"{end}_token") if fields.flag(f"add_{end}_token", False) else None
        for end in ("bos", "eos")
    )
    return ends_template(bos, eos)


def _vocabulary(model: Json) -> GrowingVocabulary:
    vocab = model.get("vocab")
    if isinstance(vocab, dict):
        return GrowingVocabulary(vocab, len(vocab))
    if isinstance(vocab, list):
        return GrowingVocabulary({piece: id_ for id_, (piece, _) in enumerate(vocab)}, len(vocab))
    raise ValueError("the model has no vocabulary")


def _rebuilt(given: Json, name: str, known: ModelClass, fields: Fields, named: NamedTokens) -> Json:
    """Return the document with its vocabulary and the pipeline of a class."""
    inner = given["model"]
    if inner.get("type", known.model) != known.model and not known.kept:
        raise BadModel(
            f"its class {name} has a {known.model} model, and its tokenizer.json {inner['type']}",
            "set tokenizer_class in tokenizer_config.json to PreTrainedTokenizerFast, to use "
            "tokenizer.json as it is",
            "damaged-model",
        )
    vocab, rules = inner.get("vocab"), _rules(given.get("normalizer"))
    made = {**given, **build(known, fields, named.texts, vocab, rules)}
    made["model"] = {**made["model"], "vocab": inner.get("vocab")}
    if known.model == "BPE":
        made["model"]["merges"] = inner.get("merges")
    return made


def _rules(normalizer: Any) -> list[Json]:
    """Return a list of the document's first precompiled rules; empty if it has none."""
    if not isinstance(normalizer, dict):
        return []
    steps = normalizer["normalizers"] if normalizer.get("type") == "Sequence" else [normalizer]
    found = [step for step in steps if step.get("type") == "Precompiled"]
    return found[:1]


def _from_files(
    source: ModelInput, name: str, known: ModelClass, fields: Fields, named: NamedTokens
) -> Json:
    """Return the document of a class with the vocabulary from files.

    Special tokens that the files list are added to `named`.
    """
    rules: list[Json] = []
    files = [source.beside(file) for file in known.vocab_files]
    if None in files:
        raise damaged(source.name, f"{known.vocab_files[files.index(None)]} is missing")
    first, *others = (file for file in files if file is not None)
    if first.name.endswith(".model"):
        taken = read_pieces(first, known.model)
        content = taken.content
        extra: list[Any] = taken.listed
        if name == "T5Tokenizer":
            sentinels = known.extra_tokens(fields)
            content["vocab"] += [(text, 0.0) for text in reversed(sentinels)]
            if not any("<extra_id_" in one["content"] for one in extra):
                extra = extra + sentinels
        named.extra = NamedTokens(fields.data, {}, extra).extra
        if name == "XLMRobertaTokenizer":
            content = fairseq(content, named.texts)
        if name != "XLNetTokenizer":
            content.pop("unk_id", None)
        rules = taken.rules
    elif others:
        content = {
            "vocab": vocab_json(first),
            "merges": merges_txt(others[0]),
        }
    else:
        content = {"vocab": vocab_txt(first)}
    made = {"version": "1.0", **build(known, fields, named.texts, content["vocab"], rules)}
    made["model"] |= content
    if name == "AlbertTokenizer":
        made["post_processor"] = ends_template("[CLS]", "[SEP]", bos_again=False)
    return made


def _cleaning(decoder: Any, model: Json, fields: Fields) -> Any:
    """Return the decoder with transformers' cleaning of spaces after it.

    By default, transformers does not clean the texts of BPE models.
    """
    forced = "clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output"
    if model.get("type") == "BPE" and not fields.flag(forced, False):
        return decoder
    if decoder is None:
        raise Unsupported(
            "its text is cleaned up, and it has no decoder",
            "set clean_up_tokenization_spaces to false in tokenizer_config.json",
        )
    steps = [decoder, {"type": "Fuse"}]
    for found in _CLEANED:
        content = "'" if found == " ' " else found[1:]
        steps.append(replace_json(found, content))
    return {"type": "Sequence", "decoders": steps}


# -- added tokens -------------------------------------------------------------------------

_FLAGS = ("single_word", "lstrip", "rstrip", "normalized", "special")


def _token(data: Any, *, special: bool | None = None) -> Json:
    """Return an added token with all its flags, from a text or an object."""
    if isinstance(data, str):
        data = {"content": data, "special": True}
    fields = Fields("added token", data)
    found: Json = {"content": fields.text("content")}
    found["special"] = fields.flag("special", False) if special is None else special
    for name in ("single_word", "lstrip", "rstrip"):
        found[name] = fields.flag(name, False)
    found["normalized"] = fields.flag("normalized", not found["special"])
    return found


class GrowingVocabulary:
    """The vocabulary of a tokenizer, which assigns ids to added tokens.

    Attributes:
        own: the ids of the model's own tokens, by text.
        count: the number of the model's own tokens.
        added: the added tokens with their ids and flags, by text.
    """

    def __init__(self, own: Mapping[str, int], count: int) -> None:
        self.own = own
        self.count = count
        self.added: dict[str, Json] = {}

    def add(self, tokens: list[Json]) -> None:
        """Add tokens, or change the flags of added tokens, like one call of `add_tokens`.

        A token that was special once stays special.
        """
        highest = max((entry["id"] for entry in self.added.values()), default=-1)
        new = highest + 1 if highest >= self.count else self.count
        for entry in tokens:
            text = entry["content"]
            if not text:
                continue
            id_ = self.own.get(text)
            before = self.added.get(text)
            if before:
                id_ = before["id"]
            if id_ is None:
                id_, new = new, new + 1
            special = entry["special"] or bool(before and before["special"])
            self.added[text] = {"id": id_, **_bare(entry), "special": special}

    @property
    def ids(self) -> dict[str, int]:
        """The ids of all tokens, by text."""
        return {**self.own, **{text: entry["id"] for text, entry in self.added.items()}}


class NamedTokens:
    """The special tokens that the files name, with and without a role.

    Attributes:
        roles: the tokens by role, as the files have them. The configuration overrides the class.
        extra: the tokens without a role.
    """

    def __init__(self, config: Json, roles: Mapping[str, str], extra: Sequence[Any]) -> None:
        given = {**roles, **{role: config[role] for role in ROLES if role in config}}
        self.roles: dict[str, Any] = {role: given[role] for role in ROLES if role in given}
        self.roles |= given
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
            raise ValueError("its extra special tokens are not a list")
        self.extra: list[Any] = list(extra) if found is None else found
        self.roles = {name: value for name, value in self.roles.items() if value is not None}

    @property
    def texts(self) -> dict[str, str]:
        """The text of the token for each role."""
        return {name: _token(value)["content"] for name, value in self.roles.items()}


def _configured(config: Json, special_map: Json | None) -> Json:
    """Return the configuration, with the entries of `special_tokens_map.json` where they apply.

    They apply only to older files, without `added_tokens_decoder`.
    """
    if "added_tokens_decoder" in config or special_map is None:
        return config
    values = {
        name: value | {"special": True} if isinstance(value, dict) and "content" in value else value
        for name, value in special_map.items()
    }
    return config | values


def _listed(
    config: Json, named: NamedTokens, added: Json | None, own: list[Json]
) -> dict[int, Json]:
    """Return the added tokens that the files list, by the id in the files."""
    found: dict[int, Json] = {}
    if "added_tokens_decoder" in config:
        entries = config["added_tokens_decoder"]
        if not isinstance(entries, dict):
            raise ValueError("its added_tokens_decoder is not an object")
        for id_, entry in entries.items():
            found[_number(id_)] = _token(entry)
        return found
    special = {*named.texts.values(), *(_token(one)["content"] for one in named.extra)}
    for text, id_ in (added or {}).items():
        entry = {"content": text, "special": text in special}
        found[_number(id_)] = _token(entry)
    for entry in own:
        found[_number(entry.get("id"))] = _token(entry)
    return found


def _number(value: Any) -> int:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
        return int(value)
    if type(value) is int and 0 <= value < 2**32:
        return value
    raise ValueError(f"an added token has the id {value!r:.20}")


def _add_all(vocabulary: GrowingVocabulary, found: dict[int, Json], named: NamedTokens) -> None:
    """Add the tokens that the files list, and those that they name, to the vocabulary.

    Names of one token with different flags, such as a text and an object, are all added: the last
    one counts (`TokenizersBackend.__init__` of transformers).
    """
    present = {text: _bare(entry) for text, entry in vocabulary.added.items()}
    new = [e for _, e in sorted(found.items()) if present.get(e["content"]) != e]
    known = {*present, *(entry["content"] for entry in new)}
    seen: dict[str, list[tuple[bool, Json]]] = {}
    for value in (*named.roles.values(), *named.extra):
        one = _token(value)
        # In transformers, a text equals only a text, and an object only an object.
        key = isinstance(value, str), dict(one)
        alike = seen.setdefault(one["content"], [])
        if one["content"] not in known and key not in alike:
            alike.append(key)
            new.append(one)
    special = set(named.texts.values())
    for entry in new:
        if entry["content"] in special:
            entry["special"] = True
    vocabulary.add(new)


def _again(listed: dict[int, Json], config: Json, named: NamedTokens) -> list[Json]:
    """Return the special tokens that transformers' `_post_init` adds a second time.

    A token in the configuration has the flags from the list of added tokens, if that list has it.
    """
    by_text = {entry["content"]: entry for entry in listed.values()}
    found = []
    for role, value in named.roles.items():
        one = _token(value)
        there = by_text.get(one["content"], one) if role in config else one
        found.append({**there, "special": True})
    return found + [_token(one, special=True) for one in named.extra]


def _bare(entry: Json) -> Json:
    return {name: entry[name] for name in ("content", *_FLAGS)}


# -- the configuration that is written ----------------------------------------------------
#
# What came with the model is kept, except for what would contradict its `tokenizer.json`.

#: Versions 4 and 5 load this class, and it builds no pipeline of its own.
_CLASS = "PreTrainedTokenizerFast"
#: Fields from which another class would build its pipeline, or which `tokenizer.json` covers.
_BUILDING = (
    "added_tokens_decoder",
    "add_bos_token",
    "add_eos_token",
    "add_prefix_space",
    "auto_map",
    "clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output",
    "do_lower_case",
    "extra_ids",
    "extra_special_tokens",
    "additional_special_tokens",
    "fast_tokenizer_files",
    "from_slow",
    "keep_accents",
    "legacy",
    "sp_model_kwargs",
    "strip_accents",
    "tokenize_chinese_chars",
    "tokenizer_file",
    "trim_offsets",
    "vocab_file",
    "merges_file",
)
#: The common texts of special tokens for each role. The first one in the model is used.
_KNOWN = {
    "bos_token": ("<s>", "<|begin_of_text|>", "<bos>", "[BOS]", "<|startoftext|>"),
    "eos_token": ("</s>", "<|end_of_text|>", "<eos>", "[EOS]", "<|endoftext|>"),
    "unk_token": ("<unk>", "[UNK]"),
    "sep_token": ("[SEP]", "<sep>"),
    "pad_token": ("<pad>", "[PAD]", "<|pad|>"),
    "cls_token": ("[CLS]", "<cls>"),
    "mask_token": ("[MASK]", "<mask>"),
}


def _configuration(model: Model, document: Json) -> dict[str, str]:
    """Return the configuration files of a model, for the folder of its document."""
    config, named = _companion(model, CONFIG), _named(model)
    known = {entry.text for entry in model.added}
    roles = roles_of(model)
    extra = _extra(named, known)
    kept = {name: value for name, value in config.items() if name not in _BUILDING}
    kept = {name: value for name, value in kept.items() if not _is_role(name, value)}
    kept |= roles | extra
    kept["tokenizer_class"] = _CLASS
    kept["clean_up_tokenization_spaces"] = False
    splitting = document["pre_tokenizer"]
    if splitting is not None and "add_prefix_space" in splitting:
        # Version 4 sets the pre-tokenizer's option to this value, or to false.
        kept["add_prefix_space"] = splitting["add_prefix_space"]
    kept.setdefault("model_input_names", _input_names(document["post_processor"]))
    return {CONFIG: _dump(kept), SPECIAL_MAP: _dump(roles | extra)}


def _companion(model: Model, name: str) -> Json:
    return parsed(model.companions[name], name) if name in model.companions else {}


def _dump(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True) + "\n"


def _is_role(name: str, value: Any) -> bool:
    return name in ROLES or (name.endswith("_token") and isinstance(value, (str, dict)))


def _named(model: Model) -> Json:
    """Return the fields of both configuration files that came with a model."""
    config, special_map = _companion(model, CONFIG), _companion(model, SPECIAL_MAP)
    return {**special_map, **config} if "added_tokens_decoder" in config else config | special_map


def roles_of(model: Model) -> dict[str, str]:
    """Return the special tokens by role (`bos_token`).

    The roles come from the configuration files that came with the model, as far as they name tokens
    of the model. Without such files, common texts of tokens tell their roles.
    """
    if CONFIG not in model.companions and SPECIAL_MAP not in model.companions:
        return _guessed(model)
    known = {entry.text for entry in model.added}
    found = _class_roles(model)
    for name, value in _named(model).items():
        if _is_role(name, value):
            found[name] = _text_of(value)
    return {name: text for name, text in found.items() if text in known}


def _text_of(value: Any) -> str | None:
    """Return the text of a token in the configuration, or None if the value is not a token."""
    text = value.get("content") if isinstance(value, dict) else value
    return text if isinstance(text, str) else None


def _class_roles(model: Model) -> dict[str, Any]:
    """Return the roles that the folder's class defines by default."""
    known = known_classes().get(model.origin.name) if model.origin else None
    return dict(known.roles) if known else {}


def _guessed(model: Model) -> dict[str, str]:
    found = {}
    if model.recipe.unk_token is not None:
        found["unk_token"] = model.recipe.unk_token
    for role, names in _KNOWN.items():
        present = [name for name in names if name in model.special_ids]
        if role not in found and present:
            found[role] = present[0]
    return found


def _extra(named: Json, known: set[str]) -> Json:
    """Return the extra special tokens, under a name that versions 4 and 5 both know."""
    given = named.get("extra_special_tokens") or named.get("additional_special_tokens") or []
    if isinstance(given, dict):
        texts = {name: _text_of(value) for name, value in given.items()}
        texts = {name: text for name, text in texts.items() if text in known}
        return {"extra_special_tokens": texts} if texts else {}
    listed = dict.fromkeys(map(_text_of, given if isinstance(given, list) else []))
    found = [text for text in listed if text in known]
    return {"additional_special_tokens": found} if found else {}


def _input_names(processor: Any) -> list[str]:
    """Return the names of a model's inputs: with token types if the template sets type ids."""
    typed = '"type_id": 1' in json.dumps(processor)
    return ["input_ids", *(["token_type_ids"] if typed else []), "attention_mask"]
