"""Write a bundle into a folder, for Argo CD, Flux, or helm and kubectl.

The folder may be in a Git repository, among other files. A list in it says which files are ours: only those are
replaced and removed.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

from eks_hardware.kubernetes.files.scripts import scripts
from eks_hardware.kubernetes.files.tree import tree
from eks_hardware.kubernetes.model import Bundle
from eks_hardware.kubernetes.references import Reference

LIST_FILE = ".eks-hardware"
_LIST_HEAD = "# Files that eks-hardware wrote here; it replaces and removes only these."


class WriteError(Exception):
    """The folder cannot be written; the text is for the user."""


def write(
    bundle: Bundle, folder: Path, *, name: str, region: str, known: Mapping[Reference, str], force: bool = False
) -> list[Path]:
    """Write a bundle's files, and remove those of an earlier run that are no longer among them.

    Args:
        folder: made if it does not exist.
        name: of the strategy and its cluster.
        known: values of references; the others are written as ``${vpc_id}``.
        force: write among files that are not ours, over those of the same name too.

    Returns:
        Every file of the bundle, sorted.

    Raises:
        WriteError: something is in the way, or the folder cannot be written.
    """
    laid_out = tree(bundle, name=name, region=region, known=known)
    files = {**laid_out.files(), **scripts(laid_out)}
    try:
        return _replace(folder, files, force=force)
    except OSError as error:
        raise WriteError(f"{error.filename or folder}: {error.strerror or error}") from error


def remove(folder: Path) -> None:
    """Remove what an earlier run wrote into a folder, and the folder when nothing else is in it.

    Raises:
        WriteError: something of it cannot be removed.
    """
    try:
        _remove(folder, _listed(folder))
        (folder / LIST_FILE).unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # not empty, or not there
            folder.rmdir()
    except OSError as error:
        raise WriteError(f"{error.filename or folder}: {error.strerror or error}") from error


def _replace(folder: Path, files: Mapping[str, str], *, force: bool) -> list[Path]:
    before = _listed(folder)
    if not force:
        _refuse_foreign(folder, files, before)
    folder.mkdir(parents=True, exist_ok=True)
    _refuse_links(folder, files)
    # Both lists: if a run is interrupted here, the next one still knows that these files are ours.
    _put(folder / LIST_FILE, _list_text({*before, *files}))
    for name, text in files.items():
        _put(folder / name, text)
    _remove(folder, set(before) - set(files))
    _put(folder / LIST_FILE, _list_text(files))
    return sorted(folder / name for name in files)


def _refuse_foreign(folder: Path, files: Iterable[str], before: Iterable[str]) -> None:
    if not (folder / LIST_FILE).is_file():
        if folder.exists() and any(folder.iterdir()):
            raise WriteError(f"{folder}: has files that eks-hardware did not write; name another folder, or --force")
        return
    foreign = [name for name in sorted(set(files) - set(before)) if (folder / name).exists()]
    if foreign:
        raise WriteError(f"{folder / foreign[0]}: eks-hardware did not write it; move it away, or --force")


def _refuse_links(folder: Path, files: Iterable[str]) -> None:
    """Refuse a folder below that is a link: who can change a repository could choose where files are written."""
    root = folder.resolve()
    for parent in sorted({(folder / name).parent for name in files}):
        if parent.resolve() != root / parent.relative_to(folder):
            raise WriteError(f"{parent}: leads to {parent.resolve()}; remove the link, or name another folder")


def _list_text(files: Iterable[str]) -> str:
    return "\n".join([_LIST_HEAD, *sorted(files)]) + "\n"


def _listed(folder: Path) -> list[str]:
    """Files of an earlier run; nothing that a changed list would lead out of the folder."""
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
    """Write a file that is old or new at any moment, never half; one that says so already stays as it is."""
    content = text.encode()
    executable = file.suffix == ".sh"
    with contextlib.suppress(OSError):
        if not file.is_symlink() and file.read_bytes() == content and bool(file.stat().st_mode & 0o100) == executable:
            return
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = _draft(file)
    try:
        draft.unlink(missing_ok=True)  # a link in its place would be written through
        draft.write_bytes(content)
        if executable:
            draft.chmod(draft.stat().st_mode | 0o111)
        draft.replace(file)
    except BaseException:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)
        raise


def _draft(file: Path) -> Path:
    return file.with_name(f".{file.name}.draft")


def _remove(folder: Path, names: Iterable[str]) -> None:
    for name in sorted(names):
        (folder / name).unlink(missing_ok=True)
        _draft(folder / name).unlink(missing_ok=True)
        for parent in PurePosixPath(name).parents:
            if parent != PurePosixPath():
                with contextlib.suppress(OSError):  # not empty
                    (folder / parent).rmdir()
