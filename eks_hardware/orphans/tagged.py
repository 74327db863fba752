"""Resources identified by the strategy's tag. A second apply may have created duplicates of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from eks_hardware.aws_names import STRATEGY_TAG
from eks_hardware.doctor.aws import Aws
from eks_hardware.doctor.aws_cli import aws_command
from eks_hardware.orphans.model import Found, Stack

# Tags of resources that EKS, Auto Scaling or Karpenter creates, not Terraform
# (https://karpenter.sh/docs/concepts/nodeclasses/#spectags). The tag karpenter.sh/discovery of private subnets is ours.
_DEFAULT = "default"
_OF_OTHERS = ("aws:", "eks:", "karpenter.k8s.aws/", "karpenter.sh/nodeclaim", "karpenter.sh/nodepool")
_ENDING = ("deleted", "deleting", "failed", "pendingdeletion", "pendingimport")
_STATES = ("State", "LifeCycleState", "Lifecycle")


@dataclass(frozen=True)
class Kind:
    """A Terraform type whose resources AWS lists with their tags.

    Attributes:
        type: the Terraform type.
        operation: the call that lists its resources.
        key: the response's key for the list.
        id: the key of each resource's id.
        command: the AWS CLI operation that deletes a resource, and its option for the id.
        name: the key of the name in the response, and its argument in the stack; None if the tag ``Name`` is the name.
        service: the service that lists and deletes them.
        filters: the call's parameter for filters; empty if it cannot filter by tag.
        only: a key and its value in resources of this type, for calls that also list other types.
    """

    type: str
    operation: str
    key: str
    id: str
    command: tuple[str, str]
    name: tuple[str, str] | None = None
    service: str = "ec2"
    filters: str = "Filters"
    only: tuple[str, object] | None = None


KINDS = (
    Kind(
        "aws_efs_file_system",
        "describe_file_systems",
        "FileSystems",
        "FileSystemId",
        ("delete-file-system", "file_system_id"),
        service="efs",
        filters="",
    ),
    Kind(
        "aws_fsx_lustre_file_system",
        "describe_file_systems",
        "FileSystems",
        "FileSystemId",
        ("delete-file-system", "file_system_id"),
        service="fsx",
        filters="",
    ),
    Kind(
        "aws_flow_log",
        "describe_flow_logs",
        "FlowLogs",
        "FlowLogId",
        ("delete-flow-logs", "flow_log_ids"),
        filters="Filter",
    ),
    Kind(
        "aws_nat_gateway",
        "describe_nat_gateways",
        "NatGateways",
        "NatGatewayId",
        ("delete-nat-gateway", "nat_gateway_id"),
    ),
    Kind("aws_eip", "describe_addresses", "Addresses", "AllocationId", ("release-address", "allocation_id")),
    Kind(
        "aws_vpc_endpoint",
        "describe_vpc_endpoints",
        "VpcEndpoints",
        "VpcEndpointId",
        ("delete-vpc-endpoints", "vpc_endpoint_ids"),
    ),
    Kind(
        "aws_launch_template",
        "describe_launch_templates",
        "LaunchTemplates",
        "LaunchTemplateId",
        ("delete-launch-template", "launch_template_id"),
        ("LaunchTemplateName", "name"),
    ),
    Kind(
        "aws_placement_group",
        "describe_placement_groups",
        "PlacementGroups",
        "GroupName",
        ("delete-placement-group", "group_name"),
        ("GroupName", "name"),
    ),
    Kind("aws_subnet", "describe_subnets", "Subnets", "SubnetId", ("delete-subnet", "subnet_id")),
    Kind(
        "aws_route_table",
        "describe_route_tables",
        "RouteTables",
        "RouteTableId",
        ("delete-route-table", "route_table_id"),
    ),
    *(
        Kind(
            f"aws_vpc_security_group_{direction}_rule",
            "describe_security_group_rules",
            "SecurityGroupRules",
            "SecurityGroupRuleId",
            (f"revoke-security-group-{direction}", "security_group_rule_ids"),
            ("Description", "description"),
            only=("IsEgress", direction == "egress"),
        )
        for direction in ("ingress", "egress")
    ),
    Kind(
        "aws_security_group",
        "describe_security_groups",
        "SecurityGroups",
        "GroupId",
        ("delete-security-group", "group_id"),
        ("GroupName", "name"),
    ),
    Kind(
        "aws_internet_gateway",
        "describe_internet_gateways",
        "InternetGateways",
        "InternetGatewayId",
        ("delete-internet-gateway", "internet_gateway_id"),
    ),
    Kind("aws_vpc", "describe_vpcs", "Vpcs", "VpcId", ("delete-vpc", "vpc_id")),
)
"""In an order in which they can be deleted."""


def look(kind: Kind, stack: Stack, aws: Aws, strategy: str, region: str) -> Iterator[Found]:
    """Yield the resources of a type that have the strategy's tag but are not in the state."""
    known = stack.known(kind.type)
    wanted = [{"Name": f"tag:{STRATEGY_TAG}", "Values": [strategy]}]
    filters = {kind.filters: wanted} if kind.filters else {}
    pages = list(aws.pages(kind.service, kind.operation, kind.key, **filters))
    missing = _by_name(kind, stack, {str(page[kind.id]) for page in pages if not _is_ending(page)})
    for page in pages:
        id_, tags = str(page[kind.id]), {tag["Key"]: tag["Value"] for tag in page.get("Tags", ())}
        is_other = kind.only is not None and page.get(kind.only[0]) != kind.only[1]
        if not kind.filters and tags.get(STRATEGY_TAG) != strategy:
            continue
        if id_ in known or _is_ending(page) or is_other or any(key.startswith(_OF_OTHERS) for key in tags):
            continue
        name = str(page.get(kind.name[0], "")) if kind.name else tags.get("Name", "")
        if (kind.type, name) == ("aws_security_group", _DEFAULT):
            continue  # each VPC has one, which is deleted with the VPC; the stack adopts it again
        if address := missing.pop(name, ""):
            yield Found(kind.type, id_, address)
        else:
            first = _mount_targets(aws, id_, region) if kind.service == "efs" else ()
            yield Found(kind.type, id_, delete=(*first, *_delete(kind, id_, page, region)))


def _is_ending(page: Mapping[str, Any]) -> bool:
    return any(str(page.get(state, "")).lower() in _ENDING for state in _STATES)


def _by_name(kind: Kind, stack: Stack, existing: Collection[str]) -> dict[str, str]:
    """Return the addresses of resources that are missing or do not exist, by name, except those that share a name."""
    ids: dict[str, list[str]] = {}
    for address, body in stack.missing(kind.type, existing):
        name = body.get(kind.name[1], "") if kind.name else body.get("tags", {}).get("Name", "")
        ids.setdefault(str(name), []).append(address)
    return {name: addresses[0] for name, addresses in ids.items() if len(addresses) == 1}


def _delete(kind: Kind, id_: str, item: Mapping[str, Any], region: str) -> Iterator[str]:
    for attachment in item.get("Attachments", ()) if kind.type == "aws_internet_gateway" else ():
        ids = {"internet_gateway_id": id_, "vpc_id": attachment["VpcId"]}
        yield aws_command("ec2", "detach-internet-gateway", **ids, region=region)
    operation, option = kind.command
    group = {"group_id": str(item["GroupId"])} if kind.key == "SecurityGroupRules" else {}
    yield aws_command(kind.service, operation, **group, **{option: id_}, region=region)


def _mount_targets(aws: Aws, file_system_id: str, region: str) -> Iterator[str]:
    """Yield the commands that delete the mount targets: EFS does not delete a file system that has any.

    Source: https://docs.aws.amazon.com/efs/latest/ug/API_DeleteFileSystem.html
    """
    for target in aws.pages("efs", "describe_mount_targets", "MountTargets", FileSystemId=file_system_id):
        yield aws_command("efs", "delete-mount-target", mount_target_id=target["MountTargetId"], region=region)


def keys(stack: Stack, aws: Aws, strategy: str, region: str) -> Iterator[Found]:
    """Yield the KMS keys with the strategy's tag that are not in the state."""
    known = stack.known("aws_kms_key")
    parameters = {
        "TagFilters": [{"Key": STRATEGY_TAG, "Values": [strategy]}],
        "ResourceTypeFilters": ["kms:key"],
    }
    pages = aws.pages("resourcegroupstaggingapi", "get_resources", "ResourceTagMappingList", **parameters)
    listed = [str(page["ResourceARN"]).rpartition("/")[2] for page in pages]
    described = (aws.call("kms", "describe_key", KeyId=id_)["KeyMetadata"] for id_ in listed)
    ending = {id_ for id_, key in zip(listed, described, strict=True) if key["KeyState"].lower() in _ENDING}
    # New keys can be missing in the list for minutes, so a key in the state exists unless it is being deleted.
    addresses = [address for address, _ in stack.missing("aws_kms_key", known - ending)]
    for id_ in listed:
        if id_ in known or id_ in ending:
            continue
        address = addresses.pop() if addresses else ""
        command = aws_command("kms", "schedule-key-deletion", key_id=id_, pending_window_in_days=7, region=region)
        yield Found("aws_kms_key", id_, address, (command,))
