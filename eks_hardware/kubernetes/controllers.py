"""Controllers that call AWS: load balancers for services and ingresses, and the autoscaler of node groups."""

from __future__ import annotations

from collections.abc import Iterator

from eks_hardware import facts
from eks_hardware.kubernetes.charts import chart_release
from eks_hardware.kubernetes.model import ChartRelease
from eks_hardware.kubernetes.references import Reference
from eks_hardware.resolve import ResolvedStrategy

LOAD_BALANCERS = "aws-load-balancer-controller"
AUTOSCALER = "cluster-autoscaler"


def releases(resolved: ResolvedStrategy) -> Iterator[ChartRelease]:
    """Yield the controllers that the strategy enables. They need no tolerations: there is always an untainted group."""
    if LOAD_BALANCERS in resolved.kubernetes.charts:
        yield chart_release(resolved, LOAD_BALANCERS, _load_balancer_values(resolved))
    if AUTOSCALER in resolved.kubernetes.charts:
        yield chart_release(resolved, AUTOSCALER, _autoscaler_values(resolved))


def _service_account(resolved: ResolvedStrategy, key: str) -> dict[str, object]:
    """Return values for the service account that has the Pod Identity association."""
    (role,) = (service_role for service_role in resolved.kubernetes.service_roles if service_role.key == key)
    return {"create": True, "name": role.service_account}


def _load_balancer_values(resolved: ResolvedStrategy) -> dict[str, object]:
    """Return the values of the load balancer controller.

    Source: https://kubernetes-sigs.github.io/aws-load-balancer-controller/v3.5/deploy/installation/
    """
    private: dict[str, object] = {}
    if not resolved.network.nat_zone_ids and not resolved.network.existing:
        # These services have no VPC endpoint: https://docs.aws.amazon.com/eks/latest/userguide/private-clusters.html
        private = {"enableShield": False, "enableWaf": False, "enableWafv2": False}
    return {
        "clusterName": resolved.name,
        "region": resolved.region,
        # The controller's pods cannot read the VPC ID from instance metadata, because the hop limit is 1.
        "vpcId": Reference.VPC_ID.text,
        "serviceAccount": _service_account(resolved, LOAD_BALANCERS),
        "replicaCount": 2,
        # The controller's webhook is called for every new Service. Charts that are installed at the same time must not
        # fail while its pods start: https://github.com/kubernetes-sigs/aws-load-balancer-controller/issues/4140
        "serviceMutatorWebhookConfig": {"failurePolicy": "Ignore"},
        # A new certificate at each upgrade would restart every pod that uses it.
        "keepTLSSecret": True,
        **private,
    }


def _autoscaler_values(resolved: ResolvedStrategy) -> dict[str, object]:
    """Return the values of Cluster Autoscaler, with the image of the cluster's Kubernetes minor version.

    Source: https://github.com/kubernetes/autoscaler/blob/cluster-autoscaler-1.35.1/cluster-autoscaler/FAQ.md
    """
    tag = facts.autoscaler_image(resolved.kubernetes.kubernetes_version)
    return {
        "cloudProvider": "aws",
        "awsRegion": resolved.region,
        "autoDiscovery": {"clusterName": resolved.name},
        **({"image": {"tag": tag}} if tag else {}),
        "rbac": {"serviceAccount": _service_account(resolved, AUTOSCALER)},
        # One active, one on standby.
        "replicaCount": 2,
        "resources": {"requests": {"cpu": "100m", "memory": "600Mi"}, "limits": {"memory": "600Mi"}},
        "extraArgs": {
            # Expand the group with the least unused capacity, so that a pod without a GPU never starts a GPU node.
            "expander": "least-waste",
            "balance-similar-node-groups": True,
            # CoreDNS and similar pods run in kube-system and have disruption budgets. Pods with local storage, such as
            # a training job's shared memory, still keep their node.
            "skip-nodes-with-system-pods": False,
        },
    }
