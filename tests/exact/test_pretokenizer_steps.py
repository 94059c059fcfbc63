"""The steps of pre-tokenizers: against Hugging Face's components, their twin, and tiktoken."""

from __future__ import annotations

import inspect
import unicodedata
from importlib.metadata import version
from itertools import accumulate
from typing import Any

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st
from tiktoken_ext import openai_public
from tokenizers import Regex, Tokenizer, models
from tokenizers import pre_tokenizers as hf

from tests.exact.test_pretokenizers import TURNING
from tests.twins.pretokenize import PATTERNS as TWIN_PATTERNS
from tests.twins.steps import run
from tokctl import _native
from tokctl.core.errors import CoreError
from tokctl.model.patterns import DEEPSEEK_V3, KNOWN_PATTERNS, KNOWN_SEQUENCES, PATTERNS

BEHAVIOURS = ("removed", "isolated", "merged-with-previous", "merged-with-next", "contiguous")

#: What the rules of the Penn Treebank turn on, the metaspace's mark, code points that Hugging
#: Face's tables have too, and sentences.
WORDS = "can not CAN NOT d 'ye gim me gon na got ta lem more 'n wan 't is was 's 'll n't N'T"
MARKS = "' '' \" `` . .. ... , : ; ? ! ( ) [ ] { } < > -- - _ ▁ ▁▁ a-b 12 字ー・ \r\n"
PIECES = [
    *(char for char in TURNING if unicodedata.category(char) != "Cn"),
    *WORDS.split(" "),
    *MARKS.split(" "),
    "  ",
    "The cat's 1,000 naps, Mr. X!",
]

texts = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)

Offsets = list[tuple[str, tuple[int, int]]]


def ours(parts: str | list[Any], text: str) -> Offsets:
    """The pre-tokens and their places in characters."""
    data = text.encode("utf-8", "surrogateescape")
    changed, ranges, places = _native.pre_tokenize(parts, data)
    widths = [len(char.encode("utf-8", "surrogateescape")) for char in text]
    starts = {start: number for number, start in enumerate(accumulate(widths, initial=0))}
    words = [changed[a:b].decode("utf-8", "surrogateescape") for a, b in ranges]
    return [(word, (starts[a], starts[b])) for word, (a, b) in zip(words, places, strict=True)]


def theirs(component: Any, text: str) -> Offsets:
    return component.pre_tokenize_str(text)  # type: ignore[no-any-return]


def split(pattern: str, behaviour: str, *, is_regex: bool = False, invert: bool = False) -> Any:
    return {
        "kind": "split",
        "pattern": pattern,
        "regex": is_regex,
        "behaviour": behaviour,
        "invert": invert,
    }


def metaspace(prepend: str, *, splits: bool, replacement: str = "▁") -> Any:
    return {
        "kind": "metaspace",
        "replacement": replacement,
        "prepend": prepend,
        "split": splits,
    }


def isolate(*patterns: str) -> Any:
    return hf.Sequence([hf.Split(Regex(pattern), "isolated") for pattern in patterns])


def components() -> dict[str, tuple[Any, Any]]:
    found: dict[str, tuple[Any, Any]] = {
        "whitespace": ("whitespace", hf.WhitespaceSplit()),
        "whitespace-punctuation": ("whitespace-punctuation", hf.Whitespace()),
        "bert": ("bert", hf.BertPreTokenizer()),
        "scripts": ("scripts", hf.UnicodeScripts()),
        "delimiter": ([{"kind": "delimiter", "text": "é"}], hf.CharDelimiterSplit("é")),
        "deepseek-v3": ("deepseek-v3", isolate(*DEEPSEEK_V3)),
        "characters": ("characters", hf.FixedLength(1)),
        "fixed": ([{"kind": "fixed", "length": 3}], hf.FixedLength(3)),
    }
    for name in ("gpt2", "llama3", "qwen2", "o200k", "cl100k"):
        # Their engine takes the + behind {1,3} for a repetition: 1234 would be one piece.
        found[name] = (name, isolate(PATTERNS[name].replace("{1,3}+", "{1,3}")))
    for individual in (True, False):
        step = {"kind": "digits", "individual": individual}
        found[f"digits-{individual}"] = ([step], hf.Digits(individual))
    for length in (1, 2, 3):
        step = {"kind": "digit-groups", "length": length}
        groups = Regex(rf"\p{{N}}{{1,{length}}}(?=(?:\p{{N}}{{{length}}})*(?!\p{{N}}))")
        found[f"digit-groups-{length}"] = ([step], hf.Split(groups, "isolated"))
        cuts = Regex(rf"(?=(\d{{{length}}})+(?!\d))")
        step = {"kind": "digit-cuts", "length": length}
        found[f"digit-cuts-{length}"] = ([step], hf.Split(cuts, "isolated"))
    for name in BEHAVIOURS:
        name_there: Any = name.replace("-", "_")
        step = {"kind": "punctuation", "behaviour": name}
        found[f"punctuation-{name}"] = ([step], hf.Punctuation(name_there))
        for text in ("-", "'s", " ", ""):
            for invert in (True, False):
                step = split(text, name, invert=invert)
                found[f"split-{name}-{text}-{invert}"] = (
                    [step],
                    hf.Split(text, name_there, invert),
                )
        for pattern in (r"\d+", r"(?=[ae])", r"x*", r"\s"):
            step = split(pattern, name, is_regex=True)
            found[f"regex-{name}-{pattern}"] = ([step], hf.Split(Regex(pattern), name_there))
    for scheme in ("always", "first", "never"):
        for splits in (True, False):
            found[f"metaspace-{scheme}-{splits}"] = (
                [metaspace(scheme, splits=splits)],
                hf.Metaspace("▁", scheme, splits),
            )
    return found


COMPONENTS = components()


@pytest.mark.few(2)
@pytest.mark.parametrize("name", COMPONENTS)
@given(text=texts)
def test_a_component_equals_hugging_face(name: str, text: str) -> None:
    parts, component = COMPONENTS[name]
    assert ours(parts, text) == theirs(component, text) == run(parts, text)


@given(text=texts, names=st.lists(st.sampled_from(sorted(COMPONENTS)), min_size=2, max_size=4))
def test_a_sequence_equals_hugging_face(text: str, names: list[str]) -> None:
    steps: list[Any] = []
    for name in names:
        parts = COMPONENTS[name][0]
        steps += [parts] if isinstance(parts, str) else parts
    sequence = hf.Sequence([COMPONENTS[name][1] for name in names])
    assert ours(steps, text) == theirs(sequence, text) == run(steps, text)


@pytest.mark.parametrize("behind", [["none"], ["gpt2"]])
@given(text=texts, first=st.sampled_from([[], ["whitespace"], [split("-", "merged-with-next")]]))
def test_the_prefix_space_equals_hugging_face(
    text: str, first: list[Any], behind: list[Any]
) -> None:
    """Places alone: that component writes the bytes of what it splits with other characters."""
    parts = [*first, "prefix-space", *behind]
    assert ours(parts, text) == run(parts, text)
    in_front: dict[str, list[Any]] = {
        "whitespace": [hf.WhitespaceSplit()],
        "split": [hf.Split("-", "merged_with_next")],
    }
    kinds = [part if isinstance(part, str) else part["kind"] for part in first]
    there = [component for kind in kinds for component in in_front[kind]]
    byte_level = hf.ByteLevel(add_prefix_space=True, use_regex=behind == ["gpt2"])
    found = theirs(hf.Sequence([*there, byte_level]), text)
    assert [place for _, place in ours(parts, text)] == [place for _, place in found]


@given(text=texts)
def test_offsets_after_encoding_equal_hugging_face(text: str) -> None:
    """A token per pre-token shows which places the library gives in an encoding."""
    for scheme in ("always", "first"):
        parts = [metaspace(scheme, splits=True)]
        found = ours(parts, text)
        vocabulary = {word: number for number, word in enumerate({word for word, _ in found})}
        tokenizer = Tokenizer(models.WordLevel({**vocabulary, "[UNK]": len(vocabulary)}, "[UNK]"))
        tokenizer.pre_tokenizer = hf.Metaspace("▁", scheme, True)
        encoding = tokenizer.encode(text)
        assert list(zip(encoding.tokens, encoding.offsets, strict=True)) == found


OWN = ["graphemes", "penn-treebank", "none", "gpt2-words", "cl100k", "scripts", "deepseek-v3"]


@pytest.mark.few(2)
@pytest.mark.parametrize("name", OWN)
@given(text=st.one_of(texts, st.text(), st.text(TURNING, max_size=30)))
def test_a_step_equals_its_twin(name: str, text: str) -> None:
    assert ours(name, text) == run(name, text)


@pytest.mark.few(3)
@pytest.mark.parametrize("name", [*OWN, *(name for name in COMPONENTS if "regex" not in name)])
@given(data=st.one_of(st.binary(max_size=20), texts.map(lambda text: text.encode()[1:-1])))
def test_a_step_equals_its_twin_on_bytes(name: str, data: bytes) -> None:
    parts = COMPONENTS[name][0] if name in COMPONENTS else name
    text = data.decode("utf-8", "surrogateescape")
    assert ours(parts, text) == run(parts, text)


def test_the_penn_treebank_splits_as_its_readers_expect() -> None:
    text = "They'll say \"I can't\"; Mr. O'Neil's $3.88 (gonna be 1,000)..."
    words = "They 'll say \" I ca n't \" ; Mr. O'Neil 's $ 3.88 ( gon na be 1,000 ) ..."
    assert [word for word, _ in ours("penn-treebank", text)] == words.split()
    words = "Hi , all. Bye ( now ) . )"
    assert [word for word, _ in ours("penn-treebank", "Hi, all. Bye (now).)")] == words.split()


def test_cl100k_and_llama3_differ_at_the_end_of_a_text() -> None:
    data = b"a \n "
    assert [data[a:b] for a, b in _native.pre_tokens("cl100k", data)] == [b"a", b" \n "]
    assert [data[a:b] for a, b in _native.pre_tokens("llama3", data)] == [b"a", b" \n", b" "]


def test_the_patterns_are_tiktokens() -> None:
    for name in ("cl100k", "o200k"):
        constructor: Any = getattr(openai_public, f"{name}_base")
        source = inspect.getsource(constructor)
        namespace = {
            "load_tiktoken_bpe": lambda *_, **__: {},
            "ENDOFTEXT": "",
            "FIM_PREFIX": "",
            "FIM_MIDDLE": "",
            "FIM_SUFFIX": "",
            "ENDOFPROMPT": "",
        }
        exec(source, namespace)  # the vocabulary itself would be fetched
        built: Any = namespace[f"{name}_base"]
        assert built()["pat_str"] == PATTERNS[name]
    assert KNOWN_PATTERNS[openai_public.r50k_pat_str] == "gpt2"


@pytest.mark.few(3)
@pytest.mark.parametrize("pattern", KNOWN_PATTERNS)
@given(text=st.one_of(texts, st.text(TURNING, max_size=30)))
def test_a_known_pattern_is_what_its_scanner_splits_as(pattern: str, text: str) -> None:
    found = [match.group() for match in regex.finditer(pattern, text)]
    assert [word for word, _ in ours(KNOWN_PATTERNS[pattern], text)] == found
    assert "".join(found) == text


@pytest.mark.parametrize("patterns", KNOWN_SEQUENCES)
@given(text=st.text(TURNING, max_size=30))
def test_a_known_sequence_is_what_its_scanner_splits_as(patterns: Any, text: str) -> None:
    steps = [split(pattern, "isolated", is_regex=True) for pattern in patterns]
    assert ours(KNOWN_SEQUENCES[patterns], text) == run(steps, text)


def test_patterns_and_the_twins_are_equal() -> None:
    assert {**TWIN_PATTERNS, "bert": PATTERNS["bert"]} == PATTERNS


#: How many code points the library's older tables class otherwise than ours, by component, and
#: how many of them Python's Unicode 14 knows. `Punctuation` is of Unicode 8, `UnicodeScripts` of
#: Unicode 9; none of the others differs on what is assigned in Unicode 14.
DIFFERING = {
    "whitespace": (0, 0),
    "whitespace-punctuation": (17559, 0),
    "bert": (147, 106),
    "digits-True": (323, 0),
    "gpt2": (17480, 0),
    "o200k": (17559, 0),
    "deepseek-v3": (17810, 0),
    "scripts": (44638, 16527),
}


@pytest.mark.slow
@pytest.mark.skipif(
    (version("regex"), version("tokenizers"), unicodedata.unidata_version)
    != (_native.REGEX_RELEASE, "0.23.3", "14.0.0"),
    reason="counts of these releases",
)
@pytest.mark.parametrize("name", DIFFERING)
def test_code_points_that_hugging_face_classes_otherwise(name: str) -> None:
    parts, component = COMPONENTS[name]

    def differ(chars: list[str]) -> bool:
        # An ideographic space parts the neighbours.
        text = "\u3000".join(f"a{char}a1{char}.{char}字{char}" for char in chars)
        return ours(parts, text) != theirs(component, text)

    differing = []
    for start in range(0, 0x110000, 0x100):
        chars = [chr(c) for c in range(start, start + 0x100) if not 0xD800 <= c < 0xE000]
        if differ(chars):
            differing += [char for char in chars if differ([char])]
    assigned = [char for char in differing if unicodedata.category(char) != "Cn"]
    assert (len(differing), len(assigned)) == DIFFERING[name]


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ("no-such", "no pre-tokenizer is called no-such"),
        ([{"kind": "fixed", "length": 0}], "invalid value 0 for length"),
        ([{"kind": "digit-groups", "length": 0}], "invalid value 0 for length"),
        ([{"kind": "digits"}], "has no individual"),
        ([{"kind": "digits", "individual": True, "other": 1}], "has no option other"),
        ([{"kind": "punctuation", "behaviour": "kept"}], "no behaviour is called kept"),
        ([{"length": 3}], "has no kind"),
    ],
)
def test_what_describes_no_pre_tokenizer_is_refused(parts: Any, message: str) -> None:
    with pytest.raises(CoreError, match=message):
        _native.pre_tokenize(parts, b"a")


def test_what_changes_the_text_has_no_ranges_in_it() -> None:
    with pytest.raises(CoreError, match="changes the text"):
        _native.pre_tokens(["prefix-space"], b"a")


@pytest.mark.few(5)
@pytest.mark.parametrize("name", sorted({*OWN, *PATTERNS, "deepseek-v3"}))
def test_a_long_run_of_anything_takes_linear_time(name: str) -> None:
    """A quadratic scanner would take minutes here."""
    for unit in ("\n", " ", "'", "7", "A", "\0", "字", "\u0301", "😀"):
        for end in ("", "x"):
            data = (unit * 60_000 + end).encode()
            assert _native.pre_tokens(name, data) is not None
