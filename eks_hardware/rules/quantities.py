"""Rules about amounts of memory and CPU, also in settings of add-ons, charts and nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from eks_hardware import field_paths
from eks_hardware.models import NodePoolSpec
from eks_hardware.rules.registry import Breach, Context, error, node_path
from eks_hardware.units import MIB, amount, amount_or_none

_BYTES = ("memory", "storage")
_BINARY = ("Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
# With one of these units, a small amount is intentional: 512Ki of memory is little, but not a mistake.
_MEANT = (*_BINARY, "M", "G", "T", "P", "E")
# Names of amounts in settings that are passed on: requests, limits, reservations and eviction thresholds.
_SIGNALS = ("memory.available", "nodefs.available", "imagefs.available")
_LOGS = ("containerLogMaxSize", "container-log-max-size")
_RESOURCES = frozenset(["cpu", "memory", "ephemeral-storage", "storage", "pid", *_SIGNALS, *_LOGS])


class _Amount(NamedTuple):
    path: str
    name: str
    value: str | int
    of_container: bool = False
    """Whether one container requests it, so one node must have it."""

    @property
    def resource(self) -> str:
        if self.name in (*_SIGNALS[1:], *_LOGS, "size"):
            return "disk"
        return self.name.removesuffix(".available").rpartition(".")[2]


@error("QUANTITY_UNIT")
def _unit(context: Context) -> Iterator[Breach]:
    for each in _amounts(context):
        number, text = amount_or_none(each.value), str(each.value)
        if each.resource == "cpu":
            if text.endswith(_BINARY):
                fault = f"cpu must be a number of cores or thousandths of a core, got {text}; write 4 or 500m"
                yield each.path, fault
            elif each.of_container and number is not None and number > (most := context.catalogue.most_vcpus):
                fault = f"{text} is a number of cores, and no instance type has more than {most}"
                yield each.path, f"{fault}; write {text}m for thousandths of a core"
        elif each.resource == "pid" and not text.isdigit():
            yield each.path, f"pid must be a number of processes, got {text}; write 1000, for example"
        elif each.resource.endswith((*_BYTES, "disk")) and _is_too_little(number, text):
            yield each.path, _bytes(text, each.resource)


def _is_too_little(number: Fraction | None, text: str) -> bool:
    return number is not None and 0 < number < MIB and not text.endswith(_MEANT)


def _bytes(text: str, resource: str) -> str:
    plain = text.rstrip("mk")
    if text.endswith("m"):
        return f"{text} of {resource} is {plain} thousandths of a byte; write {plain}Mi for mebibytes"
    unit = "kilobytes" if text.endswith("k") else "bytes"
    gigabytes = resource != "memory" or float(plain) <= _FEW
    meant = f"{plain}Gi for gibibytes" if gigabytes else f"{plain}Mi for mebibytes"
    return f"must be at least one mebibyte, got {text}, which is {plain} {unit} of {resource}; write {meant}"


# Up to this number, gibibytes of memory are meant rather than mebibytes.
_FEW = 32


def _amounts(context: Context) -> Iterator[_Amount]:
    """Yield every amount, those of nodes first: constructs check a group or pools without the other sections."""
    for node in context.nodes:
        for name, reserved in (("system", node.kubelet.system_reserved), ("kube", node.kubelet.kube_reserved)):
            yield from _each(node_path(node, f"kubelet.{name}_reserved"), reserved)
        if isinstance(node, NodePoolSpec):
            yield from _each(node_path(node, "limits"), node.limits)
        yield from _named(node_path(node, "user_data"), node.user_data)
    strategy = context.strategy
    for name, addon in strategy.cluster.addons.items():
        yield from _named(field_paths.below("cluster.addons", name, "configuration"), addon.configuration)
    for team in strategy.kubernetes.teams:
        path = field_paths.item("kubernetes.teams", team.name)
        yield from _each(f"{path}.quota", team.quota)
        yield from _each(f"{path}.container_defaults.requests", team.container_defaults.requests, of_container=True)
        yield from _each(f"{path}.container_defaults.limits", team.container_defaults.limits, of_container=True)
    for chart_name, chart in strategy.kubernetes.charts.items():
        yield from _named(field_paths.below("kubernetes.charts", chart_name, "values"), chart.values)


def _each(path: str, amounts: Mapping[Any, str | int], *, of_container: bool = False) -> Iterator[_Amount]:
    for name, given in amounts.items():
        yield _Amount(field_paths.below(path, name), str(name), given, of_container)


def _named(path: str, value: object, above: str = "") -> Iterator[_Amount]:
    if isinstance(value, Mapping):
        for name, each in value.items():
            where = field_paths.below(path, str(name))
            # The volume of a chart: persistence: {size: 10Gi}.
            known = name in _RESOURCES or (name == "size" and above == "persistence")
            if known and isinstance(each, str | int) and not isinstance(each, bool):
                yield _Amount(where, str(name), each, above in ("requests", "limits"))
            else:
                yield from _named(where, each, str(name))
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for where, each in field_paths.items(path, value):
            yield from _named(where, each)


def whole_number(given: str | int) -> str:
    """Return the message for an amount of things that can only be counted.

    >>> whole_number("16Gi")
    'must be a whole number, got 16Gi; write 16, for example'
    """
    # A suffix for bytes is hardly meant as a multiplier.
    meant = str(given).rstrip("kKMGTPEi") if str(given)[-1:] != "m" else str(given)
    return f"must be a whole number, got {given}; write {max(1, round(amount(meant)))}, for example"
