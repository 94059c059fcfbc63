"""Write core/src/normalize/chars_map/rules.txt from the `sentencepiece` package.

The script trains a model with each of the rules nfkc, nmt_nfkc, nfkc_cf and nmt_nfkc_cf, and reads
the rules from the model's `precompiled_charsmap`. It writes them in four parts: the rules for
single characters, the sequences of characters that are composed, the clean-up that `nmt` adds, and
the case folding that `_cf` adds. It stops with an AssertionError unless the parts together give
each of the 225,000 rules.

Run it from `tokctl/native` after SentencePiece moves to a new Unicode version:

    python tools/chars_map.py > core/src/normalize/chars_map/rules.txt
"""

from __future__ import annotations

import io
import itertools
import struct
from collections import defaultdict
from collections.abc import Iterator
from importlib.metadata import version

import sentencepiece

Rules = dict[str, str]

HEADER = f"""\
# SentencePiece's rules nfkc, nmt_nfkc, nfkc_cf and nmt_nfkc_cf.
# Written by tools/chars_map.py from sentencepiece {version("sentencepiece")}; do not edit by hand.
#
# A line is a key and its value as code points, joined by a full stop. FIRST-LAST VALUE
# stands for consecutive keys with consecutive values. No value: the key is removed;
# the value !: there is no such rule."""


def fields(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield number and value of the length-delimited and fixed fields of a protobuf message."""
    at = 0

    def number() -> int:
        nonlocal at
        found = shift = 0
        while True:
            byte = data[at]
            at += 1
            found |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return found

    while at < len(data):
        key = number()
        if key & 7 == 0:
            number()
            continue
        length = {1: 8, 5: 4}.get(key & 7) or number()
        yield key >> 3, data[at : at + length]
        at += length


def blob(name: str) -> bytes:
    """Return the `precompiled_charsmap` of the rules called `name`."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["a b c d"]),
        model_writer=model,
        vocab_size=10,
        hard_vocab_limit=False,
        normalization_rule_name=name,
        minloglevel=2,
    )
    normalizer_spec = dict(fields(model.getvalue()))[3]
    return dict(fields(normalizer_spec))[2]


def rules(name: str) -> Rules:
    """Return all rules called `name`, read from the double array of their charsmap."""
    data = blob(name)
    (size,) = struct.unpack("<I", data[:4])
    units = struct.unpack(f"<{size // 4}I", data[4 : 4 + size])
    values = data[4 + size :]
    found = {}

    def offset(unit: int) -> int:
        return (unit >> 10) << ((unit & (1 << 9)) >> 6)

    def walk(base: int, key: bytes) -> None:
        for label in range(1, 256):
            place = base ^ label
            if place >= len(units) or units[place] & (1 << 31 | 0xFF) != label:
                continue
            node = place ^ offset(units[place])
            if units[place] >> 8 & 1:
                value = units[node] & ((1 << 31) - 1)
                text = values[value : values.index(b"\0", value)]
                found[(key + bytes([label])).decode()] = text.decode()
            walk(node, key + bytes([label]))

    walk(offset(units[0]), b"")
    return found


def sequences(nfkc: Rules) -> Rules:
    """Return the rules with several characters, one for all keys that fold alike.

    Each key has its characters replaced by their own rules.
    """
    folded: Rules = {}
    classes = defaultdict(set)
    for key, value in nfkc.items():
        if len(key) > 1:
            parts = [nfkc.get(char, char) for char in key]
            folded["".join(parts)] = value
            for char, part in zip(key, parts, strict=True):
                assert len(part) == 1
                classes[part].add(char)
                classes[part].add(part)
    for key, value in nfkc.items():
        if value in classes and len(key) == 1:
            classes[value].add(key)
    expanded = {
        "".join(key): value
        for folded_key, value in folded.items()
        for key in itertools.product(*(classes[char] for char in folded_key))
    }
    assert expanded == {key: value for key, value in nfkc.items() if len(key) > 1}
    # The normalizer composes conjoining jamo by arithmetic.
    return {
        key: value for key, value in folded.items() if not (len(value) == 1 and is_syllable(value))
    }


def is_syllable(char: str) -> bool:
    """Return whether `char` is a precomposed Hangul syllable."""
    return "\uac00" <= char <= "\ud7a3"


def code_points(text: str) -> str:
    """Return the code points of `text` in hexadecimal, joined by full stops."""
    return ".".join(f"{ord(char):X}" for char in text)


def section(name: str, found: dict[str, str | None]) -> None:
    """Print a section of the file; the value None stands for a key without a rule."""
    print(f"= {name}")
    entries = sorted(found.items())
    at = 0
    while at < len(entries):
        (key, value), first = entries[at], at
        at += 1
        if value is None:
            print(code_points(key), "!")
            continue
        if len(key) == len(value) == 1:
            while at < len(entries):
                step = at - first
                next_key, next_value = entries[at]
                if next_key != chr(ord(key) + step) or next_value != chr(ord(value) + step):
                    break
                at += 1
        last = "-" + code_points(entries[at - 1][0]) if at - first > 1 else ""
        print(f"{code_points(key)}{last} {code_points(value)}".rstrip())


def main() -> None:
    """Print the file."""
    nfkc, nmt = rules("nfkc"), rules("nmt_nfkc")
    differing = {key: nmt.get(key) for key in nfkc | nmt if nfkc.get(key) != nmt.get(key)}
    assert all(len(key) == 1 for key in differing)

    nfkc_cf, nmt_cf = rules("nfkc_cf"), rules("nmt_nfkc_cf")
    case = {key: value for key, value in nfkc_cf.items() if len(key) == 1 and key not in nfkc}
    for plain, folding in ((nfkc, nfkc_cf), (nmt, nmt_cf)):
        folded = {k: "".join(case.get(char, char) for char in v) for k, v in plain.items()}
        assert {**case, **folded} == folding

    print(HEADER)
    section("characters", {key: value for key, value in nfkc.items() if len(key) == 1})
    section("sequences", dict(sequences(nfkc)))
    section("nmt", differing)
    section("case", dict(case))


if __name__ == "__main__":
    main()
