"""The files of a `transformers` folder as one document of Hugging Face's `tokenizer.json`."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from tokctl.errors import TokctlError
from tokctl.formats.contract import Source, damaged
from tokctl.formats.huggingface import class_choice, pieces, vocab_files
from tokctl.formats.huggingface.class_pipelines import Given, around, template, with_ids
from tokctl.formats.huggingface.classes import CLASSES, Class
from tokctl.formats.huggingface.components import Fields, Json
from tokctl.formats.huggingface.folder_tokens import (
    ROLES,
    Named,
    Vocabulary,
    add_all,
    again,
    configured,
    listed,
    token,
)

TOKENIZER, CONFIG = "tokenizer.json", "tokenizer_config.json"
SPECIAL_MAP, ADDED = "special_tokens_map.json", "added_tokens.json"
TEKKEN = "tekken.json"
TEMPLATE, TEMPLATES = "chat_template.jinja", "additional_chat_templates"
#: Files of which AutoTokenizer can make a tokenizer where there is no `tokenizer.json`.
VOCABULARIES = (
    "vocab.json",
    "vocab.txt",
    "tokenizer.model",
    "spiece.model",
    "sentencepiece.bpe.model",
)
#: What is carried along unread.
COMPANIONS = (CONFIG, SPECIAL_MAP, ADDED, TEMPLATE)
_TEMPLATE_NAME = re.compile(rf"{TEMPLATES}/[\w.+ -]{{1,100}}\.jinja", re.ASCII)
#: A companion is text for people; no one writes more.
_LONGEST_TEXT = 1 << 22
_MOST_TEMPLATES = 64
_MOST_TEXT = 1 << 24
#: What `clean_up_tokenization_spaces` replaces in a decoded text, in this order.
_CLEANED = (" .", " ?", " !", " ,", " ' ", " n't", " 'm", " 's", " 've", " 're")
#: Classes whose template `add_bos_token` and `add_eos_token` make, without a `tokenizer.json`.
_AROUND = (
    "GPT2Tokenizer",
    "GPTNeoXTokenizer",
    "Qwen2Tokenizer",
    "LlamaTokenizer",
    "AlbertTokenizer",
)


class Folder(NamedTuple):
    """The files of a folder beside `tokenizer.json`, as far as they say something."""

    name: str
    config: Json
    special_map: Json | None
    added: Json | None
    model_config: Json


def is_carried(name: str) -> bool:
    """Is it the name of a file that is carried along?"""
    return name in COMPANIONS or _TEMPLATE_NAME.fullmatch(name) is not None


def companions(source: Source) -> dict[str, str]:
    """The texts of the files beside `tokenizer.json` that come along."""
    found = [(name, source.beside(name)) for name in COMPANIONS]
    assert source.path is not None
    folder = source.path / TEMPLATES
    if folder.is_dir():
        names = sorted(path.name for path in folder.glob("*.jinja"))[: _MOST_TEMPLATES + 1]
        if len(names) > _MOST_TEMPLATES:
            raise TokctlError(f"{folder} holds more than {_MOST_TEMPLATES} chat templates")
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
            raise damaged(file.name, f"it is no UTF-8 at byte {error.start}") from None
        if sum(map(len, texts.values())) > _MOST_TEXT:
            raise TokctlError(f"the files beside tokenizer.json are too large in {source.name}")
    return texts


def parsed(text: str, name: str) -> Json:
    """A JSON object; numbers that are too long for other readers stay as they are."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise damaged(name, f"it is no JSON ({str(error)[:100]})") from None
    if not isinstance(found, dict):
        raise damaged(name, "it is no JSON object")
    return found


def folder(source: Source, texts: dict[str, str]) -> Folder:
    """What the files beside `tokenizer.json` say."""

    def read(name: str) -> Json | None:
        return parsed(texts[name], f"{source.name}/{name}") if name in texts else None

    beside = source.beside("config.json")
    model: Json = {}
    if beside is not None and beside.size <= _LONGEST_TEXT:
        model = parsed(beside.data.decode(errors="replace"), beside.name)
    return Folder(source.name, read(CONFIG) or {}, read(SPECIAL_MAP), read(ADDED), model)


def document(source: Source, files: Folder) -> tuple[Json, str]:
    """The document that stands for what AutoTokenizer makes of the folder, and the name of
    its class."""
    own = source.beside(TOKENIZER)
    given: Json | None = None
    if own is not None:
        given = own.document
        if not isinstance(given, dict) or not isinstance(given.get("model"), dict):
            raise damaged(own.name, "it has no model in it")
    tekken = source.beside(TEKKEN) is not None
    name = class_choice.chosen(files.config, files.model_config, given, tekken=tekken)
    known = CLASSES.get(name)
    if given is not None and (error := class_choice.refused(name, source.name)):
        raise error
    if given is None and (known is None or not known.vocab_files):
        raise vocab_files.no_such_class(
            source.name, ", ".join(name for name, one in CLASSES.items() if one.vocab_files)
        )
    config = configured(files.config, files.special_map)
    fields = Fields("tokenizer_config", config)
    named = Named(config, known.roles if known else {}, known.extra(fields) if known else [])
    mask = named.roles.get("mask_token")
    if known and known.mask and isinstance(mask, str):
        named.roles["mask_token"] = {"content": mask, **known.mask}
    if given is None:
        assert known is not None
        made = _from_files(source, name, known, fields, named)
    else:
        made = dict(given)
        if known:
            made = _rebuilt(given, name, known, fields, named)
    entries = (given or {}).get("added_tokens") or []
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise ValueError("the added tokens are no list of objects")
    vocabulary = _vocabulary(made["model"])
    if known is None or (known.kept and given is not None):
        vocabulary.add(list(map(token, entries)))
    add_all(vocabulary, listed(config, named, files.added, entries), named)
    if name == "Qwen2Tokenizer":
        # It adds them once more, without flags.
        texts = dict.fromkeys((*named.texts.values(), *map(_text, named.extra)))
        vocabulary.add(list(map(token, texts)))
    if known and known.again:
        vocabulary.add(again(vocabulary, config, named))
    made["added_tokens"] = sorted(vocabulary.added.values(), key=lambda entry: entry["id"])
    if given is None and name in _AROUND and config.keys() & {"add_bos_token", "add_eos_token"}:
        made["post_processor"] = _around(fields, named)
    made["post_processor"] = with_ids(made.get("post_processor"), vocabulary.ids)
    if fields.flag("clean_up_tokenization_spaces", False):
        made["decoder"] = _cleaning(made.get("decoder"), made["model"], fields)
    return made, name


def _text(value: Any) -> str:
    return str(token(value)["content"])


def _around(fields: Fields, named: Named) -> Json:
    bos, eos = (
        named.texts.get(f"{end}_token") if fields.flag(f"add_{end}_token", False) else None
        for end in ("bos", "eos")
    )
    return around(bos, eos)


def _vocabulary(model: Json) -> Vocabulary:
    vocab = model.get("vocab")
    if isinstance(vocab, dict):
        return Vocabulary(vocab, len(vocab))
    if isinstance(vocab, list):
        return Vocabulary({piece: id_ for id_, (piece, _) in enumerate(vocab)}, len(vocab))
    raise ValueError("the model has no vocabulary")


def _rebuilt(given: Json, name: str, known: Class, fields: Fields, named: Named) -> Json:
    """The document with the pipeline of a class around the vocabulary."""
    inner = given["model"]
    if inner.get("type", known.model) != known.model and not known.kept:
        raise TokctlError(
            f"its class {name} has a {known.model} model, and its tokenizer.json {inner['type']}",
            "set tokenizer_class in tokenizer_config.json to PreTrainedTokenizerFast, and "
            "tokenizer.json counts as it is",
        )
    vocab, rules = inner.get("vocab"), _rules(given.get("normalizer"))
    made = {**given, **known.build(Given(fields, named.texts, vocab, rules))}
    made["model"] = {**made["model"], "vocab": inner.get("vocab")}
    if known.model == "BPE":
        made["model"]["merges"] = inner.get("merges")
    return made


def _rules(normalizer: Any) -> list[Json]:
    """The first of a document's precompiled rules, in a list."""
    if not isinstance(normalizer, dict):
        return []
    steps = normalizer["normalizers"] if normalizer.get("type") == "Sequence" else [normalizer]
    found = [step for step in steps if step.get("type") == "Precompiled"]
    return found[:1]


def _from_files(source: Source, name: str, known: Class, fields: Fields, named: Named) -> Json:
    """The document of a class around its vocabulary files. What these list as special, `named`
    gets."""
    rules: list[Json] = []
    files = [source.beside(file) for file in known.vocab_files]
    if None in files:
        raise damaged(source.name, f"{known.vocab_files[files.index(None)]} is missing")
    first, *others = (file for file in files if file is not None)
    if first.name.endswith(".model"):
        taken = pieces.read(first, known.model)
        content = taken.content
        extra: list[Any] = taken.listed
        if name == "T5Tokenizer":
            sentinels = known.extra(fields)
            content["vocab"] += [(text, 0.0) for text in reversed(sentinels)]
            if not any("<extra_id_" in one["content"] for one in extra):
                extra = extra + sentinels
        named.extra = Named(fields.data, {}, extra).extra
        if name == "XLMRobertaTokenizer":
            content = pieces.fairseq(content, named.texts)
        if name != "XLNetTokenizer":
            content.pop("unk_id", None)
        rules = taken.rules
    elif others:
        content = {
            "vocab": vocab_files.vocab_json(first),
            "merges": vocab_files.merges_txt(others[0]),
        }
    else:
        content = {"vocab": vocab_files.vocab_txt(first)}
    given = Given(fields, named.texts, content["vocab"], rules)
    made = {"version": "1.0", **known.build(given)}
    made["model"] |= content
    if name == "AlbertTokenizer":
        made["post_processor"] = template(
            "[CLS]:0 $A:0 [SEP]:0", "[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1"
        )
    return made


def _cleaning(decoder: Any, model: Json, fields: Fields) -> Any:
    """The decoder with transformers' cleaning up behind it, which it leaves out for BPE."""
    forced = "clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output"
    if model.get("type") == "BPE" and not fields.flag(forced, False):
        return decoder
    if decoder is None:
        raise TokctlError(
            "its text is cleaned up, and it has no decoder",
            "set clean_up_tokenization_spaces to false in tokenizer_config.json",
        )
    steps = [decoder, {"type": "Fuse"}]
    for found in _CLEANED:
        content = "'" if found == " ' " else found[1:]
        steps.append({"type": "Replace", "pattern": {"String": found}, "content": content})
    return {"type": "Sequence", "decoders": steps}


__all__ = ["ROLES", "Folder", "companions", "document", "folder", "is_carried"]
