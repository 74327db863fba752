"""Pods of every kind run on the right nodes and no others, on the stack of each shipped strategy.

The simulation is :mod:`helpers.kubernetes.scheduling`. Tests at the end break one thing at a time, so that a check that
cannot fail is detected.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache, partial
from typing import Any

import pytest
import yaml

from eks_hardware.catalogue import Hardware, load
from eks_hardware.kubernetes import Bundle, ChartRelease, ObjectRelease, bundle
from eks_hardware.local.chart_workloads import CRITICAL
from eks_hardware.resolve import ResolvedStrategy, resolve
from eks_hardware.testing import Template
from helpers.kubernetes.kubernetes_schema import check_objects
from helpers.kubernetes.scheduling import (
    EFA,
    GPU,
    HUGE_PAGES,
    MIG_GPU,
    NEURON,
    NEURON_CORE,
    SHARED_GPU,
    Node,
    admitted,
    fits,
    gang_homes,
    homes,
    lands,
    nodes,
    pool_nodes,
    quantity,
)
from helpers.kubernetes.workloads import workloads
from helpers.paths import ROOT, SPECIAL
from helpers.strategies import FOLDER, SHIPPED, resolved_of, shipped

Templates = Mapping[str, Template]
Pod = dict[str, Any]
Releases = tuple[ChartRelease | ObjectRelease, ...]

EXTENSION = "my-scheduler"
GPU_TAINT = {"key": GPU, "operator": "Exists", "effect": "NoSchedule"}
NEURON_TAINT = {"key": NEURON, "operator": "Exists", "effect": "NoSchedule"}


def pod(
    resources: Mapping[str, str | int],
    *tolerations: Mapping[str, str],
    scheduler: str | None = None,
) -> Pod:
    """Return a pod with one container."""
    spec: dict[str, Any] = {
        "containers": [{"name": "work", "resources": {"limits": dict(resources)}}],
        "tolerations": list(tolerations),
    }
    return {"spec": {**spec, "schedulerName": scheduler} if scheduler else spec}


def with_selector(labels: Mapping[str, str], of: Pod) -> Pod:
    """Return the pod with a node selector."""
    return {"spec": {**of["spec"], "nodeSelector": dict(labels)}}


CPU = pod({"cpu": 1, "memory": "1Gi"})
ONE_GPU = pod({GPU: 1}, GPU_TAINT)
ONE_NEURON = pod({NEURON: 1}, NEURON_TAINT)
P4D_WORKER = pod({GPU: 8, EFA: 4, HUGE_PAGES: "5120Mi", "memory": "64Gi"}, GPU_TAINT)
P5_WORKER = pod({GPU: 8, EFA: 32, HUGE_PAGES: "5120Mi", "memory": "64Gi"}, GPU_TAINT)
TRN1_WORKER = pod({NEURON: 16, EFA: 8, HUGE_PAGES: "5120Mi", "memory": "64Gi"}, NEURON_TAINT)
# Requests of the EKS add-on: https://github.com/coredns/helm/blob/master/charts/coredns/values.yaml
COREDNS = pod(
    {"cpu": "100m", "memory": "170Mi"},
    CRITICAL,
    {"key": "node-role.kubernetes.io/control-plane", "operator": "Exists", "effect": "NoSchedule"},
)

NOWHERE: dict[str, set[str]] = {}
CPU_NODES = {
    "cpu-inference": {"system", "intel-amx", "graviton-spot", "graviton"},
    "development": {"system"},
    "gpu-inference": {"system"},
    "gpu-training": {"system", "preprocessing"},
    "inferentia-inference": {"system"},
    "mixed-hardware": {"system", "cpu-inference"},
    "trainium-training": {"system", "compile"},
}

# Requests of a pod -> by strategy, the groups and pools where it can run; nowhere in strategies that are not listed.
PLACES: dict[str, tuple[Pod, dict[str, set[str]]]] = {
    "CPU": (
        CPU,
        CPU_NODES,
    ),
    "12 CPUs": (
        pod({"cpu": 12}),
        {
            "cpu-inference": {"intel-amx", "graviton-spot", "graviton"},
            "gpu-training": {"preprocessing"},
            "mixed-hardware": {"cpu-inference"},
            "trainium-training": {"compile"},
        },
    ),
    "a CPU more than any node has": (pod({"cpu": 256}, GPU_TAINT, NEURON_TAINT), NOWHERE),
    "an image for arm64": (
        with_selector({"kubernetes.io/arch": "arm64"}, CPU),
        {"cpu-inference": {"system", "graviton-spot", "graviton"}},
    ),
    "an image for amd64": (
        with_selector({"kubernetes.io/arch": "amd64", "workload-type": "inference"}, CPU),
        {"cpu-inference": {"intel-amx"}, "mixed-hardware": {"cpu-inference"}},
    ),
    "a GPU": (
        ONE_GPU,
        {
            "development": {"t4"},
            "gpu-inference": {"g6", "g5-spot", "g6e", "l40s"},
            "gpu-training": {"h100"},
            "mixed-hardware": {"gpu-training", "gpu-inference"},
        },
    ),
    "a GPU, without toleration": (pod({GPU: 1}), NOWHERE),
    "a GPU, as EKS admits it": (
        admitted(pod({GPU: 1})),
        {
            "development": {"t4"},
            "gpu-inference": {"g6", "g5-spot", "g6e", "l40s"},
            "gpu-training": {"h100"},
            "mixed-hardware": {"gpu-training", "gpu-inference"},
        },
    ),
    "a GPU, tolerating the wrong taint": (pod({GPU: 1}, NEURON_TAINT), NOWHERE),
    "a toleration for GPUs, but no GPU": (
        pod({"cpu": 1}, {"key": GPU, "operator": "Equal", "value": "false", "effect": "NoSchedule"}),
        CPU_NODES,
    ),
    "4 GPUs": (
        pod({GPU: 4}, GPU_TAINT),
        {
            "gpu-inference": {"g6e", "l40s"},
            "gpu-training": {"h100"},
            "mixed-hardware": {"gpu-training", "gpu-inference"},
        },
    ),
    "8 GPUs": (
        pod({GPU: 8}, GPU_TAINT),
        {
            "gpu-inference": {"l40s"},
            "gpu-training": {"h100"},
            "mixed-hardware": {"gpu-training", "gpu-inference"},
        },
    ),
    # Several shares of one T4 are not more compute than one share: the plugin refuses two.
    "2 GPUs on a T4 with shares": (with_selector({"accelerator": "t4"}, pod({GPU: 2}, GPU_TAINT)), NOWHERE),
    "9 GPUs": (pod({GPU: 9}, GPU_TAINT), NOWHERE),
    "a shared GPU": (pod({SHARED_GPU: 1}, GPU_TAINT), {"gpu-inference": {"l4-shared"}}),
    # The taint is named nvidia.com/gpu, but the resource is not.
    "a shared GPU, as EKS admits it without a toleration": (admitted(pod({SHARED_GPU: 1})), NOWHERE),
    "an L40S by Karpenter's label": (
        with_selector({"karpenter.k8s.aws/instance-gpu-name": "l40s"}, ONE_GPU),
        {"gpu-inference": {"l40s"}, "mixed-hardware": {"gpu-inference"}},
    ),
    "an A100 by Karpenter's label, which a group has not": (
        with_selector({"karpenter.k8s.aws/instance-gpu-name": "a100"}, ONE_GPU),
        NOWHERE,
    ),
    "an A100 by our label": (with_selector({"accelerator": "a100"}, ONE_GPU), {"mixed-hardware": {"gpu-training"}}),
    "an L40S by our label": (with_selector({"accelerator": "l40s"}, ONE_GPU), {"gpu-inference": {"g6e", "l40s"}}),
    "a GPU by hardware, for inference": (
        with_selector({"hardware-type": "nvidia-gpu", "workload-type": "inference"}, ONE_GPU),
        {"gpu-inference": {"g6", "g5-spot", "g6e", "l40s"}, "mixed-hardware": {"gpu-inference"}},
    ),
    "a spot GPU of Karpenter's": (
        with_selector({"karpenter.sh/capacity-type": "spot"}, ONE_GPU),
        {"gpu-inference": {"l40s"}, "mixed-hardware": {"gpu-inference"}},
    ),
    "a spot GPU of a group": (
        with_selector({"eks.amazonaws.com/capacityType": "SPOT"}, ONE_GPU),
        {"development": {"t4"}, "gpu-inference": {"g5-spot"}},
    ),
    "a GPU of the research team": (with_selector({"team": "research"}, ONE_GPU), {"gpu-training": {"h100"}}),
    "a Neuron device": (
        ONE_NEURON,
        {
            "inferentia-inference": {"small", "large", "spot"},
            "mixed-hardware": {"trainium-training", "inferentia-inference", "inferentia"},
            "trainium-training": {"trn1", "trn1-experiments"},
        },
    ),
    "a Neuron device, without toleration": (pod({NEURON: 1}), NOWHERE),
    "a Neuron device, tolerating the wrong taint": (pod({NEURON: 1}, GPU_TAINT), NOWHERE),
    "a NeuronCore": (
        pod({NEURON_CORE: 1}, NEURON_TAINT),
        {
            "inferentia-inference": {"small", "large", "spot"},
            "mixed-hardware": {"trainium-training", "inferentia-inference", "inferentia"},
            "trainium-training": {"trn1", "trn1-experiments"},
        },
    ),
    # The taint is named aws.amazon.com/neuron, but the resource is not.
    "a NeuronCore, as EKS admits it without a toleration": (admitted(pod({NEURON_CORE: 1})), NOWHERE),
    "2 Neuron devices": (
        pod({NEURON: 2}, NEURON_TAINT, scheduler=EXTENSION),
        # A Trainium node's devices are allocated by 1, 4, 8 or 16.
        {"inferentia-inference": {"large", "spot"}, "mixed-hardware": {"inferentia"}},
    ),
    "4 Neuron devices": (
        pod({NEURON: 4}, NEURON_TAINT, scheduler=EXTENSION),
        {
            "inferentia-inference": {"large", "spot"},
            "mixed-hardware": {"trainium-training", "inferentia"},
            "trainium-training": {"trn1"},
        },
    ),
    "12 Neuron devices": (
        pod({NEURON: 12}, NEURON_TAINT, scheduler=EXTENSION),
        {"inferentia-inference": {"large", "spot"}, "mixed-hardware": {"inferentia"}},
    ),
    "16 Neuron devices": (
        pod({NEURON: 16}, NEURON_TAINT, scheduler=EXTENSION),
        {"mixed-hardware": {"trainium-training"}, "trainium-training": {"trn1"}},
    ),
    "17 Neuron devices": (pod({NEURON: 17}, NEURON_TAINT), NOWHERE),
    "an unknown scheduler": (pod({NEURON: 1}, NEURON_TAINT, scheduler="volcano"), NOWHERE),
    "an A100 node with EFA": (P4D_WORKER, {"mixed-hardware": {"gpu-training"}, "gpu-training": {"h100"}}),
    "an A100 node with EFA, as EKS admits it": (
        admitted(P4D_WORKER),
        {"mixed-hardware": {"gpu-training", "gpu-efa"}, "gpu-training": {"h100"}},
    ),
    "a Trainium node with EFA, as EKS admits it": (
        admitted(TRN1_WORKER),
        {"mixed-hardware": {"trainium-training", "trainium"}, "trainium-training": {"trn1"}},
    ),
    # Its taint keeps all other pods off a pool of nodes with EFA.
    "an A100 node without EFA": (
        with_selector({"accelerator": "a100"}, admitted(pod({GPU: 8}))),
        {"mixed-hardware": {"gpu-training"}},
    ),
    "an H100 node with EFA": (P5_WORKER, {"gpu-training": {"h100"}}),
    "a Trainium node with EFA": (
        TRN1_WORKER,
        {"mixed-hardware": {"trainium-training"}, "trainium-training": {"trn1"}},
    ),
    "an Inferentia node with EFA": (
        with_selector({"hardware-type": "inferentia"}, pod({NEURON: 1, EFA: 1}, NEURON_TAINT)),
        NOWHERE,
    ),
    "CoreDNS": (
        COREDNS,
        CPU_NODES,
    ),
}


@cache
def bundle_of(name: str) -> Bundle:
    return bundle(resolve(shipped(name)))


@pytest.fixture(scope="module")
def candidates(templates: Templates) -> Mapping[str, tuple[Node, ...]]:
    return {name: nodes(templates[name], bundle_of(name)) for name in SHIPPED}


def _resolved(name: str) -> ResolvedStrategy:
    folder = FOLDER if name in SHIPPED else SPECIAL
    return resolved_of(folder / f"{name}.yaml")


def schedulers(name: str) -> set[str]:
    return {each.name for each in workloads(bundle_of(name)) if each.kind == "Deployment"}


def _is(hardware: Iterable[Hardware], *, al2023: bool = False) -> Callable[[Node], bool]:
    kinds = frozenset(hardware)
    return lambda node: load().get(node.instance_type).hardware in kinds and (not al2023 or node.family == "al2023")


_NEURON = _is([Hardware.TRAINIUM, Hardware.INFERENTIA])


# --- on the right nodes and no others


@pytest.mark.parametrize("what", PLACES)
def test_pods_run_where_they_should(what: str, candidates: Mapping[str, tuple[Node, ...]]) -> None:
    asked, expected = PLACES[what]
    found = {name: homes(asked, candidates[name], schedulers=schedulers(name)) for name in SHIPPED}
    assert {name: places for name, places in found.items() if places} == expected
    assert set(expected) <= set(SHIPPED)


def test_every_group_and_pool_is_some_pods_place(candidates: Mapping[str, tuple[Node, ...]]) -> None:
    for name in SHIPPED:
        reached = set().union(*(places.get(name, set()) for _, places in PLACES.values()))
        resolved = resolve(shipped(name))
        declared = {each.name for each in resolved.node_groups} | {each.name for each in resolved.node_pools}
        assert reached == declared == {node.source for node in candidates[name]}


# Requests of a pod in mixed-hardware -> types; the pool can launch others for other pods.
TYPES: list[tuple[str, Pod, list[str]]] = [
    (
        "8 GPUs",
        pod({GPU: 8}, GPU_TAINT),
        ["gpu-inference:g5.48xlarge", "gpu-inference:g6.48xlarge", "gpu-inference:g6e.48xlarge"],
    ),
    (
        "an L40S and much memory",
        with_selector({"karpenter.k8s.aws/instance-gpu-name": "l40s"}, pod({GPU: 1, "memory": "400Gi"}, GPU_TAINT)),
        ["gpu-inference:g6e.16xlarge", "gpu-inference:g6e.24xlarge", "gpu-inference:g6e.48xlarge"],
    ),
    (
        "a type",
        with_selector({"node.kubernetes.io/instance-type": "g5.2xlarge"}, ONE_GPU),
        ["gpu-inference:g5.2xlarge"],
    ),
]


@pytest.mark.parametrize(("asked", "expected"), [row[1:] for row in TYPES], ids=[row[0] for row in TYPES])
def test_pools_make_types_that_are_large_enough(
    asked: Pod, expected: list[str], candidates: Mapping[str, tuple[Node, ...]]
) -> None:
    of_pools = [node for node in candidates["mixed-hardware"] if node.pool]
    assert fits(asked, of_pools) == expected


def test_every_device_of_every_strategy_is_advertised(strategy_name: str, templates: Templates) -> None:
    """No group or pool, shipped or of the tests, has devices without a plugin, or a plugin without devices."""
    found = nodes(templates[strategy_name], bundle(_resolved(strategy_name)))
    for node in found:
        kind = load().get(node.instance_type)
        is_gpu = kind.hardware is Hardware.NVIDIA_GPU
        neuron = {NEURON, NEURON_CORE} if _NEURON(node) else set()
        offered = {key for key, amount in node.allocatable.items() if amount and "/" in key}
        gpus = {each for each in offered if each in (GPU, SHARED_GPU) or each.startswith(MIG_GPU)}
        assert offered - gpus == neuron | ({EFA} if node.efa else set()), node.name
        assert len(gpus) == (1 if is_gpu else 0), node.name
        assert node.extended.get(EFA, 0) == node.efa
        if node.pool:
            # Otherwise a pod that requests EFA makes Karpenter launch a node that never becomes ready for it.
            assert node.expected.get(EFA, 0) == node.efa, node.name


def test_shared_gpus_are_as_many_as_the_strategy_says(strategy_name: str, templates: Templates) -> None:
    """Plugin configuration, MIG, Bottlerocket's settings and NodeOverlays have the same number."""
    # trap: aws/karpenter-provider-aws#3315
    resolved = _resolved(strategy_name)
    shares = {each.name: each.gpu_shares for each in resolved.node_groups}
    shares |= {each.name: each.gpu_shares for each in resolved.node_pools}
    for node in nodes(templates[strategy_name], bundle(resolved)):
        device, sharing = load().get(node.instance_type).accelerator, shares[node.source]
        if device and _is([Hardware.NVIDIA_GPU])(node):
            resource = sharing.resource if sharing else GPU
            amount = device.count * (sharing.shares_per_gpu if sharing else 1)
            assert node.extended[resource] == amount, node.name
            if node.pool:
                # Karpenter expects the resources that a node will offer, for both resources.
                expected = {key: node.expected.get(key, 0) for key in (GPU, SHARED_GPU, resource)}
                assert expected == {GPU: 0, SHARED_GPU: 0, resource: amount}, node.name


# Strategy, pod of a gang, the largest gang, where it runs.
GANGS: list[tuple[str, Pod, int, str]] = [
    ("mixed-hardware", P4D_WORKER, 4, "gpu-training"),
    ("mixed-hardware", TRN1_WORKER, 2, "trainium-training"),
    ("gpu-training", P5_WORKER, 8, "h100"),
    ("trainium-training", TRN1_WORKER, 8, "trn1"),
]


@pytest.mark.parametrize(("name", "worker", "most", "home"), GANGS)
def test_gangs_with_efa_find_room_in_one_zone(
    name: str, worker: Pod, most: int, home: str, candidates: Mapping[str, tuple[Node, ...]]
) -> None:
    # trap: awslabs/awsome-distributed-ai#519
    assert gang_homes(worker, most, candidates[name]) == {home}
    assert gang_homes(worker, most + 1, candidates[name]) == set()
    assert len({node.zone_id for node in candidates[name] if node.source == home}) == 1


def test_mixed_hardware_makes_every_device_from_nothing(candidates: Mapping[str, tuple[Node, ...]]) -> None:
    """Its accelerated groups start empty: after `cdktf deploy`, Karpenter alone must find a node for a pod."""
    resolved = resolve(shipped("mixed-hardware"))
    assert {group.desired_size for group in resolved.node_groups if group.hardware is not Hardware.CPU} == {0}
    pools = [node for node in candidates["mixed-hardware"] if node.pool]
    for asked in (ONE_GPU, ONE_NEURON, admitted(P4D_WORKER), admitted(TRN1_WORKER)):
        assert homes(asked, pools)
    assert gang_homes(admitted(P4D_WORKER), 2, pools) == {"gpu-efa"}
    assert gang_homes(admitted(TRN1_WORKER), 2, pools) == {"trainium"}


def test_pools_stop_at_their_limits(candidates: Mapping[str, tuple[Node, ...]]) -> None:
    most = {node.name: node.most for node in candidates["gpu-inference"] if node.pool}
    # 16 GPUs, and 4 GPUs in shares of a quarter.
    assert most["l40s:g6e.xlarge"] == 16
    assert most["l40s:g6e.48xlarge"] == 2
    assert most["l4-shared:g6.xlarge"] == 4
    experiments = {node.most for node in candidates["trainium-training"] if node.source == "trn1-experiments"}
    assert experiments == {4}


# --- software on the cluster


_DAEMONSETS: dict[str, Callable[[Node], bool]] = {
    "nvidia-device-plugin": _is([Hardware.NVIDIA_GPU], al2023=True),
    "neuron-device-plugin": _NEURON,
    "neuron-monitor": _NEURON,
    "aws-efa-k8s-device-plugin": lambda node: node.efa > 0,
    "efa-metrics": lambda node: node.efa > 0,
    "dcgm-exporter": _is([Hardware.NVIDIA_GPU]),
    "kube-prometheus-stack-prometheus-node-exporter": _is(Hardware),
}


@pytest.mark.parametrize("name", SHIPPED)
def test_daemonsets_run_on_their_hardware_and_nowhere_else(
    name: str, candidates: Mapping[str, tuple[Node, ...]]
) -> None:
    for each in workloads(bundle_of(name)):
        if each.kind == "DaemonSet":
            found = {node.name for node in candidates[name] if lands(each, node)}
            assert found == {node.name for node in candidates[name] if _DAEMONSETS[each.name](node)}, each.name


def test_daemonsets_of_all_strategies_are_those_expected() -> None:
    found = {each.name for name in SHIPPED for each in workloads(bundle_of(name)) if each.kind == "DaemonSet"}
    assert found <= set(_DAEMONSETS)
    assert {"nvidia-device-plugin", "neuron-device-plugin", "aws-efa-k8s-device-plugin"} <= found


@pytest.mark.parametrize("name", SHIPPED)
def test_controllers_keep_off_accelerated_nodes(name: str, candidates: Mapping[str, tuple[Node, ...]]) -> None:
    untainted = {node.source for node in candidates[name] if not node.taints}
    groups = {node.source for node in candidates[name] if not node.taints and not node.pool}
    for each in workloads(bundle_of(name)):
        if each.kind == "Deployment":
            found = homes(each.pod, candidates[name])
            # Karpenter removes its own nodes, so Karpenter must not run on them.
            assert found == (groups if each.name == "karpenter" else untainted), each.name
            assert "system" in found


@pytest.mark.parametrize(
    ("name", "setting", "workload"),
    [
        ("mixed-hardware", "load_balancer_controller", "aws-load-balancer-controller"),
        ("gpu-training", "load_balancer_controller", "aws-load-balancer-controller"),
        ("development", "cluster_autoscaler", "cluster-autoscaler-aws-cluster-autoscaler"),
        ("mixed-hardware", "kueue", "kueue-controller-manager"),
    ],
)
def test_optional_controllers_keep_off_accelerated_nodes(
    name: str, setting: str, workload: str, candidates: Mapping[str, tuple[Node, ...]]
) -> None:
    given = shipped(name)
    with_it = given.model_copy(update={"kubernetes": given.kubernetes.model_copy(update={setting: True})})
    (found,) = [each for each in workloads(bundle(resolve(with_it))) if each.name == workload]
    assert homes(found.pod, candidates[name]) == {node.source for node in candidates[name] if not node.taints}


# --- broken on purpose


def without_releases(of: Bundle, *names: str) -> Bundle:
    return Bundle(tuple(each for each in of.releases if each.name not in names))


def with_values(of: Bundle, key: str, change: Callable[[dict[str, Any]], object]) -> Bundle:
    """Return a bundle with one chart's values changed in place."""

    def changed(release: ChartRelease | ObjectRelease) -> ChartRelease | ObjectRelease:
        if not isinstance(release, ChartRelease) or release.key != key:
            return release
        values = _plain(release.values)
        change(values)
        return replace(release, values=values)

    return Bundle(tuple(map(changed, of.releases)))


def with_objects(of: Bundle, kind: str, change: Callable[[dict[str, Any]], object]) -> Bundle:
    """Return a bundle with every object of a kind changed in place."""

    def changed(release: ChartRelease | ObjectRelease) -> ChartRelease | ObjectRelease:
        if isinstance(release, ChartRelease):
            return release
        objects = [_plain(each) for each in release.objects]
        for each in objects:
            if each["kind"] == kind:
                change(each)
        return replace(release, objects=tuple(objects))

    return Bundle(tuple(map(changed, of.releases)))


def with_changed_groups(template: Template, change: Callable[[dict[str, Any]], object]) -> Template:
    """Return a template with every node group changed in place."""
    document = copy.deepcopy(template.document)
    for group in document["resource"]["aws_eks_node_group"].values():
        change(group)
    return Template.from_json(document)


def _plain(value: Any) -> Any:
    """Return a deep copy that can be changed."""
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value


# A plugin, its resources, a pod that needs it.
PLUGINS = [
    ("nvidia-device-plugin", ONE_GPU),
    ("neuron-helm-chart", ONE_NEURON),
    ("aws-efa-k8s-device-plugin", P4D_WORKER),
    ("aws-efa-k8s-device-plugin", TRN1_WORKER),
]


@pytest.mark.parametrize(("release", "asked"), PLUGINS)
def test_without_its_plugin_a_pod_runs_nowhere(release: str, asked: Pod, templates: Templates) -> None:
    template, whole = templates["mixed-hardware"], bundle_of("mixed-hardware")
    assert homes(asked, nodes(template, whole))
    assert not homes(asked, nodes(template, without_releases(whole, release)))


@pytest.mark.parametrize(("release", "asked"), PLUGINS)
def test_a_plugin_that_does_not_tolerate_the_taint_is_missing(release: str, asked: Pod, templates: Templates) -> None:
    def change(values: dict[str, Any]) -> None:
        (values["devicePlugin"] if release == "neuron-helm-chart" else values)["tolerations"] = [CRITICAL]

    broken = with_values(bundle_of("mixed-hardware"), release, change)
    assert not homes(asked, nodes(templates["mixed-hardware"], broken))


@pytest.mark.parametrize(("key", "asked"), [(GPU, ONE_GPU), (NEURON, ONE_NEURON)])
def test_another_taint_on_groups_turns_plugin_and_pods_away(key: str, asked: Pod, templates: Templates) -> None:
    def change(group: dict[str, Any]) -> None:
        for taint in group.get("taint", ()):
            taint["key"] = "dedicated" if taint["key"] == key else taint["key"]

    broken = with_changed_groups(templates["mixed-hardware"], change)
    found = nodes(broken, bundle_of("mixed-hardware"))
    everything = {"operator": "Exists"}
    tolerant = {"spec": {**asked["spec"], "tolerations": [everything]}}
    # Even a pod that tolerates everything finds no device there, because the plugin is missing.
    pools = {"gpu-inference", "gpu-efa"} if key == GPU else {"inferentia", "trainium"}
    assert homes(tolerant, found) == pools
    assert homes(asked, found) == pools - {"gpu-efa", "trainium"}


@pytest.mark.parametrize("label", ["nvidia.com/gpu.present", "aws.amazon.com/neuron.present"])
def test_without_their_label_groups_have_no_plugin(label: str, templates: Templates) -> None:
    broken = with_changed_groups(templates["mixed-hardware"], lambda group: group["labels"].pop(label, None))
    found = nodes(broken, bundle_of("mixed-hardware"))
    gpu = {"gpu-inference"} if label.startswith("nvidia") else {"gpu-training", "gpu-inference"}
    neuron = {"inferentia"} | ({"trainium-training", "inferentia-inference"} if label.startswith("nvidia") else set())
    assert (homes(ONE_GPU, found), homes(ONE_NEURON, found)) == (gpu, neuron)


# Changes to the NodePools of gpu-inference, EC2NodeClasses and NodeOverlays; the pools that then offer a whole and a
# shared GPU.
BROKEN_POOLS: list[tuple[str, str, Callable[[dict[str, Any]], object], set[str], set[str]]] = [
    ("nothing", "NodePool", lambda pool: pool.get("spec"), {"l40s"}, {"l4-shared"}),
    (
        "label",
        "NodePool",
        lambda pool: pool["spec"]["template"]["metadata"]["labels"].pop("nvidia.com/gpu.present"),
        set(),
        set(),
    ),
    (
        "sharing label",
        "NodePool",
        lambda pool: pool["spec"]["template"]["metadata"]["labels"].pop("nvidia.com/device-plugin.config", None),
        {"l40s"},
        set(),
    ),
    (
        "taint",
        "NodePool",
        lambda pool: pool["spec"]["template"]["spec"]["taints"][0].update(key="dedicated"),
        set(),
        set(),
    ),
    ("limits", "NodePool", lambda pool: pool["spec"]["limits"].update(cpu="2"), set(), set()),
    (
        "zone",
        "NodePool",
        lambda pool: pool["spec"]["template"]["spec"]["requirements"].append(
            {"key": "topology.k8s.aws/zone-id", "operator": "In", "values": ["euw1-az1"]}
        ),
        set(),
        set(),
    ),
    (
        "architecture",
        "NodePool",
        lambda pool: pool["spec"]["template"]["spec"]["requirements"].append(
            {"key": "kubernetes.io/arch", "operator": "NotIn", "values": ["amd64"]}
        ),
        set(),
        set(),
    ),
    ("class", "EC2NodeClass", lambda each: each["metadata"].update(name="another"), set(), set()),
    ("overlay", "NodeOverlay", lambda each: each["spec"].update(capacity={}), {"l40s"}, set()),
]


@pytest.mark.parametrize(
    ("kind", "change", "whole", "shared"), [row[1:] for row in BROKEN_POOLS], ids=[row[0] for row in BROKEN_POOLS]
)
def test_broken_pools_are_noticed(
    kind: str,
    change: Callable[[dict[str, Any]], object],
    whole: set[str],
    shared: set[str],
    templates: Templates,
) -> None:
    broken = with_objects(bundle_of("gpu-inference"), kind, change)
    found = [node for node in nodes(templates["gpu-inference"], broken) if node.pool]
    assert (homes(ONE_GPU, found), homes(pod({SHARED_GPU: 1}, GPU_TAINT), found)) == (whole, shared)


def test_overlays_need_their_feature_gate(templates: Templates) -> None:
    broken = with_values(bundle_of("gpu-inference"), "karpenter", lambda values: values["settings"].pop("featureGates"))
    assert not homes(pod({SHARED_GPU: 1}, GPU_TAINT), nodes(templates["gpu-inference"], broken))


def test_a_sharing_that_the_plugin_does_not_know_leaves_no_gpu(templates: Templates) -> None:
    def change(values: dict[str, Any]) -> None:
        values["config"]["map"] = {name: text for name, text in values["config"]["map"].items() if name == "default"}

    broken = with_values(bundle_of("development"), "nvidia-device-plugin", change)
    assert not homes(ONE_GPU, nodes(templates["development"], broken))


def test_without_the_operator_only_bottlerocket_has_gpus(templates: Templates) -> None:
    whole, any_taint = bundle(_resolved("gpu-sharing")), {"operator": "Exists"}
    found = nodes(templates["gpu-sharing"], without_releases(whole, "gpu-operator"))
    assert homes(pod({GPU: 1}, any_taint), found) == {"h100-bottlerocket", "shared-bottlerocket"}
    # Bottlerocket's own plugin and NVIDIA's on one node: neither works.
    both = with_changed_groups(
        templates["gpu-sharing"], lambda group: group["labels"].pop("nvidia.com/gpu.deploy.operands", None)
    )
    assert "h100-bottlerocket" not in homes(pod({GPU: 1}, any_taint), nodes(both, whole))


def test_slices_have_names_of_their_own(templates: Templates) -> None:
    """A pod for a whole GPU never waits on a node with slices, and is not bound to it before partitioning."""
    whole, any_taint = bundle(_resolved("gpu-sharing")), {"operator": "Exists"}
    found = nodes(templates["gpu-sharing"], whole)
    for profile, home in (("1g.5gb", "a100-sevenths"), ("3g.40gb", "h100-halves"), ("2g.10gb", "a100-slices")):
        assert homes(pod({f"{MIG_GPU}{profile}": 1}, any_taint), found) == {home}
        assert home not in homes(pod({GPU: 1}, any_taint), found)
    # With one name for both, or without a manager, they cannot be distinguished.
    for key, value in (("mig", {"strategy": "single"}), ("migManager", {"enabled": False})):
        broken = with_values(whole, "gpu-operator", partial(dict.update, **{key: value}))
        assert "a100-sevenths" in homes(pod({GPU: 1}, any_taint), nodes(templates["gpu-sharing"], broken))


def test_without_karpenter_no_pool_makes_nodes(templates: Templates) -> None:
    assert not list(pool_nodes(without_releases(bundle_of("gpu-inference"), "karpenter"), templates["gpu-inference"]))


def test_without_efa_interfaces_there_is_no_efa(templates: Templates) -> None:
    document = copy.deepcopy(templates["gpu-training"].document)
    for launch_template in document["resource"]["aws_launch_template"].values():
        launch_template.pop("network_interfaces", None)
    found = nodes(Template.from_json(document), bundle_of("gpu-training"))
    assert not homes(P5_WORKER, found)
    assert homes(ONE_GPU, found) == {"h100"}


# --- parts of the simulation


@pytest.mark.parametrize(
    ("text", "value"), [("500m", "0.5"), ("1Gi", str(1024**3)), (2, "2"), ("1.5k", "1500"), ("64", "64")]
)
def test_quantities_are_numbers(text: str | int, value: str) -> None:
    assert str(quantity(text).normalize()) == str(quantity(value).normalize())


def test_admission_adds_what_extended_resources_need() -> None:
    found = admitted(pod({GPU: 1, EFA: 4, "cpu": 1, HUGE_PAGES: "2Mi"}))["spec"]["tolerations"]
    assert [each["key"] for each in found] == [GPU, EFA]


# --- the guide ----------------------------------------------------------------------------------------------------

GUIDE = ROOT / "docs" / "guides" / "first-pod.md"


def examples() -> Iterator[tuple[list[dict[str, Any]], set[str]]]:
    """Return the manifests of the guide, and the pools and groups in its next sentence."""
    text = GUIDE.read_text(encoding="utf-8")
    for found in re.finditer(r"^```yaml\n(.*?)^```\n\n(.*?)\.", text, re.MULTILINE | re.DOTALL):
        said = re.match(r"It runs on ((?:(?: and | or |, )?`[a-z0-9-]+`)+)", found[2])
        yield list(yaml.safe_load_all(found[1])), set(re.findall(r"`(.+?)`", said[1])) if said else set()


def test_manifests_of_the_guide_are_valid_and_land_where_it_says(
    candidates: Mapping[str, tuple[Node, ...]],
) -> None:
    # trap: awslabs/awsome-distributed-ai#519
    version = resolve(shipped("mixed-hardware")).kubernetes.kubernetes_version
    seen = []
    for objects, places in examples():
        assert check_objects(objects, version) == []
        workers = [each for each in objects if each["kind"] in ("Pod", "Job")]
        for each in workers:
            worker = each["spec"]["template"] if each["kind"] == "Job" else each
            running = schedulers("mixed-hardware")
            assert homes(worker, candidates["mixed-hardware"], schedulers=running) == places, each["metadata"]["name"]
            if each["kind"] == "Job":
                assert gang_homes(worker, each["spec"]["completions"], candidates["mixed-hardware"]) == places
            seen.append(each["metadata"]["name"])
    assert seen == ["nvidia-smi", "on-an-l40s", "neuron-ls", "four-devices", "train"]
    manifests = re.findall(r"^```yaml\napiVersion", GUIDE.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(manifests) == len(seen)
