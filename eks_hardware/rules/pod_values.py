"""Pod values in add-ons and charts that the API server refuses: tolerations, affinities and spread constraints.

The rules of ``addon_values.py`` report them, with the outcome for an add-on or a chart.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from eks_hardware import facts
from eks_hardware.models.text_patterns import LABEL_KEY, LABEL_VALUE
from eks_hardware.printable import quoted
from eks_hardware.rules.unknown_keys import unknown_below
from eks_hardware.rules.value_kinds import names_only
from eks_hardware.suggestions import misspelt, question

Fault = tuple[tuple[str, ...], str]
# Names whose values are text for other programs, or labels and annotations.
FREE = frozenset(
    [
        "config",
        "grafana.ini",
        "configMap",
        "labels",
        "podLabels",
        "annotations",
        "podAnnotations",
        "nodeSelector",
        "env",
    ]
)


_TEMPLATE = "{{"  # a chart may replace such text
TERMS = ("nodeSelectorTerms", "preferredDuringSchedulingIgnoredDuringExecution")


def pod_faults(values: Mapping[str, object], above: tuple[str, ...] = ()) -> Iterator[Fault]:
    """Yield the path and the fault of each pod value that has the right kind but is still refused."""
    for name, value in values.items():
        path = (*above, str(name))
        if name in _CHECKS and isinstance(value, list | tuple):
            for index, each in enumerate(value):
                for keys, fault in _item(name, each) if isinstance(each, Mapping) else ():
                    yield (*path, str(index), *keys), fault
        elif name in TERMS and isinstance(value, list | tuple):
            for index, each in enumerate(value):
                yield from pod_faults(each, (*path, str(index))) if isinstance(each, Mapping) else ()
        elif name in ("nodeSelector", "podLabels") and isinstance(value, Mapping):
            yield from (((*path, key), fault) for key, fault in _labels(value))
        elif name == "service" and isinstance(value, Mapping):
            yield from (((*path, "nodePort"), fault) for fault in _node_port(value))
            yield from pod_faults(value, path)
        elif isinstance(value, Mapping) and name not in FREE:
            if name == "affinity":
                parts: Any = facts.value_kinds()["by_name"]["kinds"]["affinity"]
                known = {part: dict.fromkeys(terms, "*") for part, terms in parts.items()}
                yield from (((*path, *keys), fault) for keys, fault in _unknown(value, known, "an affinity"))
            yield from pod_faults(value, path)


def _item(name: str, item: Mapping[str, Any]) -> Iterator[Fault]:
    """Yield the unknown names in a list item, and the faults that the check of its kind finds."""
    kind, check = _CHECKS[name]
    objects = facts.value_kinds()["objects"]
    yield from _unknown(item, objects["kinds"][kind], f"a {_WORDS[kind]}")
    yield from check(item)


def _unknown(value: Mapping[str, Any], kinds: Any, what: str) -> Iterator[Fault]:
    for found in unknown_below(value, names_only(kinds)):
        meant = misspelt(found.path[-1], found.close)
        hint = (
            question([meant])
            if meant
            else f"its fields are {', '.join(kinds)}"
            if len(found.path) == 1
            else "remove it"
        )
        yield found.path, f"{what} has no {quoted(found.path[-1])}; {hint}"


def _toleration(item: Mapping[str, Any]) -> Iterator[Fault]:
    operator = item.get("operator") or "Equal"
    if not item.get("key") and operator != "Exists":
        yield (), f"a toleration without 'key' must have operator Exists, got {operator}; add the key, or set Exists"
    if operator == "Exists" and item.get("value"):
        yield ("value",), f"must be empty with operator Exists, got {quoted(str(item['value']))}; remove it"
    if item.get("tolerationSeconds") is not None and item.get("effect") != "NoExecute":
        yield (
            ("tolerationSeconds",),
            "only a toleration with effect NoExecute can have tolerationSeconds; set that effect, or remove this",
        )


def _spread(item: Mapping[str, Any]) -> Iterator[Fault]:
    if item.get("minDomains") is not None and item.get("whenUnsatisfiable") == "ScheduleAnyway":
        yield ("minDomains",), "must be left out with whenUnsatisfiable ScheduleAnyway; remove it, or set DoNotSchedule"


def _requirement(item: Mapping[str, Any]) -> Iterator[Fault]:
    operator, values = item.get("operator"), item.get("values")
    given = list(values) if isinstance(values, list | tuple) else []
    if operator in ("In", "NotIn") and not values:
        yield (), f"the operator {operator} must have at least one value in 'values'; add one"
    elif operator in ("Exists", "DoesNotExist") and given:
        yield ("values",), f"must be left out with operator {operator}; remove it, or use In"
    elif operator in ("Gt", "Lt") and not (len(given) == 1 and str(given[0]).lstrip("-").isdigit()):
        yield ("values",), f"the operator {operator} must have one whole number, in quotes, in 'values'; write one"


def _node_port(service: Mapping[str, object]) -> Iterator[str]:
    """Yield the fault of a service's node port, which charts use with the type NodePort only; 0 means any."""
    bounds, port = facts.value_kinds()["node_ports"], service.get("nodePort")
    number = int(port) if isinstance(port, str) and re.fullmatch("[0-9]{1,9}", port) else port
    if service.get("type") != "NodePort" or not isinstance(number, int) or isinstance(number, bool) or number == 0:
        return
    if not bounds["from"] <= number <= bounds["to"]:
        yield f"must be a node port from {bounds['from']} to {bounds['to']}, got {port}; choose one, or remove it"


def _labels(labels: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    for key, value in labels.items():
        if _TEMPLATE in f"{key}{value}":
            continue
        if not re.fullmatch(LABEL_KEY, str(key)):
            yield str(key), f"must be a label name such as example.com/team, got {quoted(str(key))}"
        elif isinstance(value, str) and not re.fullmatch(LABEL_VALUE, value):
            yield (
                str(key),
                "must be a label value (at most 63 letters, digits, dots, hyphens and underscores), got "
                f"{quoted(value)}",
            )


_CHECKS: Mapping[str, tuple[str, Callable[[Mapping[str, Any]], Iterator[Fault]]]] = {
    "tolerations": ("toleration", _toleration),
    "topologySpreadConstraints": ("spread", _spread),
    "matchExpressions": ("requirement", _requirement),
}
_WORDS = {"toleration": "toleration", "spread": "topology spread constraint", "requirement": "match expression"}
