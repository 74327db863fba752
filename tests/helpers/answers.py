"""Cached results of slow tools that depend only on their input.

pyright, ``terraform validate``, checkov and others take minutes to return the same result for the same files. Results
are in .build/answers, under a digest of everything that the tools read. ``--fresh`` runs the tools again, and so does a
fresh clone.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable
from importlib import metadata
from pathlib import Path
from typing import Any

from helpers.paths import ROOT

FRESH = "EKS_HARDWARE_FRESH_ANSWERS"
"""Environment variable that turns the cache off."""


class Answer:
    """The result of a tool for one input.

    Args:
        tool: name of the tool, with its version if the inputs do not contain it.
        inputs: everything that the result depends on.
    """

    def __init__(self, tool: str, inputs: Iterable[object]) -> None:
        digest = hashlib.sha256()
        for each in inputs:
            content = each if isinstance(each, bytes) else str(each).encode()
            digest.update(f"{len(content)} ".encode() + content)
        self._file = ROOT / ".build" / "answers" / tool / f"{digest.hexdigest()[:32]}.json"

    def kept(self) -> Any:
        """Return the cached result, or None."""
        if os.environ.get(FRESH) or not self._file.is_file():
            return None
        return json.loads(self._file.read_text(encoding="utf-8"))

    def get(self, ask: Callable[[], Any]) -> Any:
        """Return the cached result, or ask the tool and cache what it returns."""
        answer = self.kept()
        if answer is None:
            answer = ask()
            self.keep(answer)
        return answer

    def keep(self, answer: Any) -> None:
        """Cache a result, which must not be None."""
        self._file.parent.mkdir(parents=True, exist_ok=True)
        # Another worker may read it now, so the file is replaced atomically.
        new = self._file.with_suffix(f".{os.getpid()}")
        new.write_text(json.dumps(answer), encoding="utf-8")
        new.replace(self._file)


def contents(files: Iterable[Path]) -> list[object]:
    """Return names and contents of files, sorted by name."""
    return [part for file in sorted(files) for part in (file.as_posix(), file.read_bytes())]


def packages() -> list[str]:
    """Return names and versions of the installed packages."""
    return sorted(f"{each.name} {each.version}" for each in metadata.distributions())
