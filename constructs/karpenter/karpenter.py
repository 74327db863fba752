"""Karpenter's AWS resources."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from eks_hardware import _cdk, facts
from eks_hardware._cdk import Construct
from eks_hardware.catalogue import load
from eks_hardware.constructs.cluster import ClusterRef
from eks_hardware.constructs.iam import IamSettings, Role, account_id
from eks_hardware.constructs.resources.warnings import add_warnings
from eks_hardware.iam_policies import karpenter as policies
from eks_hardware.iam_policies.document import assumed_by_ec2, assumed_by_pods
from eks_hardware.kubernetes.references import Reference
from eks_hardware.models import KarpenterSpec
from eks_hardware.resolve import ResolvedKarpenter, ResolvedNodePool, resolve_karpenter, resolve_node_pool
from eks_hardware.resolve.network import DISCOVERY_TAG
from eks_hardware.section_checks import check_pools

# Karpenter must act before a message is out of date: https://karpenter.sh/docs/reference/cloudformation/
_MESSAGE_RETENTION_SECONDS = 300


class Karpenter(Construct):
    """Karpenter's AWS resources: two roles, an interruption queue with its rules, and a discovery tag.

    The controller gets its permissions through Pod Identity, from several policies, each below IAM's size limit.

    Creates: ``aws_iam_role`` and ``aws_iam_policy`` with ``aws_iam_role_policy_attachment``,
    ``aws_eks_pod_identity_association``, ``aws_eks_access_entry`` (EC2_LINUX), ``aws_sqs_queue`` with
    ``aws_sqs_queue_policy``, ``aws_cloudwatch_event_rule`` with ``aws_cloudwatch_event_target``, ``aws_ec2_tag`` on the
    cluster security group, ``aws_placement_group`` for node pools with one, ``aws_iam_instance_profile`` in a
    private network.

    Args:
        scope: parent construct or stack.
        id_: construct id, part of the Terraform addresses.
        resolved: Karpenter's names and settings (``eks_hardware.resolve.resolve_karpenter``).
        cluster: the cluster.
        cluster_name: the cluster's name as plain text, for condition keys in policies.
        region: AWS region.
        node_pools: the node pools; Karpenter does not create their placement groups.
        tag_security_group: whether to put the discovery tag on the cluster security group; False if pools name security
            groups by ID.
        iam: path and permissions boundary of the roles and policies.

    Examples:
        For an existing cluster:

        >>> from eks_hardware.models import KarpenterSpec
        >>> pool = {"name": "cpu", "instance_types": ["c7i.4xlarge"], "limits": {"cpu": 64}}
        >>> karpenter = Karpenter.from_config(
        ...     stack,
        ...     "karpenter",
        ...     config=KarpenterSpec(node_pools=[pool]),
        ...     cluster=cluster,
        ...     cluster_name="shared",
        ...     region="us-west-2",
        ... )
        >>> resource(karpenter, "queue").add_override("kms_master_key_id", "alias/queues")
    """

    controller_role_arn: str
    """ARN of the controller's role (token)."""
    node_role_name: str
    """Name of the node role, for ``spec.role`` of an EC2NodeClass (token)."""
    instance_profile_name: str | None
    """Name of the nodes' instance profile, for ``spec.instanceProfile`` in a private network (token)."""
    queue_name: str | None
    """Name of the interruption queue, for the chart's ``settings.interruptionQueue`` (token)."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        resolved: ResolvedKarpenter,
        cluster: ClusterRef,
        cluster_name: str,
        region: str,
        node_pools: Sequence[ResolvedNodePool] = (),
        tag_security_group: bool = True,
        iam: IamSettings | None = None,
    ) -> None:
        super().__init__(scope, id_)
        iam = iam or IamSettings()
        self._resolved = resolved
        self._cluster_name = cluster.name
        self._partition = facts.partition(region)
        self._region = region
        queue = self._interruption_queue(resolved.queue_name) if resolved.queue_name else None
        node_role = self._define_node_role(cluster, cluster_name, iam)
        self.queue_name = queue.name if queue else None
        self.node_role_name = node_role.role_name
        self.instance_profile_name = None
        if resolved.instance_profile_name:
            self.instance_profile_name = _cdk.IamInstanceProfile(
                self, "instance-profile", name=resolved.instance_profile_name, path=iam.path, role=node_role.role_name
            ).name
        documents = policies.documents(
            cluster_name=cluster_name,
            region=region,
            partition=self._partition,
            account_id=account_id(self),
            node_role_arn=node_role.role_arn,
            queue_arn=queue.arn if queue else None,
            volume_key_arns=resolved.volume_key_arns,
        )
        self.controller_role_arn = self._define_controller_role(cluster, cluster_name, documents, iam).role_arn
        if tag_security_group:
            # Only one security group may have the tag: Karpenter attaches every tagged group to its nodes.
            _cdk.Ec2Tag(
                self, "discovery-tag", resource_id=cluster.security_group_id, key=DISCOVERY_TAG, value=cluster_name
            )
        define_placement_groups(self, node_pools)

    @classmethod
    def from_config(
        cls,
        scope: Construct,
        id_: str,
        *,
        config: KarpenterSpec,
        cluster: ClusterRef,
        cluster_name: str,
        region: str,
        iam: IamSettings | None = None,
    ) -> Karpenter:
        """Define Karpenter's AWS resources for a cluster that is defined elsewhere.

        The rules of ``eks-hardware validate`` that depend only on Karpenter and its pools are checked. Their warnings
        become annotations of the construct.

        Args:
            config: the section ``karpenter``.

        Raises:
            ValueError: each error of ``eks-hardware validate`` in ``config``.
        """
        warnings = check_pools(config, path=f"{scope.node.path}/{id_}", cluster_name=cluster_name, region=region)
        resolved = resolve_karpenter(
            config, cluster_name=cluster_name, region=region, partition=facts.partition(region)
        )
        catalogue = load()
        node_pools = [
            # None of the resources here depends on a pool's zones.
            resolve_node_pool(pool, cluster_name=cluster_name, region=region, zone_ids=pool.zones, catalogue=catalogue)
            for pool in config.node_pools
        ]
        defined = cls(
            scope,
            id_,
            resolved=resolved,
            cluster=cluster,
            cluster_name=cluster_name,
            region=region,
            node_pools=node_pools,
            iam=iam,
        )
        add_warnings(defined, warnings)
        return defined

    @property
    def references(self) -> dict[Reference, str]:
        """Values of the references in Karpenter's chart and objects (tokens)."""
        values = {
            Reference.CLUSTER_NAME: self._cluster_name,
            Reference.KARPENTER_NODE_ROLE: self.node_role_name,
            Reference.KARPENTER_INSTANCE_PROFILE: self.instance_profile_name,
            Reference.KARPENTER_QUEUE: self.queue_name,
        }
        return {reference: value for reference, value in values.items() if value is not None}

    def _define_node_role(self, cluster: ClusterRef, cluster_name: str, iam: IamSettings) -> Role:
        role = Role(
            self,
            "node-role",
            name=self._resolved.node_role_name,
            description=f"Nodes that Karpenter makes for the EKS cluster {cluster_name}",
            assume_role_policy=assumed_by_ec2(self._partition),
            policy_arns=self._resolved.node_policy_arns,
            settings=iam,
        )
        _cdk.EksAccessEntry(
            self, "node-access", cluster_name=cluster.name, principal_arn=role.role_arn, type="EC2_LINUX"
        )
        return role

    def _define_controller_role(
        self, cluster: ClusterRef, cluster_name: str, documents: Mapping[str, str], iam: IamSettings
    ) -> Role:
        role = Role(
            self,
            "controller-role",
            name=self._resolved.controller_role_name,
            description=f"Karpenter of the EKS cluster {cluster_name}",
            assume_role_policy=assumed_by_pods(),
            settings=iam,
        )
        for key, document in documents.items():
            managed = _cdk.IamPolicy(
                self,
                f"policy-{key}",
                name=self._resolved.policy_names[key],
                path=iam.path,
                description=f"Karpenter of the EKS cluster {cluster_name}: {key}",
                policy=document,
            )
            role.attach(f"attach-{key}", managed.arn)
        _cdk.EksPodIdentityAssociation(
            self,
            "pod-identity",
            cluster_name=cluster.name,
            namespace=self._resolved.namespace,
            service_account=self._resolved.service_account,
            role_arn=role.role_arn,
            depends_on=list(role.permissions),
        )
        return role

    def _interruption_queue(self, name: str) -> _cdk.SqsQueue:
        queue = _cdk.SqsQueue(
            self, "queue", name=name, message_retention_seconds=_MESSAGE_RETENTION_SECONDS, sqs_managed_sse_enabled=True
        )
        queue_arn = queue.arn
        for rule in self._resolved.rules:
            defined = _cdk.CloudwatchEventRule(
                self,
                f"rule-{rule.key}",
                name=rule.name,
                description=f"{rule.detail_type}, for Karpenter",
                event_pattern=json.dumps({"source": [rule.source], "detail-type": [rule.detail_type]}),
            )
            _cdk.CloudwatchEventTarget(
                self, f"target-{rule.key}", rule=defined.name, target_id="karpenter", arn=queue_arn
            )
        _cdk.SqsQueuePolicy(
            self,
            "queue-policy",
            queue_url=queue.url,
            policy=policies.queue_policy(
                queue_arn=queue_arn,
                rule_arns=[
                    f"arn:{self._partition}:events:{self._region}:{account_id(self)}:rule/{rule.name}"
                    for rule in self._resolved.rules
                ],
            ),
        )
        return queue


def define_placement_groups(scope: Construct, node_pools: Sequence[ResolvedNodePool]) -> None:
    """Define the placement groups of the pools."""
    for pool in node_pools:
        if pool.placement_group_name:
            _cdk.PlacementGroup(
                scope, f"placement-group-{pool.name}", name=pool.placement_group_name, strategy="cluster"
            )
