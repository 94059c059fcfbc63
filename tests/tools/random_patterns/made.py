# ruff: noqa: RUF001, SIM905
"""Random patterns over the grammar of Oniguruma, and texts that they may match."""

from __future__ import annotations

from random import Random

LETTERS = "aabbcdstikxyABCSTIKX"
SIGNS = " '-_.,:!/&#~\n\r\t"
#: Letters with unusual case variants, and what they fold to.
FOLDING = "ßẞſKÅåﬀﬁﬃﬆŉʼnǰĵİıiΣσςµμǅǆǄΐᾳᾼΙιеЕёЁԵևﬓ\u0345\u0307\u030c"
OTHERS = "éÉñ漢字中ひカ한ก٣५१²½Ⅷⅷ٪。،،।۔…€😀👍\u0301\u0308\u200d\u200c\u00a0\u3000\u2028\x85_"
ALPHABET = LETTERS + SIGNS + FOLDING + OTHERS + "0123456789"

PROPERTIES = (
    "L Lu Ll Lt Lm Lo M Mn N Nd Nl No P Pd Ps Pc S Sm Sc Z Zs C Cc Cf Han Latin Greek Cyrillic "
    "Hiragana Alpha Alnum Upper Lower Digit Space Punct Word XDigit Graph Print Blank Cntrl ASCII "
    "Letter Uppercase_Letter Number"
).split()
BRACKETS = "alpha alnum digit lower upper punct space word xdigit blank cntrl graph print".split()
ESCAPES = r"\w \W \d \D \s \S \h \H".split()
QUANTIFIERS = (
    "* + ? *? +? ?? *+ ++ ?+ {2} {1,2} {0,2} {,2} {2,} {1,3}? {2}? {1,2}+ {2}+ {2,1} {0,1} {1}"
).split()
#: What published files hold.
PUBLISHED = [
    " ?[^(\\s|[.,!?…。，、।۔،])]+",
    r"[\p{Han}]+",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+",
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)",
    r"\p{N}{1,3}+",
    r" ?[^\s\p{L}\p{N}]++[\r\n]*+",
    r"\s+(?!\S)",
    r"\s*[\r\n]+",
    r"\s++$",
    r"\d{1,3}(?=(?:\d{3})*\b)",
    r"(?=(\d{3})+(?!\d))",
    r"[a-z&&[^aeiou]]+",
    r"\p{L}+",
]
_META = "\\[](){}*+?|^$.#"


class PatternMaker:
    """Makes patterns of up to a number of parts."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.groups: list[str] = []

    def pattern(self) -> str:
        self.groups = []
        self.names = self.random.random() < 0.15
        self.left = self.random.randint(1, 9)
        start = self.random.choices(["", "(?i)", "(?m)", "(?x)", "(?im)"], [72, 20, 4, 2, 2])[0]
        return start + (self.alternatives(0) or "a")

    def alternatives(self, depth: int) -> str:
        count = self.random.choices([1, 2, 3], [70, 22, 8])[0]
        return "|".join(self.sequence(depth) for _ in range(count))

    def sequence(self, depth: int) -> str:
        count = self.random.choices([0, 1, 2, 3, 4], [2, 35, 33, 20, 10])[0]
        return "".join(self.quantified(depth) for _ in range(count))

    def quantified(self, depth: int) -> str:
        self.left -= 1
        atom, can_repeat = self.atom(depth)
        if can_repeat and self.random.random() < 0.4:
            atom += self.random.choice(QUANTIFIERS)
            if self.random.random() < 0.06:
                atom += self.random.choice(QUANTIFIERS)
        return atom

    def literal(self) -> str:
        random = self.random
        pool = random.choices([LETTERS, SIGNS, FOLDING, OTHERS, "0123"], [50, 15, 15, 12, 8])[0]
        char = random.choice(pool)
        how = random.random()
        if how < 0.06:
            return rf"\x{{{ord(char):X}}}"
        if how < 0.09 and ord(char) < 0x10000:
            return rf"\u{ord(char):04X}"
        if how < 0.11:
            return "".join(rf"\x{byte:02x}" for byte in char.encode())
        return "\\" + char if char in _META else char

    def atom(self, depth: int) -> tuple[str, bool]:
        random = self.random
        if depth < 3 and self.left > 0 and random.random() < 0.22:
            return self.group(depth)
        kind = random.choices(
            ["text", "class", "escape", "property", "dot", "anchor", "rare", "published"],
            [40, 24, 9, 8, 5, 6, 4, 4],
        )[0]
        if kind == "text":
            texts = ["ss", "st", "fi", "ffi", "'s", "ll", "re", "i\u0307", "ʼn", "sS", "ſs"]
            return (random.choice(texts) if random.random() < 0.12 else self.literal()), True
        if kind == "class":
            return self.char_class(0), True
        if kind == "escape":
            return random.choice(ESCAPES), True
        if kind == "property":
            return self.property(), True
        if kind == "dot":
            return ".", True
        if kind == "anchor":
            return random.choice(["^", "$", r"\A", r"\z", r"\Z", r"\b", r"\B"]), False
        if kind == "published":
            return f"(?:{random.choice(PUBLISHED)})", random.random() < 0.2
        if self.groups and random.random() < 0.5:
            return random.choice(self.groups), True
        return random.choice([r"\R", r"\K", "(?#x)", r"\N", r"\O", r"\X", r"\e", r"\q"]), False

    def property(self) -> str:
        name = self.random.choice(PROPERTIES)
        if self.random.random() < 0.2:
            name = self.random.choice([name.lower(), name.upper()])
        return self.random.choices([r"\p{%s}", r"\P{%s}", r"\p{^%s}"], [7, 2, 1])[0] % name

    def group(self, depth: int) -> tuple[str, bool]:
        random = self.random
        opening = random.choices(
            ["(?:", "(", "(?=", "(?!", "(?<=", "(?<!", "(?>", "(?i:", "(?-i:", "(?m:", "(?x:"],
            [30, 20, 8, 8, 6, 6, 8, 14, 3, 3, 1],
        )[0]
        if opening == "(" and self.names:
            opening = f"(?<n{len(self.groups)}>"
        body = self.alternatives(depth + 1)
        if random.random() < 0.04:
            body = random.choice(["(?i)", "(?-i)", "(?m)"]) + body
        if opening.startswith("(?<n"):
            self.groups.append(rf"\k<{opening[3:-1]}>")
        elif opening == "(" and not self.names:
            self.groups.append(rf"\{len(self.groups) + 1}")
        return f"{opening}{body})", opening not in ("(?=", "(?!", "(?<=", "(?<!")

    def char_class(self, depth: int) -> str:
        random = self.random
        text = "".join(self.member(depth) for _ in range(random.randint(1, 4)))
        while depth < 2 and random.random() < 0.18:
            text += "&&" + "".join(self.member(depth + 1) for _ in range(random.randint(1, 2)))
        return f"[{'^' * (random.random() < 0.3)}{text}]"

    def member(self, depth: int) -> str:
        random = self.random
        kind = random.choices(
            ["char", "range", "escape", "property", "class", "bracket", "sign"],
            [40, 16, 8, 14, 12 if depth < 2 else 0, 6, 4],
        )[0]
        if kind == "range":
            first, last = sorted(random.choices(random.choice([LETTERS, ALPHABET]), k=2))
            return "-".join("\\" + one if one in "\\[]^-&#" else one for one in (first, last))
        if kind == "escape":
            return random.choice(ESCAPES)
        if kind == "property":
            return self.property()
        if kind == "class":
            return self.char_class(depth + 1)
        if kind == "bracket":
            return f"[:{'^' * (random.random() < 0.2)}{random.choice(BRACKETS)}:]"
        if kind == "sign":
            return random.choice(["-", "(", "|", "^", "&", r"\]", r"\n", r"\b", r"\x41", "."])
        char = self.literal()
        return char if char not in "-&^" else "\\" + char


def texts(random: Random, pattern: str, count: int) -> list[str]:
    """Texts of characters of the pattern and of others, words repeated and cases swapped."""
    own = [char for char in pattern if char not in "\\[](){}*+?|^$<>=!:"] or ["a"]
    found = []
    for _ in range(count):
        pools = random.choices([own, LETTERS, ALPHABET], [5, 3, 3], k=random.randint(1, 14))
        text = "".join(random.choice(pool) for pool in pools)
        how = random.random()
        if how < 0.2:
            text = text.swapcase()
        elif how < 0.3:
            text += text[:5]
        elif how < 0.4:
            text += random.choice(["\n", "\r\n", "ss", "ß", "ﬁ", "fi", "12345", " b", "漢A"])
        found.append(text[:30] or random.choice(own))
    return found
