"""Writing models to disk: a file, a file with companions, or a folder; all or nothing."""

from __future__ import annotations

from pathlib import Path

from tokctl import formats
from tokctl.core.errors import BadInput, BadOption, TokctlError, Unsupported
from tokctl.core.files import whole_files, whole_folder
from tokctl.formats.contract import Files, LostFeature, UnsupportedByFormat
from tokctl.model import Model


def save(model: Model, path: str | Path, format_name: str, *, lossy: bool = False) -> None:
    """Write a model to a file or a folder.

    Args:
        model: the model.
        path: the file, or the folder for a format that is a folder.
        format_name: the name of the format, as `--to` takes it.
        lossy: whether to leave out what the format can't hold, even if ids or texts change.

    Raises:
        TokctlError: the format can't hold the model, or the files can't be written.

    Example:
        >>> save(model, "book.tiktoken", "tiktoken")  # also writes book.tiktoken.json
    """
    write(contents(model, format_name, lossy=lossy), path, formats.format_named(format_name))


def contents(model: Model, format_name: str, *, lossy: bool = False) -> Files:
    """Return the files of a model in a format.

    Args:
        model: the model.
        format_name: the name of the format, as `--to` takes it.
        lossy: whether to leave out what the format can't hold, even if ids or texts change.

    Raises:
        TokctlError: the format can't hold the model.
    """
    lost = [loss.what for loss in losses(model, format_name) if not loss.minor]
    if lost and not lossy:
        raise Unsupported(
            f"{formats.format_named(format_name).title} can't hold {lost[0]}"
            + (f", and {len(lost) - 1} more" if len(lost) > 1 else ""),
            "lossy=True leaves it out; Tokenizer.losses lists all",
        )
    return supported_contents(model, format_name)


def supported_contents(model: Model, format_name: str) -> Files:
    """Return the files of a model in a format, without what the format can't hold.

    Raises:
        TokctlError: the format can't hold a model of this kind; the hint names formats that can.
    """
    try:
        return formats.write(model, format_name)
    except UnsupportedByFormat as reason:
        raise _inexpressible(model, format_name, reason) from None


def losses(model: Model, format_name: str) -> list[LostFeature]:
    """Return what a format can't hold of a model; losses that change ids or texts come first.

    Raises:
        TokctlError: the format can't hold a model of this kind; the hint names formats that can.
    """
    try:
        return formats.losses(model, format_name)
    except UnsupportedByFormat as reason:
        raise _inexpressible(model, format_name, reason) from None


def _inexpressible(model: Model, format_name: str, reason: UnsupportedByFormat) -> TokctlError:
    lossless, lossy = formats_for(model)
    hint = f"formats that can: {', '.join(lossless)}"
    return Unsupported(
        f"{formats.format_named(format_name).title} can't express this model: {reason}",
        hint + (f"; with losses: {', '.join(lossy)}" if lossy else ""),
    )


def formats_for(model: Model) -> tuple[list[str], list[str]]:
    """Return the names of the formats that can hold a model, in two lists.

    The formats in the first list keep all ids and texts. Those in the second list lose something.
    """
    lossless: list[str] = []
    lossy: list[str] = []
    for form in formats.FORMATS:
        if not form.writes:
            continue
        try:
            lost = formats.losses(model, form.name)
        except (UnsupportedByFormat, TokctlError):  # TokctlError: an optional library is missing
            continue
        (lossy if any(not loss.minor for loss in lost) else lossless).append(form.name)
    return lossless, lossy


def write(files: Files, path: str | Path, form: formats.Format) -> None:
    """Write the files of a format to `path`, together or not at all.

    Raises:
        TokctlError: a file can't be written, or the folder has a file of another model.
    """
    if form.is_folder:
        check_neighbours(files, path, form)
        _write_folder(files, Path(path))
        return
    with whole_files() as outputs:
        # The file opened first appears last, when its companions exist.
        for suffix in sorted(files):
            outputs.open(f"{path}{suffix}").write(files[suffix])


def check_neighbours(files: Files, path: str | Path, form: formats.Format) -> None:
    """Raise TokctlError if the folder has a file of another model that would change the new one."""
    if not form.is_folder:
        return
    for name in getattr(form.load(), "CONFLICTING_FILES", ()):
        if name not in files and Path(path, name).exists():
            raise BadOption(
                f"the folder {path} holds {name}, which would also become part of the new model",
                "name a new folder, or remove the file from this one",
                "output-taken",
            )


def _write_folder(files: Files, path: Path) -> None:
    """Write a new folder as a whole, or replace the files of an existing folder together."""
    try:
        if path.is_dir():
            with whole_files() as outputs:
                for name in reversed(files):  # the file opened first appears last
                    (path / name).parent.mkdir(exist_ok=True)
                    outputs.open(path / name).write(files[name])
            return
        if path.exists():
            raise BadOption(
                f"can't write the folder {path}: a file has that name",
                "name another folder, or move the file away",
                "output-taken",
            )
        with whole_folder(path) as new_folder:
            for name, data in files.items():
                target = new_folder / name
                target.parent.mkdir(exist_ok=True)
                target.write_bytes(data)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise BadInput(
            f"can't write the folder {path}: {reason}",
            "choose another place with -o PATH",
            "unreadable",
        ) from None
