"""SIGKILL of any process of a cluster, at any moment, leaves no process, port or folder.

``EKS_HARDWARE_KILLS_SEED`` repeats the choices of an earlier run, which printed it.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path

import psutil

from eks_hardware.local import processes
from helpers.paths import ROOT
from helpers.polling import eventually, is_free

KILLS = 10
# The last ones find the complete cluster on a machine with nothing else to do.
SECONDS_BETWEEN = 0.6
# Karpenter finds no AWS, but runs for a while.
_PARENT = """
import os, sys, time
from pathlib import Path
from eks_hardware.local import processes
from eks_hardware.local.cluster import Cluster
logs, karpenter = map(Path, sys.argv[1:])
with processes.signals_unwind(), Cluster(logs, kwok=True) as cluster, (logs / "karpenter.log").open("wb") as log:
    environment = {"KUBECONFIG": str(cluster.kubeconfig), "SYSTEM_NAMESPACE": "kube-system"}
    folder = cluster.folder / "karpenter"
    folder.mkdir()
    cluster.start_program([str(karpenter)], cwd=folder, stdout=log, env=environment)
    while True:
        cluster.kubectl("api-resources")
"""


def test_a_kill_at_any_moment_leaves_nothing(tools: Mapping[str, Path]) -> None:
    """The process that uses the cluster then ends, too: killed, or after a SIGTERM a moment later."""
    seed = int(os.environ.get("EKS_HARDWARE_KILLS_SEED") or random.randrange(2**32))
    print(f"EKS_HARDWARE_KILLS_SEED={seed}")
    chance = random.Random(seed)
    for number in range(KILLS):
        after = SECONDS_BETWEEN * (number + chance.random())
        # Short, because the path of a socket has at most 104 characters.
        with tempfile.TemporaryDirectory(prefix="kill-") as folder:
            victim, ports = kill(Path(folder), tools["karpenter"], after, chance)
            found = eventually(partial(left, Path(folder), ports), [])
        assert found == [], f"seed {seed}, kill {number} of {victim} after {after:.2f} s"


def kill(folder: Path, karpenter: Path, after: float, chance: random.Random) -> tuple[str, set[int]]:
    """Kill a process some seconds after the first one has started; return its name, and all ports of the cluster."""
    with subprocess.Popen(
        [sys.executable, "-c", _PARENT, str(folder / "logs"), str(karpenter)],
        env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(folder)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as parent:
        assert eventually(lambda: bool(processes.descendants(parent.pid)))
        time.sleep(after)
        family = [parent.pid, *processes.descendants(parent.pid)]
        ports = listening(family)
        victim = psutil.Process(chance.choice(family))
        name = "?"
        with contextlib.suppress(psutil.Error):
            name = " ".join(victim.cmdline())
            victim.send_signal(signal.SIGKILL)
        time.sleep(chance.choice([0, chance.uniform(0, 0.3)]))
        parent.terminate()
        parent.wait(timeout=60)
    return name, ports


def left(folder: Path, ports: Iterable[int]) -> list[str]:
    """Return what is left of a cluster: its processes, ports that answer, and files besides the logs."""
    return [
        *commands_in(folder),
        *(f"port {port}" for port in ports if not is_free(port)),
        *(str(each) for each in folder.iterdir() if each.name != "logs"),
    ]


def commands_in(folder: Path) -> Iterator[str]:
    """Yield the command lines of the processes that a folder is an argument or the working folder of."""
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            command = " ".join(process.cmdline())
            if str(folder) in f"{command} {process.cwd()}":
                yield command


def listening(pids: Iterable[int]) -> set[int]:
    """Return the ports on which processes listen."""
    found: set[int] = set()
    for pid in pids:
        with contextlib.suppress(psutil.Error):
            connections = psutil.Process(pid).net_connections("inet")
            found |= {each.laddr.port for each in connections if each.status == psutil.CONN_LISTEN}
    return found
