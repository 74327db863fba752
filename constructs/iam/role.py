"""IAM roles with their managed policies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from eks_hardware._cdk import (
    Construct,
    DataAwsCallerIdentity,
    IamRole,
    IamRolePolicyAttachment,
    TerraformResource,
    TerraformStack,
)
from eks_hardware.config.names import told_apart


@dataclass(frozen=True)
class IamSettings:
    """What every role and policy of a stack shares.

    Attributes:
        path: IAM path.
        permissions_boundary_arn: boundary that an organization demands, None for none.
    """

    path: str = "/"
    permissions_boundary_arn: str | None = None


class Role(Construct):
    """Defines an IAM role with managed policies.

    Creates: ``aws_iam_role``, ``aws_iam_role_policy_attachment`` for each policy.

    Args:
        name: name of the role, at most 64 characters.
        assume_role_policy: trust policy as JSON (``eks_hardware.config.policies.document``).
        policy_arns: managed policies; each is attached under the last part of its ARN (a second of that name under a
            hash too).
        settings: path and permissions boundary.
    """

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
        self._role = IamRole(
            self,
            "Resource",
            name=name,
            path=settings.path,
            description=description,
            assume_role_policy=assume_role_policy,
            permissions_boundary=settings.permissions_boundary_arn,
        )
        self._attachments: list[TerraformResource] = []
        for arn in policy_arns:
            name = arn.rpartition("/")[2]
            # Two paths, or AWS and the account, can hold policies of one name.
            self.attach(told_apart(name, arn) if self.node.try_find_child(name) else name, arn)

    @property
    def role_arn(self) -> str:
        """ARN of the role (token)."""
        return self._role.arn

    @property
    def role_name(self) -> str:
        """Name of the role (token)."""
        return self._role.name

    @property
    def permissions(self) -> tuple[TerraformResource, ...]:
        """What has to exist before the role can do its work, and to be destroyed after its user."""
        return tuple(self._attachments)

    def attach(self, id_: str, policy_arn: str) -> None:
        """Attach one more managed policy under a fixed id."""
        self._attachments.append(IamRolePolicyAttachment(self, id_, role=self._role.name, policy_arn=policy_arn))


def account_id(scope: Construct) -> str:
    """The account that Terraform runs in (token); one data source a stack."""
    stack = TerraformStack.of(scope)
    found = stack.node.try_find_child("caller-identity")
    identity = found if isinstance(found, DataAwsCallerIdentity) else DataAwsCallerIdentity(stack, "caller-identity")
    return identity.account_id
