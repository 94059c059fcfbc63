"""Blocks that another thread gets ready while this one works."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import TypeVar

T = TypeVar("T")

#: So many blocks are got ready and not yet taken.
AHEAD = 2


def read_ahead(blocks: Iterable[T]) -> Generator[T, None, None]:
    """The same blocks, in the same order; what getting one raises is raised here.

    Getting a block must end by itself: nobody can stop a thread that waits.
    """
    from queue import SimpleQueue
    from threading import Thread

    #: True: one more may be read; False: nobody wants any more.
    permits: SimpleQueue[bool] = SimpleQueue()
    ready: SimpleQueue[tuple[T] | BaseException | None] = SimpleQueue()

    def read() -> None:
        try:
            for block in blocks:
                ready.put((block,))
                if not permits.get():
                    return
            ready.put(None)
        except BaseException as error:
            ready.put(error)

    for _ in range(AHEAD - 1):
        permits.put(True)
    thread = Thread(target=read, name="tokctl-read-ahead", daemon=True)
    thread.start()
    try:
        while (item := ready.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            permits.put(True)
            yield item[0]
    finally:
        permits.put(False)
        thread.join()
