"""Software on another team's cluster: releases, their order, and objects that Karpenter accepts."""

from __future__ import annotations

from typing import Any

import pytest

from eks_hardware.adoption import ResolvedAdoption
from eks_hardware.kubernetes import Reference, bundle, karpenter_bundle
from eks_hardware.kubernetes.references import known, references_in, replaced
from eks_hardware.models import Strategy
from eks_hardware.resolve import resolve
from helpers.adoption import NETWORK, SUBNETS, adoption
from helpers.kubernetes.karpenter_rules import check_rules
from helpers.kubernetes.karpenter_schema import check_custom_resources
from helpers.strategies import document, gpu_pool, pool

POOLS = [
    pool("cpu", instance_families=["m7i"]),
    gpu_pool("gpu", instance_families=["g6"], gpu_sharing={"time_slicing": {"replicas": 4}}),
    gpu_pool("h100", instance_types=["p5.48xlarge"], efa=True, limits={"nvidia.com/gpu": 16}),
    pool("inf", accelerator="inferentia2", limits={"aws.amazon.com/neuron": 12}),
]
PLUGINS = ("nvidia-device-plugin", "neuron-helm-chart", "aws-efa-k8s-device-plugin")


@pytest.fixture(scope="module")
def adopted() -> ResolvedAdoption:
    return adoption(*POOLS)


def _objects(adopted: ResolvedAdoption, kind: str) -> list[dict[str, Any]]:
    objects = (replaced(each, known(adopted.resolved).__getitem__) for each in karpenter_bundle(adopted).objects)
    return [each for each in objects if each["kind"] == kind]


# controller, device plugins -> releases in order
WAYS = {
    "all of it": (True, True, ("karpenter-crd", "karpenter", *PLUGINS, "karpenter-resources")),
    "plugins are there": (True, False, ("karpenter-crd", "karpenter", "karpenter-resources")),
    "an existing Karpenter": (False, True, (*PLUGINS, "karpenter-resources")),
    "both are there": (False, False, ("karpenter-resources",)),
}


@pytest.mark.parametrize(("controller", "plugins", "expected"), WAYS.values(), ids=WAYS)
def test_releases(adopted: ResolvedAdoption, controller: bool, plugins: bool, expected: tuple[str, ...]) -> None:
    found = karpenter_bundle(adopted, controller=controller, with_device_plugins=plugins)
    assert found.names == expected
    # Pools are installed last and removed first.
    assert set(found.release("karpenter-resources").after) == set(expected) - {"karpenter-resources"}
    assert {name for each in found.releases for name in each.after} <= set(expected)


def test_without_pools_there_is_karpenter_alone() -> None:
    assert karpenter_bundle(adoption()).names == ("karpenter-crd", "karpenter")
    assert karpenter_bundle(adoption(), controller=False).names == ()


def test_karpenter_takes_the_objects(adopted: ResolvedAdoption) -> None:
    ids = adoption(*POOLS, cluster={"kubernetes_version": "1.35", "security_group_ids": ["sg-0123456789abcdef0"]})
    objects = [
        each
        for one in (adopted, ids)
        for kind in ("EC2NodeClass", "NodePool", "NodeOverlay")
        for each in _objects(one, kind)
    ]
    assert len([each for each in objects if each["kind"] == "NodePool"]) == 2 * len(POOLS)
    assert check_custom_resources(objects) == []
    assert [finding for each in objects for finding in check_rules(each)] == []


def test_nodes_are_in_the_subnets_that_are_named(adopted: ResolvedAdoption) -> None:
    terms = {
        each["metadata"]["name"]: each["spec"]["subnetSelectorTerms"] for each in _objects(adopted, "EC2NodeClass")
    }
    both = [{"id": each} for each in SUBNETS.values()]
    # EFA traffic stays in one zone.
    assert terms == {"cpu": both, "gpu": both, "inf": both, "h100": both[:1]}


def test_nodes_carry_the_tags_of_the_file() -> None:
    tagged = adoption(*POOLS, tags={"team": "research"})
    assert [each["spec"]["tags"]["team"] for each in _objects(tagged, "EC2NodeClass")] == ["research"] * len(POOLS)


def test_security_groups_are_found_by_tag_or_named(adopted: ResolvedAdoption) -> None:
    def of(one: ResolvedAdoption) -> dict[str, list[dict[str, Any]]]:
        classes = _objects(one, "EC2NodeClass")
        return {each["metadata"]["name"]: each["spec"]["securityGroupSelectorTerms"] for each in classes}

    groups = ["sg-0a0a0a0a", "sg-0b0b0b0b"]
    named = adoption(*POOLS, cluster={"kubernetes_version": "1.35", "security_group_ids": groups})
    tagged, ids = [{"tags": {"karpenter.sh/discovery": "shared"}}], [{"id": each} for each in groups]
    efa = {"name": adopted.efa_security_group_name}
    assert of(adopted) == {"cpu": tagged, "gpu": tagged, "inf": tagged, "h100": [*tagged, efa]}
    assert of(named) == {"cpu": ids, "gpu": ids, "inf": ids, "h100": [*ids, efa]}


def test_the_result_equals_that_of_a_strategy_in_the_same_network(adopted: ResolvedAdoption) -> None:
    """Except for the parts for that strategy's groups: tolerations of plugins are derived from pools only."""
    whole = bundle(
        resolve(Strategy.model_validate(document(name="shared", network=NETWORK, karpenter={"node_pools": POOLS})))
    )
    found = karpenter_bundle(adopted)
    for name in found.names:
        assert found.release(name) == whole.release(name)


def test_pools_alone_ask_for_the_role_and_nothing_else(adopted: ResolvedAdoption) -> None:
    pools = karpenter_bundle(adopted, controller=False, with_device_plugins=False)
    assert references_in(str(pools.objects)) == (Reference.KARPENTER_NODE_ROLE,)
