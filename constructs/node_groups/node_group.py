"""Managed node groups for every kind of hardware."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eks_hardware import _cdk, facts
from eks_hardware._cdk import Construct, EksNodeGroup, ITerraformDependable, LaunchTemplate, PlacementGroup
from eks_hardware.catalogue import load
from eks_hardware.constructs.cluster import ClusterRef
from eks_hardware.constructs.iam import Role, account_id
from eks_hardware.constructs.network import NetworkRef
from eks_hardware.constructs.node_groups.launch_template import launch_template
from eks_hardware.constructs.resources.warnings import add_warnings
from eks_hardware.models import NodeGroupSpec
from eks_hardware.resolve import ResolvedNodeGroup, resolve, resolve_node_group
from eks_hardware.section_checks import check_group, misfits
from eks_hardware.spellings import eks_effect

_AUTO_SCALING_ROLE = "aws-service-role/autoscaling.amazonaws.com/AWSServiceRoleForAutoScaling"


class NodeGroup(Construct):
    """A managed node group with its launch template: NVIDIA GPU, Trainium, Inferentia or CPU.

    Creates: ``aws_eks_node_group``, ``aws_launch_template``; with EFA ``aws_placement_group`` unless the group has a
    reservation; with its own volume key ``aws_kms_grant``; with an autoscaler two data sources that read the current
    size.

    Args:
        scope: parent construct or stack.
        id_: construct id, part of the Terraform addresses.
        resolved: the group (``eks_hardware.resolve.resolve_node_group``). If you resolve or change it yourself, only
            its own values are compared with each other; ``from_config`` checks the rules of ``eks-hardware validate``.
        cluster: the cluster that the nodes join.
        network: the subnets of the nodes, by zone id.
        role: the IAM role of the nodes.
        efa_security_group_id: security group of EFA interfaces (``EfaSecurityGroup``); required if the group has EFA.

    Raises:
        ValueError: ``NODE_GROUP_ZONE`` if the network has no private subnet in one of the group's zones,
            ``NODE_GROUP_EFA_SECURITY_GROUP`` if the group has EFA interfaces and ``efa_security_group_id`` is None.
            ``NODE_GROUP_RESOLVED`` if the group's values contradict each other or its instance types.

    Examples:
        In an existing cluster:

        >>> from eks_hardware.models import NodeGroupSpec
        >>> group = NodeGroup.from_config(
        ...     stack,
        ...     "h100",
        ...     config=NodeGroupSpec(name="h100", instance_types=["p5.48xlarge"], efa=True, scaling={"max": 4}),
        ...     kubernetes_version="1.35",
        ...     cluster_name="shared",
        ...     cluster=cluster,
        ...     network=network,
        ...     role=role,
        ...     efa_security_group_id="sg-0123456789abcdef0",
        ... )
        >>> group.resource.add_override("timeouts.create", "60m")
        >>> group.launch_template.add_override("enclave_options", [{"enabled": True}])
    """

    resource: EksNodeGroup
    """The Terraform resource, to depend on or to override."""
    launch_template: LaunchTemplate
    """The launch template, to override."""
    placement_group: PlacementGroup | None
    """The placement group, if the group has one."""
    ready: tuple[ITerraformDependable, ...]
    """Depend on these to wait for the group's nodes."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        resolved: ResolvedNodeGroup,
        cluster: ClusterRef,
        network: NetworkRef,
        role: Role,
        efa_security_group_id: str | None = None,
    ) -> None:
        super().__init__(scope, id_)
        if faults := "\n".join(misfits(resolved)):
            raise ValueError(f"NODE_GROUP_RESOLVED {self.node.path}: {faults}")
        self._resolved = resolved
        self.placement_group = None
        self.launch_template = template = launch_template(
            self,
            "launch-template",
            group=resolved,
            cluster=cluster,
            placement_group_name=self._placement_group_name(),
            efa_security_group_id=efa_security_group_id,
        )
        self.resource = EksNodeGroup(
            self,
            "Resource",
            cluster_name=cluster.name,
            node_group_name=resolved.name,
            node_role_arn=role.role_arn,
            subnet_ids=self._subnet_ids(network),
            version=None if resolved.image_id else resolved.kubernetes_version,
            release_version=resolved.release_version,
            ami_type=None if resolved.image_id else resolved.ami_type,
            capacity_type=resolved.capacity_type,
            instance_types=None if resolved.instance_type_in_launch_template else list(resolved.instance_types),
            # A number, never $Latest: the plan then shows a new version.
            launch_template=_cdk.EksNodeGroupLaunchTemplate(
                id=template.id, version=template.get_string_attribute("latest_version")
            ),
            scaling_config=_cdk.EksNodeGroupScalingConfig(
                min_size=resolved.min_size, max_size=resolved.max_size, desired_size=self._desired_size()
            ),
            update_config=_cdk.EksNodeGroupUpdateConfig(
                max_unavailable=resolved.max_unavailable, max_unavailable_percentage=resolved.max_unavailable_percentage
            ),
            node_repair_config=_cdk.EksNodeGroupNodeRepairConfig(enabled=resolved.node_repair),
            labels=dict(resolved.labels),
            taint=[
                _cdk.EksNodeGroupTaint(key=taint.key, value=taint.value or None, effect=eks_effect(taint.effect))
                for taint in resolved.taints
            ]
            or None,
            tags=dict(resolved.tags) or None,
            depends_on=[*cluster.before_nodes, *role.permissions, *network.egress, *self._volume_key_grants()],
        )
        if resolved.update_strategy:
            # The binding does not have this attribute.
            self.resource.add_override("update_config.update_strategy", resolved.update_strategy)
        self.ready = (self.resource,)

    @classmethod
    def from_config(
        cls,
        scope: Construct,
        id_: str,
        *,
        config: NodeGroupSpec | Mapping[str, Any],
        kubernetes_version: str,
        cluster_name: str,
        cluster: ClusterRef,
        network: NetworkRef,
        role: Role,
        efa_security_group_id: str | None = None,
    ) -> NodeGroup:
        """Define a group from its section of a strategy, in a cluster that is defined elsewhere.

        The group uses the network's zones that offer its types, or the config's zones; an EFA group uses one zone.
        The rules of ``eks-hardware validate`` that concern one node group are checked, with the subnets as the only
        network. Their warnings become annotations of the construct.

        Args:
            config: an item of the section ``node_groups``, as a model or a dictionary.
            kubernetes_version: Kubernetes version of the cluster, such as ``1.35``.
            cluster_name: name of the cluster as plain text.

        Raises:
            ValueError: each error of ``eks-hardware validate`` in ``config``, the zones and the version;
                ``NODE_GROUP_ZONE`` if the network has no private subnets, or unknown zones.
        """
        path = f"{scope.node.path}/{id_}"
        if not network.private_subnet_ids:
            raise ValueError(f"NODE_GROUP_ZONE {path}: the network has no private subnets; add one for each zone")
        strategy, warnings = check_group(
            config,
            path=path,
            kubernetes_version=kubernetes_version,
            vpc_id=None,
            private_subnet_ids=network.private_subnet_ids,
            pod_subnet_ids=network.pod_subnet_ids,
        )
        resolved = resolve_node_group(
            strategy.node_groups[0],
            cluster_name=cluster_name,
            kubernetes_version=kubernetes_version,
            zone_ids=resolve(strategy).node_groups[0].zone_ids,
            catalogue=load(),
            custom_networking=bool(network.pod_subnet_ids),
        )
        defined = cls(
            scope,
            id_,
            resolved=resolved,
            cluster=cluster,
            network=network,
            role=role,
            efa_security_group_id=efa_security_group_id,
        )
        add_warnings(defined, warnings)
        return defined

    @property
    def node_group_arn(self) -> str:
        """ARN of the group (token)."""
        return self.resource.arn

    def _subnet_ids(self, network: NetworkRef) -> list[str]:
        missing = [zone for zone in self._resolved.zone_ids if zone not in network.private_subnet_ids]
        if missing:
            raise ValueError(
                f"NODE_GROUP_ZONE {self.node.path}: no private subnet in {', '.join(missing)}; the network has "
                f"{', '.join(sorted(network.private_subnet_ids))}; add the zone to the network or choose another"
            )
        return [network.private_subnet_ids[zone] for zone in self._resolved.zone_ids]

    def _volume_key_grants(self) -> list[_cdk.KmsGrant]:
        """Grant Auto Scaling the use of the group's own volume keys; without a grant its nodes terminate at launch."""
        keys = dict.fromkeys(device.kms_key_arn for device in self._resolved.block_devices if device.kms_key_arn)
        return [
            _cdk.KmsGrant(
                self,
                f"volume-key-grant-{key.rpartition('/')[2]}",
                key_id=key,
                grantee_principal=f"arn:{key.split(':')[1]}:iam::{account_id(self)}:role/{_AUTO_SCALING_ROLE}",
                operations=facts.iam_policies()["volume_keys"]["operations"],
            )
            for key in keys
        ]

    def _placement_group_name(self) -> str | None:
        name = self._resolved.placement_group_name
        if name is None:
            return None
        self.placement_group = PlacementGroup(self, "placement-group", name=name, strategy="cluster")
        return self.placement_group.name

    def _desired_size(self) -> float:
        """Return the desired size; with an autoscaler, the current size, limited to min and max.

        Ignoring changes instead would fail as soon as ``min`` is raised above the current size:
        https://github.com/terraform-aws-modules/terraform-aws-eks/issues/1879

        The Auto Scaling group is looked up by EKS's tags and by names that are known during the plan. A reference to
        the cluster would defer the lookup to the apply, and Terraform does not allow that for ``for_each``. Before the
        first apply the lookup finds nothing.
        """
        resolved = self._resolved
        if not resolved.autoscaled:
            return resolved.desired_size
        scaling_groups = _cdk.DataAwsAutoscalingGroups(
            self,
            "autoscaling-groups",
            filter=[
                _cdk.DataAwsAutoscalingGroupsFilter(name="tag:eks:cluster-name", values=[resolved.cluster_name]),
                _cdk.DataAwsAutoscalingGroupsFilter(name="tag:eks:nodegroup-name", values=[resolved.name]),
            ],
        )
        current = _cdk.DataAwsAutoscalingGroup(self, "autoscaling-group", name="${each.value}")
        current.add_override("for_each", f"${{toset({scaling_groups.fqn}.names)}}")
        running = f"try(one(values({current.fqn})).desired_capacity, {resolved.desired_size})"
        bounded = f"${{max({resolved.min_size}, min({resolved.max_size}, {running}))}}"
        return _cdk.Token.as_number(bounded)
