"""Commands without disk space, with an unusable home, without a network, interrupted, and twice at once.

Each says what is wrong in a line, without a traceback, and leaves no part of a file.
"""

from __future__ import annotations

import os
import re
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from eks_hardware.cli import COMMANDS
from eks_hardware.stacks import app
from helpers.paths import SHIPPED

REGION = ("--region", "us-west-2")
PRIVATE = ("--api-access", "private")
LOCKED = """\
version: 1
name: chat
region: us-west-2
cluster: {kubernetes_version: "1.35", creator_is_admin: true}
node_groups:
  - {name: system, workload: system, instance_types: [m7i.xlarge], scaling: {min: 2, max: 2}}
  - name: chat
    scaling: {max: 1}
    workload: {task: inference, model: {name: llama-3.1-8b}, context_length: 8192}
"""


class Command(NamedTuple):
    """Arguments of a command, and what it writes."""

    arguments: tuple[str, ...]
    files: tuple[str, ...] = ()  # that it writes to the working folder
    offline: str = ""  # what it says without a network, if it needs one


RUN = {
    "recommend": Command(
        ("--task", "lora", "--model", "8B", *REGION, *PRIVATE, "--no-project", "-o", "llm.yaml"), ("llm.yaml",)
    ),
    "init": Command(
        ("demo", "--hardware", "gpu", "--task", "inference", *REGION, *PRIVATE, "--project"), ("strategies",)
    ),
    "validate": Command(("strategy.yaml", "--sarif", "found.sarif"), ("found.sarif",)),
    "lock": Command(("chat.yaml",), ("chat.lock.json",)),
    "explain": Command(("strategy.yaml", "--group", "g6")),
    "cost": Command(("strategy.yaml",)),
    "diff": Command(("strategy.yaml", "other.yaml")),
    "report": Command(("strategy.yaml", "-o", "report.html"), ("report.html",)),
    "render": Command(("strategy.yaml", "-o", "bundle"), ("bundle",)),
    "workload": Command(("strategy.yaml", "--group", "g6", "--kind", "smoke-test")),
    "check-model": Command(("llama-3.1-8b", "--target", "gpu")),
    "rules": Command(()),
    "instances": Command(("--family", "g6")),
    "prices": Command(()),
    "schema": Command(()),
    "doctor": Command(("strategy.yaml",), offline="error: no AWS credentials"),
    "orphans": Command(("strategy.yaml",), offline="run cdktf synth"),
    "demo": Command(("strategy.yaml",), offline="error: "),
    "completion": Command(("bash",)),
}
WRITING = [name for name, command in RUN.items() if command.files]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a working folder with strategies."""
    folder = tmp_path / "work"
    folder.mkdir()
    shutil.copy(SHIPPED / "gpu-inference.yaml", folder / "strategy.yaml")
    shutil.copy(SHIPPED / "development.yaml", folder / "other.yaml")
    (folder / "chat.yaml").write_text(LOCKED, encoding="utf-8")
    return folder


def variables_of(folder: Path, **variables: str) -> dict[str, str]:
    """Return an environment with an own home, and without settings of AWS and of the user."""
    own = ("AWS_", "XDG_", "EKS_HARDWARE_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(own)}
    return {**kept, "HOME": str(folder.parent), "COLUMNS": "200", "NO_COLOR": "1", **variables}


def command_line(name: str) -> list[str]:
    return [sys.executable, "-c", "from eks_hardware.cli import main; main()", name, *RUN[name].arguments]


def run_in(
    folder: Path, name: str, *, most_bytes: int | None = None, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run a command; ``most_bytes`` limits the size of each file, as a full disk does."""
    return run_limited(command_line(name), folder, most_bytes, **variables)


def run_limited(
    argv: list[str], folder: Path, most_bytes: int | None, **variables: str
) -> subprocess.CompletedProcess[str]:
    def limited() -> None:
        if most_bytes is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))

    return subprocess.run(
        argv,
        cwd=folder,
        env=variables_of(folder, **variables),
        preexec_fn=limited,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def started(folder: Path, name: str) -> subprocess.Popen[str]:
    """Start a command without waiting for it."""
    return subprocess.Popen(
        command_line(name),
        cwd=folder,
        env=variables_of(folder),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def contents_of(folder: Path) -> Mapping[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_every_command_is_tried() -> None:
    assert list(RUN) == list(COMMANDS)


@pytest.mark.parametrize("name", RUN)
def test_no_home_and_no_network(name: str, folder: Path, tmp_path: Path) -> None:
    """The home is a file. Connections other than to this machine fail, as without a network."""
    home, blocked = tmp_path / "home", tmp_path / "blocked"
    home.write_text("", encoding="utf-8")
    blocked.mkdir()
    (blocked / "sitecustomize.py").write_text(BLOCKED, encoding="utf-8")
    path = os.pathsep.join([str(blocked), os.environ.get("PYTHONPATH", "")])
    done = run_in(folder, name, HOME=str(home), PYTHONPATH=path)
    assert "Traceback" not in done.stdout + done.stderr
    if RUN[name].offline:
        assert done.returncode in (1, 2)
        assert RUN[name].offline in done.stdout + done.stderr
    else:
        assert done.returncode == 0, done.stderr
        assert all((folder / written).exists() for written in RUN[name].files)


BLOCKED = """\
import socket

connect = socket.socket.connect


def only_local(self, address):
    if self.family != socket.AF_UNIX and address[0] not in ("127.0.0.1", "::1"):
        raise OSError(101, "Network is unreachable")
    return connect(self, address)


socket.socket.connect = only_local
"""


@pytest.mark.parametrize("most_bytes", [0, 500])
@pytest.mark.parametrize("name", WRITING)
def test_no_disk_space(name: str, most_bytes: int, folder: Path) -> None:
    """The error names the file, no part of it is left, and the command succeeds with more space."""
    before = contents_of(folder)
    done = run_in(folder, name, most_bytes=most_bytes)
    assert done.returncode in (1, 2), done.stdout
    assert re.search(r"^error: .*\S: file too large$|file too large; make", done.stderr, re.MULTILINE), done.stderr
    assert "Traceback" not in done.stderr
    left = {file: content for file, content in contents_of(folder).items() if file not in before}
    done = run_in(folder, name)
    assert done.returncode == 0, done.stderr
    written = contents_of(folder)
    assert {file for file, content in left.items() if written.get(file) != content} == set()


@pytest.mark.parametrize("most_bytes", [0, 2048, 1_000_000])
def test_an_app_without_disk_space_prints_one_line(most_bytes: int, folder: Path) -> None:
    """jsii writes its JavaScript before it starts Node; nothing of its own errors is shown."""
    argv = [sys.executable, "-m", "eks_hardware"]
    # Without this, jsii would unpack the AWS provider again into the new home, which takes ten seconds.
    cache = os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()
    variables = {
        "EKS_HARDWARE_STRATEGIES": "other.yaml",
        "JSII_RUNTIME_PACKAGE_CACHE_ROOT": str(Path(cache, "aws", "jsii", "package-cache")),
    }
    done = run_limited(argv, folder, most_bytes, **variables)
    assert (done.returncode, done.stdout) == (1, "")
    (line,) = done.stderr.splitlines()
    assert re.fullmatch(
        r"error: the framework cannot start: (file too large|no usable .*); it needs 2 MB .* TMPDIR .*", line
    )
    done = run_limited(argv, folder, None, **variables)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", WRITING)
def test_two_runs_at_once(name: str, folder: Path) -> None:
    """Both succeed, or one of them finds the file of the other; the files are those of one run."""
    runs = [started(folder, name) for _ in range(2)]
    results = [(each.communicate(timeout=120), each.returncode) for each in runs]
    codes = sorted(code for _, code in results)
    assert codes[0] == 0
    assert all(code == 0 or "already exists" in said[1] for said, code in results), results
    together = contents_of(folder)
    assert not [file for file in together if file.endswith(".draft")]
    alone = folder.with_name("alone")
    shutil.copytree(folder, alone, ignore=lambda _, __: RUN[name].files)
    for file in together.keys() - {"strategy.yaml", "other.yaml", "chat.yaml"}:
        (alone / file).unlink(missing_ok=True)
    assert run_in(alone, name).returncode == 0
    assert contents_of(alone) == together


INTERRUPTED = """\
import os, re, runpy, signal, sys
pattern, signum, module = sys.argv.pop(1), sys.argv.pop(1), sys.argv.pop(1)
def interrupt(event, arguments):
    global pattern
    if pattern and event == "open" and re.search(pattern, str(arguments[0])):
        pattern = ""
        os.kill(os.getpid(), signal.Signals[signum])
sys.addaudithook(interrupt)
if module == "eks_hardware":
    runpy.run_module(module, run_name="__main__")
else:
    from eks_hardware._startup import command
    command()
"""
"""Runs a command or the app, and sends it a signal once, when it opens a file whose path matches a pattern."""


@pytest.mark.parametrize("name", ["recommend", "render", "validate"])
@pytest.mark.parametrize("opened", [r"/click/.*core\.", "/cli/commands/", r"/instances\.json$", r"llm\.yaml$|\.draft$"])
def test_ctrl_c(name: str, opened: str, folder: Path) -> None:
    """No traceback and no partial file, whether it starts, loads the command, works or writes."""
    before = contents_of(folder)
    argv = [sys.executable, "-c", INTERRUPTED, opened, "SIGINT", "command", name, *RUN[name].arguments]
    done = run_limited(argv, folder, None)
    writes = ".draft" in opened  # such code removes the partial file first
    assert (done.returncode, done.stdout, done.stderr) == (130 if writes else -signal.SIGINT, "", "")
    assert contents_of(folder) == before


WRITES_STACKS = r"cdktf\.out/stacks"


@pytest.mark.parametrize(
    ("opened", "signum"),
    [
        *[(file, "SIGINT") for file in (r"/gpu-inference\.yaml$", r"/instances\.json$", "/cdktf/", WRITES_STACKS)],
        (WRITES_STACKS, "SIGTERM"),  # from cdktf, after Ctrl-C, and from CI systems
    ],
)
def test_ctrl_c_while_the_app_synthesizes(opened: str, signum: str, folder: Path, tmp_path: Path) -> None:
    """It ends at once, although a second thread starts Node."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    strategy = str(SHIPPED / "gpu-inference.yaml")
    argv = [sys.executable, "-c", INTERRUPTED, opened, signum, "eks_hardware"]
    done = run_limited(argv, folder, None, EKS_HARDWARE_STRATEGIES=strategy, TMPDIR=str(temporary))
    assert (done.returncode, done.stdout, done.stderr) == (-signal.Signals[signum], "", "")
    if opened == WRITES_STACKS:  # before, the other thread may be creating jsii's temporary folder
        assert list(temporary.iterdir()) == []


def synthesized_in(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "eks_hardware"],
        cwd=folder,
        env={**os.environ, "EKS_HARDWARE_STRATEGIES": str(SHIPPED / "development.yaml")},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize("file", ["cdktf.out", "cdktf.out/stacks"])
def test_the_app_with_a_file_in_place_of_its_folder(file: str, tmp_path: Path) -> None:
    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).touch()
    done = synthesized_in(tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("error: cdktf.out/stacks cannot be created: ")
    assert len(done.stderr.splitlines()) == 1


def test_the_app_when_node_cannot_write_a_stack(tmp_path: Path) -> None:
    """Node reports a full disk in the same form, without the path."""
    (tmp_path / "cdktf.out" / "stacks" / "development" / "cdk.tf.json").mkdir(parents=True)
    done = synthesized_in(tmp_path)
    assert done.returncode == 1
    assert done.stderr.endswith("cdk.tf.json cannot be written: illegal operation on a directory\n")
    assert len(done.stderr.splitlines()) == 1


def test_a_full_disk_during_the_synthesis() -> None:
    full = RuntimeError("Error: ENOSPC: no space left on device, write")
    assert app._unwritten(full, Path("cdktf.out")) == "cdktf.out cannot be written: no space left on device"
    copied = RuntimeError("Error: ENOSPC: no space left on device, copyfile '/home/o'neil/a.tgz' -> '/out/a.tgz'")
    assert app._unwritten(copied, Path("out")) == "/out/a.tgz cannot be written: no space left on device"
    assert not app._unwritten(RuntimeError("Error: Validation failed with the following errors:"), Path("cdktf.out"))
