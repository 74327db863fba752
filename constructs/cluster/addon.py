"""EKS add-ons with their Pod Identity roles."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from eks_hardware._cdk import (
    Construct,
    EksAddon,
    EksPodIdentityAssociation,
    IamRolePolicy,
    ITerraformDependable,
    TerraformResource,
)
from eks_hardware.constructs.iam import IamSettings, Role
from eks_hardware.iam_policies.document import assumed_by_pods, policy
from eks_hardware.resolve import ResolvedAddon


class Addon(Construct):
    """An EKS add-on and, if it calls AWS, its Pod Identity role.

    The Pod Identity association is a separate resource, created before the add-on. The add-on's pods therefore have
    credentials when they start.

    Creates: ``aws_eks_addon``; with a role ``aws_iam_role``, ``aws_iam_role_policy_attachment`` or
    ``aws_iam_role_policy``, ``aws_eks_pod_identity_association``.

    Args:
        scope: parent construct or stack.
        id_: construct id, part of the Terraform addresses.
        resolved: the add-on, from ``addons`` of ``eks_hardware.resolve.resolve_cluster``.
        cluster_name: name of the cluster that gets the add-on (may be a token).
        configuration: complete configuration, needed if it contains references; by default the resolved one.
        after: resources to create first, such as nodes for CoreDNS.
        iam: path and permissions boundary of the role.

    Examples:
        >>> addons = {addon.name: addon for addon in resolve(strategy).cluster.addons}
        >>> cni = Addon(stack, "vpc-cni", resolved=addons["vpc-cni"], cluster_name=cluster.name)
        >>> cni.resource.add_override("timeouts.create", "30m")
    """

    resource: EksAddon
    """The Terraform resource, to depend on or to override."""
    role: Role | None
    """The role of the add-on's service account; None if it does not call AWS."""
    ready: tuple[TerraformResource, ...]
    """Depend on these to wait for the add-on."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        resolved: ResolvedAddon,
        cluster_name: str,
        configuration: Mapping[str, object] | None = None,
        after: Sequence[ITerraformDependable] = (),
        iam: IamSettings | None = None,
    ) -> None:
        super().__init__(scope, id_)
        self.role = None
        identity = self._identity(resolved, cluster_name, iam)
        values = dict(resolved.configuration if configuration is None else configuration)
        self.resource = EksAddon(
            self,
            "Resource",
            cluster_name=cluster_name,
            addon_name=resolved.name,
            addon_version=resolved.version,
            configuration_values=json.dumps(values, sort_keys=True, default=dict) if values else None,
            # An adopted cluster may have a self-managed copy of the add-on, or someone may have edited its pods.
            resolve_conflicts_on_create="OVERWRITE",
            resolve_conflicts_on_update="OVERWRITE",
            depends_on=[*after, *identity] or None,
        )
        # The add-on itself depends on its identity.
        self.ready = (self.resource,)

    def _identity(
        self, resolved: ResolvedAddon, cluster_name: str, iam: IamSettings | None
    ) -> tuple[TerraformResource, ...]:
        if resolved.service_account is None or resolved.namespace is None or resolved.role_name is None:
            return ()
        self.role = role = Role(
            self,
            "role",
            name=resolved.role_name,
            description=f"EKS add-on {resolved.name}",
            assume_role_policy=assumed_by_pods(),
            policy_arns=resolved.policy_arns,
            settings=iam,
        )
        permissions: list[TerraformResource] = [*role.permissions]
        if resolved.statements:
            document = policy(*(dict(statement) for statement in resolved.statements))
            permissions.append(IamRolePolicy(self, "policy", name="storage", role=role.role_name, policy=document))
        association = EksPodIdentityAssociation(
            self,
            "pod-identity",
            cluster_name=cluster_name,
            namespace=resolved.namespace,
            service_account=resolved.service_account,
            role_arn=role.role_arn,
        )
        return (*permissions, association)
