"""From texts as they come, and from files, to ids: the methods of a tokenizer for pipelines."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from typing import TYPE_CHECKING

from tokctl.errors import TokctlError
from tokctl.tokenizer.encodes import Encodes, Special, check_batch, check_threads

if TYPE_CHECKING:
    from array import array

    from tokctl._native import IdArray
    from tokctl.sources import Reading
    from tokctl.tokenizer.bulk.files import Files, Sources
    from tokctl.tokenizer.postprocess import Padding, Truncation

#: Texts that are read ahead at most, unless something else is asked for. The ids of so many stay
#: in the processor's cache; threads need more to share out.
AHEAD = 1024
AHEAD_FOR_THREADS = 16_384


class EncodesBulk(Encodes):
    """What a tokenizer does with more texts than one wants to have in memory."""

    def encode_iter(
        self,
        texts: Iterable[str | bytes],
        *,
        batch_size: int | None = None,
        threads: int = 1,
        special: Special = "none",
        add_special: bool = False,
        truncation: Truncation | int | None = None,
        padding: Padding | int | None = None,
    ) -> Iterator[list[int]]:
        """The ids of each text of an iterable, which may be endless, in order.

        Texts are taken some at a time: first one, then twice as many as before, up to `batch_size`
        of them or a million characters. No thread lives on between two batches.

        Args:
            texts: str or bytes: a generator, an open file's lines, an array.
            batch_size: texts read ahead at most; with 1 each is encoded as soon as it is there.
                None: 1,024, or 16,384 with several threads.
            threads: share the texts of a batch out. The ids don't depend on it.
            special, add_special, truncation: as those of `encode`.
            padding: needs a length, since the longest text is not known.

        Raises:
            TokctlError: as `encode_batch`; for a text that can't be encoded, and for whatever the
                iterable raises, when its turn comes, behind the ids of the texts before it.
        """
        from tokctl.tokenizer.bulk import texts as bulk

        texts = check_batch(texts, threads)
        most = _most(batch_size, threads)
        finish = None
        if add_special or truncation is not None or padding is not None:
            if padding is not None and getattr(padding, "length", padding) is None:
                raise TokctlError(
                    "padding of texts that come one by one needs a length",
                    "give a number, or Padding(length=…)",
                )

            def finish(batch: list[list[int]]) -> list[list[int]]:
                from tokctl.tokenizer.postprocess import finish_ids

                return finish_ids(
                    batch,
                    self.post_processor,
                    self.special_ids,
                    add_special=add_special,
                    truncation=truncation,
                    padding=padding,
                )

            finish([[]])  # what can't be asked for is an error now
        way = bulk.Way(self, threads, self.special_matcher(special), finish)
        return bulk.lists(texts, most, way)

    def encode_iter_array(
        self,
        texts: Iterable[str | bytes],
        *,
        batch_size: int | None = None,
        threads: int = 1,
        special: Special = "none",
    ) -> Iterator[tuple[IdArray, array[int]]]:
        """The same without a Python object for each id: `(ids, offsets)` of some texts at a time,
        as `encode_batch_array` has them. The arguments are those of `encode_iter`."""
        from tokctl.tokenizer.bulk import texts as bulk

        texts = check_batch(texts, threads)
        most = _most(batch_size, threads)
        way = bulk.Way(self, threads, self.special_matcher(special))
        return bulk.arrays(texts, most, way)

    def encode_file(
        self,
        sources: Sources,
        *,
        reading: Reading | None = None,
        lines: bool = False,
        eos: str | int | None = None,
        threads: int = 1,
        special: Special = "none",
        errors: str = "strict",
    ) -> tuple[IdArray, array[int]]:
        """The ids of all documents of files end to end, and where those of each begin.

        The ids of document `i` are `ids[offsets[i] : offsets[i + 1]]`. They are those that
        `tokctl encode` writes, whatever the number of threads. What is read is not kept: memory
        holds the ids, and of the text some blocks; a document whole where the model normalizes it
        or finds special tokens in it.

        Args:
            sources: a path (`-` is stdin), a source of `tokctl.sources`, or a list of these. A
                text is one document; so is each line of JSON Lines, each row of a table.
            reading: how the files are read, where their names and first bytes do not say it.
            lines: takes each line of a text as a document of its own, without its line feed.
            eos: a special token, or its id, that is put behind each document.
            threads: share the work out.
            special: special tokens that the texts may spell.
            errors: `strict` or `replace`, for text that is not UTF-8 (character models).

        Raises:
            TokctlError: what can't be read; a character without an id, with file and line.
        """
        from tokctl.sources import AUTO, opened
        from tokctl.tokenizer.bulk import files as bulk

        files = self._files(threads, special, lines, eos, errors)
        return bulk.arrays(files, opened(sources, reading or AUTO))

    def encode_file_iter(
        self,
        sources: Sources,
        *,
        reading: Reading | None = None,
        lines: bool = False,
        eos: str | int | None = None,
        threads: int = 1,
        special: Special = "none",
        errors: str = "strict",
    ) -> Generator[IdArray, None, None]:
        """The ids of one document of files after the other, in an array each. The arguments are
        those of `encode_file`; of any number of documents, memory holds some megabytes, or one.

        What is named is looked for at once, and read as the documents are asked for.
        """
        from tokctl.sources import AUTO, opened
        from tokctl.tokenizer.bulk import files as bulk

        files = self._files(threads, special, lines, eos, errors)
        collector = files.collector()
        return bulk.each(files, collector, opened(sources, reading or AUTO))

    def _files(
        self, threads: int, special: Special, lines: bool, eos: str | int | None, errors: str
    ) -> Files:
        from tokctl.tokenizer.bulk.files import Files

        check_threads(threads)
        if errors not in ("strict", "replace"):
            raise TokctlError(f"errors can't be {errors!r}", "it is strict or replace")
        return Files(self, threads, special, lines, eos, errors)


def _most(batch_size: int | None, threads: int) -> int:
    if batch_size is None:
        return AHEAD if threads == 1 else AHEAD_FOR_THREADS
    if batch_size < 1:
        raise TokctlError(f"batch_size can't be {batch_size}", "it is a number from 1 up")
    return batch_size
