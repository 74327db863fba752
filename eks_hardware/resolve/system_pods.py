"""Resource requests of the cluster's own pods.

They are recorded in ``config/facts/system_pods.json``. Values of charts and add-ons override them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from eks_hardware import facts, field_paths
from eks_hardware.catalogue import InstanceType
from eks_hardware.units import MIB, amount_or_none

if TYPE_CHECKING:
    from eks_hardware.facts.schemas.kubelet import SystemPods


class Requests(NamedTuple):
    """The CPUs and the bytes of memory that one pod requests."""

    cpu: Fraction
    memory: Fraction


def requests(values: Mapping[str, object], row: SystemPods | None = None) -> Requests:
    """Return the requests of one pod: the recorded amounts, or those that the values set.

    Args:
        values: the values of its Deployment or DaemonSet.
        row: the recorded requests; None if there are none.
    """
    if row is None:
        return _of_container(values, 0, 0)
    one, containers = _of_container(values, row["millicores"], row["mib"]), row.get("containers", 1)
    sidecars = _recorded(row.get("sidecar_millicores", 0), row.get("sidecar_mib", 0))
    return Requests(containers * one.cpu + sidecars.cpu, containers * one.memory + sidecars.memory)


def daemonset_pods(
    configurations: Mapping[str, Mapping[str, object]], kind: InstanceType
) -> Iterator[tuple[str, Requests]]:
    """Yield the name and requests of each DaemonSet that add-ons run on nodes of an instance type.

    Args:
        configurations: the configuration of each enabled add-on.
        kind: the instance type.
    """
    for name, row in facts.system_pods()["daemonsets"].items():
        hardware, architecture = row.get("hardware"), row.get("architecture")
        on_type = hardware is None or kind.hardware.value in hardware
        if row["addon"] in configurations and on_type and architecture in (None, kind.architecture):
            values = values_if_on(configurations[row["addon"]], row.get("values", ""))
            if values is not None:
                yield name, requests(values, row)


def replicas(values: Mapping[str, object], default: int) -> int:
    """Return the number of replicas that values set; for an autoscaled Deployment, the minimum.

    Args:
        values: the values of its Deployment.
        default: the number if the values do not set it.
    """
    given = values.get("replicaCount", values.get("replicas"))
    scaling = values.get("autoScaling")
    if isinstance(scaling, Mapping) and scaling.get("enabled") is True:
        given = scaling.get("minReplicas")
    return given if isinstance(given, int) and not isinstance(given, bool) and given >= 0 else default


def values_if_on(values: Mapping[str, object], path: str) -> Mapping[str, object] | None:
    """Return the values at a dotted path; None if a step of it has ``enabled: false`` or ``create: false``.

    >>> values_if_on({"containerLogs": {"fluentBit": {"priority": 1}}}, "containerLogs.fluentBit")
    {'priority': 1}
    """
    for key in field_paths.split(path):
        below = values.get(key)
        values = below if isinstance(below, Mapping) else {}
        if values.get("enabled") is False or values.get("create") is False:
            return None
    return values


def _of_container(values: Mapping[str, object], millicores: int, mib: int) -> Requests:
    # Some charts nest the container one level deeper.
    manager = values.get("manager")
    resources = values.get("resources") or (manager.get("resources") if isinstance(manager, Mapping) else None)
    given = resources.get("requests") if isinstance(resources, Mapping) else None
    recorded = _recorded(millicores, mib)
    if not isinstance(given, Mapping):
        return recorded
    cpu, memory = (amount_or_none(given.get(name)) for name in ("cpu", "memory"))
    return Requests(recorded.cpu if cpu is None else cpu, recorded.memory if memory is None else memory)


@cache
def _recorded(millicores: int, mib: int) -> Requests:
    return Requests(Fraction(millicores, 1000), Fraction(mib * MIB))
