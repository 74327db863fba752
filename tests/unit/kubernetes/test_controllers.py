"""Values of the load balancer controller and of Cluster Autoscaler."""

from __future__ import annotations

from typing import Any

import pytest

from eks_hardware import facts
from eks_hardware.kubernetes.controllers import AUTOSCALER, LOAD_BALANCERS, releases
from eks_hardware.kubernetes.references import Reference
from eks_hardware.resolve import resolve
from helpers.cases import in_one_test
from helpers.strategies import group, strategy

AUTOSCALED = {"min": 0, "max": 4, "autoscaled": True}
GPU_LABEL = "k8s.amazonaws.com/accelerator"
RESOURCES = "k8s.io/cluster-autoscaler/node-template/resources/"


def chart_values(key: str, *groups: dict[str, Any], **fields: Any) -> Any:
    switches = {"load_balancer_controller": True, "cluster_autoscaler": True}
    given = strategy(*groups, kubernetes={**switches, **fields.pop("kubernetes", {})}, **fields)
    return next(each.values for each in releases(resolve(given)) if each.key == key)


def test_nothing_unless_asked_for() -> None:
    assert list(releases(resolve(strategy()))) == []


def test_load_balancer_controller() -> None:
    # trap: terraform-aws-modules/terraform-aws-eks#3333
    found = chart_values(LOAD_BALANCERS)
    assert (found["clusterName"], found["region"]) == ("demo", "us-west-2")
    # Pods cannot access instance metadata, from which it would read the VPC.
    assert found["vpcId"] == Reference.VPC_ID.text
    assert found["serviceAccount"] == {"create": True, "name": "aws-load-balancer-controller"}
    assert found["replicaCount"] == 2
    assert found["serviceMutatorWebhookConfig"] == {"failurePolicy": "Ignore"}
    assert not {"enableShield", "enableWaf", "enableWafv2", "tolerations"} & set(found)


@pytest.mark.parametrize("network", [{"private": True}, {"nat_gateways": "none"}])
def test_services_without_an_endpoint_are_off_where_there_is_no_way_out(network: dict[str, Any]) -> None:
    found = chart_values(LOAD_BALANCERS, network=network)
    assert [found[each] for each in ("enableShield", "enableWaf", "enableWafv2")] == [False] * 3


def test_cluster_autoscaler() -> None:
    found = chart_values(AUTOSCALER)
    assert (found["cloudProvider"], found["awsRegion"]) == ("aws", "us-west-2")
    assert found["autoDiscovery"] == {"clusterName": "demo"}
    assert found["rbac"] == {"serviceAccount": {"create": True, "name": "cluster-autoscaler"}}
    assert found["extraArgs"] == {
        "expander": "least-waste",
        "balance-similar-node-groups": True,
        "skip-nodes-with-system-pods": False,
    }
    assert "tolerations" not in found


@in_one_test("version", sorted(facts.eks()["versions"]["supported"]))
def test_image_is_of_the_cluster_s_minor(version: str) -> None:
    tag = chart_values(AUTOSCALER, cluster={"kubernetes_version": version})["image"]["tag"]
    assert tag.startswith(f"v{version}.")


def test_a_strategy_s_values_win() -> None:
    own = {"values": {"extraArgs": {"expander": "priority"}, "image": {"tag": "v1.35.2"}}}
    found = chart_values(AUTOSCALER, kubernetes={"charts": {AUTOSCALER: own}})
    assert found["extraArgs"]["expander"] == "priority"
    assert found["extraArgs"]["balance-similar-node-groups"] is True
    assert found["image"] == {"tag": "v1.35.2"}


@in_one_test(
    ("fields", "resources"),
    [
        ({"instance_types": ["g5.12xlarge"]}, {}),
        ({"instance_types": ["m6i.xlarge"]}, {}),
        ({"instance_types": ["g5.8xlarge"], "efa": True}, {"vpc.amazonaws.com/efa": "1"}),
        ({"instance_types": ["inf2.24xlarge"]}, {"aws.amazon.com/neuron": "6", "aws.amazon.com/neuroncore": "12"}),
        (
            {"instance_types": ["trn2.48xlarge"], "efa": True},
            {"aws.amazon.com/neuron": "16", "aws.amazon.com/neuroncore": "64", "vpc.amazonaws.com/efa": "16"},
        ),
        (
            {"instance_types": ["g5.12xlarge"], "gpu_sharing": {"time_slicing": {"replicas": 3}}},
            {"nvidia.com/gpu": "12"},
        ),
        (
            {"instance_types": ["g5.12xlarge"], "gpu_sharing": {"time_slicing": {"replicas": 3, "rename": True}}},
            # EC2's count of whole GPUs would be listed too.
            {"nvidia.com/gpu.shared": "12", "nvidia.com/gpu": "0"},
        ),
        (
            {"instance_types": ["p4d.24xlarge"], "gpu_sharing": {"mig_profile": "1g.5gb"}},
            {"nvidia.com/mig-1g.5gb": "56", "nvidia.com/gpu": "0"},
        ),
        (
            {
                "instance_types": ["p4d.24xlarge"],
                "gpu_sharing": {"mig_profile": "1g.5gb"},
                "ami": {"family": "bottlerocket"},
            },
            {"nvidia.com/gpu": "56"},
        ),
    ],
)
def test_an_empty_group_says_what_its_nodes_will_advertise(fields: dict[str, Any], resources: dict[str, str]) -> None:
    """Cluster Autoscaler computes only NVIDIA GPUs from the instance type."""
    given = {**group(scaling=AUTOSCALED, tags={"team": "ml"}), **fields}
    found = resolve(strategy(given)).node_groups[-1].tags
    assert {f"{RESOURCES}{name}": count for name, count in resources.items()} | {"team": "ml"} == dict(found)
    fixed = {**given, "scaling": {"max": 4}}
    assert dict(resolve(strategy(fixed)).node_groups[-1].tags) == {"team": "ml"}


TURNS = {"time_slicing": {"replicas": 3}}
RENAMED = {"time_slicing": {"replicas": 3, "rename": True}}
MIG = {"mig_profile": "1g.5gb"}


@in_one_test(
    ("fields", "label"),
    [
        ({"instance_types": ["g5.12xlarge"]}, "a10g"),
        ({"instance_types": ["g5.xlarge", "g6.xlarge"]}, "a10g"),
        ({"instance_types": ["g5.12xlarge"], "gpu_sharing": TURNS}, "a10g"),
        ({"instance_types": ["g5.12xlarge"], "labels": {GPU_LABEL: "mine"}}, "mine"),
        ({"instance_types": ["p4d.24xlarge"], "gpu_sharing": MIG, "ami": {"family": "bottlerocket"}}, "a100"),
        # Without nvidia.com/gpu, such a node would never count as ready.
        ({"instance_types": ["g5.12xlarge"], "gpu_sharing": RENAMED}, None),
        ({"instance_types": ["p4d.24xlarge"], "gpu_sharing": MIG}, None),
        ({"instance_types": ["inf2.xlarge"]}, None),
        ({"instance_types": ["m6i.xlarge"]}, None),
    ],
)
def test_the_autoscaler_waits_for_the_device_plugin(fields: dict[str, Any], label: str | None) -> None:
    """Otherwise it launches a second node for the same pod while the first one's plugin starts."""
    given = {**group(scaling=AUTOSCALED), **fields}
    assert resolve(strategy(given)).node_groups[-1].labels.get(GPU_LABEL) == label
    fixed = {**given, "scaling": {"max": 4}, "labels": {}}
    assert GPU_LABEL not in resolve(strategy(fixed)).node_groups[-1].labels


def test_an_existing_vpc_is_reached_as_its_owner_made_it() -> None:
    subnets = {"usw2-az1": "subnet-01234567", "usw2-az2": "subnet-01234568"}
    network = {"existing": {"vpc_id": "vpc-01234567", "private_subnets": subnets}}
    assert "enableShield" not in chart_values(LOAD_BALANCERS, network=network)
