"""A folder with programs: both are gone at the end, also if its keeper was killed and a signal interrupts the end."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import psutil
import pytest

from eks_hardware.local import processes
from eks_hardware.local.guarded_folder import GuardedFolder


@pytest.mark.parametrize("interrupted", ["kill_group", "rmtree"])
def test_an_interrupted_end_is_completed_without_the_keeper(
    interrupted: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = GuardedFolder("eks-hardware-test-", tmp_path)
    folder.open()
    program = folder.start(["sleep", "300"], cwd=folder.path, env=dict(os.environ), stdout=subprocess.DEVNULL)
    (keeper,) = (pid for pid in processes.descendants(os.getpid()) if is_keeper(pid, folder.path))
    os.kill(keeper, signal.SIGKILL)

    module: Any = {"kill_group": processes, "rmtree": shutil}[interrupted]
    own, calls = getattr(module, interrupted), []

    def once(*arguments: Any, **options: Any) -> Any:
        calls.append(arguments)
        if len(calls) == 1:
            raise processes.Terminated(signal.SIGTERM)
        return own(*arguments, **options)

    monkeypatch.setattr(module, interrupted, once)
    with pytest.raises(processes.Terminated):
        folder.close()
    assert len(calls) > 1
    assert not folder.path.exists()
    assert not processes.is_running(program.pid)


def is_keeper(pid: int, folder: Path) -> bool:
    command = " ".join(psutil.Process(pid).cmdline())
    return "folder_keeper.py" in command and str(folder) in command
