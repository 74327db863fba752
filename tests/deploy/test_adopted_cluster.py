"""Karpenter and pools on a cluster that others made with their own Terraform, with everything real but AWS."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from eks_hardware.adoption import ResolvedAdoption
from eks_hardware.kubernetes import karpenter_bundle
from eks_hardware.kubernetes.files.write import write
from eks_hardware.kubernetes.references import known
from eks_hardware.local import terraform
from eks_hardware.local.emulator import Emulator
from eks_hardware.local.readback import Account
from helpers.adoption import adoption, synthesized_pools
from helpers.cluster_programs import programs
from helpers.kubernetes.installed import Installed, installed, local_kubernetes
from helpers.kubernetes.objects import Object
from helpers.polling import eventually
from helpers.strategies import gpu_pool, pool

NAME = "adopted"
REGION = "us-west-2"
ZONES = ("usw2-az1", "usw2-az2")
SECONDS = 420
"""The longest wait for Karpenter on a busy machine. It caches offerings for five minutes."""
TOOLS = ("kubernetes", "etcd", "helm", "kwok", "kwok-files", "karpenter", "karpenter-files")


def trust(service: str) -> str:
    """Return the trust policy of a role that a service assumes."""
    principal = {"Service": f"{service}.amazonaws.com"}
    statement = {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": principal}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def their_terraform() -> dict[str, Any]:
    """Return the Terraform of the other team: a cluster with two nodes, without Karpenter."""
    low, below = ("{}.{}.{}".format(*version) for version in (terraform.PROVIDER_FROM, terraform.PROVIDER_BELOW))
    subnets = [f"${{aws_subnet.{zone}.id}}" for zone in ZONES]
    return {
        "terraform": {
            "required_providers": {"aws": {"source": "hashicorp/aws", "version": f">= {low}, < {below}"}},
            "backend": {"local": {"path": "terraform.tfstate"}},
        },
        "provider": {"aws": {"region": REGION}},
        "resource": {
            "aws_vpc": {"theirs": {"cidr_block": "10.9.0.0/16"}},
            "aws_subnet": {
                zone: {
                    "vpc_id": "${aws_vpc.theirs.id}",
                    "cidr_block": f"10.9.{number}.0/24",
                    "availability_zone_id": zone,
                }
                for number, zone in enumerate(ZONES)
            },
            "aws_iam_role": {
                name: {"name": f"{NAME}-{name}", "assume_role_policy": trust(service)}
                for name, service in (("cluster", "eks"), ("node", "ec2"))
            },
            "aws_eks_cluster": {
                "theirs": {
                    "name": NAME,
                    "version": "1.35",
                    "role_arn": "${aws_iam_role.cluster.arn}",
                    "access_config": {"authentication_mode": "API"},
                    "vpc_config": {"subnet_ids": subnets},
                }
            },
            "aws_eks_addon": {
                "identity": {"cluster_name": "${aws_eks_cluster.theirs.name}", "addon_name": "eks-pod-identity-agent"}
            },
            "aws_eks_node_group": {
                "system": {
                    "cluster_name": "${aws_eks_cluster.theirs.name}",
                    "node_group_name": "system",
                    "node_role_arn": "${aws_iam_role.node.arn}",
                    "subnet_ids": subnets,
                    "instance_types": ["m6i.xlarge"],
                    "scaling_config": {"min_size": 2, "max_size": 2, "desired_size": 2},
                }
            },
        },
        "output": {
            "vpc": {"value": "${aws_vpc.theirs.id}"},
            **{zone: {"value": f"${{aws_subnet.{zone}.id}}"} for zone in ZONES},
        },
    }


@dataclass(frozen=True)
class Adopted:
    """The running parts on their cluster.

    Attributes:
        running: the parts.
        network: the section ``network`` of an adoption file.
        adoption: the pools that were installed with Karpenter.
    """

    running: Installed
    network: dict[str, Any]
    adoption: ResolvedAdoption


@pytest.fixture(scope="module")
def adopted(
    deploy: Any, emulator: Emulator, account: Callable[[str], Account], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Adopted]:
    """Apply their Terraform, then ours, and install Karpenter with its pools; remove both at the end."""
    tools, folder, here = programs(*TOOLS), tmp_path_factory.mktemp("adopted"), account(REGION)
    (folder / "theirs").mkdir()
    (folder / "theirs" / "cdk.tf.json").write_text(json.dumps(their_terraform()), encoding="utf-8")
    with (
        local_kubernetes(emulator, NAME, REGION, tools, folder / "kubernetes") as cluster,
        deploy.directly(folder / "theirs") as theirs,
    ):
        ids = {key: each["value"] for key, each in json.loads(theirs.run("output", "-json").stdout).items()}
        network = {"existing": {"vpc_id": ids["vpc"], "private_subnets": {zone: ids[zone] for zone in ZONES}}}
        ours = adoption(gpu_pool("l4", instance_types=["g6.xlarge"]), name=NAME, network=network)
        before, stack = here.inventory(), synthesized_pools(folder / "ours", ours)
        with deploy.directly(stack):
            bundle = karpenter_bundle(ours)
            write(bundle, folder / "rendered", name=NAME, region=REGION, known=known(ours.resolved))
            with installed(
                None,
                ours.resolved,
                bundle,
                cluster=cluster,
                account=here,
                emulator=emulator,
                rendered=folder / "rendered",
                outputs={},
                tools=tools,
                directory=folder,
            ) as parts:
                yield Adopted(parts, network, ours)
        assert here.inventory() == before, "destroy left something behind"
        assert theirs.plan().changes == {}
        assert {each["spec"]["providerID"].rpartition("/")[2] for each in parts.get("nodes")} == before["instance"]


def work_on(name: str, pool: str, limits: dict[str, str], *tolerated: str) -> Object:
    """Return a pod that needs a pool's node."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": {"working": name}},
        "spec": {
            "nodeSelector": {"karpenter.sh/nodepool": pool},
            "tolerations": [{"key": key, "operator": "Exists"} for key in tolerated],
            "containers": [{"name": "work", "image": "work", "resources": {"limits": limits}}],
        },
    }


def type_under(running: Installed, name: str) -> str:
    """Return the type of the instance on which a pod runs."""
    phases = eventually(
        lambda: [phase for phase, _ in running.pods(f"working={name}").values()], ["Running"], seconds=SECONDS
    )
    running.check()
    assert phases == ["Running"], running.karpenter.log_tail()
    ((_, node),) = running.pods(f"working={name}").values()
    return str(running.instances()[node]["InstanceType"])


def test_a_workload_runs_on_a_pool_that_was_added(adopted: Adopted) -> None:
    with adopted.running.created([work_on("gpu", "l4", {"nvidia.com/gpu": "1"}, "nvidia.com/gpu")]):
        assert type_under(adopted.running, "gpu") == "g6.xlarge"


def test_a_second_team_adds_pools_to_the_installed_karpenter(adopted: Adopted, tmp_path: Path) -> None:
    """Their pools come and go with their own script, and the first team's stay."""
    first = adopted.running
    given = pool("research", instance_types=["c7i.xlarge"])
    theirs = adoption(given, name=NAME, network=adopted.network, suffix="research")
    bundle = karpenter_bundle(theirs, controller=False, with_device_plugins=False)
    write(bundle, tmp_path / "pools", name=NAME, region=REGION, known=known(theirs.resolved))
    second = replace(first, resolved=theirs.resolved, rendered=tmp_path / "pools")
    second.run("install.sh")
    assert sorted(each["metadata"]["name"] for each in first.get("nodepools")) == ["l4", "research"]
    with second.created([work_on("cpu", "research", {"cpu": "1"})]):
        assert type_under(second, "cpu") == "c7i.xlarge"
        second.run("uninstall.sh")
    assert [each["metadata"]["name"] for each in first.get("nodepools")] == ["l4"]
    assert eventually(lambda: first.instances_of("research"), [], seconds=SECONDS) == []
