"""`cdktf deploy mixed-hardware` with everything real except AWS: what it creates, and that destroy removes it all."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from eks_hardware.loader.discovery import DEFAULT_FOLDER
from eks_hardware.local.readback import Account
from eks_hardware.resolve import ResolvedStrategy, resolve
from eks_hardware.validation import load_strategy
from helpers.secrets import secrets_in

NAME = "mixed-hardware"
REGION = "us-west-2"


class Deployed:
    """The deployed stack: its Terraform project, its account, and the objects that existed before."""

    def __init__(self, project: Any, account: Account) -> None:
        self.project = project
        self.account = account

    def eks(self, operation: str, **arguments: Any) -> dict[str, Any]:
        answer: dict[str, Any] = getattr(self.account.client("eks"), operation)(**arguments)
        return answer

    def node_group(self, name: str) -> dict[str, Any]:
        group: dict[str, Any] = self.eks("describe_nodegroup", clusterName=NAME, nodegroupName=name)["nodegroup"]
        return group

    def launch_template(self, name: str) -> dict[str, Any]:
        versions = self.account.client("ec2").describe_launch_template_versions(
            LaunchTemplateName=f"{NAME}/{name}", Versions=["$Latest"]
        )
        data: dict[str, Any] = versions["LaunchTemplateVersions"][0]["LaunchTemplateData"]
        return data


@pytest.fixture(scope="module")
def resolved() -> ResolvedStrategy:
    return resolve(load_strategy(DEFAULT_FOLDER / f"{NAME}.yaml").strategy)


@pytest.fixture(scope="module")
def deployed(deploy: Any, account: Callable[[str], Account]) -> Iterator[Deployed]:
    """Deploy once with the real cdktf; destroy and look for leftovers at the end of the module."""
    here = account(REGION)
    before = here.inventory()
    with deploy(NAME) as project:
        yield Deployed(project, here)
    assert here.inventory() == before, "destroy left something behind"


def _tags(item: dict[str, Any]) -> dict[str, str]:
    return {tag["Key"]: tag["Value"] for tag in item.get("Tags", [])}


def test_subnets_lie_in_the_resolved_zones(deployed: Deployed, resolved: ResolvedStrategy) -> None:
    subnets = deployed.account.items("ec2", "describe_subnets", "Subnets")
    actual = {
        _tags(subnet)["Name"]: (subnet["AvailabilityZoneId"], subnet["CidrBlock"])
        for subnet in subnets
        if _tags(subnet).get("Name", "").startswith(NAME)
    }
    expected = {f"{NAME}-{subnet.key}": (subnet.zone_id, subnet.cidr) for subnet in resolved.network.subnets}
    assert actual == expected


@pytest.mark.parametrize(
    ("role", "tags"),
    [
        ("private", {"kubernetes.io/role/internal-elb": "1", "karpenter.sh/discovery": NAME}),
        ("public", {"kubernetes.io/role/elb": "1"}),
        ("control-plane", {}),
    ],
)
def test_subnets_carry_discovery_tags(deployed: Deployed, role: str, tags: dict[str, str]) -> None:
    discovery = ("kubernetes.io/role/internal-elb", "kubernetes.io/role/elb", "karpenter.sh/discovery")
    for subnet in deployed.account.items("ec2", "describe_subnets", "Subnets"):
        found = _tags(subnet)
        if found.get("Name", "").startswith(f"{NAME}-{role}-"):
            assert {key: value for key, value in found.items() if key in discovery} == tags
            assert not subnet["MapPublicIpOnLaunch"]


def test_private_subnets_reach_the_internet_through_nat(deployed: Deployed, resolved: ResolvedStrategy) -> None:
    tables = {
        _tags(table).get("Name", ""): table
        for table in deployed.account.items("ec2", "describe_route_tables", "RouteTables")
    }
    for zone in resolved.network.zone_ids:
        routes = tables[f"{NAME}-private-{zone}"]["Routes"]
        defaults = [route for route in routes if route.get("DestinationCidrBlock") == "0.0.0.0/0"]
        assert [bool(route.get("NatGatewayId")) for route in defaults] == [True]


def test_cluster_is_reachable_encrypted_and_logged(deployed: Deployed) -> None:
    cluster = deployed.eks("describe_cluster", name=NAME)["cluster"]
    network = cluster["resourcesVpcConfig"]
    assert (network["endpointPrivateAccess"], network["endpointPublicAccess"]) == (True, True)
    assert network["publicAccessCidrs"] == ["0.0.0.0/0"]
    assert cluster["version"] == "1.35"
    assert cluster["encryptionConfig"][0]["resources"] == ["secrets"]
    assert sorted(cluster["logging"]["clusterLogging"][0]["types"]) == [
        "api",
        "audit",
        "authenticator",
        "controllerManager",
        "scheduler",
    ]
    groups = deployed.account.items("logs", "describe_log_groups", "logGroups")
    assert (f"/aws/eks/{NAME}/cluster", 365) in {(group["logGroupName"], group["retentionInDays"]) for group in groups}


@pytest.mark.parametrize(
    "name", ["system", "gpu-training", "trainium-training", "inferentia-inference", "cpu-inference"]
)
def test_node_group_exists_as_resolved(deployed: Deployed, resolved: ResolvedStrategy, name: str) -> None:
    expected = next(group for group in resolved.node_groups if group.name == name)
    actual = deployed.node_group(name)
    assert actual["status"] == "ACTIVE"
    assert actual["amiType"] == expected.ami_type
    assert actual["capacityType"] == expected.capacity_type
    assert actual["instanceTypes"] == list(expected.instance_types)
    assert actual["labels"] == dict(expected.labels)
    assert [(each["key"], each["value"], each["effect"]) for each in actual.get("taints", [])] == [
        (taint.key, taint.value, taint.effect) for taint in expected.taints
    ]
    assert actual["scalingConfig"] == {
        "minSize": expected.min_size,
        "maxSize": expected.max_size,
        "desiredSize": expected.desired_size,
    }
    zones = {
        subnet["AvailabilityZoneId"]
        for subnet in deployed.account.items("ec2", "describe_subnets", "Subnets", SubnetIds=actual["subnets"])
    }
    assert zones == set(expected.zone_ids)


@pytest.mark.parametrize(("name", "interfaces"), [("gpu-training", 5), ("trainium-training", 9)])
def test_efa_interfaces_of_the_launch_template(
    deployed: Deployed, resolved: ResolvedStrategy, name: str, interfaces: int
) -> None:
    expected = next(group for group in resolved.node_groups if group.name == name).efa_interfaces
    actual = deployed.launch_template(name)["NetworkInterfaces"]
    assert len(actual) == interfaces
    assert [(each["NetworkCardIndex"], each["DeviceIndex"], each["InterfaceType"]) for each in actual] == [
        (interface.network_card_index, interface.device_index, interface.interface_type) for interface in expected
    ]
    cluster_group = deployed.eks("describe_cluster", name=NAME)["cluster"]["resourcesVpcConfig"][
        "clusterSecurityGroupId"
    ]
    for interface in actual:
        assert cluster_group in interface["Groups"]
        assert len(interface["Groups"]) == 2


def test_launch_templates_are_hardened(deployed: Deployed, resolved: ResolvedStrategy) -> None:
    for group in resolved.node_groups:
        template = deployed.launch_template(group.name)
        assert template["MetadataOptions"]["HttpTokens"] == "required"
        assert template["MetadataOptions"]["HttpPutResponseHopLimit"] == 1
        for device in template["BlockDeviceMappings"]:
            assert str(device["Ebs"]["Encrypted"]).lower() == "true"
        for specification in template["TagSpecifications"]:
            tags = {tag["Key"]: tag["Value"] for tag in specification["Tags"]}
            assert tags["eks-hardware/strategy"] == NAME
        assert "NodeConfig" in base64.b64decode(template["UserData"]).decode()


def test_efa_security_group_allows_itself_both_ways(deployed: Deployed) -> None:
    [group] = [
        each
        for each in deployed.account.items("ec2", "describe_security_groups", "SecurityGroups")
        if each["GroupName"] == f"{NAME}-efa"
    ]
    for rules in (group["IpPermissions"], group["IpPermissionsEgress"]):
        by_itself = [
            rule for rule in rules if group["GroupId"] in [pair["GroupId"] for pair in rule.get("UserIdGroupPairs", [])]
        ]
        assert [rule["IpProtocol"] for rule in by_itself] == ["-1"]
    assert not [key for key in _tags(group) if key.startswith("kubernetes.io/cluster/")]


def test_exactly_one_security_group_is_discovered_by_karpenter(deployed: Deployed) -> None:
    # By its tags, because the emulator does not list the cluster's security group.
    named = [{"Name": "key", "Values": ["karpenter.sh/discovery"]}]
    tags = deployed.account.items("ec2", "describe_tags", "Tags", Filters=named)
    tagged = [tag["ResourceId"] for tag in tags if tag["ResourceId"].startswith("sg-") and tag["Value"] == NAME]
    cluster = deployed.eks("describe_cluster", name=NAME)["cluster"]
    assert tagged == [cluster["resourcesVpcConfig"]["clusterSecurityGroupId"]]


def test_addons(deployed: Deployed) -> None:
    assert sorted(deployed.eks("list_addons", clusterName=NAME)["addons"]) == [
        "coredns",
        "eks-node-monitoring-agent",
        "eks-pod-identity-agent",
        "kube-proxy",
        "metrics-server",
        "vpc-cni",
    ]
    cni = deployed.eks("describe_addon", clusterName=NAME, addonName="vpc-cni")["addon"]
    assert json.loads(cni["configurationValues"]) == {
        "enableNetworkPolicy": "true",
        "env": {"ENABLE_PREFIX_DELEGATION": "true", "WARM_PREFIX_TARGET": "1"},
    }


def test_access_entry_of_karpenter_nodes(deployed: Deployed) -> None:
    entries = deployed.eks("list_access_entries", clusterName=NAME)["accessEntries"]
    [arn] = [entry for entry in entries if entry.endswith(f"{NAME}-{REGION}-karpenter-node")]
    entry = deployed.eks("describe_access_entry", clusterName=NAME, principalArn=arn)["accessEntry"]
    assert entry["type"] == "EC2_LINUX"


def test_pod_identity_associations(deployed: Deployed) -> None:
    actual = {}
    for item in deployed.eks("list_pod_identity_associations", clusterName=NAME)["associations"]:
        found = deployed.eks(
            "describe_pod_identity_association", clusterName=NAME, associationId=item["associationId"]
        )["association"]
        actual[f"{found['namespace']}/{found['serviceAccount']}"] = found["roleArn"].rpartition("/")[2]
    assert actual == {
        "kube-system/aws-node": f"{NAME}-{REGION}-vpc-cni",
        "kube-system/karpenter": f"{NAME}-{REGION}-karpenter-controller",
    }


def test_karpenter_controller_has_its_policies(deployed: Deployed) -> None:
    attached = deployed.account.items(
        "iam", "list_attached_role_policies", "AttachedPolicies", RoleName=f"{NAME}-{REGION}-karpenter-controller"
    )
    keys = ("discovery", "eks", "iam", "interruption", "node-lifecycle", "zonal-shift")
    assert sorted(policy["PolicyName"] for policy in attached) == [f"{NAME}-{REGION}-karpenter-{key}" for key in keys]


def test_interruption_queue_takes_only_its_rules_and_only_tls(deployed: Deployed) -> None:
    sqs = deployed.account.client("sqs")
    url = sqs.get_queue_url(QueueName=f"{NAME}-karpenter")["QueueUrl"]
    attributes = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
    assert attributes["MessageRetentionPeriod"] == "300"
    assert attributes["SqsManagedSseEnabled"] == "true"
    allow, deny = json.loads(attributes["Policy"])["Statement"]
    assert (allow["Effect"], allow["Principal"]) == ("Allow", {"Service": "events.amazonaws.com"})
    assert len(allow["Condition"]["ArnEquals"]["aws:SourceArn"]) == 5
    assert (deny["Effect"], deny["Condition"]) == ("Deny", {"Bool": {"aws:SecureTransport": "false"}})


def test_five_rules_feed_the_queue(deployed: Deployed) -> None:
    events = deployed.account.client("events")
    rules = events.list_rules(NamePrefix=f"{NAME}-karpenter-")["Rules"]
    assert sorted(json.loads(rule["EventPattern"])["detail-type"][0] for rule in rules) == [
        "AWS Health Event",
        "EC2 Capacity Reservation Instance Interruption Warning",
        "EC2 Instance Rebalance Recommendation",
        "EC2 Instance State-change Notification",
        "EC2 Spot Instance Interruption Warning",
    ]
    for rule in rules:
        [target] = events.list_targets_by_rule(Rule=rule["Name"])["Targets"]
        assert target["Arn"].endswith(f":{NAME}-karpenter")


def test_placement_groups_of_efa_groups_and_pools_only(deployed: Deployed) -> None:
    found = deployed.account.client("ec2").describe_placement_groups()["PlacementGroups"]
    assert sorted(
        (group["GroupName"], group["Strategy"]) for group in found if group["GroupName"].startswith(NAME)
    ) == [
        (f"{NAME}/gpu-efa", "cluster"),
        (f"{NAME}/gpu-training", "cluster"),
        (f"{NAME}/trainium", "cluster"),
        (f"{NAME}/trainium-training", "cluster"),
    ]


def test_state_keeps_no_secret(deployed: Deployed) -> None:
    state = json.loads(deployed.project.run("state", "pull").stdout)
    assert len(state["resources"]) > 50
    marked = [
        (resource["type"], instance["sensitive_attributes"])
        for resource in state["resources"]
        for instance in resource["instances"]
        if instance.get("sensitive_attributes")
    ]
    assert marked == []
    assert list(secrets_in(state)) == []


def test_second_plan_changes_nothing(deployed: Deployed) -> None:
    """emulator_patches adds the fields that stock ministack forgets, so there are no exceptions."""
    plan = deployed.project.plan()
    assert plan.changes == {}
    assert plan.exit_code == 0
