"""The EKS control plane."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from eks_hardware import _cdk
from eks_hardware._cdk import CloudwatchLogGroup, Construct, EksCluster, ITerraformDependable, TerraformResource
from eks_hardware.constructs.cluster.addon import Addon
from eks_hardware.constructs.cluster.encryption import SecretsKey
from eks_hardware.constructs.cluster.ref import ClusterRef
from eks_hardware.constructs.iam import IamSettings, Role
from eks_hardware.constructs.network import NetworkRef
from eks_hardware.constructs.resources.warnings import add_warnings
from eks_hardware.iam_policies.document import assumed_by_service
from eks_hardware.iam_policies.secrets_key import use_of_secrets_key
from eks_hardware.models import ClusterSpec
from eks_hardware.resolve import ResolvedAccessEntry, ResolvedAddon, ResolvedCluster, resolve_cluster
from eks_hardware.resolve.mappings import merged
from eks_hardware.section_checks import check_cluster


class Cluster(Construct):
    """An EKS cluster with API authentication, secrets encryption and control-plane logs.

    The cluster gets the add-ons that nodes need to become Ready. :meth:`add_addons_after` creates the other add-ons,
    which need nodes for their pods. EKS installs no add-ons itself (``bootstrap_self_managed_addons`` is false).

    Creates: ``aws_eks_cluster``, ``aws_iam_role`` with ``aws_iam_role_policy_attachment`` and ``aws_iam_role_policy``,
    ``aws_cloudwatch_log_group``, ``aws_kms_key`` and ``aws_kms_alias``, ``aws_eks_access_entry``,
    ``aws_eks_access_policy_association``, and per add-on ``aws_eks_addon`` with its role and
    ``aws_eks_pod_identity_association``.

    Args:
        scope: parent construct or stack.
        id_: construct id, part of the Terraform addresses.
        resolved: the cluster (``eks_hardware.resolve.resolve_cluster``).
        network: VPC and subnets of the control plane's interfaces and the nodes.
        iam: path and permissions boundary of the roles.

    Examples:
        In your own VPC, from a section of a strategy:

        >>> from eks_hardware.models import ClusterSpec
        >>> made = Cluster.from_config(
        ...     stack,
        ...     "cluster",
        ...     config=ClusterSpec(kubernetes_version="1.35", creator_is_admin=True),
        ...     name="research",
        ...     region="us-west-2",
        ...     network=network,
        ... )
        >>> made.resource.add_override("timeouts.create", "45m")
        >>> sorted(made.addons)
        ['eks-pod-identity-agent', 'kube-proxy', 'vpc-cni']
    """

    ref: ClusterRef
    """Reference to the cluster for other constructs."""
    resource: EksCluster
    """The Terraform resource, to depend on or to override."""
    role: Role
    """The role of the control plane."""
    log_group: CloudwatchLogGroup
    """The log group of the control plane."""
    secrets_key: SecretsKey | None
    """The KMS key for Kubernetes secrets; None if you name your own key, or if secrets are not encrypted."""
    cluster_name: str
    """Name of the cluster (a token: resources that use it are created after the cluster)."""
    endpoint: str
    """URL of the Kubernetes API (token)."""
    cluster_security_group_id: str
    """The security group that EKS creates and attaches to every node (token)."""
    ready: tuple[ITerraformDependable, ...]
    """Depend on these to wait for API access and for the add-ons that nodes need."""
    before_charts: tuple[ITerraformDependable, ...]
    """Depend on these to wait for the add-ons that run on nodes and that charts' pods may need."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        resolved: ResolvedCluster,
        network: NetworkRef,
        iam: IamSettings | None = None,
    ) -> None:
        super().__init__(scope, id_)
        self._resolved = resolved
        self._network = network
        self._iam = iam
        self.secrets_key = None
        self.before_charts = ()
        self._addons: dict[str, Addon] = {}
        self.log_group = CloudwatchLogGroup(
            self,
            "log-group",
            name=resolved.log_group_name,
            retention_in_days=resolved.log_retention_days,
            skip_destroy=resolved.log_group_kept,
        )
        self.role = Role(
            self,
            "role",
            name=resolved.role_name,
            description=f"Control plane of the EKS cluster {resolved.name}",
            assume_role_policy=assumed_by_service("eks.amazonaws.com"),
            policy_arns=[f"arn:{resolved.partition}:iam::aws:policy/AmazonEKSClusterPolicy"],
            settings=iam,
        )
        encryption = self._encryption()
        # If the log group did not exist yet, EKS would create it, and Terraform could not create it afterwards.
        cluster = self.resource = self._define([self.log_group, *self.role.permissions, *encryption])
        # Read once: each read of an attribute is a request to Node.
        self.cluster_name, self.endpoint = cluster.name, cluster.endpoint
        self.cluster_security_group_id = cluster.vpc_config.cluster_security_group_id
        access = [entry_resource for entry in resolved.access_entries for entry_resource in self._access(entry)]
        before_nodes = [each for addon in resolved.addons if addon.before_nodes for each in self._addon(addon).ready]
        self.ready = (cluster, *access, *before_nodes)
        self.ref = ClusterRef(
            name=self.cluster_name,
            security_group_id=self.cluster_security_group_id,
            endpoint=self.endpoint,
            certificate_authority=cluster.certificate_authority.get(0).data,
            service_cidr=cluster.kubernetes_network_config.service_ipv4_cidr,
            before_nodes=tuple(before_nodes),
        )

    @classmethod
    def from_config(
        cls,
        scope: Construct,
        id_: str,
        *,
        config: ClusterSpec,
        name: str,
        region: str,
        network: NetworkRef,
        iam: IamSettings | None = None,
    ) -> Cluster:
        """Define a cluster from its section of a strategy.

        The rules of ``eks-hardware validate`` that depend only on the control plane are checked. Their warnings become
        annotations of the construct.

        Args:
            config: the section ``cluster``.
            name: name of the cluster.
            region: AWS region.

        Raises:
            ValueError: each error of ``eks-hardware validate`` in ``config``.
        """
        path = f"{scope.node.path}/{id_}"
        warnings = check_cluster(config, path=path, cluster_name=name, region=region)
        custom_networking = bool(network.pod_subnet_ids)
        resolved = resolve_cluster(config, name=name, region=region, custom_networking=custom_networking)
        defined = cls(scope, id_, resolved=resolved, network=network, iam=iam)
        add_warnings(defined, warnings)
        return defined

    @property
    def addons(self) -> Mapping[str, Addon]:
        """The add-ons defined so far, by name."""
        return dict(self._addons)

    @property
    def cluster_arn(self) -> str:
        """ARN of the cluster (token)."""
        return self.resource.arn

    def add_addons_after(self, nodes: Sequence[ITerraformDependable]) -> None:
        """Define the add-ons whose pods need nodes, and make them depend on those nodes.

        Args:
            nodes: untainted node groups, or anything else that can run pods.
        """
        for addon in self._resolved.addons:
            if not addon.before_nodes:
                ready = self._addon(addon, after=nodes).ready
                if addon.before_charts:
                    self.before_charts += ready

    def _define(self, needed: Sequence[TerraformResource]) -> EksCluster:
        resolved = self._resolved
        public = bool(resolved.public_cidrs)
        tier = resolved.control_plane_tier
        return EksCluster(
            self,
            "Resource",
            name=resolved.name,
            version=resolved.kubernetes_version,
            role_arn=self.role.role_arn,
            bootstrap_self_managed_addons=False,
            enabled_cluster_log_types=list(resolved.log_types),
            deletion_protection=resolved.deletion_protection,
            access_config=_cdk.EksClusterAccessConfig(
                authentication_mode="API", bootstrap_cluster_creator_admin_permissions=resolved.creator_is_admin
            ),
            vpc_config=_cdk.EksClusterVpcConfig(
                subnet_ids=list(self._network.control_plane_subnet_ids.values()),
                endpoint_private_access=True,
                endpoint_public_access=public,
                public_access_cidrs=list(resolved.public_cidrs) if public else None,
            ),
            encryption_config=_cdk.EksClusterEncryptionConfig(
                provider=_cdk.EksClusterEncryptionConfigProvider(key_arn=self._key_arn), resources=["secrets"]
            )
            if self._key_arn
            else None,
            kubernetes_network_config=_cdk.EksClusterKubernetesNetworkConfig(service_ipv4_cidr=resolved.service_cidr)
            if resolved.service_cidr
            else None,
            upgrade_policy=_cdk.EksClusterUpgradePolicy(support_type=resolved.support_type),
            zonal_shift_config=_cdk.EksClusterZonalShiftConfig(enabled=True) if resolved.zonal_shift else None,
            control_plane_scaling_config=_cdk.EksClusterControlPlaneScalingConfig(tier=tier)
            if tier != "standard"
            else None,
            # EKS reads both arguments only when it creates a cluster; a later change would replace the cluster.
            lifecycle=_cdk.TerraformResourceLifecycle(
                ignore_changes=[
                    "access_config[0].bootstrap_cluster_creator_admin_permissions",
                    "bootstrap_self_managed_addons",
                ]
            ),
            depends_on=list(needed),
        )

    def _encryption(self) -> list[TerraformResource]:
        resolved = self._resolved
        self._key_arn: str | None = None
        if not resolved.secrets_encrypted:
            return []
        self._key_arn = resolved.kms_key_arn
        if self._key_arn is None:
            self.secrets_key = SecretsKey(
                self, "secrets-key", cluster_name=resolved.name, alias=resolved.kms_alias, partition=resolved.partition
            )
            self._key_arn = self.secrets_key.key_arn
        return [
            _cdk.IamRolePolicy(
                self,
                "secrets-key-use",
                name="secrets-encryption",
                role=self.role.role_name,
                policy=use_of_secrets_key(self._key_arn),
            )
        ]

    def _access(self, entry: ResolvedAccessEntry) -> Iterator[TerraformResource]:
        access = _cdk.EksAccessEntry(
            self,
            f"access-{entry.key}",
            cluster_name=self.cluster_name,
            principal_arn=entry.principal_arn,
            kubernetes_groups=list(entry.kubernetes_groups) or None,
            type="STANDARD",
        )
        yield access
        for policy_arn, namespaces in entry.policies:
            yield _cdk.EksAccessPolicyAssociation(
                self,
                f"access-{entry.key}-{policy_arn.rpartition('/')[2]}",
                cluster_name=self.cluster_name,
                principal_arn=access.principal_arn,
                policy_arn=policy_arn,
                access_scope=_cdk.EksAccessPolicyAssociationAccessScope(
                    type="namespace" if namespaces else "cluster", namespaces=list(namespaces) or None
                ),
            )

    def _addon(self, addon: ResolvedAddon, *, after: Sequence[ITerraformDependable] = ()) -> Addon:
        defined = Addon(
            self,
            f"addon-{addon.name}",
            resolved=addon,
            cluster_name=self.cluster_name,
            configuration=self._with_pod_subnets(addon) if addon.name == "vpc-cni" else None,
            after=after,
            iam=self._iam,
        )
        self._addons[addon.name] = defined
        return defined

    def _with_pod_subnets(self, addon: ResolvedAddon) -> dict[str, object]:
        """Return the VPC CNI's configuration with one ENIConfig per zone, named as in the nodes' zone label."""
        if not self._resolved.custom_networking:
            return dict(addon.configuration)
        subnets = {
            _cdk.DataAwsAvailabilityZone(self, f"zone-{zone}", zone_id=zone).name: {
                "id": subnet_id,
                "securityGroups": [self.cluster_security_group_id],
            }
            for zone, subnet_id in self._network.pod_subnet_ids.items()
        }
        eni_config = {"create": True, "region": self._resolved.region, "subnets": subnets}
        return merged({"eniConfig": eni_config}, addon.configuration)
