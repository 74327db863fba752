"""Answers of slow tools that depend on their input alone, kept until the input changes.

pyright, ``terraform validate`` and checkov take minutes to say the same about the same files again. Their answers are
in .build/answers, under a digest of everything that they read. ``--fresh`` asks the tools again, and so does a fresh
clone.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path
from typing import Any

from helpers.paths import ROOT

FRESH = "EKS_HARDWARE_FRESH_ANSWERS"
"""Environment variable that turns the kept answers off."""


class Answer:
    """The answer of a tool to one input.

    Args:
        tool: name of the tool, with its version where the inputs do not say it.
        inputs: everything that the answer depends on.
    """

    def __init__(self, tool: str, inputs: Iterable[object]) -> None:
        digest = hashlib.sha256()
        for each in inputs:
            content = each if isinstance(each, bytes) else str(each).encode()
            digest.update(f"{len(content)} ".encode() + content)
        self._file = ROOT / ".build" / "answers" / tool / f"{digest.hexdigest()[:32]}.json"

    def kept(self) -> Any:
        """Return the kept answer, None without one."""
        if os.environ.get(FRESH) or not self._file.is_file():
            return None
        return json.loads(self._file.read_text(encoding="utf-8"))

    def keep(self, answer: Any) -> None:
        """Keep an answer, which must not be None."""
        self._file.parent.mkdir(parents=True, exist_ok=True)
        # Another worker may read it now: a file appears whole or not at all.
        new = self._file.with_suffix(f".{os.getpid()}")
        new.write_text(json.dumps(answer), encoding="utf-8")
        new.replace(self._file)


def contents(files: Iterable[Path]) -> list[object]:
    """Names and contents of files, in the order of the names."""
    return [part for file in sorted(files) for part in (file.as_posix(), file.read_bytes())]


def packages() -> list[str]:
    """Names and versions of the installed packages."""
    return sorted(f"{each.name} {each.version}" for each in metadata.distributions())
