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
from tokctl.formats.huggingface.class_names import BACKEND, choose_class, refusal
from tokctl.formats.huggingface.classes import (
    ROLES,
    ModelClass,
    bos_eos_template,
    build,
    known_classes,
)
from tokctl.formats.huggingface.components import Fields, Json, replace_json, with_ids
from tokctl.formats.huggingface.document import build_document as document_of
from tokctl.formats.huggingface.document import (
    document_losses,
    read_document,
    with_library_scores,
)
from tokctl.formats.huggingface.vocab_files import (
    merges_txt,
    read_pieces,
    unsupported_class_error,
    vocab_json,
    vocab_txt,
    with_fairseq_tokens,
)
from tokctl.formats.registry import TEKKEN_JSON, TOKENIZER_CONFIG, TOKENIZER_JSON
from tokctl.model import ImportedFrom, Model

SPECIAL_MAP, ADDED = "special_tokens_map.json", "added_tokens.json"
#: The pieces of a Marian model, whose ids are in a vocab.json.
MARIAN = "source.spm"
TEMPLATE, TEMPLATES = "chat_template.jinja", "additional_chat_templates"
#: Files that are kept unread with the model.
EXTRA_FILES = (TOKENIZER_CONFIG, SPECIAL_MAP, ADDED, TEMPLATE)
_TEMPLATE_NAME = re.compile(rf"{TEMPLATES}/[\w.+ -]{{1,100}}\.jinja", re.ASCII)
#: Most bytes of an extra file. People write these files, and never this much.
_LONGEST_TEXT = 1 << 22
_MOST_TEMPLATES = 64
_MOST_TEXT = 1 << 24
#: The texts that `clean_up_tokenization_spaces` replaces in decoded text, in this order.
_CLEANED_UP = (" .", " ?", " !", " ,", " ' ", " n't", " 'm", " 's", " 've", " 're")
#: Classes that build a template from `add_bos_token` and `add_eos_token` if there is no
#: `tokenizer.json`.
_BOS_EOS_CLASSES = (
    "GPT2Tokenizer",
    "GPTNeoXTokenizer",
    "Qwen2Tokenizer",
    "LlamaTokenizer",
    "AlbertTokenizer",
)
#: This file is read but never written: its tokens are in the `tokenizer.json`.
CONFLICTING_FILES = (ADDED,)


def read(source: ModelInput) -> Model:
    """Return the model in the folder.

    Raises:
        TokctlError: a file is damaged, or tokctl can't run the folder's class.
    """
    with unless_damaged(source.name):
        extra_files = _read_extra_files(source)
        files = _read_config_files(source, extra_files)
        document, name = _build_document(source, files)
        origin = ImportedFrom("huggingface-folder", name)
        return read_document(document, origin=origin, extra_files=extra_files)


def losses(model: Model) -> list[LostFeature]:
    """Return what the files lose of the model.

    Raises:
        UnsupportedByFormat: `tokenizer.json` can't hold a model of this kind.
    """
    found = document_losses(model)
    if dropped := [name for name in model.extra_files if not is_extra_file(name)]:
        found.append(LostFeature(f"the files that came with it ({', '.join(dropped)})", minor=True))
    return found


def write(model: Model) -> Files:
    """Return the `tokenizer.json`, the configuration, and the chat templates as they were read.

    Raises:
        UnsupportedByFormat: `tokenizer.json` can't hold a model of this kind.
    """
    document = document_of(model)
    extra_files = {name: text for name, text in model.extra_files.items() if is_extra_file(name)}
    extra_files.pop(ADDED, None)
    extra_files |= _configuration(model, document)
    files = {name: text.encode() for name, text in extra_files.items()}
    files[TOKENIZER_JSON] = orjson.dumps(document, option=orjson.OPT_APPEND_NEWLINE)
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


def is_extra_file(name: str) -> bool:
    """Return whether a file of this name is kept with the model."""
    return name in EXTRA_FILES or _TEMPLATE_NAME.fullmatch(name) is not None


def _read_extra_files(source: ModelInput) -> dict[str, str]:
    """Return the texts of the files that are kept with the model, by name."""
    found = [(name, source.sibling(name)) for name in EXTRA_FILES]
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
            if is_extra_file(name):
                found.append((name, source.sibling(name)))
    contents = {}
    for name, file in found:
        if file is None:
            continue
        if file.size > _LONGEST_TEXT:
            raise damaged(file.name, f"it has {file.size} bytes")
        try:
            contents[name] = file.data.decode()
        except UnicodeDecodeError as error:
            raise damaged(file.name, f"it is not UTF-8 at byte {error.start}") from None
        if sum(map(len, contents.values())) > _MOST_TEXT:
            raise BadModel(
                f"the files next to tokenizer.json are too large in {source.name}",
                f"name its tokenizer.json: {source.name}/tokenizer.json",
                "too-large",
            )
    return contents


def parse_object(text: str, name: str) -> Json:
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


def _read_config_files(source: ModelInput, texts: dict[str, str]) -> FolderFiles:
    """Return the content of the configuration files."""

    def parse(name: str) -> Json | None:
        return parse_object(texts[name], f"{source.name}/{name}") if name in texts else None

    model_file = source.sibling("config.json")
    model: Json = {}
    if model_file is not None and model_file.size <= _LONGEST_TEXT:
        model = parse_object(model_file.data.decode(errors="replace"), model_file.name)
    return FolderFiles(
        source.name, parse(TOKENIZER_CONFIG) or {}, parse(SPECIAL_MAP), parse(ADDED), model
    )


def _build_document(source: ModelInput, files: FolderFiles) -> tuple[Json, str]:
    """Return the document of the tokenizer that AutoTokenizer builds, and the name of its class."""
    tokenizer_file = source.sibling(TOKENIZER_JSON)
    document: Json | None = None
    if tokenizer_file is not None:
        document = tokenizer_file.document
        if not isinstance(document, dict) or not isinstance(document.get("model"), dict):
            raise damaged(tokenizer_file.name, "it has no model in it")
    tekken = source.sibling(TEKKEN_JSON) is not None
    name = choose_class(files.config, files.model_config, document, tekken=tekken)
    model_class = known_classes().get(name)
    error = refusal(name, source.name)
    if document is not None and error is not None:
        raise error
    if document is None and (model_class is None or not model_class.vocab_files):
        if source.sibling(MARIAN) is not None:
            raise Unsupported(
                f"{source.name} is a Marian model: the ids of its pieces in {MARIAN} are in "
                "vocab.json, which tokctl does not support",
                f"-m {source.name}/{MARIAN} reads the pieces, with ids of their own",
            )
        if error is not None:
            readable = ", ".join(
                name for name, other in known_classes().items() if other.vocab_files
            )
            hint = f"without it, tokctl reads the vocabulary files of {readable}"
            raise unsupported_class_error(source.name, error.message, hint)
        if name == BACKEND:
            reason = "its tokenizer_class does not say how its vocabulary is used"
        else:
            reason = f"tokctl does not build its class {name} from vocabulary files"
        raise unsupported_class_error(source.name, reason)
    config = _merge_special_map(files.config, files.special_map)
    fields = Fields("tokenizer_config", config)
    named = NamedTokens(
        config,
        model_class.roles if model_class else {},
        model_class.extra_tokens(fields) if model_class else [],
    )
    mask = named.roles.get("mask_token")
    if model_class and model_class.mask and isinstance(mask, str):
        named.roles["mask_token"] = {"content": mask, **model_class.mask}
    if document is None:
        assert model_class is not None
        result = _build_from_files(source, name, model_class, fields, named)
    else:
        assert tokenizer_file is not None
        if model_class is None or model_class.kept:
            # The other classes rebuild their model from what Python's parser reads, which is exact.
            document = with_library_scores(document, tokenizer_file)
        result = dict(document)
        if model_class:
            result = _rebuild(document, name, model_class, fields, named)
    entries = (document or {}).get("added_tokens") or []
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise ValueError("the added tokens are not a list of objects")
    vocabulary = _growing_vocabulary(result["model"])
    if model_class is None or (model_class.kept and document is not None):
        vocabulary.add(list(map(_token_entry, entries)))
    listed = _listed_tokens(config, named, files.added, entries)
    _add_listed_and_named(vocabulary, listed, named)
    if name == "Qwen2Tokenizer":
        # This class adds the tokens again, without flags.
        texts = dict.fromkeys((*named.texts.values(), *map(_entry_text, named.extra)))
        vocabulary.add(list(map(_token_entry, texts)))
    if model_class and model_class.again:
        vocabulary.add(_readded_tokens(listed, config, named))
    result["added_tokens"] = sorted(vocabulary.added.values(), key=lambda entry: entry["id"])
    if (
        document is None
        and name in _BOS_EOS_CLASSES
        and config.keys() & {"add_bos_token", "add_eos_token"}
    ):
        result["post_processor"] = _bos_eos_template(fields, named)
    result["post_processor"] = with_ids(result.get("post_processor"), vocabulary.ids)
    if fields.flag("clean_up_tokenization_spaces", False):
        result["decoder"] = _with_cleanup(result.get("decoder"), result["model"], fields)
    return result, name


def _entry_text(value: Any) -> str:
    return str(_token_entry(value)["content"])


def _bos_eos_template(fields: Fields, named: NamedTokens) -> Json:
    bos, eos = (
        named.texts.get(f"{end}_token") if fields.flag(f"add_{end}_token", False) else None
        for end in ("bos", "eos")
    )
    return bos_eos_template(bos, eos)


def _growing_vocabulary(model: Json) -> GrowingVocabulary:
    vocab = model.get("vocab")
    if isinstance(vocab, dict):
        return GrowingVocabulary(vocab, len(vocab))
    if isinstance(vocab, list):
        return GrowingVocabulary({piece: id_ for id_, (piece, _) in enumerate(vocab)}, len(vocab))
    raise ValueError("the model has no vocabulary")


def _rebuild(
    document: Json, name: str, model_class: ModelClass, fields: Fields, named: NamedTokens
) -> Json:
    """Return the document with its vocabulary and the pipeline of a class."""
    model_object = document["model"]
    if model_object.get("type", model_class.model) != model_class.model and not model_class.kept:
        raise BadModel(
            f"its class {name} has a {model_class.model} model, and its tokenizer.json "
            f"{model_object['type']}",
            "set tokenizer_class in tokenizer_config.json to PreTrainedTokenizerFast, to use "
            "tokenizer.json as it is",
            "damaged-model",
        )
    vocab, rules = model_object.get("vocab"), _precompiled_rules(document.get("normalizer"))
    result = {**document, **build(model_class, fields, named.texts, vocab, rules)}
    result["model"] = {**result["model"], "vocab": model_object.get("vocab")}
    if model_class.model == "BPE":
        result["model"]["merges"] = model_object.get("merges")
    return result


def _precompiled_rules(normalizer: Any) -> list[Json]:
    """Return a list of the document's first precompiled rules; empty if it has none."""
    if not isinstance(normalizer, dict):
        return []
    steps = normalizer["normalizers"] if normalizer.get("type") == "Sequence" else [normalizer]
    precompiled = [step for step in steps if step.get("type") == "Precompiled"]
    return precompiled[:1]


def _build_from_files(
    source: ModelInput, name: str, model_class: ModelClass, fields: Fields, named: NamedTokens
) -> Json:
    """Return the document of a class with the vocabulary from files.

    Special tokens that the files list are added to `named`.
    """
    rules: list[Json] = []
    files = [source.sibling(file) for file in model_class.vocab_files]
    if None in files:
        raise damaged(source.name, f"{model_class.vocab_files[files.index(None)]} is missing")
    first, *others = (file for file in files if file is not None)
    if first.name.endswith(".model"):
        pieces = read_pieces(first, model_class.model)
        content = pieces.content
        extra: list[Any] = pieces.listed
        if name == "T5Tokenizer":
            sentinels = model_class.extra_tokens(fields)
            content["vocab"] += [(text, 0.0) for text in reversed(sentinels)]
            if not any("<extra_id_" in piece["content"] for piece in extra):
                extra = extra + sentinels
        named.extra = NamedTokens(fields.data, {}, extra).extra
        if name == "XLMRobertaTokenizer":
            content = with_fairseq_tokens(content, named.texts)
        if name != "XLNetTokenizer":
            content.pop("unk_id", None)
        rules = pieces.rules
    elif others:
        content = {
            "vocab": vocab_json(first),
            "merges": merges_txt(others[0]),
        }
    else:
        content = {"vocab": vocab_txt(first)}
    document = {
        "version": "1.0",
        **build(model_class, fields, named.texts, content["vocab"], rules),
    }
    document["model"] |= content
    if name == "AlbertTokenizer":
        document["post_processor"] = bos_eos_template("[CLS]", "[SEP]", bos_again=False)
    return document


def _with_cleanup(decoder: Any, model: Json, fields: Fields) -> Any:
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
    for pattern in _CLEANED_UP:
        content = "'" if pattern == " ' " else pattern[1:]
        steps.append(replace_json(pattern, content))
    return {"type": "Sequence", "decoders": steps}


# -- added tokens -------------------------------------------------------------------------

_FLAGS = ("single_word", "lstrip", "rstrip", "normalized", "special")


def _token_entry(value: Any, *, special: bool | None = None) -> Json:
    """Return an added token with all its flags, from a text or an object."""
    if isinstance(value, str):
        value = {"content": value, "special": True}
    fields = Fields("added token", value)
    entry: Json = {"content": fields.text("content")}
    entry["special"] = fields.flag("special", False) if special is None else special
    for name in ("single_word", "lstrip", "rstrip"):
        entry[name] = fields.flag(name, False)
    entry["normalized"] = fields.flag("normalized", not entry["special"])
    return entry


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
        free_id = highest + 1 if highest >= self.count else self.count
        for entry in tokens:
            text = entry["content"]
            if not text:
                continue
            id_ = self.own.get(text)
            previous = self.added.get(text)
            if previous:
                id_ = previous["id"]
            if id_ is None:
                id_, free_id = free_id, free_id + 1
            special = entry["special"] or bool(previous and previous["special"])
            self.added[text] = {"id": id_, **_without_id(entry), "special": special}

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
        configured = {**roles, **{role: config[role] for role in ROLES if role in config}}
        self.roles: dict[str, Any] = {
            role: configured[role] for role in ROLES if role in configured
        }
        self.roles |= configured
        for name, value in config.items():
            if name.endswith("_token") and name not in ROLES and isinstance(value, (str, dict)):
                self.roles[name] = value
        value = config.get("extra_special_tokens")
        if not value and "additional_special_tokens" in config:
            value = config["additional_special_tokens"]
        if isinstance(value, dict):
            self.roles |= value
            value = None
        if value is not None and not isinstance(value, list):
            raise ValueError("its extra special tokens are not a list")
        self.extra: list[Any] = list(extra) if value is None else value
        self.roles = {name: value for name, value in self.roles.items() if value is not None}

    @property
    def texts(self) -> dict[str, str]:
        """The text of the token for each role."""
        return {name: _token_entry(value)["content"] for name, value in self.roles.items()}


def _merge_special_map(config: Json, special_map: Json | None) -> Json:
    """Return the configuration, with the entries of `special_tokens_map.json` where they apply.

    They apply only to older files, without `added_tokens_decoder`.
    """
    if "added_tokens_decoder" in config or special_map is None:
        return config
    entries = {
        name: value | {"special": True} if isinstance(value, dict) and "content" in value else value
        for name, value in special_map.items()
    }
    return config | entries


def _listed_tokens(
    config: Json, named: NamedTokens, added: Json | None, document_entries: list[Json]
) -> dict[int, Json]:
    """Return the added tokens that the files list, by the id in the files."""
    found: dict[int, Json] = {}
    if "added_tokens_decoder" in config:
        entries = config["added_tokens_decoder"]
        if not isinstance(entries, dict):
            raise ValueError("its added_tokens_decoder is not an object")
        for id_, entry in entries.items():
            found[_parse_id(id_)] = _token_entry(entry)
        return found
    special = {*named.texts.values(), *(_token_entry(value)["content"] for value in named.extra)}
    for text, id_ in (added or {}).items():
        entry = {"content": text, "special": text in special}
        found[_parse_id(id_)] = _token_entry(entry)
    for entry in document_entries:
        found[_parse_id(entry.get("id"))] = _token_entry(entry)
    return found


def _parse_id(value: Any) -> int:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
        return int(value)
    if type(value) is int and 0 <= value < 2**32:
        return value
    raise ValueError(f"an added token has the id {value!r:.20}")


def _add_listed_and_named(
    vocabulary: GrowingVocabulary, listed: dict[int, Json], named: NamedTokens
) -> None:
    """Add the tokens that the files list, and those that they name, to the vocabulary.

    Names of one token with different flags, such as a text and an object, are all added: the last
    one counts (`TokenizersBackend.__init__` of transformers).
    """
    current = {text: _without_id(entry) for text, entry in vocabulary.added.items()}
    new = [entry for _, entry in sorted(listed.items()) if current.get(entry["content"]) != entry]
    known = {*current, *(entry["content"] for entry in new)}
    seen: dict[str, list[tuple[bool, Json]]] = {}
    for value in (*named.roles.values(), *named.extra):
        token = _token_entry(value)
        # In transformers, a text equals only a text, and an object only an object.
        key = isinstance(value, str), dict(token)
        same_text = seen.setdefault(token["content"], [])
        if token["content"] not in known and key not in same_text:
            same_text.append(key)
            new.append(token)
    special = set(named.texts.values())
    for entry in new:
        if entry["content"] in special:
            entry["special"] = True
    vocabulary.add(new)


def _readded_tokens(listed_tokens: dict[int, Json], config: Json, named: NamedTokens) -> list[Json]:
    """Return the special tokens that transformers' `_post_init` adds a second time.

    A token in the configuration has the flags from the list of added tokens, if that list has it.
    """
    listed_by_text = {entry["content"]: entry for entry in listed_tokens.values()}
    found = []
    for role, value in named.roles.items():
        token = _token_entry(value)
        entry = listed_by_text.get(token["content"], token) if role in config else token
        found.append({**entry, "special": True})
    return found + [_token_entry(token, special=True) for token in named.extra]


def _without_id(entry: Json) -> Json:
    return {name: entry[name] for name in ("content", *_FLAGS)}


# -- the configuration that is written ----------------------------------------------------
#
# What came with the model is kept, except for what would contradict its `tokenizer.json`.

#: Versions 4 and 5 load this class, and it builds no pipeline of its own.
_CLASS = "PreTrainedTokenizerFast"
#: Fields from which another class would build its pipeline, or which `tokenizer.json` covers.
_PIPELINE_FIELDS = (
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
_COMMON_TEXTS = {
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
    config, config_fields = _parse_extra_file(model, TOKENIZER_CONFIG), _config_fields(model)
    added_texts = {entry.text for entry in model.added}
    roles = roles_of(model)
    extra = _extra_special_tokens(config_fields, added_texts)
    fields = {name: value for name, value in config.items() if name not in _PIPELINE_FIELDS}
    fields = {name: value for name, value in fields.items() if not _is_role(name, value)}
    fields |= roles | extra
    fields["tokenizer_class"] = _CLASS
    fields["clean_up_tokenization_spaces"] = False
    pre_tokenizer = document["pre_tokenizer"]
    if pre_tokenizer is not None and "add_prefix_space" in pre_tokenizer:
        # Version 4 sets the pre-tokenizer's option to this value, or to false.
        fields["add_prefix_space"] = pre_tokenizer["add_prefix_space"]
    fields.setdefault("model_input_names", _input_names(document["post_processor"]))
    return {TOKENIZER_CONFIG: _dump(fields), SPECIAL_MAP: _dump(roles | extra)}


def _parse_extra_file(model: Model, name: str) -> Json:
    return parse_object(model.extra_files[name], name) if name in model.extra_files else {}


def _dump(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True) + "\n"


def _is_role(name: str, value: Any) -> bool:
    return name in ROLES or (name.endswith("_token") and isinstance(value, (str, dict)))


def _config_fields(model: Model) -> Json:
    """Return the fields of both configuration files that came with a model."""
    config, special_map = (
        _parse_extra_file(model, TOKENIZER_CONFIG),
        _parse_extra_file(model, SPECIAL_MAP),
    )
    return {**special_map, **config} if "added_tokens_decoder" in config else config | special_map


def roles_of(model: Model) -> dict[str, str]:
    """Return the special tokens by role (`bos_token`).

    The roles come from the configuration files that came with the model, as far as they name tokens
    of the model. Without such files, common texts of tokens tell their roles.
    """
    if TOKENIZER_CONFIG not in model.extra_files and SPECIAL_MAP not in model.extra_files:
        return _guess_roles(model)
    added_texts = {entry.text for entry in model.added}
    roles = _class_roles(model)
    for name, value in _config_fields(model).items():
        if _is_role(name, value):
            roles[name] = _token_text(value)
    return {name: text for name, text in roles.items() if text in added_texts}


def _token_text(value: Any) -> str | None:
    """Return the text of a token in the configuration, or None if the value is not a token."""
    text = value.get("content") if isinstance(value, dict) else value
    return text if isinstance(text, str) else None


def _class_roles(model: Model) -> dict[str, Any]:
    """Return the roles that the folder's class defines by default."""
    model_class = known_classes().get(model.origin.name) if model.origin else None
    return dict(model_class.roles) if model_class else {}


def _guess_roles(model: Model) -> dict[str, str]:
    roles = {}
    if model.recipe.unk_token is not None:
        roles["unk_token"] = model.recipe.unk_token
    for role, names in _COMMON_TEXTS.items():
        present = [name for name in names if name in model.special_ids]
        if role not in roles and present:
            roles[role] = present[0]
    return roles


def _extra_special_tokens(config_fields: Json, added_texts: set[str]) -> Json:
    """Return the extra special tokens, under a name that versions 4 and 5 both know."""
    value = (
        config_fields.get("extra_special_tokens")
        or config_fields.get("additional_special_tokens")
        or []
    )
    if isinstance(value, dict):
        texts = {name: _token_text(token) for name, token in value.items()}
        texts = {name: text for name, text in texts.items() if text in added_texts}
        return {"extra_special_tokens": texts} if texts else {}
    listed = dict.fromkeys(map(_token_text, value if isinstance(value, list) else []))
    present = [text for text in listed if text in added_texts]
    return {"additional_special_tokens": present} if present else {}


def _input_names(processor: Any) -> list[str]:
    """Return the names of a model's inputs: with token types if the template sets type ids."""
    typed = '"type_id": 1' in json.dumps(processor)
    return ["input_ids", *(["token_type_ids"] if typed else []), "attention_mask"]
