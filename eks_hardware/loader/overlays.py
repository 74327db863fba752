"""Overlays: a few fields that change a strategy, such as ``config/overlays/private.yaml``.

Mappings merge deeply, lists of named items merge by name, and other values are replaced. ``null`` resets a field to
its default. Values keep their position, so findings point at the faulty overlay.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from eks_hardware import data
from eks_hardware.findings import Finding, StrategyError
from eks_hardware.loader import yaml_nodes as yn
from eks_hardware.loader.yaml_files import SUFFIXES
from eks_hardware.printable import quoted, shown
from eks_hardware.suggestions import close, question

PACKAGED = data.FOLDER.resolve() / "overlays"

# The strategies that an overlay applies to; not a field of a strategy.
_SCOPE = "strategies"

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")


def overlay_folders(strategy_file: Path | str) -> tuple[Path, ...]:
    """Return the folders to search for a strategy's overlays, in order."""
    folder = Path(strategy_file).parent
    beside = folder.parent if folder.name not in ("", "..") else folder / ".."
    return (beside / "overlays", folder / "overlays", PACKAGED)


def find_overlays(names: Iterable[str], folders: Sequence[Path | str]) -> list[Path]:
    """Return the files of the overlays, in the order of their names.

    Raises:
        StrategyError: OVERLAY_NAME, OVERLAY_UNKNOWN; for all names at once.
    """
    files: list[Path] = []
    findings: list[Finding] = []
    for name in names:
        if not _NAME.fullmatch(name):
            message = (
                f"must be the name of an overlay, got {quoted(name)}; the name is the file's name without .yaml: at "
                "most 63 lower-case letters, digits and hyphens"
            )
            findings.append(Finding("OVERLAY_NAME", "", message))
        elif (file := _find(name, folders)) is None:
            findings.append(Finding("OVERLAY_UNKNOWN", "", _unknown(name, folders)))
        else:
            files.append(file)
    if findings:
        raise StrategyError(findings)
    return files


def _find(name: str, folders: Sequence[Path | str]) -> Path | None:
    candidates = (Path(folder) / f"{name}{suffix}" for folder in folders for suffix in SUFFIXES)
    # lexists: a broken link is reported as unreadable; another folder's overlay must not hide it.
    return next((file for file in candidates if file.is_symlink() or file.exists()), None)


def _unknown(name: str, folders: Sequence[Path | str]) -> str:
    known = known_overlays(folders)
    meant = close(name, known)
    hint = f"; {question(meant)}" if meant else ""
    return f'the overlay "{name}" does not exist{hint} (overlays: {shown(", ".join(known), 400) or "none"})'


def known_overlays(folders: Sequence[Path | str]) -> list[str]:
    """Return the names of all overlays in the folders, sorted."""
    return sorted({file.stem for folder in folders for file in _files(Path(folder))})


def _files(folder: Path) -> list[Path]:
    try:
        return [file for file in folder.iterdir() if file.suffix in SUFFIXES and _NAME.fullmatch(file.stem)]
    except OSError:  # most strategies have no overlay folder
        return []


def overlays_for(strategy_file: Path) -> list[str]:
    """Return the names of the overlays in a strategy's own folders that apply to it, sorted.

    An overlay or strategy with a fault counts as applying, so that the fault is reported when both are read.
    """
    strategy = _root(strategy_file)
    folders = _own_folders(strategy_file)
    return [name for name in own_overlays(strategy_file) if _applies(_find(name, folders), strategy)]


def own_overlays(strategy_file: Path) -> list[str]:
    """Return the names of all overlays in a strategy's own folders, sorted."""
    return known_overlays(_own_folders(strategy_file))


def _own_folders(strategy_file: Path) -> list[Path]:
    return [folder for folder in overlay_folders(strategy_file) if folder is not PACKAGED]


def _applies(overlay_file: Path | None, strategy: yn.Mapping | None) -> bool:
    overlay = _root(overlay_file) if overlay_file else None
    try:
        return overlay is None or strategy is None or scoped(overlay, strategy) is not None
    except StrategyError:
        return True


def _root(file: Path) -> yn.Mapping | None:
    # Not at the top: only a check of all overlays reads files here.
    from eks_hardware.loader.yaml_document import parse
    from eks_hardware.loader.yaml_files import read_text

    try:
        return parse(read_text(file, str(file)), str(file), may_be_empty=True).root
    except StrategyError:
        return None


def scoped(overlay: yn.Mapping, strategy: yn.Mapping) -> yn.Mapping | None:
    """Return the overlay without its ``strategies`` list; None if that list excludes this strategy.

    Raises:
        StrategyError: OVERLAY_STRATEGIES for anything but a list of names.
    """
    scope = overlay.get(_SCOPE)
    if scope is None:
        return overlay
    names = scope.plain()
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        message = "must be a list of strategy names that this overlay applies to, such as [research]"
        raise StrategyError([Finding("OVERLAY_STRATEGIES", _SCOPE, message, position=scope.position)])
    name = strategy.get("name")
    if name is None or name.plain() not in names:
        return None
    rest = {key: entry for key, entry in overlay.entries.items() if key != _SCOPE}
    return yn.Mapping(rest, overlay.position, overlay.size, overlay.height, overlay.removed)


def merge(base: yn.Node, over: yn.Node) -> yn.Node:
    """Return ``over`` merged into ``base``; neither is changed, because aliases may share them."""
    if isinstance(base, yn.Mapping) and isinstance(over, yn.Mapping):
        return merge_mappings(base, over)
    if isinstance(base, yn.Sequence) and isinstance(over, yn.Sequence) and _named(base) and _named(over):
        return _merge_items(base, over)
    return _without_nulls(over)


def merge_mappings(base: yn.Mapping, over: yn.Mapping) -> yn.Mapping:
    """Like :func:`merge`, for two mappings."""
    entries = dict(base.entries)
    removed = dict(base.removed)
    for key, entry in over.entries.items():
        if _is_null(entry.node):
            entries.pop(key, None)
            removed[key] = entry.key_position
        elif key in entries:
            entries[key] = yn.Entry(entry.key_position, merge(entries[key].node, entry.node))
        else:
            entries[key] = yn.Entry(entry.key_position, _without_nulls(entry.node))
    return yn.Mapping(entries, base.position, removed=removed)


def _merge_items(base: yn.Sequence, over: yn.Sequence) -> yn.Sequence:
    items = list(base.items)
    places: dict[str | None, int] = {}
    for index, item in enumerate(items):
        places.setdefault(yn.name_of(item), index)
    for item in over.items:
        place = places.get(yn.name_of(item))
        if place is None:
            items.append(_without_nulls(item))
        else:
            items[place] = merge(items[place], item)
    return yn.Sequence(items, base.position)


def _named(node: yn.Sequence) -> bool:
    return all(yn.name_of(item) is not None for item in node.items) and bool(node.items)


def _is_null(node: yn.Node) -> bool:
    return isinstance(node, yn.Scalar) and node.value is None


def _without_nulls(node: yn.Node) -> yn.Node:
    """Return the value without keys that an overlay resets although the strategy does not set them."""
    if isinstance(node, yn.Mapping):
        return merge_mappings(yn.Mapping({}, node.position), node)
    if isinstance(node, yn.Sequence):
        return yn.Sequence([_without_nulls(item) for item in node.items], node.position)
    return node
