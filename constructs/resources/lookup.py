"""Find resources below a construct."""

from __future__ import annotations

from collections.abc import Mapping

from eks_hardware._cdk import Construct, TerraformResource
from eks_hardware.suggestions import did_you_mean


def find_all(scope: Construct) -> list[TerraformResource]:
    """Find every Terraform resource of a construct, including the construct itself.

    The search takes two requests to Node. Reading a resource's path and type takes three more for each resource.
    """
    return [
        terraform_resource
        for terraform_resource in scope.node.find_all()
        if isinstance(terraform_resource, TerraformResource)
    ]


def resources(scope: Construct, type_: str | None = None) -> Mapping[str, TerraformResource]:
    """Find every Terraform resource below a construct, by its path from there.

    Like addresses, paths consist of construct ids. They do not change between releases (``tests/golden`` has the paths
    of every shipped strategy).

    Args:
        scope: a stack, a platform, or any other construct.
        type_: resource type to return, such as ``aws_launch_template``; by default all.

    Examples:
        >>> platform = Platform(stack, "platform", resolved=resolved)
        >>> for template in resources(platform, "aws_launch_template").values():
        ...     template.add_override("tags.team", "research")
        >>> sorted(resources(platform, "aws_eks_cluster"))
        ['cluster/Resource']
    """
    above = f"{scope.node.path}/" if scope.node.path else ""
    return {
        terraform_resource.node.path.removeprefix(above): terraform_resource
        for terraform_resource in find_all(scope)
        if terraform_resource is not scope and type_ in (None, terraform_resource.terraform_resource_type)
    }


def resource(scope: Construct, path: str) -> TerraformResource:
    """Find one Terraform resource below a construct.

    Args:
        scope: a stack, a platform, or any other construct.
        path: construct ids below the scope, separated by slashes; the path of a construct means its main resource.

    Raises:
        ValueError: ``RESOURCE_UNKNOWN`` if there is no such resource.

    Examples:
        >>> platform = Platform(stack, "platform", resolved=resolved)
        >>> resource(platform, "nodes-system/launch-template").add_override("tags.team", "research")
        >>> resource(platform, "nodes-system").add_override("timeouts.create", "60m")
    """
    by_address = resources(scope)
    for address in (path, f"{path}/Resource"):
        if address in by_address:
            return by_address[address]
    near = (
        did_you_mean(path, [each.removesuffix("/Resource") for each in by_address])
        if by_address
        else "it has no resources"
    )
    raise ValueError(f"RESOURCE_UNKNOWN {path}: there is no such resource below {scope.node.path or 'the app'}; {near}")
