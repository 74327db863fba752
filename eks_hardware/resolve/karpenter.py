"""Resolve ``karpenter``: roles, policies, interruption queue and rules of its AWS resources."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from eks_hardware import aws_names, facts
from eks_hardware.aws_names import NameKind
from eks_hardware.iam_policies import karpenter as policies
from eks_hardware.models import KarpenterSpec
from eks_hardware.resolve.derived import Derived, Resolver, chosen, limited_name, rule, stated_field
from eks_hardware.resolve.model import InterruptionRule, ResolvedKarpenter
from eks_hardware.resolve.node_role import NODE_ROLE, node_policy_arns

# The events of Karpenter's reference template.
_INTERRUPTIONS = "https://karpenter.sh/docs/reference/cloudformation/#interruption-handling"
_EVENTS = (
    ("health-event", "aws.health", "AWS Health Event"),
    ("spot-interruption", "aws.ec2", "EC2 Spot Instance Interruption Warning"),
    ("rebalance", "aws.ec2", "EC2 Instance Rebalance Recommendation"),
    ("state-change", "aws.ec2", "EC2 Instance State-change Notification"),
    ("reservation-interruption", "aws.ec2", "EC2 Capacity Reservation Instance Interruption Warning"),
)


def resolve_karpenter(
    karpenter: KarpenterSpec, *, cluster_name: str, region: str, partition: str, private: bool = False
) -> ResolvedKarpenter:
    """Derive Karpenter's AWS resources; ``private`` means a network without internet access."""
    return _Karpenter(karpenter, cluster_name, region, partition, private).collect()


@dataclass(frozen=True)
class _Karpenter(Resolver[ResolvedKarpenter]):
    kind = ResolvedKarpenter
    _spec: KarpenterSpec
    _cluster_name: str
    _region: str
    _partition: str
    _private: bool

    def _name(self, purpose: str, *, limit: NameKind) -> str:
        return aws_names.limited(self._cluster_name, self._region, purpose, limit=limit)

    def _role_name(self, purpose: str) -> Derived[str]:
        text = "cluster, region and purpose"
        return limited_name(text, self._cluster_name, self._region, purpose, limit="iam_role")

    def namespace(self) -> Derived[str]:
        row = facts.choices.cite(lambda file: file["karpenter_names"]["namespace"])
        return stated_field(self._spec, "namespace", row, "as Karpenter recommends")

    def service_account(self) -> Derived[str]:
        row = facts.choices.cite(lambda file: file["karpenter_names"]["service_account"])
        return stated_field(self._spec, "service_account", row, "the chart's default")

    def controller_role_name(self) -> Derived[str]:
        return self._role_name("karpenter-controller")

    def policy_names(self) -> Derived[Mapping[str, str]]:
        needed = {"interruption": self.queue_name().value, "volume-keys": self.volume_key_arns().value}
        keys = [key for key in policies.names() if needed.get(key, True)]
        return rule(
            {key: self._name(f"karpenter-{key}", limit="iam_policy") for key in keys},
            "split like Karpenter's own policies: with a long cluster name, one policy would exceed 6,144 characters",
        )

    def node_role_name(self) -> Derived[str]:
        return self._role_name("karpenter-node")

    def node_policy_arns(self) -> Derived[tuple[str, ...]]:
        return rule(
            tuple(dict.fromkeys((*node_policy_arns(self._partition), *self._spec.node_policies))),
            "to join the cluster, pull images and use Systems Manager sessions; plus the strategy's policies",
            NODE_ROLE,
        )

    def instance_profile_name(self) -> Derived[str | None]:
        if not self._private:
            return rule(None, "Karpenter creates an instance profile for each EC2NodeClass")
        name = self._name("karpenter-node", limit="instance_profile")
        text = "IAM has no VPC endpoint, so Karpenter cannot create the instance profile itself"
        return rule(name, text, aws_names.longest("instance_profile"))

    def queue_name(self) -> Derived[str | None]:
        wanted, is_set = self._spec.interruption_queue, "interruption_queue" in self._spec.model_fields_set
        name = aws_names.limited(self._cluster_name, "karpenter", limit="sqs_queue")
        enabled = facts.choices.cite(lambda file: file["karpenter_interruptions"]["enabled"])
        row = enabled.part(lambda on: name if on else None)
        return chosen(is_set, name if wanted else None, row, "Karpenter drains nodes before an interruption")

    def rules(self) -> Derived[tuple[InterruptionRule, ...]]:
        rules = tuple(_rules(self._cluster_name)) if self._spec.interruption_queue else ()
        return rule(rules, "the five events that Karpenter handles", _INTERRUPTIONS)

    def volume_key_arns(self) -> Derived[tuple[str, ...]]:
        keys = tuple(dict.fromkeys(pool.disk.kms_key_arn for pool in self._spec.node_pools if pool.disk.kms_key_arn))
        if not keys:
            return rule(keys, "no node pool has its own volume key")
        return rule(keys, "Karpenter launches the nodes itself, so it needs permission to use their volume keys")


def _rules(cluster_name: str) -> Iterator[InterruptionRule]:
    for key, source, detail_type in _EVENTS:
        name = aws_names.limited(cluster_name, f"karpenter-{key}", limit="event_rule")
        yield InterruptionRule(key, name, source, detail_type)
