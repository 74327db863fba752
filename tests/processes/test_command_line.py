"""The command line as a process: its imports, outputs that cannot be written to, and shell completion."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import shlex
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Sequence
from pathlib import Path

import pytest

from eks_hardware import __version__
from eks_hardware.cli import COMMANDS
from helpers import cli
from helpers.advisor import config_file
from helpers.paths import ROOT

MAIN = "from eks_hardware.cli import main; main()"
_INTERRUPT, _END_OF_INPUT = "\x03", "\x04"
STRATEGY = "config/strategies/development.yaml"


def process(code: str, *arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code, *arguments]
    given = {"cwd": ROOT, "stdout": subprocess.PIPE, **options}
    return subprocess.run(command, stderr=subprocess.PIPE, text=True, timeout=60, check=False, **given)  # type: ignore[call-overload, no-any-return]


def test_a_named_command_is_imported_without_the_others() -> None:
    code = (
        "import sys; from eks_hardware.cli import main\ntry: main()\n"
        "finally: print([m for m in sys.modules if m.startswith('eks_hardware.cli.commands.')])"
    )
    done = process(code, "rules", "EFA_UNSUPPORTED")
    assert done.stdout.splitlines()[-1] == "['eks_hardware.cli.commands.rules']"


def test_help_and_completion_import_no_models() -> None:
    """Both import the module of every command, for its first sentence."""
    code = (
        "import sys; from eks_hardware.cli import main\ntry: main()\n"
        "finally:\n"
        "    heavy = {'pydantic', 'yaml', 'rich', 'jinja2', 'urllib.request', 'eks_hardware.catalogue'}\n"
        "    commands = [m for m in sys.modules if m.startswith('eks_hardware.cli.commands.')]\n"
        "    print(len(commands), sorted(heavy & set(sys.modules)))"
    )
    assert process(code, "--help").stdout.splitlines()[-1] == f"{len(COMMANDS)} []"


@pytest.mark.parametrize("arguments", [("--version",), ("rules", "--version")])
def test_the_version_is_answered_by_either_way(arguments: tuple[str, ...]) -> None:
    """Only the process itself answers."""
    done = process("from eks_hardware._startup import command; command()", *arguments)
    expected = cli.run(*arguments)
    assert (done.returncode, done.stdout, done.stderr) == expected
    assert (expected.out == f"{__version__}\n") == (arguments == ("--version",))


def test_commands_need_neither_node_nor_the_framework(tmp_path: Path) -> None:
    """None imports modules that it does not need.

    ``validate`` runs in editors: it imports neither tables nor the resolved model.
    """
    commands = [
        ["validate", "mixed-hardware"],
        ["explain", "mixed-hardware"],
        ["cost", "mixed-hardware"],
        ["workload", "mixed-hardware", "--group", "gpu-training", "--kind", "smoke-test"],
        ["render", "mixed-hardware", "--output", str(tmp_path / "out")],
        ["report", "mixed-hardware", "--output", str(tmp_path / "report.html")],
        ["recommend", "--task", "inference", "--model", "8B", "--region", "us-west-2"],
        ["check-model", str(config_file("llama-3.1-8b")), "--target", "gpu"],
    ]
    code = (
        "import sys; from click.testing import CliRunner; from eks_hardware.cli import app\n"
        f"for each in {commands!r}:\n"
        "    done = CliRunner().invoke(app, each)\n"
        "    heavy = {'cdktf', 'constructs', 'jsii', 'boto3', 'moto'}\n"
        "    heavy |= {'rich', 'eks_hardware.resolve.model'} if each[0] == 'validate' else set()\n"
        "    print(each[0], done.exit_code, sorted(heavy & set(sys.modules)))"
    )
    done = process(code, env={**os.environ, "PATH": ""})
    assert done.stderr == ""
    assert done.stdout.splitlines() == [f"{each[0]} 0 []" for each in commands]


@pytest.mark.parametrize(
    "arguments", [("cost", STRATEGY), ("explain", STRATEGY), ("validate", STRATEGY), ("diff", STRATEGY, "gpu-training")]
)
def test_a_full_disk_is_one_line(arguments: Sequence[str]) -> None:
    # In development mode, finalizers report errors, as they always do since Python 3.13.
    environment = {**os.environ, "PYTHONDEVMODE": "1", "PYTHONWARNINGS": "ignore"}
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = process(MAIN, *arguments, stdout=full, env=environment)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "error: cannot write the output: no space left on device" in done.stderr


@pytest.mark.parametrize(
    ("closed", "arguments"),
    [
        ("<&-", ("recommend", "--task", "inference", "--model", "8B", "--region", "us-west-2")),
        (">&-", ("cost", STRATEGY)),
        ("2>&-", ("validate", STRATEGY)),
        ("<&- >&- 2>&-", ("explain", STRATEGY)),
    ],
)
def test_closed_streams_are_like_the_null_device(closed: str, arguments: Sequence[str]) -> None:
    command = shlex.join([sys.executable, "-c", MAIN, *arguments])
    done = subprocess.run(["sh", "-c", f"{command} {closed}"], cwd=ROOT, capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stderr.count(b"Traceback")) == (0, 0)


@pytest.mark.parametrize("arguments", [("rules",), ("explain", "mixed-hardware", "--group", "system"), ("--help",)])
def test_a_closed_pipe_is_no_traceback(arguments: tuple[str, ...]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = process(MAIN, *arguments, stdout=writing)
    finally:
        os.close(writing)
    assert done.returncode == 0
    assert "Traceback" not in done.stderr
    assert "BrokenPipeError" not in done.stderr


def test_what_the_machine_refuses_is_one_line(tmp_path: Path) -> None:
    """A name that is too long, a loop of links as output, and a working folder that was deleted."""
    name = f"{'a' * 300}.yaml"
    done = process(MAIN, "validate", name)
    assert (done.returncode, done.stderr) == (2, f"error: {name}: file name too long\n")
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    assert process(MAIN, "report", STRATEGY, "-o", str(loop)).returncode == 0
    assert loop.read_text(encoding="utf-8").startswith("<!")
    gone = tmp_path / "gone"
    leave = f"import os; os.chdir({str(gone)!r}); os.rmdir({str(gone)!r}); "
    for code in (f"{leave}{MAIN}", f"{leave}import runpy; runpy.run_module('eks_hardware', run_name='__main__')"):
        gone.mkdir()
        done = process(code, "init", "demo", "--yes", "--api-access", "private")
        assert done.returncode in (1, 2)
        assert done.stderr == "error: the working folder no longer exists\n"


def test_a_closed_pipe_hides_no_error(tmp_path: Path) -> None:
    """``validate FILE | head -1`` has the exit code of ``validate FILE``."""
    file = tmp_path / "wrong.yaml"
    file.write_text("version: 1\n", encoding="utf-8")
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = process(MAIN, "validate", str(file), stdout=writing)
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (1, "")


def test_messages_wrap_in_a_terminal_and_not_in_a_pipe() -> None:
    command = [sys.executable, "-c", MAIN, "cost", "gpu-trainin"]
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
    environ = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    try:
        subprocess.run(command, cwd=ROOT, env=environ, stderr=theirs, timeout=60, check=False)
        wrapped = os.read(ours, 10_000).decode().splitlines()
    finally:
        os.close(ours)
        os.close(theirs)
    assert 40 < max(map(len, wrapped)) <= 60
    assert len(process(MAIN, "cost", "gpu-trainin").stderr.splitlines()) == 1


def test_an_interrupt_is_quiet() -> None:
    code = (
        "import sys, eks_hardware.rules.explanations as it\n"
        "def stop(): raise KeyboardInterrupt\n"
        "it.explanations = stop; sys.argv = ['eks-hardware', 'rules']\n"
    )
    done = process(code + MAIN)
    assert (done.returncode, done.stderr) == (130, "")


def test_the_script_runs_in_bash(tmp_path: Path) -> None:
    program = tmp_path / "eks-hardware"
    program.write_text(f"#!/bin/sh\nexec {sys.executable} -c '{MAIN}' \"$@\"\n", encoding="utf-8")
    program.chmod(0o755)
    script = (
        'eval "$(eks-hardware completion bash)"; COMP_WORDS=(eks-hardware instances --fam); COMP_CWORD=2\n'
        '_eks_hardware_completion eks-hardware; echo "${COMPREPLY[@]}"'
    )
    environ = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-c", script], cwd=ROOT, env=environ, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.stdout, done.stderr) == ("--family\n", "")


def test_init_does_not_wait_for_a_pipe_that_says_nothing() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", MAIN, "init", "demo", "--no-project"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        cwd=ROOT,
    ) as run_of_it:
        assert run_of_it.wait(timeout=30) == 2
        assert run_of_it.stderr
        assert b"--hardware" in run_of_it.stderr.read()


@pytest.mark.parametrize("path", ["/dev/stdout", "page.html"])
def test_report_refuses_the_file_that_stdout_goes_to(tmp_path: Path, path: str) -> None:
    page = tmp_path / "page.html"
    with page.open("w") as stdout:
        done = process(MAIN, "report", str(ROOT / STRATEGY), "--output", path, cwd=tmp_path, stdout=stdout)
    assert done.returncode == 2
    assert "use --output -" in done.stderr
    assert page.read_text(encoding="utf-8") == ""


@pytest.mark.parametrize(
    ("answers", "code"),
    [
        (("", "", "16", "", "", "", "", "9000", "2", "", "", ""), 0),
        (("", "", _INTERRUPT), 130),
        (("", _END_OF_INPUT), 130),
    ],
)
def test_init_asks_at_a_terminal(tmp_path: Path, answers: tuple[str, ...], code: int) -> None:
    """The answers of a user, the interrupt key, the end of the input. No line is longer than the terminal."""
    program = f"from eks_hardware.cli import cluster_settings as c; c.caller_address = lambda: '93.184.216.34'; {MAIN}"
    terminal, theirs = pty.openpty()
    rest, said = list(answers), ""
    with subprocess.Popen(
        [sys.executable, "-c", program, "init", "chat"],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=tmp_path,
        env={**os.environ, "COLUMNS": "60", "NO_COLOR": "1", "TERM": "dumb"},
    ) as asking:
        os.close(theirs)
        while chunk := _read(terminal):
            said += chunk
            if not said.endswith(": "):
                continue
            if not rest:
                asking.kill()
                pytest.fail(f"an unexpected question: {said}")
            if (answer := rest.pop(0)) == _INTERRUPT:
                # Python misses a signal between the prompt and its wait for input; a user presses the key again.
                asking.send_signal(signal.SIGINT)
                while not select.select([terminal], [], [], 2)[0]:
                    asking.send_signal(signal.SIGINT)
            else:
                os.write(terminal, f"{answer}\n".encode() if answer != _END_OF_INPUT else answer.encode())
        assert (asking.wait(timeout=60), rest) == (code, []), said
    os.close(terminal)
    assert (tmp_path / "strategies" / "chat.yaml").exists() == (code == 0)
    if code == 0:
        assert max(map(len, said.splitlines())) <= 60
    else:
        assert said.endswith("Interrupted; nothing was written.\r\n")
        assert list(tmp_path.iterdir()) == []


def _read(terminal: int) -> str:
    try:
        return os.read(terminal, 65536).decode()
    except OSError:  # its other end is closed
        return ""
