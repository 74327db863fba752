"""Write a bundle into a folder, for Argo CD, Flux, or helm and kubectl.

The folder may be in a Git repository and contain other files. A list in the folder names our files, and only these are
replaced and removed.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

from eks_hardware import atomic_files
from eks_hardware.kubernetes.files.scripts import scripts
from eks_hardware.kubernetes.files.tree import tree
from eks_hardware.kubernetes.model import Bundle
from eks_hardware.kubernetes.references import Reference
from eks_hardware.printable import reason

LIST_FILE = ".eks-hardware"
_LIST_HEAD = "# Files that eks-hardware wrote here; it replaces and removes only these."


class WriteError(Exception):
    """Raised when the folder cannot be written. The text is for the user."""


def write(
    bundle: Bundle, folder: Path, *, name: str, region: str, known: Mapping[Reference, str], force: bool = False
) -> list[Path]:
    """Write a bundle's files, and remove files from an earlier run that the bundle no longer contains.

    Args:
        folder: folder to write to; created if it does not exist.
        name: name of the strategy and its cluster.
        known: values of references; the others are written as ``${vpc_id}``.
        force: write even if the folder contains files that we did not write, and overwrite those with the same name.

    Returns:
        Every file of the bundle, sorted.

    Raises:
        WriteError: the folder contains a file that we did not write or a linked folder, or it cannot be written.
    """
    laid_out = tree(bundle, name=name, region=region, known=known)
    files = {**laid_out.files(), **scripts(laid_out)}
    try:
        return _replace(folder, files, force=force)
    except OSError as error:
        raise WriteError(f"{error.filename or folder}: {reason(error)}") from error


def remove(folder: Path) -> None:
    """Remove the files of an earlier run from a folder, and the folder if it is then empty.

    Raises:
        WriteError: a file cannot be removed.
    """
    try:
        _remove(folder, _listed(folder))
        (folder / LIST_FILE).unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # not empty, or does not exist
            folder.rmdir()
    except OSError as error:
        raise WriteError(f"{error.filename or folder}: {reason(error)}") from error


def _replace(folder: Path, files: Mapping[str, str], *, force: bool) -> list[Path]:
    if not force:
        _refuse_foreign(folder, files)
    before = _listed(folder)
    folder.mkdir(parents=True, exist_ok=True)
    _refuse_links(folder, files)
    # List old and new files: if this run is interrupted, the next run still finds all of them in the list.
    _put(folder / LIST_FILE, _list_text({*before, *files}))
    for name, text in files.items():
        _put(folder / name, text)
    _remove(folder, set(before) - set(files))
    _put(folder / LIST_FILE, _list_text(files))
    return sorted(folder / name for name in files)


def _refuse_foreign(folder: Path, files: Iterable[str]) -> None:
    # Look for files before reading the list, because a concurrent run writes the list before its files.
    present = [name for name in sorted(files) if (folder / name).exists()]
    others = {*folder.iterdir()} - {*atomic_files.drafts(folder / LIST_FILE)} if folder.exists() else set()
    if not (folder / LIST_FILE).is_file():
        if others:
            raise WriteError(
                f"{folder}: contains files that eks-hardware did not write; name another folder, or use --force"
            )
        return
    before = set(_listed(folder))
    foreign = [name for name in present if name not in before]
    if foreign:
        raise WriteError(f"{folder / foreign[0]}: eks-hardware did not write this file; move it away, or use --force")


def _refuse_links(folder: Path, files: Iterable[str]) -> None:
    """Refuse symbolic links to folders, through which a repository could redirect where files are written."""
    root = folder.resolve()
    for parent in sorted({(folder / name).parent for name in files}):
        if parent.resolve() != root / parent.relative_to(folder):
            raise WriteError(f"{parent}: is a link to {parent.resolve()}; remove the link, or name another folder")


def _list_text(files: Iterable[str]) -> str:
    return "\n".join([_LIST_HEAD, *sorted(files)]) + "\n"


def _listed(folder: Path) -> list[str]:
    """Return the files of an earlier run, without paths outside the folder."""
    try:
        lines = (folder / LIST_FILE).read_text(encoding="utf-8").splitlines()
    except (FileNotFoundError, NotADirectoryError):
        return []
    root = folder.resolve()
    return [
        line
        for line in lines
        if line.strip()
        and not line.startswith("#")
        and not PurePosixPath(line).is_absolute()
        and (root / line).parent.resolve().is_relative_to(root)
    ]


def _put(file: Path, text: str) -> None:
    """Write a file atomically, so that readers see the old or the new text; skip a file that is up to date."""
    content = text.encode()
    executable = file.suffix == ".sh"
    with contextlib.suppress(OSError):
        if not file.is_symlink() and file.read_bytes() == content and bool(file.stat().st_mode & 0o100) == executable:
            return
    file.parent.mkdir(parents=True, exist_ok=True)
    atomic_files.replace(file, content, executable=executable)


def _remove(folder: Path, names: Iterable[str]) -> None:
    for name in sorted(names):
        (folder / name).unlink(missing_ok=True)
        for draft in atomic_files.drafts(folder / name):
            draft.unlink(missing_ok=True)
        for parent in PurePosixPath(name).parents:
            if parent != PurePosixPath():
                with contextlib.suppress(OSError):  # not empty
                    (folder / parent).rmdir()
