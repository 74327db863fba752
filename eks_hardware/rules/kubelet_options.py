"""Kubelet settings whose values are text: options of the kubelet's managers, cipher suites, and ID ranges."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from eks_hardware import facts
from eks_hardware.printable import quoted
from eks_hardware.rules.kubelet import STOPS, Kubelet
from eks_hardware.rules.registry import Breach
from eks_hardware.rules.value_kinds import BOOLEANS, is_whole
from eks_hardware.suggestions import close, question

_CPU = "cpuManagerPolicyOptions"
_TOPOLOGY = "topologyManagerPolicyOptions"


def option_values(kubelet: Kubelet) -> Iterator[Breach]:
    """Yield options of the CPU manager and the topology manager that have a wrong value, or that exclude each other.

    The check of kinds reports values that are not text.
    """
    cpu, topology = facts.kubelet()["cpu_manager_options"], facts.kubelet()["topology_manager_options"]
    for name, options in ((_CPU, [*cpu["by_option"]]), (_TOPOLOGY, topology["names"])):
        for option, value in kubelet.map(name).items():
            if option not in options or not isinstance(value, str):
                continue
            least = topology["least"].get(option)
            if least is None and value not in BOOLEANS:
                yield kubelet.below(name, option), f'must be "true" or "false", got {quoted(value)}, so {STOPS}'
            if least is not None and not (value.isascii() and value.isdigit() and int(value) >= least):
                yield (
                    kubelet.below(name, option),
                    f"must be a whole number in quotes of at least {least}, got {quoted(value)}, so {STOPS}",
                )
    on = {option for option, value in kubelet.map(_CPU).items() if BOOLEANS.get(str(value))}
    for one, other in cpu["exclusive"]:
        if {one, other} <= on:
            yield kubelet.below(_CPU, one), f"{one} and {other} exclude each other, so {STOPS}; remove one"


def cipher_suites(kubelet: Kubelet) -> Iterator[Breach]:
    """Yield cipher suites that the kubelet does not know."""
    known = facts.kubelet()["cipher_suites"]["names"]
    suites = kubelet.given("tlsCipherSuites")
    for suite in suites if isinstance(suites, list | tuple) else ():
        if isinstance(suite, str) and suite not in known:
            similar = close(suite, known)
            hint = question(similar) if similar else f"use names such as {known[0]}"
            yield (
                kubelet.path("tlsCipherSuites"),
                f"the kubelet has no cipher suite {quoted(suite)}, so {STOPS}; {hint}",
            )


def id_ranges(kubelet: Kubelet) -> Iterator[Breach]:
    """Yield an ``idsPerPod`` that is not a multiple of the smallest range."""
    unit = facts.kubelet()["user_namespaces"]["unit"]
    ids: Any = kubelet.map("userNamespaces").get("idsPerPod")
    if is_whole(ids) and (ids < unit or ids % unit):
        yield kubelet.below("userNamespaces", "idsPerPod"), f"must be a multiple of {unit}, got {ids}, so {STOPS}"
