"""The file of a new model: its path, its format, and what the format can't hold."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tokctl.cli import streams
from tokctl.cli.world import Console
from tokctl.core.errors import BadOption, Unsupported, printable

if TYPE_CHECKING:
    from tokctl.formats import Files, Format, LostFeature
    from tokctl.model import Model

_HINT = "choose another place with -o PATH"


class ConversionPlan(NamedTuple):
    """Files to write, and the parts of the model that the files can't hold.

    Attributes:
        files: the contents, by name in the folder or by suffix of the target path.
        losses: the parts of the model that the format can't hold.
    """

    files: Files
    losses: list[LostFeature]

    def paths(self, target: str, form: Format) -> list[str]:
        """Return the paths of the files; the file that names the others comes first."""
        if form.is_folder:
            return [os.path.join(target, name) for name in self.files]  # noqa: PTH118
        return [f"{target}{suffix}" for suffix in sorted(self.files)]


def form_of(name: str | None, output: str | None, usual: str = "tokctl") -> Format:
    """Return the format of `--to`, or else the `usual` one.

    Args:
        name: the value of `--to`.
        output: the path of the new file, if it is known.
        usual: the format without `--to`.

    Raises:
        TokctlError: tokctl does not write the format; or `--to` is missing, and the path ends like
            another format's.
    """
    from tokctl.formats import FORMATS, format_named

    form = format_named(name or usual)
    if name is None and output is not None and not output.endswith(form.suffix):
        others = [one for one in FORMATS if one.suffix and output.endswith(one.suffix)]
        if others:
            raise BadOption(
                f"{output} has a usual name of {others[0].title}, but without --to its format "
                f"would be {form.title}",
                f"choose the format: --to {others[0].name} or --to {form.name}",
                "conflict",
            )
    if not form.writes:
        names = ", ".join(one.name for one in FORMATS if one.writes)
        raise Unsupported(
            f"tokctl reads {form.title}, and does not write it", f"choose one of: {names}"
        )
    return form


def json_path(path: str) -> str | dict[str, str]:
    """Return a path for JSON: text, or `{"bytes": base64}` if it is not UTF-8."""
    from tokctl.cli.streams import text_or_bytes

    return text_or_bytes(os.fsencode(path))


def check_target(world: Console, target: str, form: Format) -> None:
    """Raise TokctlError if the path surely can't be written, or is one of the inputs."""
    if not form.is_folder and target.endswith(("/", os.sep)):
        raise BadOption(
            f"can't write {form.title} to {target}: it is a folder", "name a file", "bad-value"
        )
    if not form.is_folder:
        streams.check_output(world, target)
        return
    path = Path(target)
    if not target:
        raise BadOption("-o is empty", _HINT, "bad-value")
    if path.exists() and not path.is_dir():
        raise BadOption(
            f"can't write the folder {target}: a file has that name",
            "name a new folder",
            "output-taken",
        )
    world.inputs.write(target)
    # Probe with a file in the folder, or with the folder's name if it does not exist yet.
    probe = path / ".tokctl" if path.is_dir() else path
    streams.check_output(world, str(probe))


def check_paths(world: Console, paths: Sequence[str]) -> None:
    """Raise TokctlError if a file would replace an input or another output, or can't be written."""
    for path in paths:
        world.inputs.write(path)
        if Path(path).parent.is_dir():  # otherwise the folder will be created
            streams.check_output(world, path)


def is_same(first: str, second: str) -> bool:
    """Return whether both paths lead to the same existing file."""
    try:
        return Path(first).samefile(second)
    except (OSError, ValueError):
        return False


def plan(world: Console, model: Model, form: Format, *, lossy: bool) -> ConversionPlan:
    """Return the files of the model in a format, and report what the format can't hold.

    Args:
        world: where the losses are reported.
        model: the model to write.
        form: the format.
        lossy: accept losses that change ids or texts.

    Raises:
        TokctlError: ids or texts would change, and `lossy` is false; or the format can't express
            the model at all.
    """
    from tokctl.formats import saving

    losses = saving.losses(model, form.name)
    major = [loss.what for loss in losses if not loss.minor]
    for loss in losses:
        if loss.minor:
            world.say(f"note: {form.title} can't hold {printable(loss.what)}")
        elif lossy:
            world.say(f"warning: {form.title} can't hold {printable(loss.what)}: it is left out")
    if major and not lossy:
        raise Unsupported(
            f"{form.title} can't hold {'; '.join(major)}",
            f"--lossy writes it without {'that' if len(major) == 1 else 'them'}, and then ids "
            "or texts can differ",
        )
    return ConversionPlan(saving.supported_contents(model, form.name), losses)
