"""The lock file: the hardware chosen for the workloads of a strategy, and the questions behind the choices.

The lock file of ``demo.yaml`` is ``demo.lock.json`` in the same folder. It is committed, and only ``eks-hardware lock``
changes it, so a newer catalogue never changes a deployed cluster. An entry contains the question; if the strategy's
question changes, the entry no longer applies.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, StringConstraints, ValidationError

from eks_hardware import atomic_files
from eks_hardware.advisor.strategies.filled import LOCK_SUFFIX
from eks_hardware.loader.yaml_files import display_name
from eks_hardware.models.base import InstanceTypeName, Name, StrategyModel
from eks_hardware.models.needs import Needs
from eks_hardware.printable import reason, shown
from eks_hardware.spellings import Capacity

VERSION = 1
MAX_BYTES = 1 << 20
"""An entry has about 1 KiB."""

_ABOUT = "Chosen by `eks-hardware lock`. Commit this file; only that command changes it."

_Word = Annotated[str, StringConstraints(max_length=1000)]
_Key = Annotated[str, StringConstraints(pattern=r"^[a-z0-9_.]{1,80}$")]
_Whole = Annotated[int, Field(ge=0, le=10**18)]
_Number = Annotated[float, Field(ge=0, le=1e18)]
Asked = Mapping[str, str | int | float | bool | tuple[str, ...]]
"""A question: values by field name, such as ``workload.task``. Unset fields are omitted."""


class LockError(Exception):
    """Raised when a lock file cannot be used.

    Attributes:
        code: LOCK_INVALID or LOCK_UNWRITABLE.
        message: the problem and its fix.
        file: the lock file, as findings name it.
    """

    def __init__(self, code: str, message: str, file: str) -> None:
        self.code, self.message, self.file = code, message, file
        super().__init__(f"{file}: {code}: {message}")


class _LockModel(StrategyModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Chosen(_LockModel):
    """The choice for a group or pool."""

    instance_types: Annotated[tuple[InstanceTypeName, ...], Field(min_length=1, max_length=20)]  # best first
    capacity: Annotated[tuple[Capacity, ...], Field(min_length=1, max_length=4)]  # a group has exactly one
    nodes: Annotated[int, Field(ge=1, le=5000)]  # for one job, one replica, or all replicas for users
    efa: bool  # whether they use EFA
    needs: Needs  # requirements of the software


class AtTheTime(_LockModel):
    """Facts at the time of the choice. For information only."""

    catalogue: _Word  # source and day of the catalogue's instance types
    policy: _Word  # branch of the policy for the workload
    score: _Number  # 0 to 100
    usd_per_hour: _Number | None  # of all nodes; None if unknown
    price_as_of: _Word | None  # day or month


class Entry(_LockModel):
    """A question and its answer. It applies wherever the same question is asked."""

    # The group or pool, as node_groups[llm].
    path: Annotated[str, StringConstraints(pattern=r"^(node_groups|karpenter\.node_pools)\[[a-z0-9-]{1,63}\]$")]
    overlays: Annotated[tuple[Name, ...], Field(max_length=20)] = ()  # overlays of the run that asked
    asked: dict[_Key, bool | _Whole | _Number | _Word | tuple[_Word, ...]]
    chosen: Chosen
    at_the_time: AtTheTime


class _LockFile(_LockModel):
    about: _Word = _ABOUT
    lock_version: Literal[1]
    choices: Annotated[tuple[Entry, ...], Field(max_length=2000)]


def lock_path(strategy_file: Path) -> Path:
    """Return the lock file: ``strategies/demo.yaml`` -> ``strategies/demo.lock.json``. It is not read as a strategy."""
    return strategy_file.with_suffix(LOCK_SUFFIX)


def read(path: Path) -> tuple[Entry, ...]:
    """Return the entries of a lock file; none if the file does not exist.

    Raises:
        LockError: LOCK_INVALID, for anything but a lock file of this version.
    """
    try:
        data = _read_bytes(path)
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise _invalid(path, f"cannot be read: {reason(error)}") from None
    if len(data) > MAX_BYTES:
        raise _invalid(path, f"larger than {MAX_BYTES // 1024} KiB")
    try:
        return _LockFile.model_validate_json(data, strict=True).choices
    except ValidationError as error:
        raise _invalid(path, _fault(error)) from None


def _read_bytes(path: Path) -> bytes:
    # As for strategies: a link could point to any file, and opening a FIFO must not wait for a writer.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
    with os.fdopen(os.open(path, flags), "rb") as stream:
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            raise OSError(0, "not a regular file")
        return stream.read(MAX_BYTES + 1)


def _fault(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    place = ".".join(str(part) for part in first["loc"] if not str(part).startswith("function-"))
    if first["loc"][:1] == ("lock_version",) and first["type"] == "literal_error":
        return f"lock file version must be {VERSION}; another eks-hardware version wrote this file"
    message = shown(first["msg"][:1].lower() + first["msg"][1:], 160)
    return f"{shown(place)}: {message}" if place else message


def _invalid(path: Path, fault: str) -> LockError:
    message = (
        f"not a valid lock file ({fault}); restore it from version control, or delete it and run `eks-hardware lock`"
    )
    return LockError("LOCK_INVALID", message, display_name(path))


def as_text(entries: Sequence[Entry]) -> str:
    """Return the content of a lock file. The same entries always produce the same text."""
    ordered = sorted(entries, key=lambda entry: (entry.path, entry.overlays))
    content = {"about": _ABOUT, "lock_version": VERSION, "choices": [as_json(entry) for entry in ordered]}
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def as_json(entry: Entry) -> dict[str, object]:
    """Return an entry as it is in a lock file."""
    content = entry.model_dump(mode="json")
    content["asked"] = dict(sorted(content["asked"].items()))
    content["chosen"]["needs"] = entry.chosen.needs.model_dump(mode="json", exclude_none=True)
    return content


def write(path: Path, entries: Sequence[Entry]) -> bool:
    """Write a lock file atomically, or remove it if there are no entries; return whether anything changed.

    Each run writes its own draft and renames it in one step. If two runs overlap, the later one wins.

    Raises:
        LockError: LOCK_UNWRITABLE.
    """
    content = as_text(entries).encode()
    try:
        if not entries:
            existed = os.path.lexists(path)
            path.unlink(missing_ok=True)
            return existed
        with contextlib.suppress(OSError):
            if _read_bytes(path) == content:
                return False
        atomic_files.replace(path, content)
    except OSError as error:
        message = f"cannot be written: {reason(error)}; make the strategy's folder writable"
        raise LockError("LOCK_UNWRITABLE", message, display_name(path)) from None
    return True
