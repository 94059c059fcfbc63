"""Slow twin of the chains of decoders: Hugging Face's `decode_chain`, step by step.

Each step maps a list of tokens to a list of tokens; the last list is joined. (`tokenizers` 0.23,
`src/decoders`.)
"""

from collections.abc import Sequence

import regex

from tests.twins.matches import matches

Step = dict[str, str | int | bool]

CLEANUP = (
    (" .", "."), (" ?", "?"), (" !", "!"), (" ,", ","), (" ' ", "'"), (" n't", "n't"),
    (" 'm", "'m"), (" do not", " don't"), (" 's", "'s"), (" 've", "'ve"), (" 're", "'re"),
)  # fmt: skip


def clean_up(text: str) -> str:
    for spaced, clean in CLEANUP:
        text = text.replace(spaced, clean)
    return text


def word_piece(tokens: list[str], prefix: str, cleanup: bool) -> list[str]:
    out = []
    for index, token in enumerate(tokens):
        if index > 0:
            token = token[len(prefix) :] if token.startswith(prefix) else " " + token
        out.append(clean_up(token) if cleanup else token)
    return out


def metaspace(tokens: list[str], replacement: str, prepend: str) -> list[str]:
    first = "" if prepend != "never" else " "
    return [token.replace(replacement, " " if n else first) for n, token in enumerate(tokens)]


def byte_fallback(tokens: list[str], invalid: str) -> list[str]:
    """Runs of byte tokens as text; `invalid` is `replace-run` or `replace-bytes`."""
    out: list[str] = []
    run: list[int] = []

    def end_run() -> None:
        if invalid == "replace-bytes":
            out.extend(_by_byte(bytes(run)))
            run.clear()
            return
        try:
            out.extend([bytes(run).decode()] if run else [])
        except UnicodeDecodeError:
            out.extend("\ufffd" for _ in run)
        run.clear()

    for token in tokens:
        if regex.fullmatch(r"<0x([0-9A-Fa-f]{2}|\+[0-9A-Fa-f])>", token):
            run.append(int(token[3:5], 16))
        else:
            end_run()
            out.append(token)
    end_run()
    return out


def _by_byte(data: bytes) -> list[str]:
    """Each character, and U+FFFD for each byte that is part of none."""
    found = []
    while data:
        for length in range(1, 5):
            try:
                found.append(data[:length].decode())
            except UnicodeDecodeError:
                continue
            data = data[length:]
            break
        else:
            found.append("\ufffd")
            data = data[1:]
    return found


def bpe_suffix(tokens: list[str], suffix: str) -> list[str]:
    last = len(tokens) - 1
    return [token.replace(suffix, "" if n == last else " ") for n, token in enumerate(tokens)]


def strip(token: str, content: str, start: int, stop: int) -> str:
    """Both ends are looked at in the whole token."""
    leading = len(token) - len(token.lstrip(content))
    trailing = len(token) - len(token.rstrip(content))
    return token[min(start, leading) : len(token) - min(stop, trailing)]


def ctc(tokens: list[str], pad: str, word_delimiter: str, cleanup: bool) -> list[str]:
    out = []
    for index, token in enumerate(tokens):
        if index > 0 and token == tokens[index - 1]:
            continue
        token = token.replace(pad, "") if pad else token
        if cleanup:
            token = clean_up(token).replace(word_delimiter, " ")
        out += [token] if token else []
    return out


def replace(token: str, pattern: str, content: str) -> str:
    """Nothing is looked for in an empty token."""
    out, done = "", 0
    for start, end in matches(pattern, token) if token else []:
        out += token[done:start] + content
        done = end
    return out + token[done:]


def decode_chain(steps: Sequence[Step], tokens: Sequence[str]) -> str:
    chain = list(tokens)
    for step in steps:
        fields = {name: value for name, value in step.items() if name != "kind"}
        match step["kind"]:
            case "byte-level":  # over bytes, not over their spelling
                chain = ["".join(chain)]
            case "wordpiece":
                chain = word_piece(chain, **fields)  # type: ignore[arg-type]
            case "metaspace":
                chain = metaspace(chain, **fields)  # type: ignore[arg-type]
            case "byte-fallback":
                chain = byte_fallback(chain, str(step["invalid"]))
            case "bpe-suffix":
                chain = bpe_suffix(chain, **fields)  # type: ignore[arg-type]
            case "fuse":
                chain = ["".join(chain)]
            case "join":
                chain = [" ".join(chain)]
            case "strip":
                only = fields.pop("first_only")
                chain = [
                    token if only and at else strip(token, **fields)  # type: ignore[arg-type]
                    for at, token in enumerate(chain)
                ]
            case "replace":
                pattern = str(step["pattern"])
                pattern = pattern if step["regex"] else regex.escape(pattern)
                chain = [replace(token, pattern, str(step["content"])) for token in chain]
            case "ctc":
                chain = ctc(chain, **fields)  # type: ignore[arg-type]
            case kind:
                raise ValueError(kind)
    return "".join(chain)
