"""Every form that is read against every form that is written: the ids are those of the plain
path, document by document."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.cli.run import tokctl
from tests.conftest import SHARED, slow_but
from tests.pipelines import forms_in, forms_out
from tokctl import Tokenizer


def corpus(sample: str) -> list[str]:
    """Documents of all kinds: prose, code, many scripts, nothing at all, ends without a line
    feed, lines that end otherwise."""
    texts = [sample[at : at + 900] for at in range(0, 9_000, 900)]
    for name in ("books", "code", "multilingual"):
        path = SHARED / "corpora" / f"{name}.txt"
        if path.exists():
            found = path.read_text(encoding="utf-8")
            texts += [found[at : at + 700] for at in range(50_000, 57_000, 700)]
    for path in sorted((SHARED / "corpora").glob("udhr/*.txt")):
        texts.append(path.read_text(encoding="utf-8")[:400])
    return [
        *texts,
        "a",
        "b",
        "",
        "one\r\ntwo\r",
        "\n\n",
        "\ufeffmark",
        "the the the\tthe",
        "e\u0301",
    ]


@pytest.fixture(scope="module")
def documents(sample: str) -> list[str]:
    return corpus(sample)


@pytest.fixture(scope="module")
def models(
    documents: list[str], sample: str, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    """A byte-level model, and one of characters that knows them all."""
    folder = tmp_path_factory.mktemp("models")
    (folder / "text.txt").write_text(sample[:30_000] + "".join(documents), encoding="utf-8")
    found = {}
    for algorithm, size in (("bpe", 500), ("unigram", 2500)):
        found[algorithm] = folder / f"{algorithm}.json"
        trained = Tokenizer.train([folder / "text.txt"], vocab_size=size, algorithm=algorithm)
        trained.save(found[algorithm])
    return found


def ids(model: Path, documents: Sequence[str]) -> list[list[int]]:
    tokenizer = Tokenizer.load(model)
    return [tokenizer.encode_ids(text) for text in documents]


@pytest.mark.parametrize("kind", slow_but(["bpe", "unigram"], "bpe"))
@pytest.mark.parametrize("given", slow_but(forms_in.FORMS, "files", "tar", "JSON Lines"))
def test_the_ids_are_those_of_the_plain_path(
    tmp_path: Path, models: dict[str, Path], documents: list[str], given: str, kind: str
) -> None:
    expected = ids(models[kind], documents)
    source = tmp_path / "in"
    source.mkdir()
    arguments, stdin = forms_in.FORMS[given](source, documents)
    for name, asked in forms_out.FORMS.items():
        out = tmp_path / name.replace(", ", "-")
        out.mkdir()
        index = ["--index", str(out / "index.npy")] if name in ("bin", "npy") else []
        options = [*asked.options, *index, "-m", str(models[kind]), "-o", str(out / "ids")]
        done = tokctl("encode", *options, *arguments, stdin=stdin)
        assert done.code == 0, (name, done.err)
        assert asked.read(out / "ids") == expected, name


@pytest.mark.parametrize("given", ["tsv", "JSON Lines", "Parquet"])
def test_records_without_line_feeds_are_lines(
    tmp_path: Path, models: dict[str, Path], documents: list[str], given: str
) -> None:
    lines = [line for text in documents for line in text.replace("\r", " ").split("\n")]
    (tmp_path / "lines.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    form = forms_in.tsv if given == "tsv" else forms_in.FORMS[given]
    arguments, stdin = form(tmp_path, lines)
    model = ["-m", str(models["bpe"])]
    plain = tokctl("encode", *model, str(tmp_path / "lines.txt"))
    assert plain.code == 0
    assert tokctl("encode", *model, *arguments, stdin=stdin) == plain
    for form_out in ("tokens", "pieces", "jsonl", "bin", "npy", "safetensors"):
        by_lines = ["--lines"] if form_out in ("bin", "npy", "safetensors") else []
        how = ["encode", *model, "--as", form_out, *by_lines]
        expected = tokctl(*how, str(tmp_path / "lines.txt"))
        assert expected.code == 0, expected.err
        assert tokctl(*how, *arguments, stdin=stdin) == expected, form_out


@pytest.mark.few(4)
@pytest.mark.parametrize("given", forms_in.FORMS)
def test_a_training_reads_the_same_documents(
    tmp_path: Path, documents: list[str], given: str
) -> None:
    """The model is that of the documents as files; only the digest of the text may be another,
    where the source holds many."""
    (tmp_path / "files").mkdir()
    (tmp_path / "in").mkdir()
    plain = forms_in.files(tmp_path / "files", documents).arguments
    arguments, stdin = forms_in.FORMS[given](tmp_path / "in", documents)
    options = ["train", "-q", "--vocab", "400"]
    first = tokctl(*options, "-o", str(tmp_path / "a.json"), *plain)
    second = tokctl(*options, "-o", str(tmp_path / "b.json"), *arguments, stdin=stdin)
    assert (first.code, second.code) == (0, 0), second.err
    one, other = Tokenizer.load(tmp_path / "a.json"), Tokenizer.load(tmp_path / "b.json")
    assert one.tokens == other.tokens
    assert one.merges == other.merges


@pytest.mark.few(2)
@pytest.mark.parametrize("given", forms_in.FORMS)
def test_counting_compare_and_inspect_read_the_same_documents(
    tmp_path: Path, models: dict[str, Path], documents: list[str], given: str
) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "in").mkdir()
    model = ["-m", str(models["bpe"])]
    plain = forms_in.files(tmp_path / "files", documents).arguments
    arguments, stdin = forms_in.FORMS[given](tmp_path / "in", documents)

    def answer(command: list[str], sources: list[str], stdin: bytes | None) -> dict[str, object]:
        done = tokctl(*command, *model, *sources, stdin=stdin)
        assert done.code == 0, done.err
        found: dict[str, object] = json.loads(done.out)
        return found

    count = ["encode", "--count", "--whole", "--json"]
    ours, theirs = answer(count, arguments, stdin), answer(count, plain, None)
    assert (ours["tokens"], ours["bytes"]) == (theirs["tokens"], theirs["bytes"])
    assert theirs["tokens"] == sum(map(len, ids(models["bpe"], documents)))
    use = ["inspect", "--use", "--json"]
    assert answer(use, arguments, stdin) == answer(use, plain, None)
