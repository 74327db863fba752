"""The cluster starts, schedules pods, listens only on its address, and leaves nothing behind."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import psutil
import pytest

from eks_hardware.local import cluster as module
from eks_hardware.local import emulator, processes
from eks_hardware.local.cluster import Cluster, ClusterError
from helpers.paths import ROOT
from helpers.polling import eventually, is_free

PARTS = {"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"}
NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "gpu-node", "labels": {"hardware": "gpu"}},
    "spec": {"taints": [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}]},
}
CAPACITY = {"cpu": "8", "memory": "64Gi", "pods": "50", "nvidia.com/gpu": "8"}
READY = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
_PARENT = """
import json, sys, time
from pathlib import Path
from eks_hardware.local import processes
from eks_hardware.local.cluster import Cluster
with processes.signals_unwind(), Cluster(Path(sys.argv[1])) as cluster:
    pids = [pid for group in cluster.pids.values() for pid in (group, *processes.descendants(group))]
    print(json.dumps([pids, cluster.ports, str(cluster.folder)]), flush=True)
    time.sleep(300)
"""


def family(cluster: Cluster) -> list[int]:
    """Return all processes of a cluster."""
    return [pid for group in cluster.pids.values() for pid in (group, *processes.descendants(group))]


def is_gone(pids: Iterable[int], ports: Iterable[int], folder: Path) -> bool:
    """Return whether nothing of a cluster is left."""
    return not any(map(processes.is_running, pids)) and all(map(is_free, ports)) and not folder.exists()


def gpu_pod(name: str, gpus: int) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {
            "containers": [{"name": "main", "image": "none", "resources": {"limits": {"nvidia.com/gpu": gpus}}}],
            "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
        },
    }


def test_the_scheduler_decides_and_the_crash_of_a_part_is_reported(tmp_path: Path, tools: Mapping[str, Path]) -> None:
    """In one cluster, because each takes several seconds of processor time to start."""
    with Cluster(tmp_path, programs=tools) as cluster:
        assert set(cluster.pids) == PARTS
        schedule(cluster)
        pids, ports, folder = family(cluster), cluster.ports, cluster.folder
        name = "etcd"
        (program,) = processes.descendants(cluster.pids[name])
        os.kill(program, signal.SIGKILL)
        assert eventually(lambda: not processes.is_running(cluster.pids[name]))
        with pytest.raises(ClusterError) as crash:
            cluster.check()
        cluster.stop()
    first, *log = str(crash.value).splitlines()
    assert first == f"{name} exited with code 137:"
    assert log == (tmp_path / f"{name}.log").read_text(encoding="utf-8").splitlines()[-module.LOG_LINES_SHOWN :]
    assert is_gone(pids, ports, folder)


def schedule(cluster: Cluster) -> None:
    """Write and read an object, and let the scheduler place a pod that fits and one that does not."""
    cluster.kubectl("create", "configmap", "a", "--from-literal=key=value")
    assert cluster.kubectl("get", "configmap", "a", "-o", "jsonpath={.data.key}") == "value"

    cluster.kubectl("create", "-f", "-", stdin=json.dumps(NODE))
    status = {"status": {"capacity": CAPACITY, "allocatable": CAPACITY, "conditions": [READY]}}
    cluster.kubectl("patch", "node", "gpu-node", "--subresource=status", "-p", json.dumps(status))
    cluster.kubectl("create", "-f", "-", stdin=json.dumps(gpu_pod("fits", 8)))
    cluster.kubectl("wait", "pod/fits", "--for=condition=PodScheduled", "--timeout=60s")
    assert cluster.kubectl("get", "pod", "fits", "-o", "jsonpath={.spec.nodeName}") == "gpu-node"

    cluster.kubectl("create", "-f", "-", stdin=json.dumps(gpu_pod("too-big", 9)))
    cluster.kubectl("wait", "pod/too-big", "--for=condition=PodScheduled=false", "--timeout=60s")
    said = cluster.kubectl("get", "pod", "too-big", "-o", "jsonpath={.status.conditions[0].message}")
    assert "Insufficient nvidia.com/gpu" in said


def test_it_listens_only_on_loopback(cluster: Cluster) -> None:
    listening = {
        (connection.laddr.ip, connection.laddr.port)
        for pid in family(cluster)
        for connection in psutil.Process(pid).net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    }
    assert listening == {(emulator.HOST, port) for port in cluster.ports}
    assert len(listening) == 3


def test_the_server_says_its_version(cluster: Cluster) -> None:
    """Charts compare it."""
    said = json.loads(cluster.kubectl("version", "-o", "json"))
    assert said["serverVersion"]["gitVersion"] == said["clientVersion"]["gitVersion"]
    assert said["serverVersion"]["gitVersion"].startswith("v1.")


def test_two_at_once_do_not_meet_and_nothing_is_left(
    cluster: Cluster, tmp_path: Path, tools: Mapping[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second one finds its first port busy, and takes another."""
    with socket.socket() as busy:
        busy.bind((emulator.HOST, 0))
        busy.listen()
        taken = busy.getsockname()[1]
        offered = [taken]
        monkeypatch.setattr(module, "free_port", lambda: offered.pop() if offered else emulator.free_port())
        with Cluster(tmp_path, programs=tools) as other:
            pids, ports, folder = family(other), other.ports, other.folder
            assert offered == []
            assert not {taken, *cluster.ports} & set(ports)
            other.kubectl("create", "namespace", "only-here")
            assert "only-here" in other.kubectl("get", "namespaces")
            assert "only-here" not in cluster.kubectl("get", "namespaces")
            # The certificates of one are worth nothing to the other.
            with pytest.raises(ClusterError, match="x509"):
                other.kubectl("--server", f"https://{emulator.HOST}:{cluster.ports[0]}", "get", "namespaces")
    assert is_gone(pids, ports, folder)


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGKILL])
def test_it_ends_with_its_parent(tmp_path: Path, tools: Mapping[str, Path], signum: signal.Signals) -> None:
    assert tools
    with subprocess.Popen(
        [sys.executable, "-c", _PARENT, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as parent:
        assert parent.stdout is not None
        pids, ports, folder = json.loads(parent.stdout.readline())
        assert all(map(processes.is_running, pids))
        assert len(pids) == 2 * len(PARTS)
        parent.send_signal(signum)
        parent.wait(timeout=60)
    assert eventually(lambda: is_gone(pids, ports, Path(folder)))


def test_a_program_ends_with_its_guard_which_is_reported_at_the_end_of_the_block(
    tmp_path: Path, tools: Mapping[str, Path]
) -> None:
    pids, ports, folder = list[int](), list[int](), tmp_path
    with pytest.raises(ClusterError, match="kube-apiserver exited"):  # noqa: PT012, SIM117
        with Cluster(tmp_path, programs=tools) as cluster:
            pids, ports, folder = family(cluster), cluster.ports, cluster.folder
            guard = cluster.pids["kube-apiserver"]
            (program,) = processes.descendants(guard)
            os.kill(guard, signal.SIGKILL)
            assert eventually(lambda: not processes.is_running(program))
    assert eventually(lambda: is_gone(pids, ports, folder))


def test_a_part_that_ended_is_reported_instead_of_the_errors_of_clients(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def check(_: Cluster) -> None:
        raise ClusterError("etcd ended")

    monkeypatch.setattr(Cluster, "check", check)
    cluster = Cluster(tmp_path)
    for kind in (None, TimeoutError):
        with pytest.raises(ClusterError, match="etcd ended"):
            cluster.__exit__(kind)
    cluster.__exit__(KeyboardInterrupt)


def test_a_part_that_does_not_start_is_named_with_its_log(tmp_path: Path, tools: Mapping[str, Path]) -> None:
    """The second part, so one that runs has to be stopped."""
    broken = tmp_path / "kube-apiserver"
    broken.write_text("#!/bin/sh\necho no such flag\nexit 3\n", encoding="utf-8")
    broken.chmod(0o755)
    cluster = Cluster(tmp_path / "logs", programs={**tools, "kube-apiserver": broken})
    with pytest.raises(ClusterError) as failure:
        cluster.start()
    assert str(failure.value) == "kube-apiserver exited with code 3:\nno such flag"
    assert cluster.pids == {}
