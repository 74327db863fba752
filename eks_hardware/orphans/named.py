"""Resources identified by their arguments in the stack: a name, or the ids of the resources that they connect."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from eks_hardware.doctor.aws import Aws
from eks_hardware.orphans.model import Found, Stack

_GONE = (
    "FileSystemNotFound",
    "NoSuchEntity",
    "NotFoundException",
    "ResourceNotFoundException",
    "AWS.SimpleQueueService.NonExistentQueue",
    "QueueDoesNotExist",
)


@dataclass(frozen=True)
class Kind:
    """A Terraform type, the arguments that identify its resources, and a function from their values to the import id.

    The function returns None if the resource does not exist.
    """

    type: str
    arguments: tuple[str, ...]
    find: Callable[..., str | None]


def look(kind: Kind, stack: Stack, aws: Aws) -> Iterator[Found]:
    """Yield the resources of a type that exist in the account but not in the state."""
    for address, body in stack.missing(kind.type):
        values = stack.values(body, kind.arguments)
        if values is not None and (id_ := kind.find(aws, *values)):
            yield Found(kind.type, id_, address)


def _described(
    service: str, operation: str, parameter: str, id_: str | None = None
) -> Callable[[Aws, str], str | None]:
    """Return a function that describes a resource by name. The import id is the name, or ``id_`` in the response."""

    def find(aws: Aws, name: str) -> str | None:
        answer = aws.found(_GONE, service, operation, **{parameter: name})
        if answer is None:
            return None
        return str(answer[id_]) if id_ else name

    return find


def _listed(
    service: str, operation: str, key: str, name_key: str, id_key: str, **parameters: object
) -> Callable[[Aws, str], str | None]:
    """Return a function that finds a resource by its name in the response of a list call."""

    def find(aws: Aws, name: str) -> str | None:
        items = aws.pages(service, operation, key, **parameters)
        return next((str(item[id_key]) for item in items if item[name_key] == name), None)

    return find


def _log_group(aws: Aws, name: str) -> str | None:
    groups = aws.pages("logs", "describe_log_groups", "logGroups", logGroupNamePrefix=name)
    return name if any(group["logGroupName"] == name for group in groups) else None


def _in_cluster(operation: str, key: str) -> Callable[[Aws, str, str], str | None]:
    """Return a function that describes a part of a cluster by its name."""

    def find(aws: Aws, cluster: str, name: str) -> str | None:
        answer = aws.found(_GONE, "eks", operation, clusterName=cluster, **{key: name})
        return None if answer is None else f"{cluster}:{name}"

    return find


def _pod_identity(aws: Aws, cluster: str, namespace: str, account: str) -> str | None:
    parameters = {"clusterName": cluster, "namespace": namespace, "serviceAccount": account}
    answer = aws.found(_GONE, "eks", "list_pod_identity_associations", **parameters)
    associations = answer["associations"] if answer else ()
    return next((f"{cluster},{association['associationId']}" for association in associations), None)


def _route_table(aws: Aws, id_: str) -> Mapping[str, Any]:
    tables = aws.pages("ec2", "describe_route_tables", "RouteTables", RouteTableIds=[id_])
    route_table: Mapping[str, Any] = tables[0] if tables else {}
    return route_table


def _route(aws: Aws, table: str, destination: str) -> str | None:
    routes = _route_table(aws, table).get("Routes", ())
    return (
        f"{table}_{destination}" if any(route.get("DestinationCidrBlock") == destination for route in routes) else None
    )


def _association(aws: Aws, subnet: str, table: str) -> str | None:
    associations = _route_table(aws, table).get("Associations", ())
    return f"{subnet}/{table}" if any(association.get("SubnetId") == subnet for association in associations) else None


def _mount_target(aws: Aws, file_system: str, subnet: str) -> str | None:
    answer = aws.found(_GONE, "efs", "describe_mount_targets", FileSystemId=file_system)
    targets = answer["MountTargets"] if answer else ()
    return next((str(target["MountTargetId"]) for target in targets if target["SubnetId"] == subnet), None)


def _cidr_block(aws: Aws, vpc: str, cidr: str) -> str | None:
    for found in aws.pages("ec2", "describe_vpcs", "Vpcs", VpcIds=[vpc]):
        for each in found.get("CidrBlockAssociationSet", ()):
            if each["CidrBlock"] == cidr and each["CidrBlockState"]["State"] in ("associating", "associated"):
                return str(each["AssociationId"])
    return None


KINDS = (
    Kind("aws_route", ("route_table_id", "destination_cidr_block"), _route),
    Kind("aws_route_table_association", ("subnet_id", "route_table_id"), _association),
    Kind("aws_vpc_ipv4_cidr_block_association", ("vpc_id", "cidr_block"), _cidr_block),
    Kind("aws_efs_mount_target", ("file_system_id", "subnet_id"), _mount_target),
    Kind("aws_cloudwatch_event_rule", ("name",), _described("events", "describe_rule", "Name")),
    Kind("aws_cloudwatch_log_group", ("name",), _log_group),
    Kind(
        "aws_eks_access_entry", ("cluster_name", "principal_arn"), _in_cluster("describe_access_entry", "principalArn")
    ),
    Kind("aws_eks_addon", ("cluster_name", "addon_name"), _in_cluster("describe_addon", "addonName")),
    Kind("aws_eks_cluster", ("name",), _described("eks", "describe_cluster", "name")),
    Kind("aws_eks_node_group", ("cluster_name", "node_group_name"), _in_cluster("describe_nodegroup", "nodegroupName")),
    Kind("aws_eks_pod_identity_association", ("cluster_name", "namespace", "service_account"), _pod_identity),
    Kind("aws_iam_instance_profile", ("name",), _described("iam", "get_instance_profile", "InstanceProfileName")),
    Kind("aws_iam_policy", ("name",), _listed("iam", "list_policies", "Policies", "PolicyName", "Arn", Scope="Local")),
    Kind("aws_iam_role", ("name",), _described("iam", "get_role", "RoleName")),
    Kind("aws_kms_alias", ("name",), _listed("kms", "list_aliases", "Aliases", "AliasName", "AliasName")),
    Kind("aws_sqs_queue", ("name",), _described("sqs", "get_queue_url", "QueueName", "QueueUrl")),
)
"""All types whose creation fails if the resource already exists."""
