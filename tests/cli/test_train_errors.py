"""Everything that train refuses: exit code 2, what is wrong, what to do, and nothing written."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import systems
from tests.cli.run import error, names, process, tokctl
from tokctl.model import ALGORITHMS
from tokctl.model.parts import DECODERS, NORMALIZERS, PRE_TOKENIZERS
from tokctl.model.presets import PRESETS

BYTES_HINT = "leave the marker out, or train on characters (--chars)"
MARKER_HINT = "give a kind and a text: end:_, end-fused:</w>, start:Ġ, continuation:##; or none"
PATTERN_HINT = "patterns are those of Python's regex package; quote them for the shell"
ELSEWHERE = "choose another place with -o PATH"
SPELLING = "give it a spelling that no text has: <|endoftext|>, [SEP], …"
SHARE_HINT = "give a share above 0 and at most 1"
TEMPLATE_HINT = (
    "write it as $A, quoted for the shell: '[CLS] $A [SEP]=>[CLS] $A [SEP] $B:1 [SEP]:1'"
)
NOT_WORDPIECE = "leave it out, or add --algo wordpiece"
NOT_LONGEST = "leave it out, or add --segment longest-match"
LIMITS = "--coverage, --alphabet-limit and --initial-alphabet"
RULES_HINT = "copy them unchanged from a model file"
TEXT = b"low lower lowest\n"

CASES = [
    ("nosuch.txt", "can't read nosuch.txt: No such file or directory",
     "there is no such file in . or at that path; check the spelling"),
    ("text.txt nosuch", "can't read nosuch: No such file or directory",
     "there is no such file in . or at that path; check the spelling"),
    ("folder", "folder has no files", "name a folder with texts in it"),
    ("- -", "stdin (-) is named twice", "it can be read only once"),
    ("", "there is no text: stdin is a terminal",
     "name a file, or pipe text in: cat book.txt | tokctl …; - lets you type"),
    ("empty.txt", "there is nothing to train on: no pre-token was found",
     "name a text with words, or lower --min-count"),
    ("text.txt --min-count 9", "there is nothing to train on: no pre-token was found",
     "name a text with words, or lower --min-count"),
    ("text.txt --vocab 255",
     "a vocabulary of 255 is too small: the alphabet and the special tokens need 256",
     "ask for 256 or more: --vocab 256"),
    ("text.txt --vocab 256 --special-token <s>",
     "a vocabulary of 256 is too small: the alphabet and the special tokens need 257",
     "ask for 257 or more: --vocab 257"),
    ("text.txt --vocab 7 --algo wordpiece",
     "a vocabulary of 7 is too small: the alphabet and the special tokens need 8",
     "ask for 8 or more: --vocab 8"),
    ("text.txt --nosuch", "no such option: --nosuch", "see: tokctl train --help"),
    ("text.txt --preset gtp2", "no preset is called 'gtp2'", "did you mean gpt2?"),
    ("text.txt --preset zzz", "no preset is called 'zzz'",
     f"the presets are: {', '.join(PRESETS)}"),
    ("text.txt --preset gpt2 --algo wordpiece", "the preset gpt2 is bpe, not wordpiece",
     "leave --algo or --preset out"),
    ("text.txt --algo nosuch", "no algorithm is called 'nosuch'",
     f"choose one of: {', '.join(ALGORITHMS)}"),
    ("text.txt --pretokenize regex:(",
     "the pattern '(' does not compile: missing ) at position 1", PATTERN_HINT),
    ("text.txt --pretokenize regex:", "the pre-tokenizer regex needs a value",
     "write regex:VALUE"),
    ("text.txt --pretokenize nosuch", "no pre-tokenizer is called 'nosuch'",
     f"choose one of: {', '.join(PRE_TOKENIZERS.names())}"),
    ("text.txt --pretokenize whitespace",
     "the pre-tokenizer 'whitespace' does not keep the text as it is, so a byte-level model "
     "could not give the text back",
     "use gpt2, cl100k, none or regex:PATTERN, or train on characters (--chars)"),
    ("text.txt --marker end:_",
     "a byte-level model has no word marker: its tokens hold the spaces themselves", BYTES_HINT),
    ("text.txt --chars --marker end", "invalid value 'end' for --marker", MARKER_HINT),
    ("text.txt --chars --marker none:x", "invalid value 'none:x' for --marker", MARKER_HINT),
    ("text.txt --chars --marker between:x", "invalid value 'between:x' for --marker", MARKER_HINT),
    ("text.txt --chars --marker continuation:##",
     "bpe can't have a continuation marker", "choose: none, end, end-fused, start"),
    ("text.txt --algo wordpiece --marker none", "wordpiece can't have a none marker",
     "choose: continuation:TEXT"),
    ("text.txt --algo wordpiece --bytes",
     "wordpiece reads characters, and can't be trained on bytes",
     "leave --bytes out, or take --algo bpe"),
    ("text.txt --score count", "--score is for wordpiece, and this is bpe", NOT_WORDPIECE),
    ("text.txt --segment merges", "--segment is for wordpiece, and this is bpe", NOT_WORDPIECE),
    ("text.txt --unknown char", "--unknown is for wordpiece, and this is bpe", NOT_WORDPIECE),
    ("text.txt --max-input-chars 5", "--max-input-chars is for wordpiece, and this is bpe",
     NOT_WORDPIECE),
    ("text.txt --algo wordpiece --segment merges --unknown char",
     "--unknown is for longest match, and this model replays its merges", NOT_LONGEST),
    ("text.txt --preset notebook-wordpiece --max-input-chars 5",
     "--max-input-chars is for longest match, and this model replays its merges", NOT_LONGEST),
    ("text.txt --algo wordpiece --segment x", "invalid value 'x' for --segment",
     "choose one of: longest-match, merges"),
    ("text.txt --algo wordpiece --score x", "invalid value 'x' for --score",
     "choose one of: count, likelihood"),
    ("text.txt --tie-break x", "invalid value 'x' for --tie-break",
     "choose one of: first-seen, rewritten-last, lowest-id, highest-text"),
    ("text.txt --errors x", "invalid value 'x' for --errors", "choose one of: strict, replace"),
    ("text.txt --unk-token [UNK]",
     "a byte-level model knows every byte: no token is ever unknown to it",
     "leave --unk-token out, or train on characters (--chars)"),
    ("text.txt --special-token l", "the special token 'l' is spelled like a symbol of the alphabet",
     SPELLING),
    ("text.txt --algo wordpiece --special-token ##l",
     "the special token '##l' is spelled like a symbol of the alphabet", SPELLING),
    ("bad.txt --chars",
     "bad.txt: line 2, byte 7 is not UTF-8, and this model reads characters",
     "use --errors replace to put U+FFFD in its place, or a byte-level model"),
    ("text.txt -o folder", "can't write folder: it is a folder", "name a file in it"),
    ("text.txt -o no/m.json", "can't write no/m.json: there is no folder no",
     "make it first: mkdir -p no"),
    ("text.txt -o text.txt", "can't write text.txt: it is one of the files to read",
     f"FILE reads it; {ELSEWHERE}"),
    ("text.txt -o folder/../text.txt",
     "can't write folder/../text.txt: it is one of the files to read",
     f"FILE reads it as text.txt; {ELSEWHERE}"),
    ("nosuch.txt --decoder metaspace",
     "the decoder metaspace does not fit: it needs a model of characters",
     "leave the decoder out to use the recipe's own"),
    ("nosuch.txt --decoder nosuch", "no decoder is called 'nosuch'",
     f"choose one of: {', '.join(DECODERS.names())}"),
    ("nosuch.txt --template $A-</s>",
     "the template '$A </s>' names </s>, which is not a special token",
     "make it one: --special-token '</s>'"),
    ("nosuch.txt --template <s>", "the template '<s>' has no place for the text", TEMPLATE_HINT),
    ("nosuch.txt --normalize nosuch", "no normalizer is called 'nosuch'",
     f"choose one of: {', '.join(NORMALIZERS.names())}"),
    ("nosuch.txt --normalize nfc --normalize=", "--normalize is empty",
     "for no normalizer: --normalize none"),
    ("nosuch.txt --byte-fallback",
     "--byte-fallback is for character-level models: to a byte-level model no byte is unknown",
     "leave it out, or train on characters (--chars)"),
    ("nosuch.txt --algo wordpiece --byte-fallback",
     "--byte-fallback is for bpe, unigram, superbpe, picky and scaffold, and this is wordpiece",
     "leave it out, or take --algo bpe, unigram, superbpe, picky or scaffold"),
    ("nosuch.txt --preset notebook-bpe --fuse-unknown",
     "--fuse-unknown needs an unknown token, and this model has none",
     "leave it out, or name one: --unk-token '[UNK]'"),
    ("nosuch.txt --preset char-bpe --byte-fallback",
     "--byte-fallback can't be combined with a word marker: each byte of a character would carry "
     "the marker", "leave it out, or take --marker none --pretokenize metaspace"),
    ("nosuch.txt --graphemes", "--graphemes is for char, and this is bpe",
     "leave it out, or add --algo char"),
    ("nosuch.txt --algo word --show-steps 3",
     "--show-steps is for bpe, wordpiece, unigram and superbpe, and this is word",
     "leave it out, or take --algo bpe, wordpiece, unigram or superbpe"),
    ("nosuch.txt --coverage 0.9",
     "coverage and limits of the alphabet are for characters, and a byte-level model has all "
     "256 bytes", f"leave {LIMITS} out, or train on characters (--chars)"),
    ("nosuch.txt --algo word --alphabet-limit 9",
     "coverage and limits of the alphabet are for characters, and the tokens of this model are "
     "whole pre-tokens",
     f"leave {LIMITS} out; --vocab and --min-frequency limit a list of words"),
    ("nosuch.txt --vocab 9223372036854775808",
     "invalid value 9223372036854775808 for the vocabulary size",
     "give a whole number from 1 to 2^63 - 1"),
    ("nosuch.txt --algo unigram --max-token-length 256",
     "invalid value 256 for the greatest token length of unigram",
     "its pieces have up to 255 characters: --max-token-length 255"),
    ("nosuch.txt --chars --pretokenize {\"kind\":\"metaspace\",\"replacement\":\"ab\"}",
     "invalid value 'ab' for the option replacement of the pre-tokenizer metaspace",
     "give one character"),
    ("nosuch.txt --chars --normalize {\"kind\":\"precompiled\",\"rules\":\"AAAA\"}",
     "the precompiled rules are damaged: the precompiled_charsmap is cut off", RULES_HINT),
    ("nosuch.txt --chars --normalize {\"kind\":\"precompiled\",\"rules\":\"é\"}",
     "the precompiled rules are not base64: string argument should contain only ASCII "
     "characters", RULES_HINT),
    ("nosuch.txt --pretokenize scripts",
     "the pre-tokenizer 'scripts' does not keep the text as it is, so a byte-level model could "
     "not give the text back",
     "use gpt2, cl100k, none or regex:PATTERN, or train on characters (--chars)"),
    ("nosuch.txt --chars --whole-characters",
     "whole characters are for models of bytes, and the tokens of this model have whole "
     "characters anyway", "leave --whole-characters out"),
    ("nosuch.txt --algo char --initial-token ab",
     "a character model can't have initial tokens: its tokens are characters",
     "name them in --initial-alphabet"),
    ("nosuch.txt --initial-tokens-from -", "--initial-tokens-from reads no stdin",
     "name a file with a token a line"),
    ("nosuch.txt --initial-token a-b",
     "the initial token 'a-b' would never be used: the pre-tokenizer gpt2 cuts it into "
     "'a', '-', 'b'",
     "no token crosses such a cut; leave it out, or choose another --pretokenize"),
    ("nosuch.txt --initial-token=", "an initial token can't be empty", "leave it out"),
    ("text.txt --vocab 259 --initial-token ababab --initial-token xyz",
     "a vocabulary of 259 is too small: the alphabet, the initial tokens and the special "
     "tokens need 261", "ask for 261 or more: --vocab 261"),
    ("nosuch.txt --chars --coverage 2", "invalid value 2 for --coverage", SHARE_HINT),
    ("nosuch.txt --chars --coverage nan", "invalid value 'nan' for --coverage", SHARE_HINT),
    ("nosuch.txt --sample x", "invalid value 'x' for --sample", SHARE_HINT),
    ("nosuch.txt --seed 1", "--seed needs --sample",
     "add --sample SHARE, or leave --seed out"),
    ("text.txt --weight text.txt", "invalid value 'text.txt' for --weight",
     "name the text, then its weight: book.txt=2.0"),
    ("text.txt --weight text.txt=1 --weight text.txt=2", "text.txt has two weights",
     "leave one of them out"),
    ("text.txt --weight other.txt=2", "a weight is given for 'other.txt', which is not read",
     "weights are for the sources of this training: text.txt"),
    ("--word-counts text.txt bad.txt", "--word-counts takes one file",
     "counts of the same word add up: cat a b | tokctl train --word-counts -"),
    ("--word-counts text.txt --sample 0.5",
     "--sample can't be used with --word-counts: it reads words that are counted already",
     "leave one of them out"),
    ("text.txt --extend nosuch.json",
     "can't read the model nosuch.json: No such file or directory",
     "train one first: tokctl train book.txt"),
    ("text.txt -o -", "the model can't go to stdout", "name a file: -o PATH"),
]  # fmt: skip


@pytest.mark.few(40)
@pytest.mark.parametrize(("line", "message", "hint"), CASES, ids=[case[0] for case in CASES])
def test_refused(folder: Path, line: str, message: str, hint: str | None) -> None:
    Path("text.txt").write_bytes(TEXT)
    Path("bad.txt").write_bytes(b"low\nlow\xff low\n")
    Path("empty.txt").write_bytes(b"")
    Path("folder").mkdir()
    before = names(folder)
    arguments = [word.replace("-</s>", " </s>") for word in line.split()]
    assert tokctl("train", *arguments) == (2, b"", error(message, hint))
    assert names(folder) == before
    assert Path("text.txt").read_bytes() == TEXT


@pytest.mark.parametrize("option", ["--vocab", "--min-count", "--min-frequency", "--threads"])
@pytest.mark.parametrize("number", ["0", "-1", "x", "1.5"])
def test_numbers_from_one_up(option: str, number: str) -> None:
    done = tokctl("train", option, number, stdin=TEXT)
    assert (done.code, done.out) == (2, b"")
    short = " / '-v'" if option == "--vocab" else ""
    assert done.err.startswith(f"error: invalid value for '{option}'{short}: ")
    assert done.err.endswith("\nhint: see: tokctl train --help\n")


def test_an_empty_special_token() -> None:
    done = tokctl("train", "--special-token", "", stdin=TEXT)
    hint = "give the token a text; --unk-token '' trains without an unknown token"
    assert done == (2, b"", error("a special token can't be empty", hint))


@pytest.mark.parametrize("value", [b"\xff".decode("utf-8", "surrogateescape")])
@pytest.mark.parametrize("option", ["--special-token", "--unk-token", "--marker", "--pretokenize"])
def test_arguments_that_are_not_utf8(folder: Path, option: str, value: str) -> None:
    done = tokctl("train", "--chars", option, value, stdin=TEXT)
    message = r"the argument '\udcff' is not UTF-8"
    assert done == (
        2,
        b"",
        error(message, "write the argument in UTF-8: a model file holds only UTF-8"),
    )
    assert names(folder) == []


def test_a_file_that_can_be_opened_but_not_read() -> None:
    if not Path("/proc/self/mem").exists():
        pytest.skip("there is no /proc here")
    done = tokctl("train", "/proc/self/mem")
    assert done == (
        2,
        b"",
        error(
            "can't read /proc/self/mem to its end: Input/output error", "check the disk or the pipe"
        ),
    )


@contextlib.contextmanager
def nobody() -> Iterator[None]:
    """Root may read and write anything, so somebody else does what follows."""
    if os.geteuid() != 0:
        yield
        return
    tokctl("train", "nosuch")  # imports what is needed, from where others may not look
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@systems.rights
def test_without_the_right_to_read(folder: Path) -> None:
    Path("text.txt").write_bytes(TEXT)
    Path("text.txt").chmod(0)
    with nobody():
        done = tokctl("train", "text.txt")
    message = "can't read text.txt: Permission denied"
    assert done == (2, b"", error(message, "check its permissions: ls -l"))
    assert names(folder) == ["text.txt"]


@systems.rights
def test_without_the_right_to_write(folder: Path) -> None:
    Path("text.txt").write_bytes(TEXT)
    Path("closed").mkdir(mode=0o555)
    with nobody():
        done = tokctl("train", "-o", "closed/m.json", "text.txt")
    assert done == (2, b"", error("can't write closed/m.json: Permission denied", ELSEWHERE))
    assert names(folder / "closed") == []


def test_nothing_is_read_when_the_output_is_bad(monkeypatch: pytest.MonkeyPatch) -> None:
    from tokctl import training

    def never(*_: object) -> None:
        raise AssertionError("the text was read")

    monkeypatch.setattr(training, "count", never)
    Path("text.txt").write_bytes(TEXT)
    for output in ("no/m.json", ".", "text.txt", "text.txt/m.json"):
        assert tokctl("train", "-o", output, "text.txt").code == 2


def test_debug_shows_the_traceback() -> None:
    done = process("--debug", "train", "nosuch")
    assert done.err.startswith("Traceback ")
    assert done.err.endswith(
        "error: can't read nosuch: No such file or directory\n"
        "hint: there is no such file in . or at that path; check the spelling\n"
    )
    assert done.code == 2
