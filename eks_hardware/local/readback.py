"""Read deployed resources back with boto3, and find resources that remain after a destroy.

This module lists whole accounts, which is fine for an emulator without other resources.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from os import devnull
from typing import Any

from eks_hardware.local.emulator import ACCESS_KEY, SECRET_KEY

_EFA_INTERFACE_TYPES = ("efa", "efa-only")


@dataclass(frozen=True)
class NodeGroupFacts:
    """One EKS node group as AWS describes it."""

    name: str
    instance_types: tuple[str, ...]
    capacity_type: str
    ami_type: str
    min_size: int
    max_size: int
    efa_interfaces: int


@dataclass(frozen=True)
class ClusterFacts:
    """One EKS cluster and its resources, by name. Pod identities map ``namespace/account`` to a role."""

    name: str
    kubernetes_version: str
    region: str
    zones: tuple[str, ...]
    subnets: int
    node_groups: tuple[NodeGroupFacts, ...]
    addons: tuple[str, ...]
    access_entries: tuple[str, ...]
    pod_identities: Mapping[str, str]
    queues: tuple[str, ...]
    rules: tuple[str, ...]
    roles: tuple[str, ...]


class Account:
    """The emulated account in one region."""

    def __init__(self, endpoint_url: str, region: str) -> None:
        # Imported late and by name: boto3 is an extra, and is not typed.
        botocore_session = importlib.import_module("botocore.session")
        boto3 = importlib.import_module("boto3")
        config = importlib.import_module("botocore.config").Config
        self.endpoint_url = endpoint_url
        self.region = region
        # Ignores proxies, and the user's profile and files, which would override these settings.
        core = botocore_session.Session(
            session_vars={
                "profile": (None, None, None, None),
                "config_file": (None, None, devnull, None),
                "credentials_file": (None, None, devnull, None),
            }
        )
        self._session = boto3.session.Session(
            botocore_session=core, aws_access_key_id=ACCESS_KEY, aws_secret_access_key=SECRET_KEY, region_name=region
        )
        self._config = config(proxies={}, retries={"max_attempts": 2}, connect_timeout=5, read_timeout=30)
        self._clients: dict[str, Any] = {}

    def client(self, service: str) -> Any:
        """Return the boto3 client for a service, such as ``eks``."""
        if service not in self._clients:
            self._clients[service] = self._session.client(service, endpoint_url=self.endpoint_url, config=self._config)
        return self._clients[service]

    def close(self) -> None:
        """Close the connections."""
        for client in self._clients.values():
            client.close()
        self._clients.clear()

    def items(self, service: str, operation: str, key: str, **arguments: object) -> list[Any]:
        """Return the items under ``key`` from all pages of a list or describe call."""
        client = self.client(service)
        if client.can_paginate(operation):
            pages = client.get_paginator(operation).paginate(**arguments)
        else:
            pages = [getattr(client, operation)(**arguments)]
        return [item for page in pages for item in page.get(key, [])]

    def clusters(self, besides: Mapping[str, frozenset[str]]) -> list[ClusterFacts]:
        """Describe every EKS cluster, without the roles in the earlier inventory ``besides``."""
        names = sorted(self.items("eks", "list_clusters", "clusters"))
        return [self._cluster(name, besides["role"]) for name in names]

    def instances(self) -> list[Mapping[str, Any]]:
        """Return the instances that are not terminated."""
        reservations = self.items("ec2", "describe_instances", "Reservations", **_LIVE)
        return [instance for one in reservations for instance in one["Instances"]]

    def inventory(self) -> dict[str, frozenset[str]]:
        """List existing resources by kind. The difference between two inventories shows new or remaining resources."""
        names: dict[str, frozenset[str]] = {
            kind: frozenset(str(item[name]) for item in self.items(service, operation, key, **arguments))
            for kind, service, operation, key, name, arguments in _KINDS
        }
        clusters = self.items("eks", "list_clusters", "clusters")
        names["instance"] = frozenset(instance["InstanceId"] for instance in self.instances())
        names["EKS cluster"] = frozenset(clusters)
        names["SQS queue"] = frozenset(map(_last, self.items("sqs", "list_queues", "QueueUrls")))
        names["KMS key"] = frozenset(
            key["KeyId"]
            for key in self.items("kms", "list_keys", "Keys")
            # KMS keys are never deleted immediately.
            if self.client("kms").describe_key(KeyId=key["KeyId"])["KeyMetadata"]["KeyState"] != "PendingDeletion"
        )
        return names

    def _cluster(self, name: str, old_roles: frozenset[str]) -> ClusterFacts:
        eks = self.client("eks")
        cluster = eks.describe_cluster(name=name)["cluster"]
        subnet_ids = cluster["resourcesVpcConfig"]["subnetIds"]
        own = self.items("ec2", "describe_subnets", "Subnets", SubnetIds=subnet_ids)
        # From the subnets: the emulator does not set the cluster's vpcId.
        in_vpc = [{"Name": "vpc-id", "Values": [own[0]["VpcId"]]}]
        subnets = self.items("ec2", "describe_subnets", "Subnets", Filters=in_vpc)
        of_cluster = {"clusterName": name}
        associations = [
            eks.describe_pod_identity_association(associationId=item["associationId"], **of_cluster)["association"]
            for item in self.items("eks", "list_pod_identity_associations", "associations", **of_cluster)
        ]
        queues = self.items("sqs", "list_queues", "QueueUrls")
        return ClusterFacts(
            name=name,
            kubernetes_version=cluster["version"],
            region=self.region,
            zones=tuple(sorted({subnet["AvailabilityZoneId"] for subnet in subnets})),
            subnets=len(subnets),
            node_groups=tuple(
                self._node_group(name, group)
                for group in sorted(self.items("eks", "list_nodegroups", "nodegroups", **of_cluster))
            ),
            addons=tuple(sorted(self.items("eks", "list_addons", "addons", **of_cluster))),
            access_entries=tuple(
                sorted(_last(arn) for arn in self.items("eks", "list_access_entries", "accessEntries", **of_cluster))
            ),
            pod_identities={
                f"{item['namespace']}/{item['serviceAccount']}": _last(item["roleArn"]) for item in associations
            },
            queues=tuple(sorted(map(_last, queues))),
            rules=tuple(sorted(self._rules_into({_last(url) for url in queues}))),
            roles=tuple(sorted({role["RoleName"] for role in self.items("iam", "list_roles", "Roles")} - old_roles)),
        )

    def _node_group(self, cluster: str, name: str) -> NodeGroupFacts:
        group = self.client("eks").describe_nodegroup(clusterName=cluster, nodegroupName=name)["nodegroup"]
        scaling = group.get("scalingConfig", {})
        template = self._launch_template(group.get("launchTemplate") or {})
        own_type = template.get("InstanceType")
        return NodeGroupFacts(
            name=name,
            # The emulator reports t3.medium if only the launch template sets the type.
            instance_types=(own_type,) if own_type else tuple(group.get("instanceTypes") or ()),
            capacity_type=group.get("capacityType", ""),
            ami_type=group.get("amiType", ""),
            min_size=scaling.get("minSize", 0),
            max_size=scaling.get("maxSize", 0),
            efa_interfaces=sum(
                interface.get("InterfaceType") in _EFA_INTERFACE_TYPES
                for interface in template.get("NetworkInterfaces", [])
            ),
        )

    def _launch_template(self, reference: Mapping[str, str]) -> Mapping[str, Any]:
        if not reference:
            return {}
        which = (
            {"LaunchTemplateId": reference["id"]} if reference.get("id") else {"LaunchTemplateName": reference["name"]}
        )
        versions = self.items(
            "ec2",
            "describe_launch_template_versions",
            "LaunchTemplateVersions",
            Versions=[str(reference.get("version") or "$Default")],
            **which,
        )
        data: Mapping[str, object] = versions[0]["LaunchTemplateData"] if versions else {}
        return data

    def _rules_into(self, queues: set[str]) -> list[str]:
        return [
            rule["Name"]
            for rule in self.items("events", "list_rules", "Rules")
            if any(
                target["Arn"].rpartition(":")[2] in queues
                for target in self.items("events", "list_targets_by_rule", "Targets", Rule=rule["Name"])
            )
        ]


def left_over(before: Mapping[str, frozenset[str]], after: Mapping[str, frozenset[str]]) -> dict[str, frozenset[str]]:
    """Return resources that are only in the second inventory, by kind."""
    left = {kind: names - before.get(kind, frozenset()) for kind, names in after.items()}
    return {kind: names for kind, names in left.items() if names}


def _last(text: str) -> str:
    """Return the name at the end of an ARN or a queue's address."""
    return re.split("[/:]", text)[-1]


_LIVE = {"Filters": [{"Name": "instance-state-name", "Values": ["pending", "running", "stopping", "stopped"]}]}
_LIVE_NAT = {"Filters": [{"Name": "state", "Values": ["pending", "available"]}]}
# kind, service, operation, list in the response, identifier of an item, arguments
_KINDS: tuple[tuple[str, str, str, str, str, dict[str, Any]], ...] = (
    ("VPC", "ec2", "describe_vpcs", "Vpcs", "VpcId", {}),
    ("subnet", "ec2", "describe_subnets", "Subnets", "SubnetId", {}),
    ("route table", "ec2", "describe_route_tables", "RouteTables", "RouteTableId", {}),
    ("internet gateway", "ec2", "describe_internet_gateways", "InternetGateways", "InternetGatewayId", {}),
    ("NAT gateway", "ec2", "describe_nat_gateways", "NatGateways", "NatGatewayId", _LIVE_NAT),
    ("elastic IP", "ec2", "describe_addresses", "Addresses", "AllocationId", {}),
    ("VPC endpoint", "ec2", "describe_vpc_endpoints", "VpcEndpoints", "VpcEndpointId", {}),
    ("security group", "ec2", "describe_security_groups", "SecurityGroups", "GroupId", {}),
    ("launch template", "ec2", "describe_launch_templates", "LaunchTemplates", "LaunchTemplateName", {}),
    ("network interface", "ec2", "describe_network_interfaces", "NetworkInterfaces", "NetworkInterfaceId", {}),
    ("volume", "ec2", "describe_volumes", "Volumes", "VolumeId", {}),
    ("placement group", "ec2", "describe_placement_groups", "PlacementGroups", "GroupName", {}),
    ("role", "iam", "list_roles", "Roles", "RoleName", {}),
    ("policy", "iam", "list_policies", "Policies", "PolicyName", {"Scope": "Local"}),
    ("instance profile", "iam", "list_instance_profiles", "InstanceProfiles", "InstanceProfileName", {}),
    ("event rule", "events", "list_rules", "Rules", "Name", {}),
    ("log group", "logs", "describe_log_groups", "logGroups", "logGroupName", {}),
)
