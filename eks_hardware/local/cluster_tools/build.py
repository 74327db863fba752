"""Build a local cluster's programs with Go, in the user's cache."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from eks_hardware.local import processes
from eks_hardware.local.cluster_tools import (
    TOOLS,
    Found,
    Tool,
    ToolsMissing,
    built,
    find,
    go_version,
    is_complete,
    missing,
    version_of,
)
from eks_hardware.printable import reason

Say = Callable[[str], None]

_PROGRESS_SECONDS = 15.0
_LINES_SHOWN = 15
# Variables that would make Go compile for another platform or with other modules.
_NOT_INHERITED = ("GOOS", "GOARCH", "GOFLAGS")


def provide(*names: str, say: Say, environ: Mapping[str, str] | None = None) -> None:
    """Find tools, and build the missing ones.

    Raises:
        ToolsMissing: A tool is missing and cannot be built.
    """
    environ = os.environ if environ is None else environ
    go = {name: go_version(TOOLS[name], environ) for name in names}
    tools = {name: find(TOOLS[name], go[name], environ) for name in names}
    incomplete = {name: each for name, each in tools.items() if not is_complete(TOOLS[name], each)}
    if without_go := {name: each for name, each in incomplete.items() if go[name] is None}:
        raise missing(without_go)
    for name, each in tools.items():
        tool, version = TOOLS[name], go[name]
        if name in incomplete and version is not None:
            each = _build(tool, version, environ, say)
        say(f"{tool}: {', '.join(sorted({str(_folder(tool, path)) for path in each.paths.values()}))}")


def _folder(tool: Tool, path: Path) -> Path:
    return path if tool.files else path.parent


def _build(tool: Tool, go: str, environ: Mapping[str, str], say: Say) -> Found:
    target = built(tool, go, environ)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with _only_one(target.parent / f"{tool.name}.lock", tool, say):
            # Another process may have built it in the meantime.
            if not target.is_dir():
                _build_in_place(tool, target, environ, say)
    except OSError as error:
        raise ToolsMissing(f"{error.filename or target}: {reason(error)}; set XDG_CACHE_HOME") from None
    return find(tool, go, environ)


@contextlib.contextmanager
def _only_one(file: Path, tool: Tool, say: Say) -> Iterator[None]:
    with file.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"{tool}: waiting for another process that is building it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _build_in_place(tool: Tool, target: Path, environ: Mapping[str, str], say: Say) -> None:
    """Build in a folder next to the target, so that the target appears only when it is complete."""
    for stale in target.parent.glob(f".{tool.name}.*"):
        shutil.rmtree(stale, ignore_errors=True)
    draft = Path(tempfile.mkdtemp(prefix=f".{tool.name}.", dir=target.parent))
    try:
        result = draft / "result"
        result.mkdir()
        if tool.files:
            _copy_files(tool, result, draft, environ, say)
        else:
            _compile(tool, result, draft, environ, say)
        result.rename(target)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _compile(tool: Tool, result: Path, draft: Path, environ: Mapping[str, str], say: Say) -> None:
    first, *others = tool.programs
    major, minor, _ = tool.version.split(".")
    values = {"version": tool.version, "major": major, "minor": minor}
    set_to = [f"-X {name}={value.format(**values)}" for name, value in tool.variables.items()]
    # Without -buildvcs=false, Go fails in a checkout whose owner Git does not trust, as in some CI jobs.
    modfile = [] if tool.modfile == "go.mod" else [f"-modfile={tool.modfile}"]
    flags = [*modfile, "-v", "-trimpath", "-buildvcs=false", "-mod=readonly", "-ldflags", " ".join(["-s -w", *set_to])]
    say(f"{tool}: building, a few minutes the first time")
    _go(tool, ["build", *flags, "-o", str(result / first), tool.package], draft, environ, say)
    for name in others:
        os.link(result / first, result / name)
    for name, arguments in tool.programs.items():
        if arguments and (printed := version_of(result / name, arguments)) != tool.version:
            raise ToolsMissing(f"{name} must print version {tool.version} after the build, got {printed or 'nothing'}")


def _copy_files(tool: Tool, result: Path, draft: Path, environ: Mapping[str, str], say: Say) -> None:
    say(f"{tool}: downloading {tool.module}")
    output = _go(tool, ["mod", "download", "-json", tool.module], draft, environ, say)
    module = json.loads(output[output.index("{") :])
    for folder in tool.files:
        # Not copytree, because the folders in Go's cache are read-only, and their copies would be read-only, too.
        source = Path(module["Dir"], folder)
        for file in filter(Path.is_file, source.rglob("*")):
            target = result / source.name / file.relative_to(source)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target)


def _go(tool: Tool, arguments: list[str], draft: Path, environ: Mapping[str, str], say: Say) -> str:
    """Run Go in the tool's folder and report its progress; return its output."""
    go = shutil.which("go", path=environ.get("PATH"))
    assert go is not None, "only called with Go"
    environment = {
        **{name: value for name, value in environ.items() if name not in _NOT_INHERITED},
        "CGO_ENABLED": "0",
        # Removed with the draft, even if the build fails.
        "GOTMPDIR": str(draft),
        "GOWORK": "off",
    }
    process = processes.start_guarded([go, *arguments], draft, cwd=tool.source, env=environment, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        output = _follow(tool, process.stdout, say)
        if process.wait():
            raise ToolsMissing(f"{tool}: go {arguments[0]} failed:\n" + "".join(deque(output, _LINES_SHOWN)).rstrip())
    finally:
        processes.kill_group(process)
    return "".join(output)


def _follow(tool: Tool, lines: Iterator[bytes], say: Say) -> list[str]:
    """Return Go's output lines, and report the progress every few seconds."""
    output: list[str] = []
    downloaded, told_at = 0, time.monotonic()
    for line in lines:
        output.append(line.decode(errors="replace"))
        downloaded += output[-1].startswith("go: downloading")
        if time.monotonic() - told_at > _PROGRESS_SECONDS:
            told_at = time.monotonic()
            say(f"{tool}: {downloaded} modules downloaded, {len(output) - downloaded} packages compiled")
    return output
