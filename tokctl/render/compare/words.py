"""Words: those that are cut most differently, and why single ones are cut as they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tokctl.analysis.comparison.results import Disagreement, ModelSegmentation, WordStory
from tokctl.render.compare import rows
from tokctl.render.compare.tables import GAP, broken, empty_table, folded, groups
from tokctl.render.console import drawn


def story_block(story: WordStory, models: Sequence[str], width: int) -> Group:
    """A word, and for each model its tokens with the reason below."""
    name = min(max(map(cell_len, models)), width // 4)
    room = max(width - name - GAP, 1)
    title = Text(drawn(story.word), style="bold")
    title.append(f"  {rows.story_title(story)}", style="not bold dim")
    table = Table.grid(padding=(0, GAP, 0, 0), pad_edge=False)
    table.add_column(width=name, overflow="fold")
    table.add_column(overflow="fold")
    for cut in story.cuts:
        said = folded(cut.segmentation.shown, room)
        said.append(f"\n{rows.safe(cut.reason)}", style="dim")
        for size, other in cut.elsewhere:
            said.append(f"\nwith {size:,} ids: ", style="dim")
            said.append_text(folded(other.shown, room))
        table.add_row(broken(cut.segmentation.model, name), said)
    return Group(title, table)


def disagreements(
    words: Sequence[Disagreement], models: Sequence[str], width: int
) -> Iterator[RenderableType]:
    """Tables of words with their counts, as many models in each as fit the width."""
    if not words:
        yield Text("none (words of more than 100 bytes are left out)")
        return

    def cut(found: ModelSegmentation) -> Text:
        return folded(found.shown, max(width // 3, 12))

    fixed = max(cell_len(drawn(word.word)) for word in words)
    fixed = min(max(fixed, 4), width // 3) + max(len(f"{words[0].count:,}"), 5) + 2 * GAP
    columns = [
        max(
            cell_len(name),
            *(
                max(map(cell_len, cut(word.segmentations[place]).plain.split("\n")))
                for word in words
            ),
        )
        for place, name in enumerate(models)
    ]
    for first, last in groups(columns, width - fixed):
        table = empty_table()
        table.add_column("word", max_width=width // 3, overflow="fold")
        table.add_column("count", justify="right")
        for name in models[first:last]:
            table.add_column(name, overflow="fold")
        for word in words:
            cells = [cut(found) for found in word.segmentations[first:last]]
            table.add_row(drawn(word.word), f"{word.count:,}", *cells)
        yield table
