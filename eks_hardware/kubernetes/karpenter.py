"""Karpenter on the cluster: its CRDs, its controller, and its pools."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from eks_hardware import facts
from eks_hardware.kubernetes.charts import chart_release
from eks_hardware.kubernetes.model import ChartRelease, ObjectRelease
from eks_hardware.kubernetes.node_pool import node_class, node_overlays, node_pool, price_overlay
from eks_hardware.kubernetes.references import Reference
from eks_hardware.resolve import ResolvedKarpenter, ResolvedStrategy, SubnetRole
from eks_hardware.units import mebibytes, seconds

RESOURCES = "karpenter-resources"
"""Name of the release with NodePools, EC2NodeClasses and NodeOverlays."""

_CRDS = "karpenter-crd"
_CONTROLLER = "karpenter"
_PROMETHEUS = "kube-prometheus-stack"

_CONTROLLER_TIMEOUT_SECONDS = 900
_LEAST_DRAIN_SECONDS = 1800
# The time that EC2 needs to terminate instances after their pods have been deleted.
_AFTER_GRACE_SECONDS = 900


def releases(
    resolved: ResolvedStrategy, *, security_group_ids: Sequence[str] = ()
) -> Iterator[ChartRelease | ObjectRelease]:
    """Yield Karpenter's CRDs, its controller, and its pools; nothing without Karpenter.

    Args:
        security_group_ids: security groups of the nodes; if empty, the group with the discovery tag.
    """
    karpenter = resolved.karpenter
    if karpenter is None:
        return
    # CRDs have no pods. The controller uses the VPC's resolver (dnsPolicy below) and mounts no volume, so it does not
    # wait, and the cluster gets nodes earlier. The pools wait, because their pods need DNS and volumes until they end.
    yield chart_release(resolved, _CRDS, {}, waits_for_addons=False)
    yield chart_release(
        resolved,
        _CONTROLLER,
        _controller_values(resolved, karpenter),
        after=(_CRDS, _PROMETHEUS),
        waits_for_addons=False,
        timeout_seconds=_CONTROLLER_TIMEOUT_SECONDS,
    )
    if resolved.node_pools:
        private = karpenter.instance_profile_name is not None
        yield ObjectRelease(
            name=RESOURCES,
            namespace=karpenter.namespace,
            after=(_CONTROLLER,),
            # Uninstalled first, so that device plugins outlive the nodes that they serve.
            last=True,
            timeout_seconds=_drain_seconds(resolved),
            objects=(
                *(
                    node_class(pool, instance_profile=private, security_group_ids=security_group_ids)
                    for pool in resolved.node_pools
                ),
                *(overlay for pool in resolved.node_pools for overlay in node_overlays(pool)),
                *(price_overlay(*priced) for priced in resolved.kubernetes.overlay_prices.items()),
                *(node_pool(pool) for pool in resolved.node_pools),
            ),
        )


def _drain_seconds(resolved: ResolvedStrategy) -> int:
    """Return the timeout of uninstalling, in seconds: EC2NodeClasses wait for their nodes, which wait until drained."""
    grace = max(seconds(pool.disruption.termination_grace_period or "0s") for pool in resolved.node_pools)
    return max(_LEAST_DRAIN_SECONDS, grace + _AFTER_GRACE_SECONDS)


def _controller_values(resolved: ResolvedStrategy, karpenter: ResolvedKarpenter) -> dict[str, object]:
    """Return the values of the controller's chart.

    The chart's defaults keep the controller off the nodes that it launches (node affinity) and off tainted nodes (the
    only toleration is ``CriticalAddonsOnly``). They also place each replica on a different node.
    Source: https://github.com/aws/karpenter-provider-aws/blob/v1.14.1/charts/karpenter/values.yaml
    """
    values: dict[str, object] = {
        "settings": _settings(resolved, karpenter),
        "serviceAccount": {"name": karpenter.service_account},
        "replicas": resolved.kubernetes.karpenter_replicas,
        # CoreDNS may wait for a node from Karpenter, so Karpenter must not wait for CoreDNS:
        # https://karpenter.sh/v1.14/troubleshooting/ (failed to resolve the STS endpoint)
        "dnsPolicy": "Default",
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "topology.kubernetes.io/zone",
                "whenUnsatisfiable": "DoNotSchedule",
                # The chart's constraint also counts zones with only tainted nodes. If all untainted nodes are in one
                # zone, the second replica stays pending:
                # https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/
                "nodeTaintsPolicy": "Honor",
            }
        ],
        "controller": {
            "resources": {"requests": _controller_resources(), "limits": _controller_resources()},
            # Otherwise Karpenter queries instance metadata, which pods cannot reach.
            "env": [{"name": "AWS_REGION", "value": resolved.region}],
        },
    }
    if _PROMETHEUS in resolved.kubernetes.charts:
        values["serviceMonitor"] = {"enabled": True}
    return values


def _settings(resolved: ResolvedStrategy, karpenter: ResolvedKarpenter) -> dict[str, object]:
    settings: dict[str, object] = {"clusterName": Reference.CLUSTER_NAME.text}
    if karpenter.queue_name:
        settings["interruptionQueue"] = Reference.KARPENTER_QUEUE.text
    if karpenter.instance_profile_name:
        # Neither the price list nor IAM has a VPC endpoint.
        settings["isolatedVPC"] = True
    elif resolved.cluster.zonal_shift:
        # ARC has no VPC endpoint.
        settings["enableZonalShift"] = True
    if _has_pod_subnets(resolved):
        # Pods do not use the first interface: https://karpenter.sh/v1.14/reference/settings/
        settings["reservedENIs"] = "1"
    if resolved.kubernetes.feature_gates:
        settings["featureGates"] = dict(resolved.kubernetes.feature_gates)
    return settings


def _has_pod_subnets(resolved: ResolvedStrategy) -> bool:
    network = resolved.network
    return bool(network.of_role(SubnetRole.POD) or (network.existing and network.existing.pod))


def _controller_resources() -> dict[str, str]:
    row = facts.system_pods()["deployments"]["karpenter"]
    return {"cpu": str(row["millicores"] // 1000), "memory": mebibytes(row["mib"])}
