"""Kueue admits jobs by these objects: a wrong label, toleration or quota blocks every job."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from eks_hardware.catalogue import Hardware, load
from eks_hardware.kubernetes.allocatable import allocatable
from eks_hardware.kubernetes.flavors import flavors
from eks_hardware.kubernetes.kueue import releases
from eks_hardware.kubernetes.model import ChartRelease, ObjectRelease
from eks_hardware.kubernetes.nodes import Node, nodes
from eks_hardware.kubernetes.teams import QUEUES_LABEL
from eks_hardware.resolve import ResolvedNodeGroup, ResolvedStrategy, extended_resources_of, resolve
from eks_hardware.units import amount
from helpers.cases import in_one_test
from helpers.paths import SHIPPED, SPECIAL
from helpers.strategies import group, resolved_of, strategy, strategy_of

FILES = sorted([*SHIPPED.glob("*.yaml"), *SPECIAL.glob("*.yaml")])
TEAMS = [{"name": "research"}, {"name": "serving"}]
GPU, SHARED, EFA = "nvidia.com/gpu", "nvidia.com/gpu.shared", "vpc.amazonaws.com/efa"
NEURON, CORE = "aws.amazon.com/neuron", "aws.amazon.com/neuroncore"
GROUP, POOL, ARCHITECTURE = "eks.amazonaws.com/nodegroup", "karpenter.sh/nodepool", "kubernetes.io/arch"


def resolved_with_kueue(
    *groups: dict[str, Any], pools: tuple[dict[str, Any], ...] = (), **kubernetes: Any
) -> ResolvedStrategy:
    system = group(name="system", workload="system", scaling={"min": 2, "max": 2})
    karpenter = {"karpenter": {"node_pools": list(pools)}} if pools else {}
    given = strategy(node_groups=[system, *groups], kubernetes={"kueue": True, **kubernetes}, **karpenter)
    return resolve(given)


def queues(given: ResolvedStrategy) -> ObjectRelease:
    return next(each for each in releases(given) if isinstance(each, ObjectRelease))


def queue_objects(given: ResolvedStrategy, kind: str) -> list[Any]:
    return [each for each in queues(given).objects if each["kind"] == kind]


def flavor_quotas(given: ResolvedStrategy) -> dict[str, dict[str, str]]:
    """Return the quota of each flavor in the ClusterQueues."""
    return {
        flavor["name"]: {each["name"]: each["nominalQuota"] for each in flavor["resources"]}
        for queue in queue_objects(given, "ClusterQueue")
        for flavor in queue["spec"]["resourceGroups"][0]["flavors"]
    }


def labels_of(node: Node) -> dict[str, str]:
    """Return the labels that the kubelet, EKS and Karpenter add to the strategy's labels."""
    own = GROUP if isinstance(node, ResolvedNodeGroup) else POOL
    return {**node.labels, own: node.name, ARCHITECTURE: {"x86_64": "amd64"}.get(node.architecture, node.architecture)}


# --- labels, taints, tolerations


@in_one_test("file", FILES, ids=lambda file: str(file.stem))
def test_every_node_for_jobs_is_in_one_flavor_that_its_pods_get_onto(file: Path) -> None:
    given = resolved_of(file)
    for node in nodes(given):
        matching = [each for each in flavors(given) if each.labels.items() <= labels_of(node).items()]
        assert len(matching) == (node.workload != "system"), (node.name, [each.name for each in matching])
        for flavor in matching:
            assert flavor.hardware is node.hardware
            tolerated = {(each["key"], each["effect"]) for each in flavor.tolerations}
            named = {(each["key"], each.get("value", ""), each["effect"]) for each in flavor.taints}
            for taint in node.taints:
                named_so = (taint.key, taint.value, taint.effect) in named
                known = named_so or (taint.key, taint.effect) in tolerated
                assert known or taint.effect == "PreferNoSchedule", (node.name, taint)


@in_one_test("file", FILES, ids=lambda file: str(file.stem))
def test_only_accelerated_nodes_are_tolerated(file: Path) -> None:
    given = resolved_of(file)
    for flavor in flavors(given):
        assert {each["key"] for each in flavor.tolerations} <= {GPU, NEURON}
        assert flavor.hardware is not Hardware.CPU or not flavor.tolerations


POOL_OF_SEVERAL = {"name": "several", "instance_families": ["g5", "g6", "g6e"], "limits": {GPU: 16}}
L4 = {"name": "l4", "instance_types": ["g6.xlarge", "g6.12xlarge"], "limits": {GPU: 8}}


@in_one_test(
    ("groups", "pools", "expected"),
    [
        # One flavor per accelerator, for groups and pools alike.
        ([group("g6.xlarge", name="a"), group("g6.2xlarge", name="b")], (L4,), {"l4": {"a", "b", "l4"}}),
        # Other accelerators.
        ([group("g5.xlarge")], (L4,), {"a10g": {"gpu"}, "l4": {"l4"}}),
        # Without a label for the accelerator, the hardware would select both.
        ([group("g5.xlarge")], (POOL_OF_SEVERAL,), {"a10g": {"gpu"}, "nodes-several": {"several"}}),
        # ... but not if the workload distinguishes them.
        (
            [group("g5.xlarge")],
            ({**POOL_OF_SEVERAL, "workload": "inference"},),
            {"a10g": {"gpu"}, "nvidia-gpu": {"several"}},
        ),
        # A share is not a whole GPU.
        (
            [
                group("g6.xlarge", name="a"),
                group("g6.xlarge", name="b", gpu_sharing={"time_slicing": {"replicas": 4}}),
            ],
            (),
            {"nodes-a": {"a"}, "nodes-b": {"b"}},
        ),
        # The system group has the same hardware but no jobs.
        ([group("m6i.xlarge", name="a", workload="system")], (), {}),
        ([group("m6i.xlarge", name="a"), group("m7g.xlarge", name="b")], (), {"cpu": {"a"}, "cpu-arm64": {"b"}}),
        # A team's own nodes have a taint.
        (
            [group("m6i.xlarge", name="a"), group("m6i.xlarge", name="b", taints=[{"key": "team"}])],
            (),
            {"nodes-a": {"a"}, "nodes-b": {"b"}},
        ),
        # A label that is not a name.
        (
            [group("g5.xlarge", labels={"accelerator": "A10G_small"})],
            (),
            {"nvidia-gpu": {"gpu"}},
        ),
    ],
)
def test_flavors(groups: list[Any], pools: tuple[Any, ...], expected: dict[str, set[str]]) -> None:
    given = resolved_with_kueue(*groups, pools=pools)
    found = {
        each.name: {node.name for node in nodes(given) if each.labels.items() <= labels_of(node).items()}
        for each in flavors(given)
    }
    assert expected == found


def test_a_flavor_has_the_labels_that_jobs_select_by() -> None:
    """Kueue ignores a selector whose key the flavor lacks: an x86 job would be assigned to Graviton and wait there."""
    (found,) = flavors(resolved_with_kueue(group("g5g.xlarge", workload="inference")))
    assert found.labels == {
        "hardware-type": "nvidia-gpu",
        "accelerator": "t4g",
        "workload-type": "inference",
        ARCHITECTURE: "arm64",
    }


def test_a_job_tolerates_what_is_not_the_accelerator_s() -> None:
    taints = [{"key": "team", "value": "a"}, {"key": "soft", "effect": "PreferNoSchedule"}]
    (flavor,) = queue_objects(resolved_with_kueue(group("g5.xlarge", taints=taints)), "ResourceFlavor")
    assert flavor["spec"]["nodeTaints"] == [{"key": "team", "value": "a", "effect": "NoSchedule"}]
    assert flavor["spec"]["tolerations"] == [{"key": GPU, "operator": "Exists", "effect": "NoSchedule"}]


# --- quotas


@in_one_test(
    ("given", "expected"),
    [
        (group("p4d.24xlarge", efa=True), {"cpu": "382760m", "memory": "4288609Mi", GPU: "32", EFA: "16"}),
        (group("trn1.32xlarge"), {"cpu": "510440m", "memory": "1927577Mi", NEURON: "64"}),
        (group("trn2.48xlarge", scaling={"max": 1}), {"cpu": "191450m", "memory": "1938410Mi", NEURON: "16"}),
        # The smallest of several types, for each resource.
        (group(["g5.12xlarge", "g5.16xlarge"]), {"cpu": "191240m", "memory": "693601Mi", GPU: "4"}),
        (group(["m6i.xlarge", "c6i.2xlarge"]), {"cpu": "15680m", "memory": "56648Mi"}),
        (group("c6i.32xlarge", efa=True), {"cpu": "510440m", "memory": "936084Mi", EFA: "4"}),
        (
            group("g5.12xlarge", gpu_sharing={"time_slicing": {"replicas": 3}}),
            {"cpu": "191240m", "memory": "693601Mi", GPU: "48"},
        ),
        (
            group("g5.12xlarge", gpu_sharing={"time_slicing": {"replicas": 3, "rename": True}}),
            {"cpu": "191240m", "memory": "693601Mi", SHARED: "48"},
        ),
        (
            group("p4d.24xlarge", gpu_sharing={"mig_profile": "1g.5gb"}),
            {"cpu": "382760m", "memory": "4330849Mi", "nvidia.com/mig-1g.5gb": "224"},
        ),
        # Bottlerocket reserves for the maximum of pods on the node, AL2023 for its number of addresses.
        (
            group("p4d.24xlarge", gpu_sharing={"mig_profile": "1g.5gb"}, ami={"family": "bottlerocket"}),
            {"cpu": "382760m", "memory": "4352277Mi", GPU: "224"},
        ),
        # The maximum of a group is what the autoscaler or you can start, not the running number.
        (
            group("g5.xlarge", scaling={"min": 1, "desired": 2, "max": 3}),
            {"cpu": "11760m", "memory": "42486Mi", GPU: "3"},
        ),
    ],
)
def test_quota_of_a_group(given: dict[str, Any], expected: dict[str, str]) -> None:
    (found,) = flavor_quotas(resolved_with_kueue(given)).values()
    assert expected == found


@in_one_test(
    ("given", "expected"),
    [
        # 48 vCPU and 192 GiB for 4 GPUs; 4 vCPU and 16 GiB for one: CPU is derived in resolve.
        (L4, {"cpu": "95620m", "memory": "357866Mi", GPU: "8"}),
        ({**L4, "limits": {GPU: 8, "cpu": 16}}, {"cpu": "15936m", "memory": "59644Mi", GPU: "4"}),
        ({**L4, "limits": {GPU: 8, "memory": "64Gi"}}, {"cpu": "15936m", "memory": "59644Mi", GPU: "4"}),
        ({**L4, "limits": {GPU: 8, "nodes": 1}}, {"cpu": "47810m", "memory": "178933Mi", GPU: "4"}),
        (
            {**L4, "gpu_sharing": {"time_slicing": {"replicas": 4, "rename": True}}},
            {"cpu": "95620m", "memory": "357866Mi", SHARED: "32"},
        ),
        (
            {"instance_types": ["c7g.large", "m7g.large"], "limits": {"cpu": "64"}},
            {"cpu": "61760m", "memory": "219020Mi"},
        ),
        ({"instance_types": ["c7g.large"], "limits": {"cpu": "1k"}}, {"cpu": "965", "memory": "1527800Mi"}),
        (
            {"instance_types": ["trn1.32xlarge"], "efa": True, "limits": {NEURON: 32}},
            {"cpu": "255220m", "memory": "935628Mi", NEURON: "32", EFA: "16"},
        ),
    ],
)
def test_quota_of_a_pool(given: dict[str, Any], expected: dict[str, str]) -> None:
    (found,) = flavor_quotas(resolved_with_kueue(pools=({"name": "pool", **given},))).values()
    assert expected == found


def test_groups_and_pools_of_a_flavor_add_up() -> None:
    given = resolved_with_kueue(group("g6.xlarge", scaling={"max": 2}), pools=(L4,))
    assert flavor_quotas(given) == {"l4": {"cpu": "103460m", "memory": "386191Mi", GPU: "10"}}


@in_one_test("file", FILES, ids=lambda file: str(file.stem))
def test_one_node_of_each_type_fits_its_quota(file: Path) -> None:
    """A job that requests all allocatable resources of a node of the smallest type is admitted."""
    given = resolved_of(file)
    for flavor in flavors(given):
        members = [node for node in nodes(given) if flavor.labels.items() <= labels_of(node).items()]
        most = [allocatable(node, load().get(name)) for node in members for name in node.instance_types]
        assert amount(flavor.quota["cpu"]) >= min(each["cpu"] for each in most)
        assert amount(flavor.quota["memory"]) >= min(each["memory"] for each in most) - 2**20
        assert all(amount(quantity) > 0 for quantity in flavor.quota.values()), flavor


# --- queues


def test_a_queue_for_each_kind_of_hardware_in_each_namespace() -> None:
    given = resolved_with_kueue(group("g5.xlarge", name="a"), group("m6i.xlarge", name="b"), teams=TEAMS)
    assert [each["metadata"]["name"] for each in queue_objects(given, "ClusterQueue")] == ["nvidia-gpu", "cpu"]
    found = [(each["metadata"]["namespace"], each["metadata"]["name"]) for each in queue_objects(given, "LocalQueue")]
    assert found == [(team, name) for team in ("research", "serving") for name in ("nvidia-gpu", "cpu")]
    for each in queue_objects(given, "LocalQueue"):
        assert each["spec"] == {"clusterQueue": each["metadata"]["name"]}


def test_without_teams_jobs_are_in_the_default_namespace() -> None:
    (queue,) = queue_objects(resolved_with_kueue(group("g5.xlarge")), "LocalQueue")
    assert queue["metadata"] == {"name": "nvidia-gpu", "namespace": "default"}


def test_a_job_without_accelerators_never_gets_to_accelerated_nodes() -> None:
    given = resolved_with_kueue(
        group("g5.xlarge", name="a"), group("trn1.2xlarge", name="b"), group("m6i.xlarge", name="c")
    )
    by_queue = {
        queue["metadata"]["name"]: [each["name"] for each in queue["spec"]["resourceGroups"][0]["flavors"]]
        for queue in queue_objects(given, "ClusterQueue")
    }
    assert by_queue == {"nvidia-gpu": ["a10g"], "trainium": ["trainium"], "cpu": ["cpu"]}


def test_what_a_flavor_lacks_has_a_quota_of_nothing() -> None:
    shared = {"gpu_sharing": {"time_slicing": {"replicas": 2, "rename": True}}}
    given = resolved_with_kueue(group("g5.xlarge", name="a", **shared), group("g6.8xlarge", name="b", efa=True))
    assert flavor_quotas(given) == {
        "a10g": {"cpu": "15680m", "memory": "56648Mi", GPU: "0", SHARED: "8", EFA: "0"},
        "l4": {"cpu": "127400m", "memory": "432226Mi", GPU: "4", SHARED: "0", EFA: "4"},
    }


def test_order() -> None:
    given = resolved_with_kueue(group("g5.xlarge"), teams=TEAMS)
    assert queues(given).after == ("kueue", "namespaces")
    kinds = [each["kind"] for each in queues(given).objects]
    assert kinds == ["ResourceFlavor", "ClusterQueue", "LocalQueue", "LocalQueue"]


def test_only_system_nodes() -> None:
    assert [type(each) for each in releases(resolved_with_kueue())] == [ChartRelease]
    assert list(releases(resolved_with_kueue(kueue=False))) == []


# --- the chart's values


def configuration(given: ResolvedStrategy) -> Any:
    chart = next(each for each in releases(given) if isinstance(each, ChartRelease))
    return yaml.safe_load(chart.values["managerConfig"]["controllerManagerConfigYaml"])


@pytest.mark.parametrize(
    ("teams", "labels"),
    [(TEAMS, {QUEUES_LABEL: "true"}), ([], {"kubernetes.io/metadata.name": "default"})],
)
def test_pods_elsewhere_start_while_kueue_is_down(teams: list[Any], labels: dict[str, str]) -> None:
    given = resolved_with_kueue(group("g5.xlarge"), teams=teams)
    assert configuration(given)["managedJobsNamespaceSelector"] == {"matchLabels": labels}
    for queue in queue_objects(given, "ClusterQueue"):
        assert queue["spec"]["namespaceSelector"] == {"matchLabels": labels}


def test_configuration() -> None:
    found = configuration(resolved_with_kueue(group("g5.xlarge")))
    assert (found["apiVersion"], found["kind"]) == ("config.kueue.x-k8s.io/v1beta2", "Configuration")
    assert found["manageJobsWithoutQueueName"] is False
    assert {"batch/job", "kubeflow.org/pytorchjob", "pod", "jobset.x-k8s.io/jobset"} <= set(
        found["integrations"]["frameworks"]
    )
    # No quota covers them, and EFA jobs request huge pages: they would wait forever.
    assert found["resources"] == {"excludeResourcePrefixes": ["ephemeral-storage", "hugepages-"]}


@in_one_test(
    ("types", "devices_per_core"),
    [
        (["trn1.32xlarge"], "500m"),
        # Pods see logical cores of Trainium2, each with two physical ones.
        (["trn2.48xlarge"], "250m"),
        (["inf1.6xlarge"], "250m"),
        # One transformation for all: the core count that results in more devices.
        (["inf1.6xlarge", "inf2.24xlarge"], "500m"),
    ],
)
def test_a_neuron_core_is_part_of_a_device(types: list[str], devices_per_core: str) -> None:
    """With a separate quota, each device would be counted twice: once by its name, once by its cores."""
    # trap: aws/containers-roadmap#1735
    given = resolved_with_kueue(*(group(each, name=f"n{index}") for index, each in enumerate(types)))
    (found,) = configuration(given)["resources"]["transformations"]
    assert found == {"input": CORE, "strategy": "Replace", "outputs": {NEURON: devices_per_core}}
    for queue in queue_objects(given, "ClusterQueue"):
        assert CORE not in queue["spec"]["resourceGroups"][0]["coveredResources"]
    # All cores of a node count as its devices, for the type with the fewest cores per device.
    fewest = min(
        (load().get(each) for each in types),
        key=lambda kind: extended_resources_of(kind)[CORE] / extended_resources_of(kind)[NEURON],
    )
    assert extended_resources_of(fewest)[CORE] * amount(devices_per_core) == extended_resources_of(fewest)[NEURON]


# apis/config/v1beta2/configuration_types.go, type Integrations (v0.19.2): Kueue stops for a name that is not in this
# list.
FRAMEWORKS = {
    "batch/job",
    "deployment",
    "jobset.x-k8s.io/jobset",
    "kubeflow.org/jaxjob",
    "kubeflow.org/mpijob",
    "kubeflow.org/paddlejob",
    "kubeflow.org/pytorchjob",
    "kubeflow.org/tfjob",
    "kubeflow.org/xgboostjob",
    "leaderworkerset.x-k8s.io/leaderworkerset",
    "pod",
    "ray.io/raycluster",
    "ray.io/rayjob",
    "ray.io/rayservice",
    "sparkoperator.k8s.io/sparkapplication",
    "statefulset",
    "trainer.kubeflow.org/trainjob",
    "workload.codeflare.dev/appwrapper",
}


def test_frameworks_are_known_to_kueue() -> None:
    found = configuration(resolved_with_kueue(group("g5.xlarge")))["integrations"]["frameworks"]
    assert set(found) <= FRAMEWORKS
    assert len(found) == len(set(found))


# --- structure

# No package has schemas of Kueue's objects. These are the fields that we use, from its definitions:
# https://github.com/kubernetes-sigs/kueue/tree/v0.19.2/config/components/crd/bases (v1beta2). Text is a pattern.
NAME = r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
QUANTITY = r"[0-9]+(m|Mi)?"
EFFECT = "NoSchedule|PreferNoSchedule|NoExecute"
SELECTOR = {"matchLabels": {"*": ".+"}}
SPECS: dict[str, Any] = {
    "ResourceFlavor": {
        "nodeLabels": {"*": ".+"},
        "nodeTaints": [{"key": ".+", "value": ".*", "effect": EFFECT}],
        "tolerations": [{"key": ".+", "operator": "Exists", "effect": EFFECT}],
    },
    "ClusterQueue": {
        "namespaceSelector": SELECTOR,
        "resourceGroups": [
            {
                "coveredResources": [".+"],
                "flavors": [{"name": NAME, "resources": [{"name": ".+", "nominalQuota": QUANTITY}]}],
            }
        ],
    },
    "LocalQueue": {"clusterQueue": NAME},
}
MOST = {"nodeLabels": 8, "nodeTaints": 8, "tolerations": 8, "resourceGroups": 16, "coveredResources": 64, "flavors": 64}


def spec_faults(value: Any, form: Any, path: str) -> list[str]:
    if isinstance(form, str):
        return [] if isinstance(value, str) and re.fullmatch(form, value) else [f"{path}: {value!r}"]
    if type(value) is not type(form):
        return [f"{path}: {value!r}"]
    most = MOST.get(path.rpartition(".")[2], 1000)
    found = [f"{path}: {len(value)} of {most}"] if len(value) > most else []
    if isinstance(form, list):
        found += [f"{path}: empty"] if not value else []
        return found + [each for item in value for each in spec_faults(item, form[0], path)]
    for name, each in value.items():
        known = form.get(name, form.get("*"))
        found += spec_faults(each, known, f"{path}.{name}") if known is not None else [f"{path}.{name}: unknown"]
    return found


def structure(item: Any) -> list[str]:
    found = spec_faults(item["spec"], SPECS[item["kind"]], "spec")
    found += [] if item["apiVersion"] == "kueue.x-k8s.io/v1beta2" else ["apiVersion"]
    found += spec_faults(item["metadata"], {"name": NAME, "namespace": NAME}, "metadata")
    found += [] if ("namespace" in item["metadata"]) == (item["kind"] == "LocalQueue") else ["metadata.namespace"]
    for each in item["spec"].get("resourceGroups", ()):
        for flavor in each["flavors"]:
            if [resource["name"] for resource in flavor["resources"]] != each["coveredResources"]:
                found.append(f"resources of {flavor['name']}")
    return found


@in_one_test("file", FILES, ids=lambda file: str(file.stem))
def test_structure(file: Path) -> None:
    loaded = strategy_of(file)
    kubernetes = loaded.kubernetes.model_copy(update={"kueue": True})
    given = resolve(loaded.model_copy(update={"kubernetes": kubernetes}))
    found = [each for release in releases(given) if isinstance(release, ObjectRelease) for each in release.objects]
    assert [fault for item in found for fault in structure(item)] == []
    names = [(each["kind"], each["metadata"].get("namespace"), each["metadata"]["name"]) for each in found]
    assert len(names) == len(set(names))
    made = {each["metadata"]["name"] for each in found if each["kind"] == "ResourceFlavor"}
    assert made == set(flavor_quotas(given)) if found else not made


@in_one_test(
    ("kind", "spec", "fault"),
    [
        ("LocalQueue", {"clusterqueue": "cpu"}, "spec.clusterqueue: unknown"),
        ("LocalQueue", {"clusterQueue": "Not_A_Name"}, "spec.clusterQueue: 'Not_A_Name'"),
        ("ResourceFlavor", {"nodeLabels": {f"l{n}": "x" for n in range(9)}}, "spec.nodeLabels: 9 of 8"),
        ("ResourceFlavor", {"tolerations": [{"key": "a", "operator": "Exist"}]}, "spec.tolerations.operator: 'Exist'"),
        ("ClusterQueue", {"resourceGroups": []}, "spec.resourceGroups: empty"),
    ],
)
def test_structure_finds_faults(kind: str, spec: dict[str, Any], fault: str) -> None:
    metadata = {"name": "cpu", **({"namespace": "a"} if kind == "LocalQueue" else {})}
    item = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind, "metadata": metadata, "spec": spec}
    assert structure(item) == [fault]
