"""Smoke tests: what each one checks, where it applies, and its script.

One pod per node runs all checks in turn, so each node is used only once. Expected values are in the environment, not in
the script, so the script can be read and run manually.
"""

from __future__ import annotations

from importlib.resources import files

from eks_hardware.catalogue import Hardware
from eks_hardware.workloads.request import CHECKS, Check, Request, WorkloadError
from eks_hardware.workloads.sizing import Size
from eks_hardware.workloads.target import Target

_SCRIPTS = files("eks_hardware.workloads").joinpath("scripts")
# Programs that replace a line of a script, such as @all_reduce.py.in@.
_PROGRAMS = ("all_reduce.py.in", "neuron_all_reduce.py.in")

# As `nvidia-smi -L` lists them.
_GPU_LINES = "^GPU [0-9]+:"
_MIG_LINES = "^ +MIG "


def chosen(target: Target, size: Size, request: Request) -> tuple[Check, ...]:
    """Return the checks of a smoke test, in order: the requested ones, or all that apply.

    Raises:
        WorkloadError: WORKLOAD_CHECK.
    """
    reasons = {check: _why_not(check, target, size, request.nodes) for check in CHECKS}
    for check in request.checks:
        if reason := reasons[check]:
            raise WorkloadError("WORKLOAD_CHECK", "--check", f"{check} does not apply to {target.called}: {reason}")
    wanted = request.checks or CHECKS
    checks: list[Check] = [check for check in CHECKS if check in wanted and not reasons[check]]
    if not checks:
        raise WorkloadError(
            "WORKLOAD_CHECK", "--kind", f"{target.called} has neither accelerators nor EFA to test; use --kind job"
        )
    return tuple(checks)


def _why_not(check: Check, target: Target, size: Size, nodes: int) -> str | None:
    """Return why a check cannot run; None if it can."""
    nvidia, neuron = target.hardware is Hardware.NVIDIA_GPU, target.hardware.is_neuron
    if check in ("nvidia-smi", "nccl") and not nvidia:
        return "it has no NVIDIA GPUs"
    if check in ("neuron-ls", "neuron-collective") and not neuron:
        return "it has no Neuron devices"
    if check == "efa" and not target.node.efa_count:
        return "it has no EFA; set efa: true"
    if check == "efa" and not size.efa:
        return "a pod with so few accelerators gets no EFA interface; omit --accelerators"
    if check == "nccl" and target.node.gpu_shares:
        return "NCCL does not run on shares and slices of GPUs"
    if check in ("nccl", "neuron-collective") and size.ranks * nodes < 2:
        return "an all-reduce needs at least two processes; add --nodes 2"
    if check == "neuron-collective" and any(
        kind.accelerator and kind.accelerator.name == "Inferentia" for kind in target.kinds
    ):
        return "nccom-test does not support first-generation Inferentia"
    return None


def script(checks: tuple[Check, ...], *, nodes: int) -> str:
    """Return the bash script of some checks."""
    # nccom-test reaches other nodes only by ssh.
    own = {"neuron-collective": "neuron-collective-node" if nodes == 1 else "neuron-collective-nodes"}
    text = "\n".join(_read(f"{own.get(part, part)}.sh") for part in ("start", *checks))
    for program in _PROGRAMS:
        marker = f"@{program}@\n"
        if marker in text:
            text = text.replace(marker, _read(program))
    return f"{text}echo PASS\n"


def environment(target: Target, size: Size, checks: tuple[Check, ...], *, nodes: int) -> dict[str, str]:
    """Return the values that the script expects, by their variables."""
    variables: dict[str, str] = {}
    shares = target.node.gpu_shares
    if "nvidia-smi" in checks:
        variables["EXPECTED_GPUS"] = str(size.devices)
        variables["EXPECTED_GPU_LINES"] = _MIG_LINES if shares and shares.mig_profile else _GPU_LINES
    if "neuron-ls" in checks:
        variables["EXPECTED_NEURON_DEVICES"] = str(size.devices)
    if "efa" in checks or "nccl" in checks:
        variables["EXPECTED_EFA"] = str(size.efa)
    if "nccl" in checks or "neuron-collective" in checks:
        variables["EXPECTED_RANKS"] = str(size.ranks * nodes)
    return variables


def _read(name: str) -> str:
    return _SCRIPTS.joinpath(name).read_text("utf-8")
