"""Resolve a node group: everything that follows from its instance types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eks_hardware import aws_names
from eks_hardware.catalogue import Catalogue, efa_count
from eks_hardware.data import cite
from eks_hardware.models import NodeGroupSpec
from eks_hardware.resolve import node
from eks_hardware.resolve.derived import Derived, default, from_catalogue, optional, rule, stated, stated_if
from eks_hardware.resolve.extended_resources import GPU, extended_resources_of
from eks_hardware.resolve.gpu_sharing import sharing_settings
from eks_hardware.resolve.mappings import merged
from eks_hardware.resolve.model import CapacityTarget, ResolvedNodeGroup
from eks_hardware.resolve.node_fields import DEFAULT_TAGS, NodeFields, Surroundings
from eks_hardware.spellings import CAPACITY

_CAPACITY_TYPES_PAGE = "https://docs.aws.amazon.com/eks/latest/userguide/managed-node-groups.html"
_LAUNCH_TEMPLATES = "https://docs.aws.amazon.com/eks/latest/userguide/launch-templates.html"
_CREATE_NODE_GROUP = "https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateNodegroup.html"
_NODE_UPDATES = "https://docs.aws.amazon.com/eks/latest/userguide/managed-node-update-behavior.html"

# Cluster Autoscaler knows labels, taints, CPU, memory and whole NVIDIA GPUs of a group without nodes; of what else a
# node will advertise only these tags tell it.
_AUTOSCALER_TAGS = (
    "https://github.com/kubernetes/autoscaler/blob/cluster-autoscaler-1.35.1/"
    "cluster-autoscaler/cloudprovider/aws/README.md"
)
_AUTOSCALER_RESOURCE = "k8s.io/cluster-autoscaler/node-template/resources/"


def resolve_node_group(
    group: NodeGroupSpec,
    *,
    cluster_name: str,
    kubernetes_version: str,
    zone_ids: tuple[str, ...],
    catalogue: Catalogue,
    custom_networking: bool = False,
    common_tags: Mapping[str, str] | None = None,
    shell: tuple[str, ...] = (),
) -> ResolvedNodeGroup:
    """Derive everything about one node group.

    The group's types have passed the rules: they exist, and share architecture and hardware.
    """
    around = Surroundings(cluster_name, zone_ids, catalogue, custom_networking, common_tags or {}, shell)
    return _NodeGroup(group, group.instance_types, around, kubernetes_version).collect()


class _NodeGroup(NodeFields[ResolvedNodeGroup, NodeGroupSpec]):
    kind = ResolvedNodeGroup

    def __init__(
        self, group: NodeGroupSpec, types: tuple[str, ...], around: Surroundings, kubernetes_version: str
    ) -> None:
        super().__init__(group, types, around)
        self._kubernetes_version = kubernetes_version

    def instance_types(self) -> Derived[tuple[str, ...]]:
        return stated(self._spec.instance_types, node.types_reason(self._spec))

    def ami_type(self) -> Derived[str]:
        ami = self._spec.ami
        if ami.image_id:
            return stated("CUSTOM", "your own image")
        if ami.type:
            return stated(ami.type)
        row = self._catalogue.cite(self._first, "ami_types", "ami_types")
        prefix = node.AMI_PREFIXES[ami.family]
        fitting = [each for each in row.value if each.startswith(prefix) and not each.endswith("FIPS")]
        needing = self._first.accelerator.name if self._first.accelerator else self._first.architecture
        return from_catalogue(fitting[0] if fitting else "CUSTOM", f"{ami.family} with what {needing} needs", row)

    def image_id(self) -> Derived[str | None]:
        return optional(self._spec.ami.image_id, f"EKS's own image of {self.ami_type().value}")

    def release_version(self) -> Derived[str | None]:
        text = "the newest when the group is made or its launch template changes"
        return optional(self._spec.ami.release_version, text, f"{_CREATE_NODE_GROUP} (releaseVersion)")

    def kubernetes_version(self) -> Derived[str]:
        page = f"cluster.kubernetes_version; {_CREATE_NODE_GROUP} (version)"
        return rule(self._kubernetes_version, "that of the cluster, the only one that EKS takes", page)

    def capacity(self) -> Derived[str]:
        otherwise = "neither spot nor a reservation is asked for"
        return stated_if(self._said("capacity"), self._spec.capacity, otherwise)

    def capacity_type(self) -> Derived[str]:
        capacity = self._spec.capacity
        return rule(CAPACITY[capacity].eks, f"how the EKS API spells {capacity!r}", _CAPACITY_TYPES_PAGE)

    def _is_capacity_block(self) -> bool:
        return self._spec.capacity == "capacity-block"

    def market_type(self) -> Derived[str | None]:
        if self._is_capacity_block():
            text = "a capacity block is launched under its own market type"
            return rule("capacity-block", text, _CAPACITY_TYPES_PAGE)
        return rule(None, "only capacity blocks have one", _CAPACITY_TYPES_PAGE)

    def capacity_target(self) -> Derived[CapacityTarget | None]:
        given = self._spec.reservation
        target = CapacityTarget(given.id, given.resource_group_arn) if given else None
        return optional(target, "no reservation is named: any capacity of the zones")

    def instance_type_in_launch_template(self) -> Derived[bool]:
        if self._is_capacity_block():
            return rule(True, "EKS takes a capacity block's type from the launch template", _LAUNCH_TEMPLATES)
        return rule(False, "EKS takes the types of a group, so that it can have several", _LAUNCH_TEMPLATES)

    def min_size(self) -> Derived[int]:
        scaling = self._spec.scaling
        return stated_if("min" in scaling.model_fields_set, scaling.min, "no node unless one is asked for")

    def desired_size(self) -> Derived[int]:
        scaling = self._spec.scaling
        if scaling.desired is not None:
            return stated(scaling.desired)
        return default(scaling.min, f"as many as min_size, {scaling.min}")

    def max_size(self) -> Derived[int]:
        return stated(self._spec.scaling.max)

    def autoscaled(self) -> Derived[bool]:
        scaling = self._spec.scaling
        said = "autoscaled" in scaling.model_fields_set
        return stated_if(said, scaling.autoscaled, "the strategy owns the number of nodes")

    def _autoscaler_labels(self) -> dict[str, str]:
        shared = [extended_resources_of(kind, shares=self._shares) for kind in self._types]
        if not self._spec.scaling.autoscaled or any(GPU not in each for each in shared):
            return {}
        return {
            node.AUTOSCALER_GPU_LABEL: next(kind.accelerator.label_name for kind in self._types if kind.accelerator)
        }

    def max_pods(self) -> Derived[int | None]:
        return self._max_pods()

    def user_data(self) -> Derived[Mapping[str, Any]]:
        rocket = self._bottlerocket
        settings = node.system_settings(
            self._spec,
            self._first,
            bottlerocket=rocket,
            max_pods=self.max_pods().value,
            store=self.instance_store().value,
        )
        return rule(
            merged(sharing_settings(self._shares, self._types, bottlerocket=rocket), settings),
            "Bottlerocket settings" if rocket else "spec of an AL2023 NodeConfig",
            self._user_data_page(),
        )

    def node_repair(self) -> Derived[bool]:
        if self._spec.reservation:
            otherwise = "off: a replacement may find no room in the reservation"
        else:
            otherwise = "unhealthy nodes are replaced"
        return stated_if(self._spec.node_repair is not None, self._spec.repairs, otherwise)

    def max_unavailable(self) -> Derived[int | None]:
        update = self._spec.update
        if update.max_unavailable is not None:
            return stated(update.max_unavailable)
        if update.max_unavailable_percentage is not None:
            return rule(None, "a percentage of the nodes is stated", _NODE_UPDATES)
        row = cite(node.CHOICES, "node_updates", "max_unavailable")
        return default(row.value, "one node at a time", row)

    def max_unavailable_percentage(self) -> Derived[int | None]:
        return optional(self._spec.update.max_unavailable_percentage, "a number of nodes is used")

    def update_strategy(self) -> Derived[str | None]:
        given = self._spec.update.strategy
        return optional(given and given.upper(), "EKS's: new nodes start before old ones go", _NODE_UPDATES)

    def launch_template_name(self) -> Derived[str]:
        name = aws_names.limited(
            self._around.cluster_name, self._spec.name, limit=aws_names.LAUNCH_TEMPLATE, separator=node.SEPARATOR
        )
        return rule(name, "cluster and group, at most 125 characters")

    def tags(self) -> Derived[Mapping[str, str]]:
        return rule(
            {**self._autoscaler_tags(), **self._spec.tags},
            "the strategy's, and for an autoscaler what a node will advertise",
            _AUTOSCALER_TAGS,
        )

    def _autoscaler_tags(self) -> dict[str, str]:
        if not self._spec.scaling.autoscaled:
            return {}
        shares, kind = self._shares, self._first
        resources = extended_resources_of(kind, efa_count=efa_count(self.efa_interfaces().value), shares=shares)
        if shares is None:
            resources.pop(GPU, None)
        elif shares.resource != GPU:
            # What EC2 says of the type would stand: a pod that asks for a whole GPU would start nodes that have none.
            resources[GPU] = 0
        return {f"{_AUTOSCALER_RESOURCE}{name}": str(count) for name, count in resources.items()}

    def instance_tags(self) -> Derived[Mapping[str, str]]:
        return rule(
            {"Name": self.launch_template_name().value, **self._around.common_tags, **self._spec.tags},
            "a provider's default tags do not reach what a launch template launches",
            DEFAULT_TAGS,
        )
