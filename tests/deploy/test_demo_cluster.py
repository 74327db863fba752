"""``eks-hardware demo --cluster`` of a user's project: with the real Kubernetes, Helm and Karpenter."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from eks_hardware.local import cluster_tools
from helpers.cluster_programs import programs
from helpers.paths import ROOT
from helpers.polling import eventually, is_free

STRATEGY = """
version: 1
name: try-me
region: us-west-2
cluster: {kubernetes_version: "1.35", creator_is_admin: true, endpoint: {public_cidrs: [0.0.0.0/0]}}
network: {cidr: 10.0.0.0/16, zones: 2, nat_gateways: single, pod_cidr: 100.64.0.0/16}
storage: {fsx_lustre: {size_gib: 1200}}
node_groups:
  - {name: system, workload: system, instance_types: [m6i.xlarge], scaling: {min: 2, max: 3}}
  - name: t4
    workload: inference
    instance_types: [g4dn.xlarge]
    capacity: reserved
    reservation: {id: cr-0123456789abcdef0, zone: usw2-az1}
    scaling: {min: 0, max: 1}
karpenter:
  node_pools:
    - {name: l4, workload: inference, instance_types: [g6.xlarge], limits: {nvidia.com/gpu: 2}}
    - name: held
      workload: inference
      instance_types: [g6.2xlarge]
      capacity: [reserved]
      reservations: [{tags: {purpose: serving}, owner_account_id: "444455556666"}]
      limits: {nvidia.com/gpu: 2}
    - {name: arm, workload: inference, instance_types: [c7g.xlarge], limits: {cpu: 8}}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a project with one strategy, where the demo finds this checkout's cdktf."""
    programs(*(name for name in (*cluster_tools.NEEDED, "karpenter") if name != "opentofu"))
    app = {"language": "python", "app": f"{sys.executable} -m eks_hardware"}
    (tmp_path / "cdktf.json").write_text(json.dumps(app), encoding="utf-8")
    (tmp_path / "node_modules").symlink_to(ROOT / "node_modules")
    (tmp_path / "strategies").mkdir()
    (tmp_path / "strategies" / "try-me.yaml").write_text(STRATEGY, encoding="utf-8")
    return tmp_path


@pytest.fixture
def demo(project: Path) -> Iterator[list[str]]:
    """Return the start of the command; afterwards nothing of it may be left."""
    yield [str(Path(sys.executable).with_name("eks-hardware")), "demo"]
    assert eventually(lambda: list(of_project(project)), []) == []
    assert list((project / ".build" / "demo").iterdir()) == []


def of_project(project: Path) -> Iterator[str]:
    """Yield the processes that a demo in a project started."""
    for process in psutil.process_iter(["cmdline", "cwd", "environ"]):
        found = process.info
        if process.pid != os.getpid() and str(project) in str([found["cmdline"], found["cwd"], found["environ"]]):
            yield " ".join(found["cmdline"] or [])


def ports(said: str) -> set[int]:
    """Return the ports of the emulator and of the API server, which a demo prints."""
    found = {int(port) for port in re.findall(r"://127\.0\.0\.1:(\d+)", said)}
    assert len(found) == 2
    return found


def demonstrate(command: list[str], project: Path) -> str:
    narrow = {**os.environ, "COLUMNS": "80"}
    done = subprocess.run(command, cwd=project, env=narrow, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_everything_runs_and_nothing_is_left(demo: list[str], project: Path) -> None:
    said = demonstrate([*demo, "--cluster"], project)
    assert said.startswith("Different from the strategy's file on this machine:\n- storage.fsx_lustre is left out")
    rows = re.findall(r"^(job-\d) +(\S+) +(\S+) +(us-west-2[a-d]) +(-|\d \S+) +\d+\.\d s$", said, re.MULTILINE)
    assert [(job, of, kind, devices) for job, of, kind, _, devices in rows] == [
        ("job-1", "system", "m6i.xlarge", "-"),
        ("job-2", "t4", "g4dn.xlarge", "1 GPU"),
        ("job-3", "l4", "g6.xlarge", "1 GPU"),
        ("job-4", "held", "g6.2xlarge", "1 GPU"),
        ("job-5", "arm", "c7g.xlarge", "-"),
    ]
    assert "The emulator has the capacity reservations that the strategy names" in said
    assert "The demo scaled these groups from 0 to 1 node, as an autoscaler does: t4." in said
    assert re.search(r"✓ Add-ons +6 add-ons", said)
    assert re.search(r"✓ Install +nvidia-device-plugin \S+, a stand-in", said)
    assert re.search(r"✓ Install +karpenter 1\S+ ", said)
    assert "no resources remain" in said
    assert all(map(is_free, ports(said)))


def test_what_is_kept_can_be_used_and_stopped(demo: list[str], project: Path) -> None:
    said = demonstrate([*demo, "--cluster", "--keep"], project)
    (kubeconfig,) = re.findall(r"^  export KUBECONFIG=(\S+)$", said, re.MULTILINE)
    kubectl = cluster_tools.paths("kubernetes")["kubectl"]
    shown = subprocess.run(
        [kubectl, "--kubeconfig", kubeconfig, "get", "nodepools", "-o", "name"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert not any(map(is_free, ports(said)))
    assert shown.stdout.split() == [
        "nodepool.karpenter.sh/arm",
        "nodepool.karpenter.sh/held",
        "nodepool.karpenter.sh/l4",
    ]
    assert demonstrate([*demo, "--stop"], project) == "try-me: stopped\n"
    assert not Path(kubeconfig).parent.exists()
    assert all(map(is_free, ports(said)))


def test_ctrl_c_stops_it_all(demo: list[str], project: Path) -> None:
    """In the background too, where the demo is another process."""
    with subprocess.Popen(
        [*demo, "--cluster", "--keep"], cwd=project, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as running:
        assert running.stdout is not None
        said = ""
        while "✓ Kubernetes" not in said:
            line = running.stdout.readline()
            assert line, said
            said += line
        assert not any(map(is_free, ports(said)))
        running.send_signal(signal.SIGINT)
        assert "Interrupted; all started processes are stopped." in running.stdout.read()
    assert running.returncode == 130
    assert all(map(is_free, ports(said)))
