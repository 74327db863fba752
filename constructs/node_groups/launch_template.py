"""The launch template of a managed node group."""

from __future__ import annotations

import base64

from eks_hardware import _cdk
from eks_hardware._cdk import Construct, Fn, LaunchTemplate
from eks_hardware.constructs.cluster import ClusterRef
from eks_hardware.resolve import BlockDevice, ResolvedNodeGroup
from eks_hardware.resolve.mappings import merged
from eks_hardware.resolve.user_data import bottlerocket_toml, node_config

# Placeholders for the cluster's details in the user data of your own image.
_NAME, _ENDPOINT, _CERTIFICATE, _SERVICE_CIDR = (
    f"@eks-hardware:{field}@" for field in ("name", "endpoint", "certificate", "service-cidr")
)
_NODE_CONFIG_DETAILS = {
    "cluster": {
        "name": _NAME,
        "apiServerEndpoint": _ENDPOINT,
        "certificateAuthority": _CERTIFICATE,
        "cidr": _SERVICE_CIDR,
    }
}
_BOTTLEROCKET_DETAILS = {
    "kubernetes": {"cluster-name": _NAME, "api-server": _ENDPOINT, "cluster-certificate": _CERTIFICATE}
}


def launch_template(
    scope: Construct,
    id_: str,
    *,
    group: ResolvedNodeGroup,
    cluster: ClusterRef,
    placement_group_name: str | None = None,
    efa_security_group_id: str | None = None,
) -> LaunchTemplate:
    """Define the launch template of a resolved node group; you can also use it for your own kind of node group.

    EKS refuses some settings in a node group's launch template: instance profile, subnet, Spot options, shutdown
    behavior. The template sets none of them. https://docs.aws.amazon.com/eks/latest/userguide/launch-templates.html

    Creates: ``aws_launch_template``.

    Args:
        scope: parent construct or stack.
        id_: construct id, part of the Terraform addresses.
        group: the group. With an ``image_id`` the user data contains the cluster's details; otherwise EKS adds them.
        cluster: the cluster that the nodes join.
        placement_group_name: placement group of the nodes; None for no placement group.
        efa_security_group_id: security group of EFA interfaces (``EfaSecurityGroup``); required if the group has EFA.

    Raises:
        ValueError: ``NODE_GROUP_EFA_SECURITY_GROUP`` if the group has EFA interfaces and ``efa_security_group_id`` is
            None.

    Examples:
        >>> group = resolved.node_groups[0].changed(image_id="ami-0123456789abcdef0")
        >>> template = launch_template(stack, "template", group=group, cluster=cluster)
        >>> template.vpc_security_group_ids = [cluster.security_group_id]
    """
    return LaunchTemplate(
        scope,
        id_,
        name=group.launch_template_name,
        description=f"EKS managed node group {group.name}",
        update_default_version=True,
        image_id=group.image_id,
        instance_type=group.instance_types[0] if group.instance_type_in_launch_template else None,
        user_data=_user_data(group, cluster),
        block_device_mappings=[_block_device(device) for device in group.block_devices],
        network_interfaces=_network_interfaces(scope, group, cluster, efa_security_group_id),
        placement=_cdk.LaunchTemplatePlacement(group_name=placement_group_name) if placement_group_name else None,
        capacity_reservation_specification=_capacity_reservation(group),
        instance_market_options=_market(group),
        metadata_options=_cdk.LaunchTemplateMetadataOptions(
            http_endpoint="enabled",
            http_tokens="required",
            http_put_response_hop_limit=group.metadata_hop_limit,
            instance_metadata_tags="disabled",
        ),
        monitoring=_cdk.LaunchTemplateMonitoring(enabled=group.detailed_monitoring),
        tag_specifications=[
            _cdk.LaunchTemplateTagSpecifications(resource_type=kind, tags=dict(group.instance_tags))
            for kind in ("instance", "network-interface", "volume")
        ],
        tags=dict(group.tags) or None,
    )


def _market(group: ResolvedNodeGroup) -> _cdk.LaunchTemplateInstanceMarketOptions | None:
    return _cdk.LaunchTemplateInstanceMarketOptions(market_type=group.market_type) if group.market_type else None


def _user_data(group: ResolvedNodeGroup, cluster: ClusterRef) -> str | None:
    """Return user data in base64. EKS adds the cluster's details only for its own images, not for yours."""
    bottlerocket = group.ami_family == "bottlerocket"
    if group.image_id is None and not group.user_data and not group.shell:
        return None
    details = _BOTTLEROCKET_DETAILS if bottlerocket else _NODE_CONFIG_DETAILS
    settings = merged(details, group.user_data) if group.image_id else group.user_data
    text = bottlerocket_toml(settings) if bottlerocket else node_config(settings, group.shell)
    if group.image_id is None:
        return _base64(text)
    # Only Terraform can resolve the references, so it replaces the placeholders. The other text is passed in base64:
    # CDKTF's functions accept no text with quotes, and Fn.raw_string accepts no references.
    expression = Fn.base64decode(_base64(text))
    for mark, value in (
        (_NAME, cluster.name),
        (_ENDPOINT, cluster.endpoint),
        (_CERTIFICATE, cluster.certificate_authority),
        (_SERVICE_CIDR, cluster.service_cidr),
    ):
        if mark in text:
            expression = Fn.replace(expression, mark, value)
    return Fn.base64encode(expression)


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _block_device(device: BlockDevice) -> _cdk.LaunchTemplateBlockDeviceMappings:
    return _cdk.LaunchTemplateBlockDeviceMappings(
        device_name=device.device_name,
        ebs=_cdk.LaunchTemplateBlockDeviceMappingsEbs(
            volume_size=device.size_gib,
            volume_type=device.volume_type,
            iops=device.iops,
            throughput=device.throughput_mibps,
            # The provider expects these booleans as strings.
            encrypted="true",
            delete_on_termination="true",
            kms_key_id=device.kms_key_arn,
        ),
    )


def _network_interfaces(
    scope: Construct, group: ResolvedNodeGroup, cluster: ClusterRef, efa_security_group_id: str | None
) -> list[_cdk.LaunchTemplateNetworkInterfaces] | None:
    """Return one block for each interface of the type's EFA layout; None keeps the default interface and cluster group.

    No block has a public address: EC2 refuses the field with more than one interface.
    """
    if not group.efa_interfaces:
        return None
    if efa_security_group_id is None:
        raise ValueError(
            f"NODE_GROUP_EFA_SECURITY_GROUP {scope.node.path}: EFA interfaces need a security group that allows all "
            "traffic from and to itself; pass efa_security_group_id (EfaSecurityGroup creates one)"
        )
    return [
        _cdk.LaunchTemplateNetworkInterfaces(
            network_card_index=interface.network_card_index,
            device_index=interface.device_index,
            interface_type=interface.interface_type,
            # EKS adds the cluster's security group only to interfaces that set no security groups.
            security_groups=[cluster.security_group_id, efa_security_group_id],
            delete_on_termination="true",
            description=f"{group.name} card {interface.network_card_index} {interface.interface_type}",
        )
        for interface in group.efa_interfaces
    ]


def _capacity_reservation(group: ResolvedNodeGroup) -> _cdk.LaunchTemplateCapacityReservationSpecification | None:
    target = group.capacity_target
    if target is None:
        return None
    return _cdk.LaunchTemplateCapacityReservationSpecification(
        capacity_reservation_target=_cdk.LaunchTemplateCapacityReservationSpecificationCapacityReservationTarget(
            capacity_reservation_id=target.reservation_id,
            capacity_reservation_resource_group_arn=target.resource_group_arn,
        )
    )
