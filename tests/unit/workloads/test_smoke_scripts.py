"""The scripts of smoke tests, run with tools that print a node's output: each fails if something is missing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from eks_hardware.resolve import resolve
from eks_hardware.workloads import CHECKS, Request, manifest
from eks_hardware.workloads.smoke import script
from helpers.cases import in_one_test
from helpers.strategies import group, strategy

GPU_LINES = "^GPU [0-9]+:"
P4D = strategy(group("p4d.24xlarge", efa=True))


def fake(folder: Path, name: str, output: str, *, code: int = 0) -> None:
    """Create a tool that prints text and exits with a code."""
    tool = folder / name
    text = output.replace("'", "'\\''")
    tool.write_text(f"#!/bin/bash\nprintf '%s\\n' '{text}'\nexit {code}\n", encoding="utf-8")
    tool.chmod(0o755)


def run_bash(folder: Path, text: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    path = f"{folder}:/usr/bin:/bin"
    return subprocess.run(
        ["/bin/bash", "-c", text],
        env={"PATH": path, **environment},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


def with_devices(text: str, folder: Path) -> str:
    """Return the script, changed to search for devices in a folder of the test."""
    return text.replace("find /dev/infiniband", f"find {folder}/infiniband").replace(
        "find /dev -maxdepth 1 -regex '/dev/neuron[0-9]+'", f"find {folder} -maxdepth 1 -regex '.*/neuron[0-9]+'"
    )


def gpu_listing(count: int) -> str:
    return "\n".join(f"GPU {index}: NVIDIA A100 (UUID: GPU-{index})" for index in range(count))


SLICES = "GPU 0: NVIDIA A100 (UUID: GPU-0)\n  MIG 1g.5gb      Device  0: (UUID: MIG-0)"


@in_one_test(
    ("output", "code", "lines", "expected", "passes"),
    [
        (gpu_listing(8), 0, GPU_LINES, 8, True),
        (gpu_listing(7), 0, GPU_LINES, 8, False),
        (gpu_listing(9), 0, GPU_LINES, 8, False),
        ("No devices found.", 0, GPU_LINES, 1, False),
        (gpu_listing(8), 9, GPU_LINES, 8, False),
        (SLICES, 0, "^ +MIG ", 1, True),
        (SLICES, 0, "^ +MIG ", 2, False),
        (gpu_listing(1), 0, "^ +MIG ", 1, False),
    ],
)
def test_nvidia_smi(tmp_path: Path, output: str, code: int, lines: str, expected: int, passes: bool) -> None:
    fake(tmp_path, "nvidia-smi", output, code=code)
    environment = {"EXPECTED_GPUS": str(expected), "EXPECTED_GPU_LINES": lines}
    done = run_bash(tmp_path, script(("nvidia-smi",), nodes=1), environment)
    assert (done.returncode == 0) == passes, done
    assert ("PASS" in done.stdout) == passes
    assert ("FAIL nvidia-smi" in done.stderr) != passes


def test_without_the_tool_it_fails(tmp_path: Path) -> None:
    for check in ("nvidia-smi", "neuron-ls", "efa"):
        environment = dict.fromkeys(("EXPECTED_GPUS", "EXPECTED_NEURON_DEVICES", "EXPECTED_EFA"), "0")
        done = run_bash(tmp_path, script((check,), nodes=1), {**environment, "EXPECTED_GPU_LINES": GPU_LINES})
        assert done.returncode != 0, check
        assert "FAIL" in done.stderr


def test_an_expectation_is_required(tmp_path: Path) -> None:
    fake(tmp_path, "nvidia-smi", gpu_listing(1))
    assert run_bash(tmp_path, script(("nvidia-smi",), nodes=1), {}).returncode != 0


def efa_listing(domains: int) -> str:
    entries = (
        f"provider: efa\n    fabric: {fabric}\n    domain: rdmap{index}s0-{end}\n    type: FI_EP_RDM"
        for index in range(domains)
        for fabric, end in (("efa-direct", "rdm"), ("efa", "rdm"))
    )
    return "\n".join(entries)


@in_one_test(
    ("devices", "output", "code", "passes"),
    [
        (4, efa_listing(4), 0, True),
        (3, efa_listing(4), 0, False),
        (4, efa_listing(3), 0, False),
        (4, "fi_getinfo: -61 (No data available)", 61, False),
        (0, "", 0, False),
    ],
)
def test_efa(tmp_path: Path, devices: int, output: str, code: int, passes: bool) -> None:
    (tmp_path / "infiniband").mkdir()
    for index in range(devices):
        (tmp_path / "infiniband" / f"uverbs{index}").touch()
    fake(tmp_path, "fi_info", output, code=code)
    done = run_bash(tmp_path, with_devices(script(("efa",), nodes=1), tmp_path), {"EXPECTED_EFA": "4"})
    assert (done.returncode == 0) == passes, done
    assert ("FAIL efa" in done.stderr) != passes


def neuron(devices: int) -> str:
    return "[" + ",".join(f'{{"neuron_device": {index}, "nc_count": 2}}' for index in range(devices)) + "]"


@in_one_test(
    ("devices", "output", "code", "passes"),
    [(12, neuron(12), 0, True), (11, neuron(12), 0, False), (12, neuron(11), 0, False), (12, neuron(12), 1, False)],
)
def test_neuron_ls(tmp_path: Path, devices: int, output: str, code: int, passes: bool) -> None:
    for index in range(devices):
        (tmp_path / f"neuron{index}").touch()
    fake(tmp_path, "neuron-ls", output, code=code)
    text = with_devices(script(("neuron-ls",), nodes=1), tmp_path)
    done = run_bash(tmp_path, text, {"EXPECTED_NEURON_DEVICES": "12"})
    assert (done.returncode == 0) == passes, done
    assert ("FAIL neuron" in done.stderr) != passes


@in_one_test(
    ("output", "code", "passes"),
    [
        ("  33554432  8388608  fp32  768  40.69  40.69\nAvg bus bandwidth:  40.6901GB/s", 0, True),
        ("Avg bus bandwidth:  40.6901GB/s", 1, False),
        ("usage: nccom-test", 0, False),
    ],
)
def test_neuron_collective_of_a_node(tmp_path: Path, output: str, code: int, passes: bool) -> None:
    fake(tmp_path, "nccom-test", output, code=code)
    done = run_bash(tmp_path, script(("neuron-collective",), nodes=1), {"EXPECTED_RANKS": "24"})
    assert (done.returncode == 0) == passes, done


@in_one_test(
    ("code", "log", "nodes", "efa_count", "passes"),
    [
        (0, "NCCL INFO NET/OFI Selected provider is efa, fabric is efa-direct (found 4 nics)", 2, 4, True),
        # The spelling of older versions.
        (0, "NCCL INFO NET/OFI Selected Provider is efa (found 4 nics)", 2, 4, True),
        (0, "NCCL INFO NET/Socket : Using [0]eth0", 2, 4, False),
        (0, "NCCL INFO NET/Socket : Using [0]eth0", 2, 0, True),
        (0, "nothing", 1, 4, True),
        (1, "NCCL INFO NET/OFI Selected provider is efa", 2, 4, False),
    ],
)
def test_nccl(tmp_path: Path, code: int, log: str, nodes: int, efa_count: int, passes: bool) -> None:
    tool = tmp_path / "torchrun"
    tool.write_text(f"#!/bin/bash\necho '{log}' >{tmp_path}/nccl.1.log\nexit {code}\n", encoding="utf-8")
    tool.chmod(0o755)
    text = script(("nccl",), nodes=nodes).replace("/tmp/", f"{tmp_path}/")
    environment = {"EXPECTED_RANKS": "16", "EXPECTED_EFA": str(efa_count), "PET_NNODES": str(nodes)}
    done = run_bash(tmp_path, text, environment)
    assert (done.returncode == 0) == passes, done
    assert ("FAIL nccl" in done.stderr) != passes


# --- the programs that torchrun starts ----------------------------------------------------------------------------

# The part of PyTorch that the programs use: one process represents all, and computes the sum for the others.
TORCH = """
import os, types
world = int(os.environ["WORLD"])
class Tensor:
    def __init__(self, value): self.value = value
    def __mul__(self, other): return Tensor(self.value * other)
    def __eq__(self, other): return Tensor(self.value == other)
    def all(self): return self.value
    def cpu(self): return self
def ones(size, device): return Tensor(1)
def add(tensor): tensor.value = float(os.environ["SUM"])
cuda = types.SimpleNamespace(set_device=lambda index: None, synchronize=lambda: None)
"""
DISTRIBUTED = """
import os
from torch import add
def init_process_group(backend): print("backend", backend)
def get_rank(): return 0
def get_world_size(): return int(os.environ["WORLD"])
def all_reduce(tensor): add(tensor)
def destroy_process_group(): pass
"""
XLA = """
import sys, types, torch
def device(): return "xla"
def all_reduce(kind, tensor):
    torch.add(tensor)
    return tensor
model = types.ModuleType("torch_xla.core.xla_model")
model.REDUCE_SUM, model.all_reduce = "sum", all_reduce
core, distributed = types.ModuleType("torch_xla.core"), types.ModuleType("torch_xla.distributed")
core.xla_model = model
backend = types.ModuleType("torch_xla.distributed.xla_backend")
__path__ = []
core.__path__ = distributed.__path__ = []
sys.modules.update({"torch_xla.core": core, "torch_xla.core.xla_model": model,
    "torch_xla.distributed": distributed, "torch_xla.distributed.xla_backend": backend})
"""


@in_one_test("check", ["nccl", "neuron-collective"])
@in_one_test(
    ("world", "total", "passes"), [(16, 136.0, True), (16, 135.0, False), (8, 36.0, False), (32, 528.0, False)]
)
def test_programs(tmp_path: Path, check: Any, world: int, total: float, passes: bool) -> None:
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text(TORCH, encoding="utf-8")
    (tmp_path / "torch" / "distributed.py").write_text(DISTRIBUTED, encoding="utf-8")
    (tmp_path / "torch_xla.py").write_text(XLA, encoding="utf-8")
    text = script((check,), nodes=2)
    program = text.partition("<<'PYTHON'\n")[2].partition("\nPYTHON\n")[0]
    environment = {"LOCAL_RANK": "0", "EXPECTED_RANKS": "16", "WORLD": str(world), "SUM": str(total)}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": str(tmp_path), **environment},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert (done.returncode == 0) == passes, done
    assert ("ok " in done.stdout) == passes


# --- selection of checks and expected values


def test_every_check_has_a_script() -> None:
    for nodes in (1, 2):
        text = script(CHECKS, nodes=nodes)
        assert "@" not in text.replace("$@", "")
        syntax = subprocess.run(["/bin/bash", "-n"], input=text, text=True, capture_output=True, check=False)
        assert (syntax.returncode, syntax.stderr) == (0, "")


@pytest.mark.parametrize("nodes", [1, 2])
def test_kubernetes_leaves_the_scripts_as_they_are(nodes: int) -> None:
    """``$(NAME)`` in ``args`` is replaced if NAME is a variable, and ``$$`` becomes ``$``."""
    text = script(CHECKS, nodes=nodes)
    assert "$$" not in text
    assert not [each for each in text.split("$(")[1:] if each.partition(")")[0].isidentifier()]


@in_one_test(
    ("fields", "nodes", "expected"),
    [
        (
            {"instance_types": "p4d.24xlarge", "efa": True},
            2,
            {"EXPECTED_GPUS": "8", "EXPECTED_EFA": "4", "EXPECTED_RANKS": "16"},
        ),
        ({"instance_types": "p5.48xlarge", "efa": True}, 1, {"EXPECTED_EFA": "32", "EXPECTED_RANKS": "8"}),
        ({"instance_types": "g6.xlarge"}, 1, {"EXPECTED_GPUS": "1", "EXPECTED_EFA": None, "EXPECTED_RANKS": None}),
        (
            {"instance_types": "trn1.32xlarge", "efa": True},
            2,
            {"EXPECTED_NEURON_DEVICES": "16", "EXPECTED_EFA": "8", "EXPECTED_RANKS": "64", "EXPECTED_GPUS": None},
        ),
        ({"instance_types": "inf2.48xlarge"}, 1, {"EXPECTED_NEURON_DEVICES": "12", "EXPECTED_RANKS": "24"}),
        ({"instance_types": "inf1.6xlarge"}, 1, {"EXPECTED_NEURON_DEVICES": "4", "EXPECTED_RANKS": None}),
        (
            {"instance_types": "g6.xlarge", "gpu_sharing": {"time_slicing": {"replicas": 4, "rename": True}}},
            1,
            {"EXPECTED_GPUS": "1", "EXPECTED_GPU_LINES": GPU_LINES, "EXPECTED_RANKS": None},
        ),
        (
            {
                "instance_types": "p4d.24xlarge",
                "gpu_sharing": {"mig_profile": "1g.5gb"},
                "ami": {"family": "bottlerocket"},
            },
            1,
            {"EXPECTED_GPUS": "1", "EXPECTED_GPU_LINES": "^ +MIG "},
        ),
    ],
)
def test_expectations_follow_from_the_hardware(
    fields: dict[str, Any], nodes: int, expected: dict[str, str | None]
) -> None:
    of = strategy(group(fields["instance_types"], **{k: v for k, v in fields.items() if k != "instance_types"}))
    request = Request(kind="smoke-test", group="gpu", nodes=nodes)
    (*_, job) = manifest(of, resolve(of), request).objects
    (container,) = job["spec"]["template"]["spec"]["containers"]
    environment = {each["name"]: each.get("value") for each in container["env"]}
    assert {name: environment.get(name) for name in expected} == expected


def test_checks_can_be_chosen() -> None:
    request = Request(kind="smoke-test", group="gpu", checks=("efa", "nvidia-smi"))
    (job,) = manifest(P4D, resolve(P4D), request).objects
    (container,) = job["spec"]["template"]["spec"]["containers"]
    (text,) = container["args"]
    assert text.index("nvidia-smi -L") < text.index("fi_info")
    assert "torchrun" not in text
    assert "pytorch" in container["image"]
    assert job["spec"]["backoffLimit"] == 0
    assert job["spec"]["activeDeadlineSeconds"] <= 3600
