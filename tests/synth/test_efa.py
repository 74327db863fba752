"""EFA: the interfaces of every type with EFA, and their security group."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pytest

from eks_hardware.testing import Template

if TYPE_CHECKING:
    from eks_hardware._cdk import TerraformStack

Templates = Mapping[str, Template]

CLUSTER_GROUP = "sg-cluster"
EFA_GROUP = "sg-efa"


def test_every_type_gets_the_layout_of_the_catalogue(stack: TerraformStack) -> None:
    # trap: terraform-aws-modules/terraform-aws-eks#2182
    from eks_hardware.catalogue import load
    from eks_hardware.constructs.cluster import ClusterRef
    from eks_hardware.constructs.node_groups.launch_template import launch_template
    from eks_hardware.models import NodeGroupSpec as NodeGroupConfig
    from eks_hardware.resolve import resolve_node_group

    catalogue = load()
    kinds = {kind.name.replace(".", "-"): kind for kind in catalogue.select(efa=True)}
    assert len(kinds) > 200
    cluster = ClusterRef("demo", CLUSTER_GROUP, "https://example.com", "Q0E=", "172.20.0.0/16")
    for name, kind in kinds.items():
        config = NodeGroupConfig.model_validate(
            {"name": name, "instance_types": [kind.name], "efa": True, "scaling": {"max": 1}}
        )
        group = resolve_node_group(
            config, cluster_name="demo", kubernetes_version="1.35", zone_ids=("usw2-az1",), catalogue=catalogue
        )
        launch_template(
            stack,
            name,
            group=group,
            cluster=cluster,
            efa_security_group_id=EFA_GROUP,
        )
    bodies = {body["name"]: body for body in Template.of(stack).resources("aws_launch_template").values()}
    assert len(bodies) == len(kinds)
    for name, kind in kinds.items():
        body = bodies[f"demo/{name}"]
        assert "vpc_security_group_ids" not in body
        assert [
            (each["network_card_index"], each["device_index"], each["interface_type"])
            for each in body["network_interfaces"]
        ] == [(each.network_card_index, each.device_index, each.interface_type) for each in kind.efa_interfaces]
        for each in body["network_interfaces"]:
            assert set(each) == {
                "delete_on_termination",
                "description",
                "device_index",
                "interface_type",
                "network_card_index",
                "security_groups",
            }
            assert each["security_groups"] == [CLUSTER_GROUP, EFA_GROUP]
            assert each["delete_on_termination"] == "true"


@pytest.mark.parametrize(
    ("strategy", "group", "interfaces", "efa"),
    [
        ("mixed-hardware", "gpu-training", 5, 4),
        ("mixed-hardware", "trainium-training", 9, 8),
        ("gpu-training", "h100", 33, 32),
        ("efa-trainium2", "trn2", 17, 16),
        ("efa-layouts", "b300", 17, 16),
        ("efa-layouts", "mpi", 2, 1),
        ("capacity", "block", 33, 32),
    ],
)
def test_interfaces(templates: Templates, strategy: str, group: str, interfaces: int, efa: int) -> None:
    # trap: terraform-aws-modules/terraform-aws-eks#3653
    # trap: terraform-aws-modules/terraform-aws-eks#3533
    launch = templates[strategy].resource("aws_launch_template", {"name": f"{strategy}/{group}"})
    kinds = [each["interface_type"] for each in launch["network_interfaces"]]
    assert (len(kinds), len(kinds) - kinds.count("interface")) == (interfaces, efa)
    # Exactly one has IP, and EC2 requires it first: card 0, device 0.
    first = launch["network_interfaces"][0]
    assert (first["network_card_index"], first["device_index"]) == (0, 0)
    assert kinds.count("efa-only") == interfaces - 1


def test_a_group_without_efa_has_no_interfaces_of_its_own(templates: Templates) -> None:
    for template in templates.values():
        efa = {
            group["launch_template"]["id"].strip("${}").removesuffix(".id")
            for group in template.resources(
                "aws_eks_node_group", {"labels": {"vpc.amazonaws.com/efa.present": "true"}}
            ).values()
        }
        with_interfaces = {
            address
            for address, body in template.resources("aws_launch_template").items()
            if "network_interfaces" in body
        }
        assert with_interfaces == efa


def test_every_interface_is_in_the_clusters_group_and_in_that_of_efa(strategy_name: str, templates: Templates) -> None:
    """If an interface has its own groups, EKS does not add the cluster's."""
    # trap: terraform-aws-modules/terraform-aws-eks#3491
    template = templates[strategy_name]
    cluster = f"${{{template.address('aws_eks_cluster')}.vpc_config[0].cluster_security_group_id}}"
    for body in template.resources("aws_launch_template").values():
        for interface in body.get("network_interfaces", ()):
            efa = template.address("aws_security_group", address_contains="platform_efa")
            assert interface["security_groups"] == [cluster, f"${{{efa}.id}}"]


def test_the_group_of_efa_lets_itself_in_and_out(templates: Templates) -> None:
    """An egress rule to all addresses does not cover it, because EFA is not IP traffic."""
    # trap: awslabs/awsome-distributed-ai#546
    template = templates["mixed-hardware"]
    group = f"${{{template.address('aws_security_group', address_contains='platform_efa')}.id}}"
    for direction in ("ingress", "egress"):
        template.count(
            f"aws_vpc_security_group_{direction}_rule",
            1,
            {"security_group_id": group, "referenced_security_group_id": group, "ip_protocol": "-1"},
        )


def test_wherever_there_is_efa_its_group_lets_itself_in_and_out(strategy_name: str, templates: Templates) -> None:
    """For node groups and for pools."""
    # trap: awslabs/awsome-distributed-ai#546
    template = templates[strategy_name]
    for address in template.resources("aws_security_group", {"name": f"{strategy_name}-efa"}):
        group = f"${{{address}.id}}"
        itself = {"security_group_id": group, "referenced_security_group_id": group, "ip_protocol": "-1"}
        template.count("aws_vpc_security_group_ingress_rule", 1, itself)
        template.count("aws_vpc_security_group_egress_rule", 1, itself)


def test_without_efa_there_is_no_group(templates: Templates) -> None:
    templates["gpu-inference"].count("aws_security_group", 0)


def test_efa_nodes_share_one_zone(strategy_name: str, templates: Templates) -> None:
    # trap: terraform-aws-modules/terraform-aws-eks#3044
    efa = templates[strategy_name].resources(
        "aws_eks_node_group", {"labels": {"vpc.amazonaws.com/efa.present": "true"}}
    )
    assert {len(group["subnet_ids"]) for group in efa.values()} <= {1}
