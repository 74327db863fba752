"""The control plane, its add-ons and its users, and the order of creation."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

import pytest

from eks_hardware.testing import Absent, AnyOrder, Contains, Json, Matches, Template

if TYPE_CHECKING:
    from eks_hardware._cdk import TerraformStack

Templates = Mapping[str, Template]

BEFORE_NODES = ("vpc-cni", "kube-proxy", "eks-pod-identity-agent")
AFTER_NODES = ("coredns", "metrics-server", "eks-node-monitoring-agent")


def _addon(template: Template, name: str) -> str:
    return template.address("aws_eks_addon", {"addon_name": name})


def _of_type(addresses: frozenset[str], *types: str) -> set[str]:
    return {address for address in addresses if address.rpartition(".")[0] in types}


def test_access_is_by_access_entries_only(strategy_name: str, templates: Templates) -> None:
    cluster = templates[strategy_name].only("aws_eks_cluster")
    assert cluster["access_config"]["authentication_mode"] == "API"


def test_eks_installs_nothing_by_itself(strategy_name: str, templates: Templates) -> None:
    # trap: hashicorp/terraform-provider-aws#20440
    assert templates[strategy_name].only("aws_eks_cluster")["bootstrap_self_managed_addons"] is False


def test_no_part_of_auto_mode_is_set(strategy_name: str, templates: Templates) -> None:
    """EKS accepts its three parts only together, and the provider fails if they are removed again."""
    # trap: terraform-aws-modules/terraform-aws-eks#3236
    cluster = templates[strategy_name].only("aws_eks_cluster")
    assert not {"compute_config", "storage_config"} & set(cluster)
    assert "elastic_load_balancing" not in cluster.get("kubernetes_network_config", {})


def test_what_is_only_read_at_creation_is_ignored_later(strategy_name: str, templates: Templates) -> None:
    """Without it, a changed value would replace the cluster."""
    # trap: terraform-aws-modules/terraform-aws-eks#2911
    assert templates[strategy_name].only("aws_eks_cluster")["lifecycle"] == {
        "ignore_changes": [
            "access_config[0].bootstrap_cluster_creator_admin_permissions",
            "bootstrap_self_managed_addons",
        ]
    }


def test_the_api_is_private_unless_networks_are_named(templates: Templates) -> None:
    config = templates["karpenter-pools"].only("aws_eks_cluster")["vpc_config"]
    assert config["endpoint_private_access"] is True
    assert config["endpoint_public_access"] is False
    assert "public_access_cidrs" not in config


def test_the_shipped_strategies_open_the_api(shipped_name: str, templates: Templates) -> None:
    """The apply that creates the VPC also installs their charts, from where it runs."""
    config = templates[shipped_name].only("aws_eks_cluster")["vpc_config"]
    assert (config["endpoint_private_access"], config["endpoint_public_access"]) == (True, True)
    assert config["public_access_cidrs"] == ["0.0.0.0/0"]


def test_networks_that_are_named_may_reach_the_api(templates: Templates) -> None:
    templates["cluster-options"].has(
        "aws_eks_cluster",
        {
            "vpc_config": {
                "endpoint_private_access": True,
                "endpoint_public_access": True,
                "public_access_cidrs": ["93.184.216.0/24", "0.0.0.0/0"],
            }
        },
    )


def test_the_control_plane_has_two_zones_or_more(strategy_name: str, templates: Templates) -> None:
    assert len(templates[strategy_name].only("aws_eks_cluster")["vpc_config"]["subnet_ids"]) >= 2


def test_secrets_are_encrypted_with_a_rotated_key(shipped_name: str, templates: Templates) -> None:
    template = templates[shipped_name]
    key = template.address("aws_kms_key", {"enable_key_rotation": True, "deletion_window_in_days": 30})
    template.has(
        "aws_eks_cluster",
        {"encryption_config": {"resources": ["secrets"], "provider": {"key_arn": f"${{{key}.arn}}"}}},
    )
    template.has("aws_kms_alias", {"name": f"alias/eks-{shipped_name}", "target_key_id": f"${{{key}.key_id}}"})
    use = template.resource("aws_iam_role_policy", {"policy": Contains(f"${{{key}.arn}}")})
    assert json.loads(use["policy"])["Statement"][0]["Action"] == [
        "kms:Encrypt",
        "kms:Decrypt",
        "kms:ListGrants",
        "kms:DescribeKey",
    ]


def test_a_key_that_exists_is_used(templates: Templates) -> None:
    template = templates["cluster-options"]
    template.count("aws_kms_key", 0)
    arn = "arn:aws:kms:us-west-2:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab"
    template.has("aws_eks_cluster", {"encryption_config": {"provider": {"key_arn": arn}}})
    template.has("aws_iam_role_policy", {"policy": Json({"Statement": [{"Resource": arn}]})})


def test_encryption_can_be_left_out(templates: Templates) -> None:
    template = templates["account-options"]
    template.has("aws_eks_cluster", {"encryption_config": Absent})
    template.count("aws_kms_key", 0)


def test_logs_go_to_a_group_that_the_stack_owns(shipped_name: str, templates: Templates) -> None:
    # trap: terraform-aws-modules/terraform-aws-eks#920
    template = templates[shipped_name]
    group = template.address(
        "aws_cloudwatch_log_group",
        {"name": f"/aws/eks/{shipped_name}/cluster", "retention_in_days": 365, "skip_destroy": False},
    )
    # EKS would create it, and Terraform would then fail because it exists.
    assert group in template.references(template.address("aws_eks_cluster"))


def test_every_option(templates: Templates) -> None:
    template = templates["cluster-options"]
    template.has(
        "aws_eks_cluster",
        {
            "enabled_cluster_log_types": ["audit"],
            "kubernetes_network_config": {"service_ipv4_cidr": "172.20.0.0/16"},
            "deletion_protection": True,
            "upgrade_policy": {"support_type": "EXTENDED"},
            "zonal_shift_config": {"enabled": True},
            "control_plane_scaling_config": {"tier": "tier-xl"},
        },
    )
    template.has("aws_cloudwatch_log_group", {"retention_in_days": 365, "skip_destroy": True})


def test_options_that_not_every_provider_knows_are_left_out(shipped_name: str, templates: Templates) -> None:
    templates[shipped_name].has(
        "aws_eks_cluster",
        {
            "deletion_protection": Absent,
            "control_plane_scaling_config": Absent,
            "zonal_shift_config": Absent,
            "kubernetes_network_config": Absent,
            "upgrade_policy": {"support_type": "STANDARD"},
        },
    )


def test_access_entries(templates: Templates) -> None:
    template = templates["cluster-options"]
    template.count("aws_eks_access_entry", 4, {"type": "STANDARD"})
    template.has(
        "aws_eks_access_entry",
        {"principal_arn": "arn:aws:iam::111122223333:role/Operator", "kubernetes_groups": ["operators"]},
    )
    admins = template.resources("aws_eks_access_policy_association", {"policy_arn": Matches("ClusterAdminPolicy$")})
    assert len(admins) == 2
    assert {json.dumps(body["access_scope"]) for body in admins.values()} == {'{"type": "cluster"}'}
    template.has(
        "aws_eks_access_policy_association",
        {
            "policy_arn": "arn:aws:eks::aws:cluster-access-policy/AmazonEKSEditPolicy",
            "access_scope": {"type": "namespace", "namespaces": ["demo", "test"]},
        },
    )
    # An association needs its entry first.
    for address in template.resources("aws_eks_access_policy_association"):
        assert _of_type(template.references(address), "aws_eks_access_entry")


def test_addons_are_configured_and_pinned(templates: Templates) -> None:
    template = templates["cluster-options"]
    template.has_no("aws_eks_addon", {"addon_name": "metrics-server"})
    template.has(
        "aws_eks_addon",
        {
            "addon_name": "coredns",
            "addon_version": "v1.12.4-eksbuild.1",
            "configuration_values": Json({"replicaCount": 3}),
        },
    )
    template.has(
        "aws_eks_addon",
        {
            "addon_name": "vpc-cni",
            "addon_version": Absent,
            "configuration_values": Json({"env": {"ENABLE_PREFIX_DELEGATION": "true", "WARM_PREFIX_TARGET": "2"}}),
        },
    )


@pytest.mark.parametrize(
    ("addon", "account", "policy"),
    [
        ("vpc-cni", "aws-node", "AmazonEKS_CNI_Policy"),
        ("aws-ebs-csi-driver", "ebs-csi-controller-sa", "service-role/AmazonEBSCSIDriverPolicy"),
        ("aws-fsx-csi-driver", "fsx-csi-controller-sa", "AmazonFSxFullAccess"),
    ],
)
def test_an_addon_has_its_identity_first(templates: Templates, addon: str, account: str, policy: str) -> None:
    # trap: atlassian-labs/data-center-terraform#474
    template = templates["cluster-options"]
    before = template.references(_addon(template, addon))
    identity = template.address("aws_eks_pod_identity_association", {"service_account": account})
    attachment = template.address("aws_iam_role_policy_attachment", {"policy_arn": f"arn:aws:iam::aws:policy/{policy}"})
    assert {identity, attachment} <= before


def test_pods_have_an_eni_config_for_each_zone(templates: Templates) -> None:
    template = templates["private-network"]
    zones = {body["zone_id"] for body in template.data("aws_availability_zone").values()}
    assert zones == {"use1-az2", "use1-az3", "use1-az6"}
    values = json.loads(template.resource("aws_eks_addon", {"addon_name": "vpc-cni"})["configuration_values"])
    assert values["env"]["AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG"] == "true"
    # It has the name of a node's zone label, which is the zone's name, not its id.
    assert set(values["eniConfig"]["subnets"]) == {
        f"${{{zone}.name}}" for zone in template.data("aws_availability_zone")
    }
    for settings in values["eniConfig"]["subnets"].values():
        assert settings["securityGroups"] == [template.outputs["cluster_security_group_id"]]


# Order: an object is created after its dependencies and destroyed before them.


def test_nothing_depends_on_itself(strategy_name: str, templates: Templates) -> None:
    template = templates[strategy_name]
    assert not [address for address in template.addresses() if address in template.dependencies(address)]


def test_the_cluster_is_made_after_its_logs_role_and_key(strategy_name: str, templates: Templates) -> None:
    # trap: terraform-aws-modules/terraform-aws-eks#920
    template = templates[strategy_name]
    before = template.dependencies(template.address("aws_eks_cluster"))
    assert template.address("aws_cloudwatch_log_group", {"name": f"/aws/eks/{strategy_name}/cluster"}) in before
    assert (
        template.address("aws_iam_role_policy_attachment", {"policy_arn": Matches("/AmazonEKSClusterPolicy$")})
        in before
    )
    assert set(template.resources("aws_kms_key")) <= before
    assert set(template.resources("aws_iam_role_policy", {"name": "secrets-encryption"})) <= before
    assert not _of_type(before, "aws_eks_node_group", "aws_eks_addon")


def test_nodes_are_made_after_what_makes_them_ready(strategy_name: str, templates: Templates) -> None:
    """... and destroyed before it, so that nodes keep their network and permissions while they drain."""
    # trap: terraform-aws-modules/terraform-aws-eks#285
    template = templates[strategy_name]
    needed = {_addon(template, name) for name in BEFORE_NODES}
    needed |= {template.address("aws_eks_cluster")}
    needed |= set(template.resources("aws_eks_pod_identity_association", {"service_account": "aws-node"}))
    needed |= {
        address
        for address, path in template.addresses().items()
        if address.startswith("aws_iam_role_policy_attachment.") and "/platform/node-role/" in path
    }
    for type_ in ("aws_nat_gateway", "aws_eip", "aws_internet_gateway", "aws_route", "aws_vpc_endpoint"):
        needed |= set(template.resources(type_))
    needed |= {
        address
        for address, path in template.addresses().items()
        if "/network/association-private-" in path or "/network/association-pod-" in path
    }
    needed |= set(template.resources("aws_vpc_security_group_ingress_rule", {"from_port": 443}))
    for address in template.resources("aws_eks_node_group"):
        assert needed <= template.dependencies(address), sorted(needed - template.dependencies(address))


def test_addons_that_nodes_need_wait_for_no_node(strategy_name: str, templates: Templates) -> None:
    # trap: terraform-aws-modules/terraform-aws-eks#3497
    template = templates[strategy_name]
    for name in BEFORE_NODES:
        assert not _of_type(template.dependencies(_addon(template, name)), "aws_eks_node_group")


def test_addons_with_pods_wait_for_nodes_that_take_them(strategy_name: str, templates: Templates) -> None:
    """They would wait forever for a tainted group, or for one that starts empty."""
    # trap: terraform-aws-modules/terraform-aws-eks#3497
    # trap: aws/containers-roadmap#2204
    template = templates[strategy_name]
    expected = {
        address
        for address, group in template.resources("aws_eks_node_group").items()
        if all(taint["effect"] == "PREFER_NO_SCHEDULE" for taint in group.get("taint", ()))
        and group["scaling_config"]["desired_size"] != 0
    }
    assert expected
    for address, addon in template.resources("aws_eks_addon").items():
        if addon["addon_name"] not in BEFORE_NODES:
            assert _of_type(template.dependencies(address), "aws_eks_node_group") == expected


def test_the_default_addons(shipped_name: str, templates: Templates) -> None:
    names = {body["addon_name"] for body in templates[shipped_name].resources("aws_eks_addon").values()}
    assert names == {*BEFORE_NODES, *AFTER_NODES}


def test_a_cluster_alone(stack: TerraformStack) -> None:
    from eks_hardware.constructs.cluster import Cluster
    from eks_hardware.constructs.network import NetworkRef
    from eks_hardware.models import ClusterSpec as ClusterConfig

    network = NetworkRef.from_existing(
        vpc_id="vpc-1", private_subnet_ids={"usw2-az1": "subnet-1", "usw2-az2": "subnet-2"}
    )
    cluster = Cluster.from_config(
        stack, "eks", config=ClusterConfig(), name="theirs", region="us-west-2", network=network
    )
    cluster.add_addons_after([])
    template = Template.of(stack)
    template.has("aws_eks_cluster", {"name": "theirs", "vpc_config": {"subnet_ids": AnyOrder("subnet-1", "subnet-2")}})
    template.count("aws_eks_addon", 6)
    template.count("aws_vpc", 0)
    assert len(cluster.ref.before_nodes) == 3


def test_rules_apply_to_a_cluster_alone(stack: TerraformStack) -> None:
    from eks_hardware.constructs.cluster import Cluster
    from eks_hardware.constructs.network import NetworkRef
    from eks_hardware.models import ClusterSpec as ClusterConfig

    network = NetworkRef.from_existing(vpc_id="vpc-1", private_subnet_ids={"usw2-az1": "subnet-1"})
    wrong = ClusterConfig(kubernetes_version="1.20")
    with pytest.raises(ValueError, match=r"^KUBERNETES_VERSION_UNSUPPORTED stack/eks: cluster\.kubernetes_version: "):
        Cluster.from_config(stack, "eks", config=wrong, name="theirs", region="us-west-2", network=network)


def test_a_cluster_that_exists_already(stack: TerraformStack) -> None:
    from eks_hardware._cdk import TerraformOutput
    from eks_hardware.constructs.cluster import ClusterRef

    ref = ClusterRef.from_existing(stack, "cluster", name="shared")
    for name in ("security_group_id", "endpoint", "certificate_authority", "service_cidr"):
        TerraformOutput(stack, name, value=getattr(ref, name))
    template = Template.of(stack)
    assert template.only("data.aws_eks_cluster") == {"name": "shared"}
    assert template.outputs == {
        "security_group_id": "${data.aws_eks_cluster.cluster.vpc_config[0].cluster_security_group_id}",
        "endpoint": "${data.aws_eks_cluster.cluster.endpoint}",
        "certificate_authority": "${data.aws_eks_cluster.cluster.certificate_authority[0].data}",
        "service_cidr": "${data.aws_eks_cluster.cluster.kubernetes_network_config[0].service_ipv4_cidr}",
    }
    assert ref.name == "shared"
    assert not ref.before_nodes


def test_node_monitoring_reaches_tainted_gpu_nodes(templates: Templates) -> None:
    """Its DCGM agent has no tolerations by default, and GPU nodes then count as unhealthy (containers-roadmap#2567)."""
    # trap: aws/containers-roadmap#2567
    addon = templates["mixed-hardware"].resource("aws_eks_addon", {"addon_name": "eks-node-monitoring-agent"})
    assert json.loads(addon["configuration_values"]) == {"dcgmAgent": {"tolerations": [{"operator": "Exists"}]}}
