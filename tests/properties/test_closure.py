"""Every node has exactly one plugin for each device, whatever hardware, taints and images a strategy combines."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from eks_hardware.catalogue import load
from eks_hardware.findings import Severity
from eks_hardware.kubernetes import Bundle, bundle
from eks_hardware.kubernetes.nodes import Node, has_efa, is_neuron, is_nvidia, label_selector, nodes, taint_object
from eks_hardware.models import Strategy
from eks_hardware.resolve import ResolvedStrategy, resolve
from eks_hardware.rules import check
from helpers.cases import in_one_test
from helpers.kubernetes.placement import DAEMONSET_TOLERATIONS, matches, tolerates
from helpers.kubernetes.workloads import Workload, workloads
from helpers.paths import SHIPPED, SPECIAL
from helpers.strategies import SYSTEM, TODAY, document, group, resolved_of

FILES = sorted([*SHIPPED.glob("*.yaml"), *SPECIAL.glob("*.yaml")])

TAINTS: dict[str, dict[str, Any]] = {
    "default": {},
    "none": {"accelerator_taint": False},
    "own": {"taints": [{"key": "team", "value": "a"}, {"key": "maintenance", "effect": "NO_EXECUTE"}]},
    "value": {"taints": [{"key": "nvidia.com/gpu", "value": "present"}, {"key": "soft", "effect": "PreferNoSchedule"}]},
}

# Type, and limits of a pool with it.
HARDWARE = {
    "nvidia": ("g5.8xlarge", {"nvidia.com/gpu": 4}),
    "trainium": ("trn1.32xlarge", {"aws.amazon.com/neuron": 16}),
    "inferentia": ("inf2.xlarge", {"aws.amazon.com/neuron": 4}),
    "cpu": ("c6i.32xlarge", {"cpu": 128}),
}


# Daemonsets that register a device with the kubelet.
PLUGINS = {
    "nvidia-device-plugin": "nvidia.com/gpu",
    "nvidia-device-plugin-daemonset": "nvidia.com/gpu",
    "neuron-device-plugin": "aws.amazon.com/neuron",
    "aws-efa-k8s-device-plugin": "vpc.amazonaws.com/efa",
}
DISCOVERY = "gpu-operator-node-feature-discovery-worker"

# Other daemonsets, and the nodes that need them.
MONITORED: dict[str, Callable[[Node], bool]] = {
    "dcgm-exporter": is_nvidia,
    "neuron-monitor": is_neuron,
    "efa-metrics": has_efa,
    "kube-prometheus-stack-prometheus-node-exporter": lambda _: True,
}


def wanted(node: Node) -> dict[str, int]:
    """Return the number of plugins that must run on a node, by device."""
    return {
        "nvidia.com/gpu": int(is_nvidia(node) and node.ami_family == "al2023"),
        "aws.amazon.com/neuron": int(is_neuron(node)),
        "vpc.amazonaws.com/efa": int(has_efa(node)),
    }


def tolerated(workload: Workload, node: Node) -> bool:
    return tolerates(map(taint_object, node.taints), [*workload.tolerations, *DAEMONSET_TOLERATIONS])


def assert_closed(resolved: ResolvedStrategy, installed: Bundle) -> None:
    running = [each for each in workloads(installed) if each.kind == "DaemonSet"]
    assert {each.name for each in running} <= {*PLUGINS, *MONITORED, DISCOVERY}
    assert nodes(resolved)
    for node in nodes(resolved):
        for instance_type in node.instance_types:
            labels = labels_on_node(node, instance_type, running)
            selected = [each for each in running if matches(labels, each.node_selector, each.affinity)]
            here = {each.name for each in selected if tolerated(each, node)}
            place = (node.name, instance_type, sorted(here))
            counted = {device: sum(PLUGINS.get(name) == device for name in here) for device in wanted(node)}
            assert wanted(node) == counted, place
            # Discovery has no selector; it must run on the nodes that depend on it, which the plugin's count shows.
            assert {each.name for each in selected} - here <= {DISCOVERY}, place
            for name in {each.name for each in running} & MONITORED.keys():
                assert MONITORED[name](node) == (name in here), place


def labels_on_node(node: Node, instance_type: str, running: list[Workload]) -> dict[str, str]:
    """Return a node's labels: the strategy's, the kubelet's, and Node Feature Discovery's if it runs there."""
    kind = load().get(instance_type)
    discovered = any(each.name == DISCOVERY and tolerated(each, node) for each in running) and is_nvidia(node)
    return {
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": {"x86_64": "amd64", "arm64": "arm64"}[kind.architecture],
        "node.kubernetes.io/instance-type": kind.name,
        **({"feature.node.kubernetes.io/pci-10de.present": "true"} if discovered else {}),
        **node.labels,
    }


@in_one_test("file", FILES, ids=lambda file: str(file.stem))
def test_of_every_strategy(file: Any) -> None:
    # trap: awslabs/data-on-eks#478
    resolved = resolved_of(file)
    assert_closed(resolved, bundle(resolved))


def resolved_without_errors(document: dict[str, Any]) -> ResolvedStrategy:
    given = Strategy.model_validate(document)
    assert [each for each in check(given, today=TODAY) if each.severity is Severity.ERROR] == []
    return resolve(given)


def mixed_document(hardware: tuple[str, ...], taints: str, *, efa: bool, operator: bool) -> dict[str, Any]:
    """Return groups and pools with several kinds of hardware, each on both operating systems."""
    groups, pools = [], []
    for kind, family in itertools.product(hardware, ("al2023", "bottlerocket")):
        instance_type, limits = HARDWARE[kind]
        fields = {**TAINTS[taints], "efa": efa and load().get(instance_type).supports_efa}
        ami = {"ami": {"family": family}}
        groups.append(group(instance_type, f"{kind}-{family}", **fields, **ami))
        pools.append(
            {"name": f"{kind}-{family}-pool", "instance_types": [instance_type], "limits": limits, **fields, **ami}
        )
    return document(
        *groups,
        karpenter={"node_pools": pools},
        kubernetes={"prometheus": True, "dcgm_exporter": True, "neuron_monitor": True, "gpu_operator": operator},
    )


@cache
def combinations() -> list[tuple[tuple[str, ...], str, bool, bool]]:
    chosen = [*((kind,) for kind in HARDWARE), tuple(HARDWARE)]
    return list(itertools.product(chosen, TAINTS, (False, True), (False, True)))


@in_one_test(("hardware", "taints", "efa", "operator"), combinations())
def test_of_every_combination(hardware: tuple[str, ...], taints: str, efa: bool, operator: bool) -> None:
    # trap: eksctl-io/eksctl#5277
    resolved = resolved_without_errors(mixed_document(hardware, taints, efa=efa, operator=operator))
    assert_closed(resolved, bundle(resolved))


@pytest.mark.parametrize("operator", [False, True])
def test_the_check_finds_what_is_missing_or_there_twice(operator: bool) -> None:
    # trap: NVIDIA/gpu-operator#1492
    resolved = resolved_without_errors(mixed_document(("nvidia",), "own", efa=True, operator=operator))
    installed = bundle(resolved)
    assert_closed(resolved, installed)
    plugins = [each for each in installed.charts if each.key in ("nvidia-device-plugin", "gpu-operator")]
    assert len(plugins) == 1
    without = Bundle(tuple(each for each in installed.releases if each not in plugins))
    other = bundle(resolved_without_errors(mixed_document(("nvidia",), "own", efa=True, operator=not operator)))
    untolerated = bundle(resolved_without_errors(mixed_document(("nvidia",), "default", efa=True, operator=operator)))
    everywhere = replace(
        plugins[0], values={**plugins[0].values, "affinity": label_selector({"kubernetes.io/os": "linux"})}
    )
    for wrong in (
        without,
        Bundle((*installed.releases, *other.charts)),
        untolerated,
        *([] if operator else [Bundle((*without.releases, everywhere))]),
    ):
        with pytest.raises(AssertionError):
            assert_closed(resolved, wrong)


@pytest.mark.parametrize("operator", [False, True])
def test_every_accelerated_type_of_the_catalogue(operator: bool) -> None:
    """A separate pool for each type, if the rules allow it."""
    # trap: aws/aws-cdk#29131
    seen = 0
    for kind in load().select(region="us-west-2"):
        if kind.accelerator is None:
            continue
        fields = {"efa": bool(kind.efa_interfaces)}
        given = Strategy.model_validate(
            {
                **document(),
                "node_groups": [SYSTEM, group(kind.name, **fields)],
                "kubernetes": {"gpu_operator": operator},
            }
        )
        if any(each.severity is Severity.ERROR for each in check(given, today=TODAY)):
            continue
        resolved = resolve(given)
        assert_closed(resolved, bundle(resolved))
        seen += 1
    assert seen > 40
