"""Two steps for pipelines of datatrove (https://github.com/huggingface/datatrove).

    from datatrove.executor import LocalPipelineExecutor
    from datatrove.pipeline.readers import ParquetReader
    from tokctl.extras.datatrove import DocumentTokenizer

    pipeline = [ParquetReader("corpus/"), DocumentTokenizer("tokens/", "m.json")]
    LocalPipelineExecutor(pipeline, tasks=8).run()

The other step, `PreTokenCounter`, counts pre-tokens for a training.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tokctl.core.errors import Unsupported
from tokctl.core.values import cached_property
from tokctl.extras import arrow
from tokctl.idfiles.dtypes import unsigned_for
from tokctl.idfiles.stream import NativeEncoder
from tokctl.model import Recipe
from tokctl.sources import Batch, Records
from tokctl.tokenizer import Tokenizer
from tokctl.tokenizer.documents import DocumentEncoder, end_id

try:
    from datatrove.io import get_datafolder
    from datatrove.pipeline import tokens
    from datatrove.pipeline.base import PipelineStep
    from datatrove.pipeline.tokens.tokenizer import TokenizedFile
    from datatrove.utils.batching import batched
except ImportError as error:
    raise Unsupported(
        "tokctl.extras.datatrove needs datatrove",
        "pip install 'datatrove[io,processing]'",
        "missing-package",
    ) from error

if TYPE_CHECKING:
    from collections.abc import Iterable

    from datatrove.data import Document

    from tokctl.tokenizer import Special

__all__ = ["DocumentTokenizer", "PreTokenCounter"]


class DocumentTokenizer(tokens.DocumentTokenizer):
    """A replacement for datatrove's step of the same name, with the same options and files.

    `DocumentTokenizerMerger` and `DatatroveFolderDataset` read the files.
    """

    def __init__(
        self,
        output_folder: Any,
        tokenizer_name_or_path: str | os.PathLike[str],
        *args: Any,
        special: Special = "none",
        threads: int = 1,
        **options: Any,
    ) -> None:
        """Create the step.

        Args:
            output_folder: a path or an address, as in datatrove.
            tokenizer_name_or_path: the path of a model for `Tokenizer.load`; every worker must find
                the model there.
            args: further arguments of datatrove's step.
            special: the special tokens to recognize in texts, as in `Tokenizer.encode`.
                (datatrove's step recognizes all.)
            threads: the number of threads for a batch.
            options: further options of datatrove's step. Loss masks are not supported. `eos_token`
                is a token of the vocabulary to add after each document; the model's template is not
                applied.

        Raises:
            TokctlError: the options ask for loss masks.
        """
        super().__init__(output_folder, os.fspath(tokenizer_name_or_path), *args, **options)
        if self.save_loss_metadata:
            raise Unsupported(
                "tokctl writes no loss masks",
                "leave save_loss_metadata out, or use datatrove's own tokenizer",
            )
        self._special = special
        self._threads = threads

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """The model, loaded when it is first used."""
        return Tokenizer.load(self.tokenizer_name_or_path)

    @cached_property
    def token_size(self) -> int:
        """The number of bytes per id in the files."""
        return unsigned_for(self.tokenizer.vocab_size).width

    def write_unshuffled(self, data: Iterable[Document], filename: str) -> TokenizedFile:
        """Write the ids of documents in their order, and return the closed file.

        Args:
            data: the documents.
            filename: the name of the file in the output folder; before shuffling, in the local
                working folder if there is one.
        """
        documents = DocumentEncoder(self.tokenizer, special=self._special, threads=self._threads)
        eos_id = None if self.eos_token is None else end_id(self.tokenizer, self.eos_token)
        encoder = NativeEncoder(documents, self.token_size, eos_id)
        shuffled = self.shuffle_documents or self.shuffle_chunk_size
        file = TokenizedFile(
            (shuffled and self.local_working_dir) or self.output_folder,
            filename,
            save_index=self.save_index or shuffled,
            upload_block_size=self.upload_block_size,
            tokenizer_name_or_path=self.tokenizer_name_or_path,
            save_final_metadata=self.save_final_metadata,
            token_size=self.token_size,
        )
        written = 0
        for batch in batched(data, self.batch_size):
            with self.track_time(unit="batch"):
                texts = Batch([_bytes(document) for document in batch], first=written + 1)
                for chunk in encoder.chunks(_records(filename, texts)):
                    file.write_bytes(chunk.data, chunk.ends)
                    start = 0
                    for end in chunk.ends:
                        self.stat_update("tokens", value=end - start)
                        start = end
            written += len(batch)
        file.close()
        return file


class PreTokenCounter(PipelineStep):
    """The last step of a pipeline that counts pre-tokens for `Tokenizer.train`.

    Each task writes a table of `tokctl.extras.arrow.count_table`, `00000.counts.parquet`, whose
    `source` is the number of the task. Pass all of these tables to
    `tokctl.extras.arrow.counts_from_table`.
    """

    name = "🔠 Pre-token counter"
    type = "🔢 - TOKENIZER"

    def __init__(
        self,
        output_folder: Any,
        recipe: Recipe | Tokenizer | str | os.PathLike[str] = "bpe",
        batch_size: int = 10_000,
        **options: Any,
    ) -> None:
        """Create the step.

        Args:
            output_folder: a path or an address, as in datatrove.
            recipe: the normalizer and pre-tokenizer to use, as in `count_table`.
            batch_size: the number of documents in memory.
            options: further options of `count_table`.
        """
        super().__init__()
        self.output_folder = get_datafolder(output_folder)
        self.recipe = recipe
        self.batch_size = batch_size
        self.options = options

    def run(self, data: Iterable[Document], rank: int = 0, world_size: int = 1) -> None:  # noqa: ARG002
        """Count the pre-tokens of a task's documents, and write the table.

        Args:
            data: the documents.
            rank: the number of the task.
            world_size: the number of tasks; not used.
        """
        import pyarrow as pa
        from pyarrow import parquet

        schema = pa.schema({"text": pa.large_binary()})

        def batches() -> Iterator[pa.RecordBatch]:
            for batch in batched(data, self.batch_size):
                with self.track_time(unit="batch"):
                    texts = pa.array([_bytes(document) for document in batch], pa.large_binary())
                self.stat_update("documents", value=len(batch), unit="batch")
                yield pa.record_batch([texts], schema=schema)

        reader = pa.RecordBatchReader.from_batches(schema, batches())
        with arrow.in_part(f"task {rank}"):
            table = arrow.count_table(reader, self.recipe, source=rank, **self.options)
        with self.output_folder.open(f"{rank:05d}.counts.parquet", "wb") as file:
            parquet.write_table(table, file)


def _records(name: str, batch: Batch) -> Records:
    return Records(name, None, lambda: iter([batch]), int, unit="document")


def _bytes(document: Document) -> bytes:
    """Return the text of a document in UTF-8; empty if the document has no text."""
    return (document.text or "").encode()
