"""Exporters without a chart: AWS's for Neuron, and our own for EFA.

The standard node exporter cannot export EFA's counters. In their directory, ``hw_counters``, it reads only other
vendors' counter names: https://github.com/prometheus/procfs/blob/master/sysfs/class_infiniband.go

AWS publishes the source of a fork, but no image (https://github.com/aws-samples/awsome-distributed-training,
3.efa-node-exporter). A shell script in a stock image therefore prints the counters, with the fork's metric names.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from eks_hardware.kubernetes.model import Object
from eks_hardware.kubernetes.nodes import Node, tolerations
from eks_hardware.resolve.node import EFA_LABEL, NEURON_PLUGIN_LABEL

NEURON_MONITOR = "neuron-monitor"
EFA_METRICS = "efa-metrics"

# Image, command and sizes as in
# https://github.com/aws-neuron/aws-neuron-sdk/blob/v2.32.0/src/k8/k8s-neuron-monitor-daemonset.yml
_NEURON_IMAGE = "public.ecr.aws/neuron/neuron-monitor:1.3.0"
_NEURON_PORT = 8000

# https://gallery.ecr.aws/docker/library/busybox
_EFA_IMAGE = "public.ecr.aws/docker/library/busybox:1.37.0"
_EFA_PORT = 9109
_EFA_PATH = "/cgi-bin/metrics"
_EXECUTABLE = 0o555

EFA_SCRIPT = Path(__file__).with_name("efa-metrics.sh")
"""CGI program that prints the counters of a node's EFA interfaces."""


def neuron_monitor(nodes: Sequence[Node], namespace: str, *, scraped: bool) -> tuple[Object, ...]:
    """Return Neuron's exporter for the given nodes; ``scraped`` if the Prometheus Operator is installed."""
    container = {
        "name": NEURON_MONITOR,
        "image": _NEURON_IMAGE,
        "command": ["/opt/bin/entrypoint.sh"],
        "args": ["--port", str(_NEURON_PORT), "--neuron-monitor-config", "/opt/aws/neuron/bin/neuron-monitor.conf"],
        "env": [{"name": "GOMEMLIMIT", "value": "160MiB"}],
        "ports": [{"name": "metrics", "containerPort": _NEURON_PORT}],
        "resources": {"requests": {"cpu": "256m", "memory": "128Mi"}, "limits": {"cpu": "500m", "memory": "256Mi"}},
        # The exporter reads the devices directly.
        "securityContext": {"privileged": True},
    }
    pod = {"nodeSelector": dict(NEURON_PLUGIN_LABEL), "tolerations": tolerations(nodes), "containers": [container]}
    return (
        _daemonset(NEURON_MONITOR, namespace, pod),
        *_endpoints(NEURON_MONITOR, namespace, port=_NEURON_PORT, path="/", scraped=scraped),
    )


def efa_metrics(nodes: Sequence[Node], namespace: str) -> tuple[Object, ...]:
    """Return our exporter of EFA counters for all nodes with EFA interfaces."""
    container = {
        "name": EFA_METRICS,
        "image": _EFA_IMAGE,
        "command": ["httpd", "-f", "-p", str(_EFA_PORT), "-h", "/www"],
        "ports": [{"name": "metrics", "containerPort": _EFA_PORT}],
        "volumeMounts": [{"name": "script", "mountPath": "/www/cgi-bin", "readOnly": True}],
        "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}, "limits": {"memory": "64Mi"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
    }
    pod = {
        "automountServiceAccountToken": False,
        # RDMA devices may belong to a network namespace. EFA devices belong to the host's namespace.
        "hostNetwork": True,
        "nodeSelector": dict(EFA_LABEL),
        "tolerations": tolerations(nodes),
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": 65534,
            "runAsGroup": 65534,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [container],
        "volumes": [{"name": "script", "configMap": {"name": EFA_METRICS, "defaultMode": _EXECUTABLE}}],
    }
    script = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": _metadata(EFA_METRICS, namespace),
        "data": {"metrics": EFA_SCRIPT.read_text(encoding="utf-8")},
    }
    return (
        script,
        _daemonset(EFA_METRICS, namespace, pod),
        *_endpoints(EFA_METRICS, namespace, port=_EFA_PORT, path=_EFA_PATH, scraped=True),
    )


def _metadata(name: str, namespace: str) -> dict[str, object]:
    return {"name": name, "namespace": namespace, "labels": {"app.kubernetes.io/name": name}}


def _daemonset(name: str, namespace: str, pod: dict[str, Any]) -> Object:
    labels = {"app.kubernetes.io/name": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": _metadata(name, namespace),
        "spec": {
            "selector": {"matchLabels": labels},
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "10%"}},
            "template": {"metadata": {"labels": labels}, "spec": {"priorityClassName": "system-node-critical", **pod}},
        },
    }


def _endpoints(name: str, namespace: str, *, port: int, path: str, scraped: bool) -> Iterator[Object]:
    """Yield the Service of an exporter, and the ServiceMonitor for Prometheus."""
    labels = {"app.kubernetes.io/name": name}
    yield {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": _metadata(name, namespace),
        "spec": {"clusterIP": "None", "selector": labels, "ports": [{"name": "metrics", "port": port}]},
    }
    if scraped:
        yield {
            "apiVersion": "monitoring.coreos.com/v1",
            "kind": "ServiceMonitor",
            "metadata": _metadata(name, namespace),
            "spec": {
                "selector": {"matchLabels": labels},
                "endpoints": [
                    {
                        "port": "metrics",
                        "path": path,
                        "relabelings": [{"sourceLabels": ["__meta_kubernetes_pod_node_name"], "targetLabel": "node"}],
                    }
                ],
            },
        }
