"""Slow twin of the pre-tokenizers: spans of characters, straight from the patterns.

The definitions are those of the documents (`golden/documents.json`, key `pretokenize`), of
BERT's basic tokenizer and of GPT-2's `encoder.py`. `\\s` is the `regex` package's, on `str`.
A caller with bytes that are not UTF-8 decodes them with `errors="surrogateescape"` first: every
bad byte is then one character that is neither a space, a letter, a number nor punctuation.
"""

from tests.twins.matches import matches

Span = tuple[int, int]

# Unicode's category P, and the ASCII punctuation that Unicode calls symbols (category S).
_PUNCTUATION = r"\p{P}$+<=>^`|~"

PATTERNS = {
    "whitespace": r"\S+",
    "whitespace-punctuation": r"\w+|[^\w\s]+",
    "bert": rf"[{_PUNCTUATION}]|[^\s{_PUNCTUATION}]+",
    "gpt2-words": r"'s|'t|'re|'ve|'m|'ll|'d|\p{L}+|\p{N}+|[^\s\p{L}\p{N}]+",
    "gpt2": r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    # cl100k and o200k: tiktoken's `openai_public.py`; llama3 and qwen2: their tokenizer.json.
    "cl100k": (
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+|"
        r" ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
    ),
    "llama3": (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|"
        r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
    "qwen2": (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|"
        r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
    "o200k": (
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
        r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
    "characters": r"(?s:.)",
    "graphemes": r"\X",
}

# DeepSeek-V3's tokenizer.json: each isolates its matches in every piece of the one before.
DEEPSEEK_V3 = (
    r"\p{N}{1,3}",
    "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+",
    r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|"""
    r" ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
)


def pretokenize(name: str, text: str) -> list[Span]:
    """The pre-tokens of `text` as (start, end) in characters, in order, none of them empty.

    `name` is a key of `PATTERNS` (text between matches is dropped), `none` (the whole text is
    one pre-token), or `regex:PATTERN` (matches, and the gaps between them: nothing is dropped).
    """
    if name == "none":
        return [(0, len(text))] if text else []
    if name.startswith("regex:"):
        return _with_gaps(_matches(name.removeprefix("regex:"), text), len(text))
    return _matches(PATTERNS[name], text)


def _matches(pattern: str, text: str) -> list[Span]:
    return [(start, end) for start, end in matches(pattern, text) if start < end]


def _with_gaps(spans: list[Span], length: int) -> list[Span]:
    everything = []
    end_of_last = 0
    for start, end in [*spans, (length, length)]:
        if end_of_last < start:
            everything.append((end_of_last, start))
        if start < end:
            everything.append((start, end))
        end_of_last = end
    return everything
