"""Start and end of the toolkit's own processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from eks_hardware.local import processes
from helpers.paths import ROOT, SHIPPED
from helpers.polling import eventually

SHOW = (
    "import gc, threading;"
    "print(gc.get_threshold()[0] > 10_000, [each.name for each in threading.enumerate()], flush=True)"
)


def _run(code: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("EKS_HARDWARE_")}
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**environment, **variables},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.fixture
def slow_node(tmp_path: Path) -> str:
    """Return a ``node`` that never responds, to show which code waits for it."""
    program = tmp_path / "node"
    program.write_text("#!/bin/sh\nexec sleep 2\n", encoding="utf-8")
    program.chmod(0o755)
    return str(program)


def test_importing_the_library_changes_nothing_of_the_process() -> None:
    done = _run(f"import eks_hardware, eks_hardware.models; {SHOW}")
    assert done.stdout == "False ['MainThread']\n"


def test_garbage_is_looked_for_rarely_in_our_own_processes() -> None:
    done = _run(f"from eks_hardware._startup import short_lived; short_lived(); {SHOW}")
    assert done.stdout == "True ['MainThread']\n"


def test_node_starts_while_python_goes_on(slow_node: str) -> None:
    done = _run(
        f"from eks_hardware._node import start_node; start_node(); {SHOW}; import os; os._exit(0)",
        JSII_NODE=slow_node,
    )
    assert done.stdout == "False ['MainThread', 'start-node']\n"


@pytest.mark.parametrize("variables", [{"JSII_NODE": "no-such-node"}, {"EKS_HARDWARE_EAGER_PROVIDERS": "1"}])
def test_no_node_is_started(variables: dict[str, str]) -> None:
    done = _run(f"from eks_hardware._node import start_node; start_node(); {SHOW}", **variables)
    assert (done.stdout, done.stderr) == ("False ['MainThread']\n", "")


def test_the_switch_turns_all_of_it_off() -> None:
    ended = "import atexit; atexit.register = lambda *_: print('at exit'); import eks_hardware"
    short = f"from eks_hardware._startup import short_lived; short_lived(); {SHOW}"
    assert _run(ended).stdout == "at exit\n"
    assert _run(ended, EKS_HARDWARE_EAGER_PROVIDERS="1").stdout == ""
    assert _run(short, EKS_HARDWARE_EAGER_PROVIDERS="1").stdout == "False ['MainThread']\n"


def test_a_wrong_strategy_is_reported_without_node(tmp_path: Path) -> None:
    (tmp_path / "wrong.yaml").write_text("version: 1\n", encoding="utf-8")
    done = _run(
        "import runpy; runpy.run_module('eks_hardware', run_name='__main__')",
        EKS_HARDWARE_STRATEGIES=str(tmp_path),
        JSII_NODE="no-such-node",
    )
    assert done.returncode == 1
    assert done.stderr.endswith("\n1 error; nothing was synthesized\n")
    assert "Traceback" not in done.stderr


def test_an_app_without_node_says_so() -> None:
    done = _run(
        "import runpy; runpy.run_module('eks_hardware', run_name='__main__')",
        EKS_HARDWARE_STRATEGIES=str(SHIPPED / "development.yaml"),
        JSII_NODE="no-such-node",
    )
    assert done.returncode == 1
    assert done.stderr == "error: node is not on the PATH: install Node.js 20 or newer, https://nodejs.org\n"


def test_a_group_is_stopped_with_members_that_outlive_their_leader(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    stubborn = f"trap '' TERM; echo $BASHPID > {pid}; while :; do sleep 0.1; done"
    leader = processes.start(
        ["bash", "-c", f"({stubborn}) & wait"], cwd=tmp_path, env=os.environ, stdout=subprocess.DEVNULL
    )
    threading.Thread(target=leader.wait).start()  # otherwise it stays as a zombie
    assert eventually(lambda: pid.exists() and pid.read_text() != "")
    processes.stop_group(leader.pid, seconds=0.5)
    assert not processes.is_running(int(pid.read_text()))


@pytest.mark.parametrize(
    ("before", "then", "code"),
    [
        ("default_int_handler", "__import__('time').sleep(30)", -signal.SIGINT),
        ("SIG_IGN", "print('works on')", 0),
    ],
)
def test_ctrl_c_ends_the_process_also_where_python_ignores_exceptions(before: str, then: str, code: int) -> None:
    """As in a finalizer, or in a callback from native code. A background job still ignores it."""
    done = _run(
        "import os, signal\n"
        f"signal.signal(signal.SIGINT, signal.{before})\n"
        "from eks_hardware.interrupts import end_on_signals\n"
        "end_on_signals()\n"
        "class Finalizer:\n"
        "    def __del__(self): os.kill(os.getpid(), signal.SIGINT)\n"
        "Finalizer()\n"
        f"{then}"
    )
    assert (done.returncode, done.stderr) == (code, "")


def test_ctrl_c_is_an_exception_where_something_must_be_cleaned_up() -> None:
    done = _run(
        "import os, signal\n"
        "from eks_hardware.interrupts import end_on_signals, raise_in_block\n"
        "end_on_signals()\n"
        "try:\n"
        "    with raise_in_block(), raise_in_block():\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "except KeyboardInterrupt:\n"
        "    print('cleaned up', flush=True)\n"
        "os.kill(os.getpid(), signal.SIGINT)"
    )
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "cleaned up\n", "")
