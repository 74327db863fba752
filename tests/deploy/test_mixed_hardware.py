"""`cdktf deploy mixed-hardware` with everything real except AWS: what it creates, and that destroy removes it all.

The last part runs the deployed cluster: a local Kubernetes that the EKS cluster describes as its own, nodes from the
instances' user data, the releases and Karpenter. It is skipped without the programs of ``make cluster-tools``.
"""

from __future__ import annotations

import base64
import contextlib
import datetime
import json
import re
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
import yaml

from eks_hardware.catalogue import Hardware, load
from eks_hardware.kubernetes import bundle
from eks_hardware.kubernetes.allocatable import allocatable
from eks_hardware.kubernetes.nodes import nodes as groups_and_pools
from eks_hardware.loader.discovery import DEFAULT_FOLDER
from eks_hardware.local import cluster_tools
from eks_hardware.local.cluster import Cluster
from eks_hardware.local.emulator import Emulator
from eks_hardware.local.emulator_patches import events
from eks_hardware.local.named_reservations import named
from eks_hardware.local.readback import Account
from eks_hardware.models import Strategy
from eks_hardware.resolve import ResolvedNodePool, ResolvedStrategy, resolve
from eks_hardware.spellings import eks_effect
from eks_hardware.validation import load_strategy
from helpers.cluster_programs import programs
from helpers.kubernetes.disruptions import Claims, condition, is_disrupted, is_true, time_of
from helpers.kubernetes.installed import Installed, installed, long_running, source_of
from helpers.kubernetes.launched import check_launched
from helpers.kubernetes.objects import Object, bundle_of, manifest_list, objects_in
from helpers.kubernetes.scheduling import quantity
from helpers.paths import SPECIAL
from helpers.polling import eventually
from helpers.secrets import secrets_in
from helpers.strategies import strategy_of

NAME = "mixed-hardware"
REGION = "us-west-2"
SECONDS = 480
"""The longest wait for Karpenter on a busy machine."""
CLUSTER_TOOLS = ("kubernetes", "etcd", "helm", "kwok", "kwok-files", "karpenter", "karpenter-files")


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
def kubernetes(emulator: Emulator, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster | None]:
    """Return a Kubernetes that EKS clusters describe as their own, or ``None`` without its programs."""
    try:
        tools = cluster_tools.paths(*CLUSTER_TOOLS)
    except cluster_tools.ToolsMissing:
        yield None
        return
    webhook = emulator.access_webhook(NAME, REGION)
    with Cluster(tmp_path_factory.mktemp("kubernetes"), programs=tools, access_webhook=webhook, kwok=True) as cluster:
        emulator.set_api_server(cluster.endpoint, cluster.certificate_authority)
        yield cluster


@pytest.fixture(scope="module")
def deployed(deploy: Any, account: Callable[[str], Account], kubernetes: Cluster | None) -> Iterator[Deployed]:  # noqa: ARG001
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
        (taint.key, taint.value, eks_effect(taint.effect)) for taint in expected.taints
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


# --- the running cluster


@pytest.fixture(scope="module")
def running(
    deployed: Deployed,
    kubernetes: Cluster | None,
    emulator: Emulator,
    resolved: ResolvedStrategy,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Installed]:
    """Install the releases with ``install.sh`` and start Karpenter; at the end, ``uninstall.sh`` with running work."""
    tools = programs(*CLUSTER_TOOLS)
    assert kubernetes is not None
    outputs = json.loads(deployed.project.run("output", "-json").stdout)
    with installed(
        strategy_of(DEFAULT_FOLDER / f"{NAME}.yaml"),
        resolved,
        bundle_of(NAME),
        cluster=kubernetes,
        account=deployed.account,
        emulator=emulator,
        rendered=deployed.project.stack_dir / "kubernetes",
        outputs={key: each["value"] for key, each in outputs.items() if isinstance(each["value"], str)},
        tools=tools,
        directory=tmp_path_factory.mktemp("running"),
    ) as parts:
        yield parts
    assert [each for each in parts.instances().values() if source_of(each) in _pools(resolved)] == []


@pytest.fixture(scope="module")
def placed(running: Installed, resolved: ResolvedStrategy) -> dict[str, Any]:
    """Run the printed job of every group and pool; return the instance on which it ran, by group or pool."""
    workers = [each.name for each in groups_and_pools(resolved) if each.hardware is not Hardware.CPU]
    for group in resolved.node_groups:
        if group.name in workers:
            running.scale(group.name, 1)
    found: dict[str, Any] = {}
    objects = [each for name in workers for each in running.printed(name)]
    with running.created(objects):
        jobs = [each["metadata"]["name"] for each in objects if each["kind"] == "Job"]
        expected = dict.fromkeys(jobs, "Succeeded")
        states = eventually(lambda: {job: _phase(running, job) for job in jobs}, expected, seconds=SECONDS)
        running.check()
        assert states == expected, running.karpenter.log_tail()
        instances = running.instances()
        for name, job in zip(workers, jobs, strict=True):
            ((_, node),) = running.pods(f"batch.kubernetes.io/job-name={job}").values()
            found[name] = instances[node]
    return found


def _pools(resolved: ResolvedStrategy) -> dict[str, ResolvedNodePool]:
    return {each.name: each for each in resolved.node_pools}


def _phase(running: Installed, job: str) -> str:
    return next((phase for phase, _ in running.pods(f"batch.kubernetes.io/job-name={job}").values()), "")


def test_the_system_group_runs_the_releases(running: Installed) -> None:
    """``install.sh`` waited for them; only the plugins' daemonsets need other nodes."""
    assert len(running.instances_of("system")) == 2

    def pending() -> list[str]:
        return [each["metadata"]["name"] for each in running.get("pods") if each["status"]["phase"] != "Running"]

    assert eventually(pending, []) == []


def test_add_ons_run(running: Installed) -> None:
    """CoreDNS and metrics-server on the first nodes, next to the releases; agents on every node."""
    found = running.get("pods", "-l", "k8s-app")
    by_name: dict[str, set[str]] = {}
    for each in found:
        by_name.setdefault(each["metadata"]["labels"]["k8s-app"], set()).add(each["spec"].get("nodeName", ""))
    everywhere = set(running.instances())
    system = {each["PrivateDnsName"] for each in running.instances_of("system")}
    agents = ("aws-node", "kube-proxy", "eks-pod-identity-agent", "eks-node-monitoring-agent")
    assert {name: by_name[name] for name in agents} == dict.fromkeys(agents, everywhere)
    assert by_name["coredns"] | by_name["metrics-server"] <= system


def test_printed_jobs_run_on_their_group_or_pool(placed: dict[str, Any], resolved: ResolvedStrategy) -> None:
    assert {name: source_of(instance) for name, instance in placed.items()} == {name: name for name in placed}
    for node in groups_and_pools(resolved):
        if node.name in placed:
            assert placed[node.name]["InstanceType"] in node.instance_types


def test_only_workloads_and_plugins_run_on_accelerators(placed: dict[str, Any], running: Installed) -> None:
    kinds = {each["PrivateDnsName"]: load().get(each["InstanceType"]) for each in placed.values()}
    pods = [each for each in running.get("pods") if each["spec"].get("nodeName") in kinds]
    assert {each["metadata"]["ownerReferences"][0]["kind"] for each in pods} <= {"DaemonSet", "Job"}
    monitored = {
        each["spec"]["nodeName"] for each in pods if each["metadata"]["labels"].get("k8s-app") == "dcgm-server"
    }
    assert monitored == {name for name, kind in kinds.items() if kind.hardware is Hardware.NVIDIA_GPU}


def test_karpenter_launches_what_the_strategy_says(
    placed: dict[str, Any], running: Installed, resolved: ResolvedStrategy
) -> None:
    for name, pool in _pools(resolved).items():
        check_launched(running.account, pool, placed[name], kubernetes="1.35")


@pytest.mark.usefixtures("placed")
def test_nodes_have_what_karpenter_and_explain_expect(running: Installed, resolved: ResolvedStrategy) -> None:
    """Karpenter computes it before a node exists, ``explain`` before anything exists."""
    nodes = {each["metadata"]["name"]: each["status"]["allocatable"] for each in running.get("nodes")}
    registered = [each for each in running.get("nodeclaims") if each.get("status", {}).get("nodeName") in nodes]
    assert registered
    for claim in registered:
        node, expected = nodes[claim["status"]["nodeName"]], claim["status"]["allocatable"]
        pool = _pools(resolved)[claim["metadata"]["labels"]["karpenter.sh/nodepool"]]
        kind = load().get(claim["metadata"]["labels"]["node.kubernetes.io/instance-type"])
        ours = allocatable(pool, kind)
        for resource in ("cpu", "memory"):
            amount = float(quantity(node[resource]))
            assert float(quantity(expected[resource])) == pytest.approx(amount, rel=0.01), (pool.name, resource)
            assert float(ours[resource]) == pytest.approx(amount, rel=0.01), (pool.name, resource)
        for resource, amount in expected.items():
            is_device = "/" in resource and not resource.endswith("pod-eni")
            if is_device or resource.startswith("hugepages"):
                assert quantity(node[resource]) == quantity(amount), (pool.name, resource)


def told(running: Installed, reason: str) -> list[str]:
    """Return the names of the objects about which Karpenter recorded an event."""
    events = running.get("events", f"--field-selector=reason={reason}")
    return [each["involvedObject"].get("name", "") for each in events]


def claims(running: Installed, *pools: str) -> list[str]:
    """Return the node claims of pools that nothing deletes."""
    return [
        each["metadata"]["name"]
        for each in running.get("nodeclaims")
        if each["metadata"]["labels"]["karpenter.sh/nodepool"] in pools and "deletionTimestamp" not in each["metadata"]
    ]


def test_a_rebalance_recommendation_is_only_recorded(placed: dict[str, Any], running: Installed) -> None:
    """Source: https://karpenter.sh/v1.14/concepts/disruption/#interruption."""
    instance = placed["gpu-inference"]
    (claim,) = claims(running, "gpu-inference")
    running.emulator.deliver(events.rebalance_recommendation(instance["InstanceId"], REGION))
    assert eventually(lambda: claim in told(running, "SpotRebalanceRecommendation")), running.karpenter.log_tail()
    assert claims(running, "gpu-inference") == [claim]
    assert instance["PrivateDnsName"] in running.instances()


def test_an_instance_that_others_terminate_loses_its_claim(placed: dict[str, Any], running: Installed) -> None:
    (claim,) = claims(running, "gpu-inference")
    running.account.client("ec2").terminate_instances(InstanceIds=[placed["gpu-inference"]["InstanceId"]])
    assert eventually(lambda: claims(running, "gpu-inference"), []) == [], running.karpenter.log_tail()
    # Not only the missing Node: the event arrived.
    assert eventually(lambda: claim in told(running, "InstanceTerminating"))


def test_a_scheduled_change_drains_the_node(placed: dict[str, Any], running: Installed) -> None:
    instance = placed["trainium"]
    pod = long_running(running.printed("trainium"), "retired")
    with running.created([pod]):
        there = {"retired": ("Running", instance["PrivateDnsName"])}
        assert eventually(lambda: running.pods("long-running=retired"), there) == there
        running.emulator.deliver(events.scheduled_change(instance["InstanceId"], REGION))
        ended = eventually(lambda: instance["PrivateDnsName"] not in running.instances(), seconds=SECONDS)
        assert ended, running.karpenter.log_tail()
        assert running.pods("long-running=retired") == {}


def test_an_interruption_drains_the_node(placed: dict[str, Any], running: Installed) -> None:
    instance = placed["inferentia"]
    pod = long_running(running.printed("inferentia"), "interrupted")
    with running.created([pod]):
        there = {"interrupted": ("Running", instance["PrivateDnsName"])}
        assert eventually(lambda: running.pods("long-running=interrupted"), there) == there
        running.emulator.deliver(events.spot_interruption(instance["InstanceId"], REGION))
        ended = eventually(lambda: instance["PrivateDnsName"] not in running.instances(), seconds=SECONDS)
        assert ended, running.karpenter.log_tail()
        assert running.pods("long-running=interrupted") == {}


def test_pools_of_the_other_strategies_launch_what_they_say(running: Installed) -> None:
    """Karpenter reads only their objects; the plugin for shared GPUs reads its configuration, too.

    Before the test of missing Spot capacity: Karpenter remembers for minutes which offerings had none.
    """
    given = pools_of_others()
    names = [each["name"] for each in given]
    with more_pools(running, *given) as parts:
        configure_plugin(parts)
        objects = [each for name in names for each in parts.printed(name)]
        jobs = {name: f"on-{name}" for name in names}
        with parts.created(objects):
            done = dict.fromkeys(names, "Succeeded")
            phases = eventually(lambda: {name: _phase(parts, job) for name, job in jobs.items()}, done, seconds=SECONDS)
            assert phases == done, parts.karpenter.log_tail()
            instances, pools = parts.instances(), _pools(parts.resolved)
            for name, job in jobs.items():
                ((_, node),) = parts.pods(f"batch.kubernetes.io/job-name={job}").values()
                assert source_of(instances[node]) == name
                check_launched(parts.account, pools[name], instances[node], kubernetes="1.35")


def test_without_spot_capacity_a_pool_launches_on_demand(placed: dict[str, Any], running: Installed) -> None:
    """Karpenter can ask for the failed offerings again for up to five minutes.

    Its cache of offerings has an entry for each EC2NodeClass, but remembers only once which failures it has seen. If
    it updates the entry of another EC2NodeClass first, the old entry stays until it expires:
    https://github.com/aws/karpenter-provider-aws/issues/8909
    """
    assert placed["gpu-inference"]["InstanceLifecycle"] == "spot"
    running.cluster.kubectl("delete", "nodeclaims", "-l", "karpenter.sh/nodepool=gpu-inference")
    running.emulator.set_no_capacity({"lifecycle": "spot"})
    pod = long_running(running.printed("gpu-inference"), "on-demand")
    with running.created([pod]):
        found = eventually(
            lambda: [phase for phase, _ in running.pods("long-running=on-demand").values()], ["Running"], seconds=420
        )
        assert found == ["Running"], running.karpenter.log_tail()
        (instance,) = running.instances_of("gpu-inference")
        assert "InstanceLifecycle" not in instance
    running.emulator.set_no_capacity()


def test_limits_hold(placed: dict[str, Any], running: Installed) -> None:
    """The pool's limit of 16 GPUs is two nodes."""
    assert source_of(placed["gpu-efa"]) == "gpu-efa"
    pods = [long_running(running.printed("gpu-efa"), f"training-{number}") for number in range(3)]
    for each in pods:
        each["metadata"]["labels"]["long-running"] = "training"

    def phases() -> list[str]:
        return sorted(phase for phase, _ in running.pods("long-running=training").values())

    with running.created(pods):
        assert eventually(phases, ["Pending", "Running", "Running"]) == ["Pending", "Running", "Running"]
        assert len(running.instances_of("gpu-efa")) == 2
        (waiting,) = (name for name, (phase, _) in running.pods("long-running=training").items() if phase == "Pending")

        def reasons() -> list[str]:
            said = running.get("events", f"--field-selector=involvedObject.name={waiting},reason=FailedScheduling")
            return [each["message"] for each in said]

        limit = "all available instance types exceed limits for nodepool"
        assert eventually(lambda: any(limit in each for each in reasons()), seconds=SECONDS), reasons()


RESERVED: dict[str, Any] = {
    "name": "reserved",
    "workload": "inference",
    "instance_types": ["g6.xlarge"],
    "capacity": ["reserved"],
    "reservations": [{"id": "cr-0123456789abcdef1", "zone": "usw2-az1"}],
    "limits": {"nvidia.com/gpu": 2},
}
BLOCK: dict[str, Any] = {
    "name": "block",
    "workload": "training",
    "instance_types": ["p5.48xlarge"],
    "efa": True,
    "capacity": ["capacity-block"],
    "reservations": [{"id": "cr-0123456789abcdef0", "zone": "usw2-az1"}],
    "limits": {"nvidia.com/gpu": 16},
}


def with_more(running: Installed, *pools: Mapping[str, Any]) -> Installed:
    """Return the running parts with more pools in the strategy."""
    document = yaml.safe_load((DEFAULT_FOLDER / f"{NAME}.yaml").read_text(encoding="utf-8"))
    document["karpenter"]["node_pools"] += pools
    strategy = Strategy.model_validate(document)
    return replace(running, strategy=strategy, resolved=resolve(strategy))


def apply_pools(running: Installed, *pools: Mapping[str, Any]) -> Installed:
    """Apply the objects of more pools, as ``install.sh`` does, and return the running parts with them."""
    more = with_more(running, *pools)
    # A NodeOverlay has the name of its pool and more.
    names = tuple(each["name"] for each in pools)
    objects = [each for each in objects_in(more.resolved) if each["metadata"]["name"].startswith(names)]
    running.cluster.kubectl("apply", "--server-side", "-f", "-", stdin=manifest_list(objects))
    return more


@contextlib.contextmanager
def more_pools(running: Installed, *pools: Mapping[str, Any]) -> Iterator[Installed]:
    """Add pools, and remove them with their nodes at the end."""
    names = [each["name"] for each in pools]
    try:
        yield apply_pools(running, *pools)
    finally:
        running.cluster.kubectl("delete", "nodepools,ec2nodeclasses", *names, "--timeout=240s")
    left = eventually(lambda: [each for each in running.instances().values() if source_of(each) in names], [])
    assert left == []


SPECIAL_POOLS = {"bottlerocket": "bottlerocket", "graviton": "own-kubelet", "fractions": "fractions"}
"""Pools of ``karpenter-pools`` that differ from all shipped ones, with their names here."""


def pools_of_others() -> list[dict[str, Any]]:
    """Return the pools of the other shipped strategies and a few more, for this strategy's region."""
    found: list[dict[str, Any]] = []
    for file in sorted(DEFAULT_FOLDER.glob("*.yaml")):
        if file.stem != NAME:
            document = yaml.safe_load(file.read_text(encoding="utf-8"))
            found += document.get("karpenter", {}).get("node_pools", ())
    special = yaml.safe_load((SPECIAL / "karpenter-pools.yaml").read_text(encoding="utf-8"))
    for each in special["karpenter"]["node_pools"]:
        if each["name"] in SPECIAL_POOLS:
            found.append({**each, "name": SPECIAL_POOLS[each["name"]]})
    return found


def configure_plugin(running: Installed) -> None:
    """Give NVIDIA's device plugin the configurations of all pools, as ``install.sh`` does."""
    (release,) = (each for each in bundle(running.resolved).charts if each.name == "nvidia-device-plugin")
    chart = f"{running.environment['CHARTS']}/{release.chart}-{release.version}.tgz"
    command = ["helm", "upgrade", release.name, chart, "--namespace", release.namespace, "--values=-"]
    values = json.dumps(release.values, default=dict)
    subprocess.run(command, env=running.environment, input=values, check=True, stdout=subprocess.PIPE, text=True)


@pytest.fixture(scope="module")
def reserving(running: Installed) -> Iterator[Installed]:
    """Add two pools with reservations of one instance each, and remove them at the end."""
    more = with_more(running, RESERVED, BLOCK)
    assert more.strategy is not None
    running.emulator.add_reservations(REGION, [{**each, "count": 1} for each in named(more.strategy, more.resolved)])
    with more_pools(running, RESERVED, BLOCK) as parts:
        yield parts


def reservation_of(running: Installed, pool: Mapping[str, Any]) -> dict[str, Any]:
    """Return the reservation of a pool, as EC2 describes it."""
    (given,) = pool["reservations"]
    ec2 = running.account.client("ec2")
    (found,) = ec2.describe_capacity_reservations(CapacityReservationIds=[given["id"]])["CapacityReservations"]
    return dict(found)


def test_a_reserved_pool_waits_when_its_reservation_is_used_up(reserving: Installed) -> None:
    pods = [long_running(reserving.printed("reserved"), f"reserved-{number}") for number in range(2)]
    for each in pods:
        each["metadata"]["labels"]["long-running"] = "reserved"

    def phases() -> list[str]:
        return sorted(phase for phase, _ in reserving.pods("long-running=reserved").values())

    assert reservation_of(reserving, RESERVED)["AvailableInstanceCount"] == 1
    with reserving.created(pods):
        assert eventually(phases, ["Pending", "Running"]) == ["Pending", "Running"], reserving.karpenter.log_tail()
        (instance,) = reserving.instances_of("reserved")
        assert instance["CapacityReservationId"] == reservation_of(reserving, RESERVED)["CapacityReservationId"]
        assert reservation_of(reserving, RESERVED)["AvailableInstanceCount"] == 0
        (node,) = reserving.get("nodes", "-l", "karpenter.sh/nodepool=reserved")
        assert node["metadata"]["labels"]["karpenter.sh/capacity-type"] == "reserved"
        # Karpenter tried to place both pods at once, and nothing else is allowed.
        assert len(claims(reserving, "reserved")) == 1


def test_a_block_drains_before_its_end(reserving: Installed) -> None:
    pod = long_running(reserving.printed("block"), "in-block")
    with reserving.created([pod]):
        phases = eventually(
            lambda: [phase for phase, _ in reserving.pods("long-running=in-block").values()], ["Running"]
        )
        assert phases == ["Running"], reserving.karpenter.log_tail()
        (instance,) = reserving.instances_of("block")
        assert instance["InstanceLifecycle"] == "capacity-block"
        (claim,) = claims(reserving, "block")
        found = reservation_of(reserving, BLOCK)
        assert (found["AvailableInstanceCount"], found["ReservationType"]) == (0, "capacity-block")
        left = found["EndDate"] - datetime.datetime.now(datetime.timezone.utc)
        try:
            reserving.emulator.set_clock_ahead(left - datetime.timedelta(minutes=39))
            ended = eventually(lambda: instance["PrivateDnsName"] not in reserving.instances(), seconds=SECONDS)
            assert ended, reserving.karpenter.log_tail()
            assert claim in told(reserving, "CapacityReservationInstanceInterrupted")
            reserving.emulator.set_clock_ahead(left)
            assert reservation_of(reserving, BLOCK)["State"] == "expired"
            assert eventually(lambda: reserving.instances_of("block"), []) == []
        finally:
            reserving.emulator.set_clock_ahead(datetime.timedelta())


OLD_IMAGE, NEW_IMAGE = "v20260728", "v20260810"
ON_G6: dict[str, Any] = {"instance_types": ["g6.xlarge"], "limits": {"nvidia.com/gpu": 8}}
EMPTIED: dict[str, Any] = {
    **ON_G6,
    "name": "emptied",
    "workload": "inference",
    "disruption": {"consolidate_after": "20s", "budgets": [{"nodes": "100%"}]},
}
MOVED: dict[str, Any] = {
    **ON_G6,
    "name": "moved",
    "workload": "inference",
    "ami": {"version": OLD_IMAGE},
    "disruption": {"consolidation": "when-empty", "budgets": [{"nodes": "1"}]},
}
KEPT: dict[str, Any] = {
    **ON_G6,
    "name": "kept",
    "workload": "training",
    "ami": {"version": OLD_IMAGE},
    "disruption": {"consolidate_after": "20s", "budgets": [{"nodes": "0"}]},
}


@dataclass(frozen=True)
class Disrupted:
    """The pools ``emptied``, ``moved`` and ``kept`` after the first lost its pod and the others have a new image.

    Attributes:
        before: the node claims of each pool before that.
        empty: the claim of ``kept`` without a pod.
        images: the AMI's name of each claim.
    """

    running: Installed
    claims: Claims
    before: Mapping[str, list[str]]
    empty: str
    images: dict[str, str]

    def read(self) -> Claims:
        """Read the claims and the images of their instances."""
        self.claims.read()
        ec2 = self.running.account.client("ec2")
        for name in self.claims.now - self.images.keys():
            if identity := self.claims.last[name].get("status", {}).get("imageID"):
                (image,) = ec2.describe_images(ImageIds=[identity])["Images"]
                self.images[name] = image["Name"]
        return self.claims


@pytest.fixture(scope="module")
def disrupted(running: Installed) -> Iterator[Disrupted]:
    """Run work on three pools; end some of it, and move the images. Return when Karpenter has replaced the nodes."""
    with more_pools(running, EMPTIED, MOVED, KEPT) as parts:
        pods = [
            long_running(parts.printed(pool), f"{pool}-{number}")
            for pool, number in (("emptied", 0), ("kept", 0), ("kept", 1))
        ]
        serving = replicated(parts.printed("moved"), "moved", replicas=2)
        with parts.created([*pods, serving]):
            selector = "long-running in (emptied-0,kept-0,kept-1,moved)"
            phases = eventually(
                lambda: [phase for phase, _ in parts.pods(selector).values()], ["Running"] * 5, seconds=SECONDS
            )
            assert phases == ["Running"] * 5, running.karpenter.log_tail()
            claims = Claims(parts, "emptied", "moved", "kept")
            node = parts.pods("long-running=kept-0")["kept-0"][1]
            before = {pool: claims.of(pool) for pool in ("emptied", "moved", "kept")}
            found = Disrupted(parts, claims, before, claims.on(node), {})
            found.read()
            moved = [{**each, "ami": {"version": NEW_IMAGE}} for each in (MOVED, KEPT)]
            apply_pools(running, EMPTIED, *moved)
            running.cluster.kubectl("delete", "pods", "emptied-0", "kept-0", "--wait=false")
            gone = {*before["emptied"], *before["moved"]}
            assert eventually(lambda: gone & found.read().now, set(), seconds=SECONDS) == set(), (
                running.karpenter.log_tail()
            )
            yield replace(found, running=with_more(running, EMPTIED, *moved))


def replicated(objects: Sequence[Object], name: str, *, replicas: int) -> Object:
    """Return a Deployment of pods like those of a printed job."""
    pod = long_running(objects, name)
    labels = pod["metadata"]["labels"]
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": pod["metadata"]["namespace"]},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"long-running": name}},
            "template": {"metadata": {"labels": labels}, "spec": {**pod["spec"], "restartPolicy": "Always"}},
        },
    }


def test_an_empty_node_goes_after_the_time_that_the_strategy_says(disrupted: Disrupted) -> None:
    """Karpenter counts from the last pod event that it recorded, or from the node's initialization.

    It records no event for a pod that is gone before Karpenter reads it.
    """
    ((name,), claims) = disrupted.before["emptied"], disrupted.claims
    claim = claims.last[name]
    assert is_true(claim, "Consolidatable")
    initialized = condition(claim, "Initialized")["lastTransitionTime"]
    counted_from = claim["status"].get("lastPodEventTime", initialized)
    waited = time_of(condition(claim, "Consolidatable")["lastTransitionTime"]) - time_of(counted_from)
    # By default it would be five minutes.
    assert datetime.timedelta(seconds=20) <= waited < datetime.timedelta(minutes=5)
    assert claims.of("emptied") == []


def test_a_moved_image_replaces_nodes_within_the_budget(disrupted: Disrupted) -> None:
    claims, images = disrupted.claims, disrupted.images
    serving = eventually(
        lambda: [phase for phase, _ in disrupted.running.pods("long-running=moved").values()],
        ["Running"] * 2,
        seconds=SECONDS,
    )
    assert serving == ["Running"] * 2
    disrupted.read()
    assert len(claims.of("moved")) == 2
    assert {OLD_IMAGE in images[name] for name in disrupted.before["moved"]} == {True}
    assert {NEW_IMAGE in images[name] for name in claims.of("moved")} == {True}
    nodes = {node for _, node in disrupted.running.pods("long-running=moved").values()}
    assert {claims.on(node) for node in nodes} == set(claims.of("moved"))
    assert claims.most_disrupted["moved"] == 1
    for name in disrupted.before["moved"]:
        assert is_true(claims.last[name], "Drifted")
    # The first new node is there before the first old one goes.
    created = min(claims.last[name]["metadata"]["creationTimestamp"] for name in claims.of("moved"))
    deleted = min(claims.last[name]["metadata"]["deletionTimestamp"] for name in disrupted.before["moved"])
    assert time_of(created) <= time_of(deleted)


def test_a_training_pool_stays_until_its_budget_allows_a_disruption(disrupted: Disrupted) -> None:
    """Both its nodes have drifted, and one is as empty as that of the pool ``emptied`` was."""
    running, before = disrupted.running, disrupted.before["kept"]
    claims = disrupted.read()
    assert [is_true(claims.last[name], "Drifted") for name in before] == [True, True]
    assert is_true(claims.last[disrupted.empty], "Consolidatable")
    assert claims.of("kept") == before
    assert claims.most_disrupted["kept"] == 0
    assert blocked(running, "kept") >= {"Drifted", "Empty"}
    # By default a training pool's nodes go when they are empty, and stay when they have drifted.
    pool = {**KEPT, "ami": {"version": NEW_IMAGE}, "disruption": {"consolidate_after": "20s"}}
    apply_pools(running, pool)
    busy = [name for name in before if name != disrupted.empty]
    assert eventually(lambda: disrupted.read().of("kept"), busy, seconds=SECONDS) == busy, running.karpenter.log_tail()
    assert not is_disrupted(claims.last[busy[0]])


def blocked(running: Installed, pool: str) -> set[str]:
    """Return the reasons for which Karpenter says that a pool's budgets allow no disruption."""
    events = running.get("events", f"--field-selector=reason=DisruptionBlocked,involvedObject.name={pool}")
    found = (re.fullmatch(r"No allowed disruptions for disruption reason (\w+) .*", each["message"]) for each in events)
    return {match[1] for match in found if match}


@pytest.mark.usefixtures("placed")
def test_work_runs_until_the_releases_are_removed(running: Installed) -> None:
    """``uninstall.sh``, which runs at the end of the module, ends its node."""
    pod = long_running(running.printed("gpu-inference"), "serving")
    running.cluster.kubectl("create", "-f", "-", stdin=manifest_list([pod]))
    found = eventually(lambda: [phase for phase, _ in running.pods("long-running=serving").values()], ["Running"])
    assert found == ["Running"]
