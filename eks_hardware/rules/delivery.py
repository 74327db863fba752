"""Rules about how charts are installed on the cluster."""

from __future__ import annotations

from collections.abc import Iterator

from eks_hardware.resolve.access import administrators, has_admin
from eks_hardware.rules.registry import Breach, Context, error, warning

_ROLE = "Terraform's role"
_OR_MANIFESTS = "or set kubernetes.delivery: manifests"


def helm_installs(context: Context) -> bool:
    """Return whether Terraform installs anything on the cluster."""
    strategy = context.strategy
    if strategy.kubernetes.delivery != "helm":
        return False
    storage = strategy.storage
    ebs = strategy.cluster.addons.get("aws-ebs-csi-driver")
    objects = (storage.fsx_lustre, storage.efs, storage.s3_buckets, ebs and ebs.enabled, strategy.kubernetes.teams)
    return bool(context.charts) or any(objects)


@warning("KUBERNETES_API_PRIVATE")
def _api_private(context: Context) -> Iterator[Breach]:
    strategy = context.strategy
    if strategy.cluster.endpoint.public_cidrs or not helm_installs(context):
        return
    why = "Terraform installs charts through the Kubernetes API, which is reachable only inside the VPC"
    ways = ["run Terraform in the VPC (with a runner or a VPN)"]
    if strategy.network.existing is None and strategy.kubernetes.stack == "same":
        why += ", and the same apply creates that VPC"
        ways = ["set kubernetes.stack: separate and apply the charts from inside the VPC"]
    if not strategy.network.private:
        ways.append("list your networks in cluster.endpoint.public_cidrs")
    yield "cluster.endpoint.public_cidrs", f"{why}; {', '.join(ways)}, {_OR_MANIFESTS}"


@error("KUBERNETES_NO_ADMIN")
def _no_admin(context: Context) -> Iterator[Breach]:
    cluster = context.strategy.cluster
    if has_admin(cluster) or not helm_installs(context):
        return
    role = context.strategy.aws.assume_role
    yield (
        "cluster",
        "installing charts requires AmazonEKSClusterAdminPolicy for the whole cluster, which no principal has; "
        f"set cluster.creator_is_admin: true, list {role.role_arn if role else _ROLE} under "
        f"cluster.admins, {_OR_MANIFESTS}",
    )


@error("KUBERNETES_DEPLOYER_NO_ADMIN")
def _deployer_no_admin(context: Context) -> Iterator[Breach]:
    strategy = context.strategy
    role, cluster = strategy.aws.assume_role, strategy.cluster
    if role is None or cluster.creator_is_admin or not has_admin(cluster) or not helm_installs(context):
        return
    if role.role_arn not in administrators(cluster):
        yield (
            "aws.assume_role.role_arn",
            f"Terraform installs charts as {role.role_arn}, which must have administrator access to the cluster; add "
            f"it to cluster.admins, set cluster.creator_is_admin: true, {_OR_MANIFESTS}",
        )


@error("KUBERNETES_EXTERNAL_ID")
def _external_id(context: Context) -> Iterator[Breach]:
    role = context.strategy.aws.assume_role
    if role and role.external_id and helm_installs(context):
        yield (
            "aws.assume_role.external_id",
            "`aws eks get-token` issues the token for the Kubernetes API and has no option for an external ID; set "
            f"aws.profile to a profile with role_arn and external_id instead, {_OR_MANIFESTS}",
        )


@warning("KUBERNETES_PRIVATE_CHARTS")
def _private_charts(context: Context) -> Iterator[Breach]:
    if not context.strategy.network.private:
        return
    mirrored = {str(name) for name, chart in context.strategy.kubernetes.charts.items() if chart.repository}
    public = sorted(context.charts - mirrored)
    if public:
        yield (
            "network.private",
            f"the charts {', '.join(public)} and their images are in public registries; mirror them in ECR, and set "
            "kubernetes.charts.<name>.repository and the images in its values",
        )


@warning("STACK_SEPARATE_UNUSED")
def _separate_unused(context: Context) -> Iterator[Breach]:
    kubernetes = context.strategy.kubernetes
    if kubernetes.stack == "separate" and kubernetes.delivery == "manifests":
        yield (
            "kubernetes.stack",
            "with delivery: manifests, Terraform installs nothing on the cluster and the second stack would be empty; "
            "remove this line",
        )
