"""The texts of `tokctl compare`: those of its arguments and lists, and those of `--lang`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tokctl.cli.streams import Sources
from tokctl.cli.world import World, visible
from tokctl.errors import TokctlError

if TYPE_CHECKING:
    from tokctl.analysis.comparison import Text
    from tokctl.sources import Source


@dataclass(frozen=True)
class Opened:
    """What will be read.

    Attributes:
        texts: a text each.
        languages: a text for each language, of all its sources.
    """

    texts: list[Source]
    languages: dict[str, list[Source]]

    @property
    def names(self) -> list[str]:
        """Of all sources: the paths of those that are files."""
        return [source.name for found in (self.texts, *self.languages.values()) for source in found]

    def read(self, *, characters: bool, errors: str) -> tuple[list[Text], dict[str, Text]]:
        """The texts, and those of languages, read once: stdin and pipes are needed for training
        and for comparing.

        Args:
            characters: some model reads characters, so that the texts must be UTF-8.
        """
        from tokctl.analysis.comparison import read_texts, read_together

        found = read_texts(self.texts, characters=characters, errors=errors)
        texts = [replace(text, name=visible(text.name)) for text in found]
        languages = {
            name: read_together(name, sources, characters=characters, errors=errors)
            for name, sources in self.languages.items()
        }
        return texts, languages


def open_texts(world: World, given: Sources, paths: Sequence[str], named: Sequence[str]) -> Opened:
    """The texts that arguments, lists and `--lang` name, checked; without any the bundled
    sample.

    Args:
        named: `NAME=FILE` of each language.
    """
    from tokctl import sources
    from tokctl.sources.corpora import corpus_path

    files = _languages(named)
    asked = [*paths, *files.values(), given.files_from, given.files0_from]
    if asked.count(sources.STDIN) > 1:
        raise TokctlError("stdin (-) is named twice", "it can be read only once")
    texts = given.open(world, paths) if paths or given.lists else []
    languages = {
        name: sources.open_sources([path], given.reading, stdin=world.stdin)
        for name, path in files.items()
    }
    if texts or languages:
        return Opened(texts, languages)
    if paths or given.lists:
        raise TokctlError("there is no text in what is named", "name a text that is there")
    given.check_needed("name a text; the bundled sample is plain text")
    sample = corpus_path("sample")
    world.say(f"no text is named: taking the bundled sample, {sample.name}")
    # Where it is installed is nobody's business.
    return Opened([replace(text, name=sample.name) for text in sources.documents([sample])], {})


def _languages(named: Sequence[str]) -> dict[str, str]:
    """The path of each language of `--lang`, by its name."""
    files: dict[str, str] = {}
    for entry in named:
        name, sign, path = entry.partition("=")
        if not (name and sign and path):
            raise TokctlError(f"--lang can't be {entry!r}", "write NAME=FILE: --lang fi=fi.txt")
        if visible(name) in files:
            raise TokctlError(f"the language {name} is named twice", "give each language one file")
        files[visible(name)] = path
    return files
