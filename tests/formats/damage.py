"""Ways to damage a file, for tests that whatever a file holds, reading it gives a model or a
TokctlError."""

from __future__ import annotations

from hypothesis import strategies as st


@st.composite
def damaged(draw: st.DrawFn, data: bytes) -> bytes:
    """The data cut off, with wrong bytes, or with a slice of it twice or missing."""
    content = bytearray(data)
    how = draw(st.sampled_from(("cut", "flip", "twice", "gone")))
    start, end = sorted(draw(st.tuples(*[st.integers(0, len(data))] * 2)))
    if how == "cut":
        return data[:end]
    if how == "twice":
        return data[:end] + data[start:]
    if how == "gone":
        return data[:start] + data[end:]
    for _ in range(draw(st.integers(1, 4))):
        content[draw(st.integers(0, len(data) - 1))] = draw(st.integers(0, 255))
    return bytes(content)
