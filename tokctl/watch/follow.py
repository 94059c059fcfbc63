"""One word on its way through the training."""

from __future__ import annotations

from collections.abc import Iterator

from textual.content import Content

from tokctl.watch.drawing import boxes, named, row
from tokctl.watch.panel import Panel


class Follow(Panel):
    """The stages of the followed word, the present one marked and in sight."""

    def rows(self, width: int, height: int) -> Iterator[Content]:  # noqa: ARG002
        app = self.watch_app
        if app.followed is None:
            return
        step, stages = app.frame.step, app.stages
        pre_token, count = app.replay.counts[app.followed]
        name = named(pre_token.decode("utf-8", "backslashreplace"))
        title = row(("Following ", "bold"), f"{name} ({count:,})")
        if len(stages) == 1 and app.replay.first:
            yield row(title, ("  by the final model", "dim"))
        else:
            later = next((stage.step for stage in stages if stage.step > step), None)
            if step and any(stage.step == step for stage in stages):
                now = "this step changes it"
            else:
                now = f"next change at {later:,}" if later else "no change to come"
            yield row(title, (f"  {now}", "dim"))
        present = max((n for n, stage in enumerate(stages) if stage.step <= step), default=0)
        room = max(1, height - 1)
        first = max(0, min(present - room // 2, len(stages) - room))
        digits = len(f"{stages[-1].step:,}")
        for number, stage in enumerate(stages[first : first + room], first):
            here = number == present
            made = stage.made if here and stage.step == step else ()
            yield row(
                (f"{'▸' if here else ' '}{stage.step:>{digits},} ", "bold" if here else "dim"),
                boxes(stage.tokens, made, stage.more),
            )
