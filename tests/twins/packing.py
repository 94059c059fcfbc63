"""Packing, from its definition: best fit among open sequences, the oldest of equals."""

from __future__ import annotations


def packed(documents: list[list[int]], size: int, most_open: int) -> list[list[list[int]]]:
    """The sequences, each a list of documents or pieces, in the order in which they are given."""
    done: list[list[list[int]]] = []
    open_: list[list[list[int]]] = []
    for document in documents:
        for start in range(0, len(document), size):
            piece = document[start : start + size]
            rooms = [size - sum(map(len, sequence)) for sequence in open_]
            fitting = [room for room in rooms if room >= len(piece)]
            if fitting:
                place = rooms.index(min(fitting))
            else:
                if len(open_) == most_open:
                    done.append(open_.pop(rooms.index(min(rooms))))
                open_.append([])
                place = len(open_) - 1
            open_[place].append(piece)
            if sum(map(len, open_[place])) == size:
                done.append(open_.pop(place))
    return done + open_
