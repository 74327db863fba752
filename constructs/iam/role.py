"""IAM roles with their managed policies."""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from eks_hardware._cdk import (
    Construct,
    DataAwsCallerIdentity,
    IamRole,
    IamRolePolicyAttachment,
    TerraformResource,
    TerraformStack,
)
from eks_hardware.aws_names import told_apart

_ACCOUNT_IDS: MutableMapping[TerraformStack, str] = WeakKeyDictionary()


@dataclass(frozen=True)
class IamSettings:
    """Settings that all roles and policies of a stack share.

    Attributes:
        path: IAM path.
        permissions_boundary_arn: permissions boundary that your organization requires; None for none.

    Examples:
        >>> IamSettings(path="/platform/", permissions_boundary_arn="arn:aws:iam::111122223333:policy/boundary").path
        '/platform/'
    """

    path: str = "/"
    permissions_boundary_arn: str | None = None


class Role(Construct):
    """An IAM role with managed policies.

    Creates: ``aws_iam_role``, ``aws_iam_role_policy_attachment`` for each policy.

    Args:
        scope: parent construct or stack.
        id_: construct id, part of the Terraform addresses.
        name: name of the role, at most 64 characters.
        assume_role_policy: trust policy as JSON (``eks_hardware.iam_policies.document``).
        policy_arns: managed policies. The construct id of an attachment is the last part of the policy's ARN; a second
            policy of the same name also gets a hash.
        description: purpose of the role.
        settings: path and permissions boundary.

    Examples:
        >>> nodes = Role(
        ...     stack,
        ...     "team-node-role",
        ...     name="team-nodes",
        ...     assume_role_policy=assumed_by_service("ec2.amazonaws.com"),
        ...     policy_arns=node_policy_arns("aws"),
        ... )
        >>> nodes.attach("cloudwatch", "arn:aws:iam::aws:policy/CloudWatchAgentServerPolicy")
        >>> len(nodes.permissions)
        4
    """

    resource: IamRole
    """The Terraform resource, to depend on or to override."""
    role_arn: str
    """ARN of the role (token)."""
    role_name: str
    """Name of the role (token)."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        name: str,
        assume_role_policy: str,
        policy_arns: Sequence[str] = (),
        description: str | None = None,
        settings: IamSettings | None = None,
    ) -> None:
        super().__init__(scope, id_)
        settings = settings or IamSettings()
        self.resource = IamRole(
            self,
            "Resource",
            name=name,
            path=settings.path,
            description=description,
            assume_role_policy=assume_role_policy,
            permissions_boundary=settings.permissions_boundary_arn,
        )
        # Read once: each read of an attribute is a request to Node.
        self.role_arn, self.role_name = self.resource.arn, self.resource.name
        self._attachments: dict[str, TerraformResource] = {}
        for arn in policy_arns:
            name = arn.rpartition("/")[2]
            # Policies with different paths, or an AWS policy and one of the account, can have the same name.
            self.attach(told_apart(name, arn) if name in self._attachments else name, arn)

    @property
    def permissions(self) -> tuple[TerraformResource, ...]:
        """Resources that must exist before the role is used, and outlive the resources that use it."""
        return tuple(self._attachments.values())

    def attach(self, id_: str, policy_arn: str) -> None:
        """Attach another managed policy.

        Args:
            id_: construct id of the attachment, part of the Terraform address.
            policy_arn: the policy (may be a token).
        """
        self._attachments[id_] = IamRolePolicyAttachment(self, id_, role=self.role_name, policy_arn=policy_arn)


def account_id(scope: Construct) -> str:
    """Look up the account that Terraform runs in (token); creates one data source per stack.

    Creates: data source ``aws_caller_identity``.

    Args:
        scope: any construct of the stack.

    Examples:
        >>> policy_arn = f"arn:aws:iam::{account_id(stack)}:policy/boundary"
    """
    stack = TerraformStack.of(scope)
    if stack not in _ACCOUNT_IDS:
        child = stack.node.try_find_child("caller-identity")
        known = child if isinstance(child, DataAwsCallerIdentity) else None
        _ACCOUNT_IDS[stack] = (known or DataAwsCallerIdentity(stack, "caller-identity")).account_id
    return _ACCOUNT_IDS[stack]
