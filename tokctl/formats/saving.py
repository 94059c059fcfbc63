"""Models written to disk: a file, a file with companions, or a folder; whole or not at all."""

from __future__ import annotations

from pathlib import Path

from tokctl import formats
from tokctl.errors import TokctlError
from tokctl.files import whole_files, whole_folder
from tokctl.formats.contract import Files, InexpressibleError, Loss
from tokctl.model import FilledRecipe


def save(model: FilledRecipe, path: str | Path, format_name: str, *, lossy: bool = False) -> None:
    """Writes a model in a format.

    lossy: leaves out what the format can't hold, even where ids or texts change.

    Raises:
        TokctlError: the format can't hold the model, or it can't be written.
    """
    write(contents(model, format_name, lossy=lossy), path, formats.named(format_name))


def contents(model: FilledRecipe, format_name: str, *, lossy: bool = False) -> Files:
    """The files of a format; TokctlError if it can't hold the model."""
    lost = [loss.what for loss in losses(model, format_name) if not loss.minor]
    if lost and not lossy:
        raise TokctlError(
            f"{formats.named(format_name).title} can't hold {lost[0]}"
            + (f", and {len(lost) - 1} more" if len(lost) > 1 else ""),
            "lossy=True leaves it out; Tokenizer.losses lists all",
        )
    return what_it_holds(model, format_name)


def what_it_holds(model: FilledRecipe, format_name: str) -> Files:
    """The files of a format without what it can't hold; TokctlError if it has nothing
    like the model."""
    try:
        return formats.write(model, format_name)
    except InexpressibleError as reason:
        raise _nothing_like(model, format_name, reason) from None


def losses(model: FilledRecipe, format_name: str) -> list[Loss]:
    """What a format can't hold of a model; TokctlError, with the formats that can hold it,
    where it has nothing like the model."""
    try:
        return formats.losses(model, format_name)
    except InexpressibleError as reason:
        raise _nothing_like(model, format_name, reason) from None


def _nothing_like(model: FilledRecipe, format_name: str, reason: InexpressibleError) -> TokctlError:
    whole, part = holders(model)
    hint = f"these hold it: {', '.join(whole)}"
    return TokctlError(
        f"{formats.named(format_name).title} can't express this model: {reason}",
        hint + (f"; with losses: {', '.join(part)}" if part else ""),
    )


def holders(model: FilledRecipe) -> tuple[list[str], list[str]]:
    """The formats that can hold a model: with the same ids and texts, and with losses."""
    whole: list[str] = []
    part: list[str] = []
    for known in formats.FORMATS:
        if not known.writes:
            continue
        try:
            lost = formats.losses(model, known.name)
        except (InexpressibleError, TokctlError):  # or a library is missing that it needs
            continue
        (part if any(not loss.minor for loss in lost) else whole).append(known.name)
    return whole, part


def write(files: Files, path: str | Path, form: formats.Format) -> None:
    """Writes the files of a format to `path`; TokctlError if that can't be done."""
    if form.is_folder:
        check_neighbours(files, path, form)
        _write_folder(files, Path(path))
        return
    with whole_files() as together:
        # The file itself says that its companions are there.
        for suffix in sorted(files):
            together.open(f"{path}{suffix}").write(files[suffix])


def check_neighbours(files: Files, path: str | Path, form: formats.Format) -> None:
    """TokctlError if the folder holds another model's file that would count beside these, or
    in their place."""
    if not form.is_folder:
        return
    for name in getattr(form.load(), "NEIGHBOURS", ()):
        if name not in files and Path(path, name).exists():
            raise TokctlError(
                f"the folder {path} holds {name}, which would also apply to the new model",
                "name a new folder, or take that file out of this one",
            )


def _write_folder(files: Files, path: Path) -> None:
    """A new folder appears whole; in one that exists, the files are replaced together."""
    try:
        if path.is_dir():
            with whole_files() as together:
                for name in reversed(files):  # the last one says that the others are there
                    (path / name).parent.mkdir(exist_ok=True)
                    together.open(path / name).write(files[name])
            return
        if path.exists():
            raise TokctlError(
                f"can't write the folder {path}: a file has that name",
                "name another folder, or move that file away",
            )
        with whole_folder(path) as made:
            for name, data in files.items():
                target = made / name
                target.parent.mkdir(exist_ok=True)
                target.write_bytes(data)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise TokctlError(
            f"can't write the folder {path}: {reason}", "choose another place with -o PATH"
        ) from None
