"""Rules about the values of add-ons and charts: each with a strategy that breaks it and a similar valid one."""

from __future__ import annotations

import json
from typing import Any

from eks_hardware import facts
from helpers.cases import in_one_test
from helpers.rules import Case, check_case, finding_message, is_shown, rules_of, shown_codes, warnings_of
from helpers.sections import at_path, cluster, kubernetes
from helpers.strategies import SYSTEM, group, pool, pools

LABELLED = {"node_groups": [SYSTEM, group(name="apps", labels={"tier": "apps"}, scaling={"min": 1, "max": 2})]}
TAINTED = {
    "node_groups": [
        SYSTEM,
        group(name="apps", labels={"tier": "apps"}, taints=[{"key": "apps"}], scaling={"min": 1, "max": 2}),
    ]
}
APPS = {"tier": "apps"}


def addon(name: str, configuration: dict[str, Any], **others: Any) -> dict[str, Any]:
    return cluster(addons={name: {"configuration": configuration}, **others})


def chart(name: str, values: dict[str, Any], **switches: Any) -> dict[str, Any]:
    return kubernetes(charts={name: {"values": values}}, **switches)


def required_labels(key: str, operator: str, *values: str) -> dict[str, Any]:
    term = {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}


def addon_case(name: str, keys: str, bad: dict[str, Any], good: dict[str, Any]) -> Case:
    return Case("ADDON_VALUE", f"cluster.addons.{name}.configuration.{keys}", addon(name, bad), addon(name, good))


def chart_case(name: str, keys: str, bad: dict[str, Any], good: dict[str, Any], **switches: Any) -> Case:
    path = f"kubernetes.charts.{name}.values.{keys}"
    return Case("CHART_VALUE_KIND", path, chart(name, bad, **switches), chart(name, good, **switches))


def running(code: str, name: str, keys: str, bad: dict[str, Any], good: dict[str, Any]) -> Case:
    return Case(code, f"cluster.addons.{name}.configuration.{keys}", addon(name, bad), addon(name, good))


def in_zones(*zones: str) -> dict[str, Any]:
    return {"node_groups": [{**SYSTEM, "zones": list(zones)}]}


def apart(replicas: int, name: str = "replicas", key: str = "kubernetes.io/hostname") -> dict[str, Any]:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"a": "b"}}}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    return {name: replicas, "affinity": {"podAntiAffinity": required}}


def autoscaler(**arguments: Any) -> dict[str, Any]:
    return chart("cluster-autoscaler", {"extraArgs": arguments}, cluster_autoscaler=True)


AUTOSCALED = {"node_groups": [{**SYSTEM, "scaling": {"min": 2, "max": 4, "autoscaled": True}}]}
BALANCER = "kubernetes.charts.aws-load-balancer-controller.values"
SNAPSHOTTER = {"sidecars": {"snapshotter": {"forceEnable": True}}}
GPU_GROUP = {"node_groups": [SYSTEM, group("g6.xlarge")]}
CRITICAL = {"node_groups": [{**SYSTEM, "taints": [{"key": "CriticalAddonsOnly", "value": "true"}]}]}
CPU_POOL = pool(instance_families=["m7i"], limits={"cpu": 64})
# The place of the fault in a toleration, a wrong one and a right one.
TOLERATIONS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    (".operator", {"key": "a", "operator": "Exist"}, {"key": "a", "operator": "Exists"}),
    (".effect", {"key": "a", "operator": "Exists", "effect": "NoSchedul"}, {"key": "a", "operator": "Exists"}),
    (".tolerationSeconds", {"key": "a", "effect": "NoExecute", "tolerationSeconds": "60"}, {"key": "a", "value": "b"}),
    (
        ".tolerationSeconds",
        {"key": "a", "effect": "NoSchedule", "tolerationSeconds": 60},
        {"key": "a", "effect": "NoExecute", "tolerationSeconds": 60},
    ),
    (".value", {"key": "a", "operator": "Exists", "value": "b"}, {"key": "a", "operator": "Equal", "value": "b"}),
    (".value", {"key": "a", "value": True}, {"key": "a", "value": "true"}),
    ("", {"value": "b"}, {"operator": "Exists"}),
    (".operater", {"key": "a", "operater": "Exists"}, {"key": "a"}),
]
SPREAD: dict[str, Any] = {
    "maxSkew": 1,
    "topologyKey": "topology.kubernetes.io/zone",
    "whenUnsatisfiable": "ScheduleAnyway",
}
SPREADS: list[tuple[str, dict[str, Any]]] = [
    (".maxSkew", {"maxSkew": "1"}),
    (".maxSkew", {"maxSkew": 0}),
    (".whenUnsatisfiable", {"whenUnsatisfiable": "DoNotScheduleAnyway"}),
    ("", {"topologyKey": ""}),
    (".minDomains", {"minDomains": 2}),
]
# Values that the Kubernetes API refuses: the add-on, the place of the fault, a wrong value and right ones.
REFUSED_BY_API: list[tuple[str, str, Any, list[Any]]] = [
    ("metrics-server", "updateStrategy.type", "Fast", ["Recreate", "RollingUpdate"]),
    ("metrics-server", "updateStrategy.type", "OnDelete", ["RollingUpdate"]),
    ("aws-ebs-csi-driver", "controller.updateStrategy.type", "OnDelete", ["Recreate"]),
    ("aws-ebs-csi-driver", "node.updateStrategy.type", "Recreate", ["OnDelete", "RollingUpdate"]),
    ("eks-pod-identity-agent", "updateStrategy.type", "Fast", ["OnDelete"]),
    ("eks-pod-identity-agent", "updateStrategy.type", "Recreate", ["RollingUpdate"]),
    ("aws-fsx-csi-driver", "node.updateStrategy.type", "Recreate", ["OnDelete"]),
    ("metrics-server", "updateStrategy.rollingUpdate.maxUnavailable", "150%", ["100%", 0, "25%", 3]),
    ("aws-efs-csi-driver", "controller.healthPort", 99999, [9909, "9909"]),
    ("eks-node-monitoring-agent", "nodeAgent.probePort", -1, [8002]),
    ("metrics-server", "containerPort", 99999, [10250, 65535, "10250"]),
    ("metrics-server", "podDisruptionBudget.minAvailable", "150%", ["100%", "0%", 1, "1", None, ""]),
    ("metrics-server", "podDisruptionBudget.maxUnavailable", -1, [0]),
    ("metrics-server", "podDisruptionBudget.maxUnavailable", "half%", ["50%"]),
    ("coredns", "podDisruptionBudget.maxUnavailable", "150%", ["50%", 1]),
    ("coredns", "podLabels[a b]", "c", []),
    ("coredns", "podLabels.team", "a b", ["research", "", "{{ .Release.Name }}"]),
]
# Values that a chart's templates pass on: the chart, its switch, the place, a wrong value and right ones.
DEPLOYMENT, DAEMON_SET = ["RollingUpdate", "Recreate", None], ["RollingUpdate", "OnDelete", None]
REFUSED_IN_CHARTS: list[tuple[str, str, str, Any, list[Any]]] = [
    ("kueue", "kueue", "controllerManager.strategy.type", "OnDelete", DEPLOYMENT),
    ("cluster-autoscaler", "cluster_autoscaler", "updateStrategy.type", "OnDelete", DEPLOYMENT),
    ("aws-load-balancer-controller", "load_balancer_controller", "updateStrategy.type", "OnDelete", DEPLOYMENT),
    ("aws-load-balancer-controller", "load_balancer_controller", "webhookBindPort", 94430, [9443, "9443"]),
    ("gpu-operator", "gpu_operator", "daemonsets.updateStrategy", "Recreate", DAEMON_SET),
    ("gpu-operator", "gpu_operator", "node-feature-discovery.master.port", 80800, [8080]),
    ("kube-prometheus-stack", "prometheus", "grafana.deploymentStrategy.type", "OnDelete", DEPLOYMENT),
    ("kube-prometheus-stack", "prometheus", "grafana.deploymentStrategy", "Recreate", [{"type": "Recreate"}, {}]),
    ("kube-prometheus-stack", "prometheus", "prometheusOperator.strategy.type", "OnDelete", DEPLOYMENT),
    ("kube-prometheus-stack", "prometheus", "prometheus-node-exporter.updateStrategy.type", "Recreate", DAEMON_SET),
    ("kube-prometheus-stack", "prometheus", "prometheus.prometheusSpec.updateStrategy.type", "Recreate", DAEMON_SET),
    # The template makes a strategy of this text.
    ("kube-prometheus-stack", "prometheus", "kube-state-metrics.updateStrategy", "OnDelete", DEPLOYMENT),
    ("kube-prometheus-stack", "prometheus", "kube-state-metrics.kubeRBACProxy.port", 88888, [8888]),
]
# Update strategies with which no pod can be replaced, or that exclude each other; and similar ones.
STUCK: list[tuple[str, dict[str, Any], list[dict[str, Any]]]] = [
    (
        "rollingUpdate",
        {"type": "Recreate", "rollingUpdate": {"maxSurge": 1}},
        [{"type": "Recreate"}, {"type": "Recreate", "rollingUpdate": None}, {"rollingUpdate": {"maxSurge": 1}}],
    ),
    (
        "rollingUpdate.maxUnavailable",
        {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}},
        [{"rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 0}}, {"rollingUpdate": {"maxUnavailable": 0}}],
    ),
    (
        "rollingUpdate.maxUnavailable",
        {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "0%", "maxUnavailable": "0%"}},
        [{"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}],
    ),
]
GRAFANA, ALERTS = "grafana.service", "alertmanager.service"
REFUSED_PORTS: list[tuple[str, dict[str, Any], list[dict[str, Any]]]] = [
    (
        f"{GRAFANA}.nodePort",
        {"type": "NodePort", "nodePort": 80},
        [{"type": "NodePort", "nodePort": port} for port in (30000, 32767, "30080", 0, None, "")]
        # The chart leaves it out with another type.
        + [{"nodePort": 80}, {"type": "ClusterIP", "nodePort": 80}],
    ),
    (f"{ALERTS}.nodePort", {"type": "NodePort", "nodePort": 32768}, [{"type": "NodePort", "nodePort": 30903}]),
    (f"{ALERTS}.port", {"port": 99999}, [{"port": 9093}, {"port": "9093"}]),
    (f"{GRAFANA}.targetPort", {"targetPort": -1}, [{"targetPort": "http"}, {"targetPort": 3000}]),
]
TERM = "affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference.matchExpressions"
OS = "kubernetes.io/os"
REQUIREMENTS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    (
        ".operator",
        {"key": OS, "operator": "in", "values": ["linux"]},
        {"key": OS, "operator": "In", "values": ["linux"]},
    ),
    (".values", {"key": OS, "operator": "In", "values": "linux"}, {"key": OS, "operator": "Exists"}),
    ("", {"key": OS, "operator": "In", "values": []}, {"key": OS, "operator": "NotIn", "values": ["windows"]}),
    (".values", {"key": OS, "operator": "Exists", "values": ["linux"]}, {"key": OS, "operator": "Exists"}),
]


def preferred(expression: dict[str, Any]) -> dict[str, Any]:
    term = {"weight": 1, "preference": {"matchExpressions": [expression]}}
    return {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [term]}}


CLAIM = {"volumeClaimTemplate": {"spec": {"resources": {"requests": {"storage": "50Gi"}}}}}
STORED = {"prometheus": {"prometheusSpec": {"storageSpec": CLAIM}}}
ON_EFS = {"volumeClaimTemplate": {"spec": {"storageClassName": "efs", "resources": {"requests": {"storage": "50Gi"}}}}}
MONITOR = {"forceEnable": True}
EBS: dict[str, Any] = {"aws-ebs-csi-driver": {}}

COREDNS = "cluster.addons.coredns.configuration"
COREFILE = """
# of our own
.:53 {
    errors
    health {
        lameduck 5s
    }
    ready
    kubernetes cluster.local in-addr.arpa ip6.arpa {
        pods insecure
        fallthrough in-addr.arpa ip6.arpa
    }
    template ANY A example.org {
        answer "{{ .Name }} 60 IN A 10.0.0.1"
    }
    forward . /etc/resolv.conf { max_concurrent 1000 }
    ours   # a plugin that no source lists
}
corp.example.org:53 {
    forward . 10.0.0.2
}
"""
RIGHT_COREFILE = addon("coredns", {"corefile": COREFILE})
WRONG_COREFILES = [
    COREFILE.replace("    ready\n", ""),
    COREFILE.replace("    ready\n", "    # ready\n"),
    COREFILE.replace("kubernetes cluster.local", "file cluster.local"),
    COREFILE.replace("    errors\n", "    error\n"),
    COREFILE.replace("forward . 10.0.0.2", "proxy . 10.0.0.2"),
    COREFILE.replace("lameduck 5s\n    }", "lameduck 5s"),
    COREFILE + "}\n",
    COREFILE.replace(".:53 {", ".:53{"),
    ".:53 { errors }",
]
# Variables of the CNI: a wrong value, and a right one.
CNI = [
    ("AWS_VPC_K8S_CNI_LOGLEVEL", "verbose", "warn"),
    ("AWS_VPC_K8S_PLUGIN_LOG_LEVEL", "TRACE", "ERROR"),
    ("AWS_VPC_ENI_MTU", "100", "1500"),
    ("POD_MTU", "9002", "9001"),
    ("AWS_VPC_K8S_CNI_VETHPREFIX", "enilong", "pod"),
    ("AWS_VPC_K8S_CNI_VETHPREFIX", "vlan", "vlo"),
    ("ADDITIONAL_ENI_TAGS", "team=ml", '{"team": "ml"}'),
    ("AWS_VPC_K8S_CNI_EXCLUDE_SNAT_CIDRS", "10.1.0.0/33", "10.1.0.0/16,10.2.0.0/16"),
]
# Values of charts: the chart, what installs it, the place, a wrong value and a right one.
AUTOSCALED = {"node_groups": [SYSTEM | {"scaling": {"min": 2, "max": 4, "autoscaled": True}}]}
PROMETHEUS = ("kube-prometheus-stack", "prometheus")
CHARTS: list[tuple[tuple[str, str], str, Any, Any]] = [
    (PROMETHEUS, "grafana.image.pullPolicy", "ifnotpresent", "IfNotPresent"),
    (PROMETHEUS, "grafana.service.type", "Loadbalancer", "ClusterIP"),
    (PROMETHEUS, "grafana.podAnnotations.scrape", True, "true"),
    (PROMETHEUS, "grafana.serviceMonitor.interval", 30, "30s"),
    (PROMETHEUS, "grafana.containerSecurityContext.privileged", "false", False),
    (PROMETHEUS, "grafana.podLabels", ["team"], {"team": "ml"}),
    (PROMETHEUS, "prometheus.serviceAccount.annotations.revision", 7, "7"),
    (PROMETHEUS, "alertmanager.alertmanagerSpec.retention", "5d", "120h"),
    (("aws-load-balancer-controller", "load_balancer_controller"), "terminationGracePeriodSeconds", "10", 10),
]


def values_at(keys: str, value: Any) -> dict[str, Any]:
    first, _, rest = keys.partition(".")
    return {first: values_at(rest, value) if rest else value}


def on_volume(spec: dict[str, Any], **settings: Any) -> dict[str, Any]:
    claim = {"volumeClaimTemplate": {"spec": spec}}
    values = {"prometheus": {"prometheusSpec": {"storageSpec": claim}}}
    driver = {"aws-ebs-csi-driver": {"configuration": settings}}
    return {**cluster(addons=driver), **chart("kube-prometheus-stack", values, prometheus=True)}


# A wrong volume, a right one, and the settings of the driver for the right one.
SHARED = ["ReadWriteMany"]
VOLUMES: list[tuple[str, str, dict[str, Any], dict[str, Any], dict[str, Any]]] = [
    ("VOLUME_CLASS", "storageClassName", {"storageClassName": "fast-ssd"}, {"storageClassName": "gp3"}, {}),
    ("VOLUME_CLASS", "storageClassName", {"storageClassName": "efs"}, {"storageClassName": "gp2"}, {}),
    (
        "VOLUME_CLASS",
        "storageClassName",
        {"storageClassName": "io2"},
        {"storageClassName": "io2"},
        {"storageClasses": [{"name": "io2"}]},
    ),
    (
        "VOLUME_CLASS",
        "storageClassName",
        {"storageClassName": "ebs-csi-default-sc"},
        {"storageClassName": "ebs-csi-default-sc"},
        {"defaultStorageClass": {"enabled": True}},
    ),
    ("VOLUME_ACCESS_MODE", "accessModes", {"accessModes": SHARED}, {"accessModes": ["ReadWriteOnce"]}, {}),
    ("VOLUME_ACCESS_MODE", "accessModes", {"accessModes": SHARED}, {"accessModes": SHARED, "volumeMode": "Block"}, {}),
]
CERTIFICATES: list[tuple[str, str, dict[str, Any]]] = [
    ("aws-load-balancer-controller", "enableCertManager", {"load_balancer_controller": True}),
    ("kueue", "enableCertManager", {"kueue": True}),
    ("kube-prometheus-stack", "prometheusOperator.admissionWebhooks.certManager.enabled", {"prometheus": True}),
]
PRIORITIES: list[tuple[str, str, dict[str, Any]]] = [
    ("aws-load-balancer-controller", "priorityClassName", {"load_balancer_controller": True}),
    ("karpenter", "priorityClassName", {}),
    ("kube-prometheus-stack", "alertmanager.alertmanagerSpec.priorityClassName", {"prometheus": True}),
]
IMPORTANT = {"prometheus": {"prometheusSpec": {"priorityClassName": "monitoring"}}}
SCRAPES: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    (
        "prometheus.prometheusSpec.scrapeTimeout",
        {"prometheus": {"prometheusSpec": {"scrapeInterval": "10s", "scrapeTimeout": "30s"}}},
        {"prometheus": {"prometheusSpec": {"scrapeInterval": "1m", "scrapeTimeout": "60s"}}},
    ),
    (
        "prometheus.prometheusSpec.scrapeTimeout",
        {"prometheus": {"prometheusSpec": {"scrapeTimeout": "31s"}}},
        {"prometheus": {"prometheusSpec": {"scrapeTimeout": "30s"}}},
    ),
    (
        "kubelet.serviceMonitor.scrapeTimeout",
        {"kubelet": {"serviceMonitor": {"interval": "15s", "scrapeTimeout": "20s"}}},
        {"kubelet": {"serviceMonitor": {"scrapeTimeout": "20s"}}},
    ),
]
MONITORS: list[tuple[str, dict[str, Any], str]] = [
    ("aws-load-balancer-controller", {"load_balancer_controller": True}, "serviceMonitor.enabled"),
    ("karpenter", {}, "serviceMonitor.enabled"),
]
LONG_TAGS: list[tuple[str, str, dict[str, Any], dict[str, Any]]] = [
    (
        "aws-ebs-csi-driver",
        "controller.extraVolumeTags.team",
        {"controller": {"extraVolumeTags": {"team": "a" * 257}}},
        {"controller": {"extraVolumeTags": {"team": "a" * 256}}},
    ),
    (
        "aws-efs-csi-driver",
        f"controller.tags.{'a' * 129}",
        {"controller": {"tags": {"a" * 129: "b"}}},
        {"controller": {"tags": {"a" * 128: "b"}}},
    ),
    (
        "vpc-cni",
        "env.ADDITIONAL_ENI_TAGS",
        {"env": {"ADDITIONAL_ENI_TAGS": json.dumps({"team": "a" * 257})}},
        {"env": {"ADDITIONAL_ENI_TAGS": json.dumps({"team": "a"})}},
    ),
]
CASES = [
    # --- kinds
    *(addon_case("vpc-cni", f"env.{name}", {"env": {name: bad}}, {"env": {name: good}}) for name, bad, good in CNI),
    addon_case(
        "kube-proxy",
        "ipvs.scheduler",
        {"mode": "ipvs", "ipvs": {"scheduler": "roundrobin"}},
        {"mode": "ipvs", "ipvs": {"scheduler": "lc"}},
    ),
    addon_case(
        "aws-ebs-csi-driver",
        "controller.replicaCount",
        {"controller": {"replicaCount": 0}},
        {"controller": {"replicaCount": 1}},
    )._replace(also=frozenset({"REPLICAS_ZERO"})),
    *(
        chart_case(name, keys, values_at(keys, bad), values_at(keys, good), **{switch: True})
        for (name, switch), keys, bad, good in CHARTS
    ),
    Case(
        "CHART_VALUE_KIND",
        "kubernetes.charts.cluster-autoscaler.values.extraArgs.expander",
        chart("cluster-autoscaler", {"extraArgs": {"expander": "price"}}, cluster_autoscaler=True) | AUTOSCALED,
        chart("cluster-autoscaler", {"extraArgs": {"expander": "priority,least-waste"}}, cluster_autoscaler=True)
        | AUTOSCALED,
    ),
    Case(
        "CHART_VALUE_KIND",
        "kubernetes.charts.nvidia-device-plugin.values.deviceListStrategy",
        chart("nvidia-device-plugin", {"deviceListStrategy": "cdi"}) | {"node_groups": [SYSTEM, group("g6.xlarge")]},
        chart("nvidia-device-plugin", {"deviceListStrategy": ["cdi-cri"]})
        | {"node_groups": [SYSTEM, group("g6.xlarge")]},
    ),
    addon_case("coredns", "replicaCount", {"replicaCount": "3"}, {"replicaCount": 3}),
    addon_case(
        "coredns",
        "resources.limits.cpu",
        {"resources": {"limits": {"cpu": 1}}},
        {"resources": {"limits": {"cpu": "1"}}},
    ),
    addon_case(
        "coredns",
        "nodeSelector[kubernetes.io/os]",
        {"nodeSelector": {"kubernetes.io/os": 1}},
        {"nodeSelector": {"kubernetes.io/os": "linux"}},
    ),
    addon_case(
        "coredns", "tolerations", {"tolerations": {"operator": "Exists"}}, {"tolerations": [{"operator": "Exists"}]}
    ),
    *(
        addon_case("coredns", f"tolerations[0]{keys}", {"tolerations": [bad]}, {"tolerations": [good]})
        for keys, bad, good in TOLERATIONS
    ),
    *(
        addon_case(
            "coredns",
            f"topologySpreadConstraints[0]{keys}",
            {"topologySpreadConstraints": [SPREAD | bad]},
            {"topologySpreadConstraints": [SPREAD]},
        )
        for keys, bad in SPREADS
    ),
    *(
        addon_case("coredns", f"{TERM}[0]{keys}", {"affinity": preferred(bad)}, {"affinity": preferred(good)})
        for keys, bad, good in REQUIREMENTS
    ),
    addon_case(
        "coredns", "affinity.nodeAffinty", {"affinity": {"nodeAffinty": {}}}, {"affinity": {"nodeAffinity": {}}}
    ),
    addon_case(
        "coredns",
        "affinity.podAntiAffinity.requiredDuringExecution",
        {"affinity": {"podAntiAffinity": {"requiredDuringExecution": []}}},
        {"affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}}},
    ),
    Case(
        "ADDON_VALUE",
        "cluster.addons.coredns.configuration.nodeSelector.team",
        addon("coredns", {"nodeSelector": {"team": "a b"}}),
        addon("coredns", {"nodeSelector": {OS: "linux"}}),
        frozenset({"PLACEMENT_NOWHERE"}),
    ),
    addon_case("coredns", "corefile", {"corefile": {".:53": {}}}, {"corefile": COREFILE}),
    *(
        Case("COREDNS_COREFILE", f"{COREDNS}.corefile", addon("coredns", {"corefile": bad}), RIGHT_COREFILE)
        for bad in WRONG_COREFILES
    ),
    addon_case(
        "coredns",
        "autoScaling.minReplicas",
        {"autoScaling": {"enabled": True, "minReplicas": 1}},
        {"autoScaling": {"enabled": True, "minReplicas": 2}},
    ),
    addon_case(
        "coredns",
        "autoScaling.minReplicas",
        {"autoScaling": {"enabled": True, "minReplicas": 8, "maxReplicas": 4}},
        {"autoScaling": {"enabled": True, "minReplicas": 2, "maxReplicas": 4}},
    ),
    addon_case("coredns", "autoScaling", {"autoScaling": {"minReplicas": 2}}, {"autoScaling": {"enabled": False}}),
    addon_case(
        "coredns",
        "podDisruptionBudget.minAvailable",
        {"podDisruptionBudget": {"minAvailable": 1, "maxUnavailable": 1}},
        {"podDisruptionBudget": {"maxUnavailable": "50%"}},
    ),
    addon_case(
        "kube-proxy",
        "ipvs.scheduler",
        {"mode": "ipvs", "ipvs": {"scheduler": "roundrobin"}},
        {"mode": "ipvs", "ipvs": {"scheduler": "lc"}},
    ),
    addon_case(
        "amazon-cloudwatch-observability", "agent.config", {"agent": {"config": "{}"}}, {"agent": {"config": {}}}
    ),
    addon_case(
        "coredns",
        "affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution",
        {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"labelSelector": {}}}}},
        {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "a"}]}}},
    ),
    addon_case("coredns", "podAnnotations.a", {"podAnnotations": {"a": 1}}, {"podAnnotations": {"a": "1"}}),
    addon_case("kube-proxy", "mode", {"mode": "userspace"}, {"mode": "ipvs"}),
    addon_case("vpc-cni", "enableNetworkPolicy", {"enableNetworkPolicy": True}, {"enableNetworkPolicy": "true"}),
    addon_case("vpc-cni", "env.WARM_IP_TARGET", {"env": {"WARM_IP_TARGET": "five"}}, {"env": {"WARM_IP_TARGET": "5"}}),
    addon_case(
        "vpc-cni",
        "env.POD_SECURITY_GROUP_ENFORCING_MODE",
        {"env": {"ENABLE_POD_ENI": "true", "POD_SECURITY_GROUP_ENFORCING_MODE": "lax"}},
        {"env": {"POD_SECURITY_GROUP_ENFORCING_MODE": "standard"}},
    )._replace(also=frozenset({"SOFTWARE_INCOMPLETE"})),
    addon_case("vpc-cni", "env", {"env": [{"name": "WARM_IP_TARGET", "value": "5"}]}, {"env": {}}),
    addon_case("metrics-server", "replicas", {"replicas": "two"}, {"replicas": 2}),
    addon_case(
        "aws-ebs-csi-driver",
        "controller.replicaCount",
        {"controller": {"replicaCount": "2"}},
        {"controller": {"replicaCount": 2}},
    ),
    addon_case(
        "aws-ebs-csi-driver",
        "defaultStorageClass.enabled",
        {"defaultStorageClass": {"enabled": "false"}},
        {"defaultStorageClass": {"enabled": False}},
    ),
    addon_case(
        "eks-node-monitoring-agent",
        "nodeAgent.tolerations",
        {"nodeAgent": {"tolerations": "all"}},
        {"nodeAgent": {"tolerations": []}},
    ),
    addon_case(
        "amazon-cloudwatch-observability",
        "containerLogs.enabled",
        {"containerLogs": {"enabled": "no"}},
        {"containerLogs": {"enabled": False}},
    ),
    addon_case(
        "metrics-server",
        "resources.requests.memory",
        {"resources": {"requests": {"memory": "1Gi"}, "limits": {"memory": "500Mi"}}},
        {"resources": {"requests": {"memory": "500Mi"}, "limits": {"memory": "1Gi"}}},
    ),
    addon_case(
        "coredns",
        "resources.requests.memory",
        {"resources": {"requests": {"memory": "500Mi"}}},
        {"resources": {"requests": {"memory": "500Mi"}, "limits": {"memory": "500Mi"}}},
    ),
    # --- names
    Case(
        "ADDON_VALUE_UNKNOWN",
        "cluster.addons.coredns.configuration.replicas",
        addon("coredns", {"replicas": 3}),
        addon("coredns", {"replicaCount": 3}),
    ),
    addon_case("vpc-cni", "ENABLE_POD_ENI", {"ENABLE_POD_ENI": "true"}, {"env": {"ENABLE_POD_ENI": "true"}}),
    addon_case(
        "vpc-cni",
        "env.DISABLE_TCP_EARLY_DEMUX",
        {"env": {"DISABLE_TCP_EARLY_DEMUX": "true"}},
        {"init": {"env": {"DISABLE_TCP_EARLY_DEMUX": "true"}}},
    ),
    addon_case("aws-ebs-csi-driver", "replicaCount", {"replicaCount": 1}, {"controller": {"replicaCount": 1}}),
    addon_case("coredns", "toleration", {"toleration": []}, {"tolerations": []}),
    Case(
        "ADDON_VALUE_UNKNOWN",
        "cluster.addons.coredns.configuration.zonefiles",
        addon("coredns", {"zonefiles": []}),
        addon("coredns", {"podLabels": {"a": "b"}}),
    ),
    Case(
        "ADDON_VALUE_UNKNOWN",
        "cluster.addons.metrics-server.configuration.shards",
        addon("metrics-server", {"shards": 1}),
        addon("metrics-server", {"args": ["--v=2"]}),
    ),
    # --- charts
    *(
        chart_case(
            "kube-prometheus-stack",
            f"prometheus.prometheusSpec.{name}",
            {"prometheus": {"prometheusSpec": {name: bad}}},
            {"prometheus": {"prometheusSpec": {name: good}}},
            prometheus=True,
        )
        for name, bad, good in (
            ("retention", "15 days", "15d"),
            ("retentionSize", "50Gi", "50GiB"),
            ("scrapeInterval", "30sec", "30s"),
        )
    ),
    chart_case(
        "kueue",
        "controllerManager.tolerations[0].effect",
        {"controllerManager": {"tolerations": [{"operator": "Exists", "effect": "NoSched"}]}},
        {},
        kueue=True,
    ),
    chart_case(
        "karpenter",
        "settings.vmMemoryOverheadPercent",
        {"settings": {"vmMemoryOverheadPercent": 7.5}},
        {"settings": {"vmMemoryOverheadPercent": 0.075}},
    ),
    chart_case(
        "aws-load-balancer-controller",
        "defaultTargetType",
        {"defaultTargetType": "pod"},
        {"defaultTargetType": "ip"},
        load_balancer_controller=True,
    ),
    chart_case(
        "karpenter",
        "logLevel",
        {"logLevel": "verbose"},
        {"logLevel": "debug"},
    ),
    chart_case(
        "karpenter",
        "settings.batchMaxDuration",
        {"settings": {"batchMaxDuration": 10}},
        {"settings": {"batchMaxDuration": "10s"}},
    ),
    chart_case(
        "kube-prometheus-stack",
        "alertmanager.enabled",
        {"alertmanager": {"enabled": "false"}},
        {"alertmanager": {"enabled": False}},
        prometheus=True,
    ),
    chart_case(
        "kube-prometheus-stack",
        "grafana.tolerations",
        {"grafana": {"tolerations": {"operator": "Exists"}}},
        {"grafana": {"tolerations": [{"operator": "Exists"}]}},
        prometheus=True,
    ),
    chart_case(
        "kueue",
        "controllerManager.replicas",
        {"controllerManager": {"replicas": "2"}},
        {"controllerManager": {"replicas": 2}},
        kueue=True,
    ),
    chart_case(
        "aws-load-balancer-controller",
        "resources.requests.memory",
        {"resources": {"requests": {"memory": "200 MB"}}},
        {"resources": {"requests": {"memory": "200M"}}},
        load_balancer_controller=True,
    ),
    # --- storage
    Case(
        "VOLUME_NO_DRIVER",
        "kubernetes.charts.kube-prometheus-stack.values.prometheus.prometheusSpec.storageSpec.volumeClaimTemplate",
        chart("kube-prometheus-stack", STORED, prometheus=True),
        {**cluster(addons=EBS), **chart("kube-prometheus-stack", STORED, prometheus=True)},
    ),
    Case(
        "VOLUME_NO_DRIVER",
        "kubernetes.charts.kube-prometheus-stack.values.grafana.persistence",
        chart("kube-prometheus-stack", {"grafana": {"persistence": {"enabled": True}}}, prometheus=True),
        chart("kube-prometheus-stack", {"grafana": {"persistence": {"enabled": False}}}, prometheus=True),
    ),
    Case(
        "VOLUME_NO_DRIVER",
        "kubernetes.charts.kube-prometheus-stack.values.prometheus.prometheusSpec.storageSpec.volumeClaimTemplate",
        {
            **cluster(addons={"aws-ebs-csi-driver": {"enabled": False}}),
            **chart("kube-prometheus-stack", STORED, prometheus=True),
        },
        {
            **chart(
                "kube-prometheus-stack", {"prometheus": {"prometheusSpec": {"storageSpec": ON_EFS}}}, prometheus=True
            ),
            "storage": {"efs": {}},
        },
    ),
    *(
        Case(
            code,
            f"kubernetes.charts.kube-prometheus-stack.values.prometheus.prometheusSpec.storageSpec.volumeClaimTemplate.spec.{field}",
            on_volume(bad),
            on_volume(good, **settings),
        )
        for code, field, bad, good, settings in VOLUMES
    ),
    *(
        Case(
            "MONITOR_NO_OPERATOR",
            f"kubernetes.charts.{name}.values.{keys.rpartition('.')[0]}",
            chart(name, values_at(keys, True), **switches),
            chart(name, values_at(keys, True), prometheus=True, **switches),
        )
        for name, switches, keys in MONITORS
    ),
    Case(
        "VOLUME_NO_DRIVER",
        "cluster.addons.aws-ebs-csi-driver.configuration.volumeSnapshotClasses",
        addon("aws-ebs-csi-driver", {"volumeSnapshotClasses": [{"name": "daily"}]}),
        addon("aws-ebs-csi-driver", {"volumeSnapshotClasses": [{"name": "daily"}]}, **{"snapshot-controller": {}}),
    ),
    Case(
        "MONITOR_NO_OPERATOR",
        "cluster.addons.aws-ebs-csi-driver.configuration.controller.serviceMonitor",
        {**kubernetes(delivery="helm"), **addon("aws-ebs-csi-driver", {"controller": {"serviceMonitor": MONITOR}})},
        {
            **kubernetes(delivery="helm", prometheus=True),
            **addon("aws-ebs-csi-driver", {"controller": {"serviceMonitor": MONITOR}}),
        },
        frozenset({"KUBERNETES_API_PRIVATE"}),
    ),
    Case(
        "MONITOR_NO_OPERATOR",
        "cluster.addons.metrics-server.configuration.serviceMonitor",
        {**kubernetes(delivery="helm"), **addon("metrics-server", {"serviceMonitor": {"enabled": True}})},
        {**kubernetes(delivery="helm"), **addon("metrics-server", {"serviceMonitor": {"enabled": False}})},
    ),
    Case(
        "EVICTION_BLOCKED",
        "cluster.addons.coredns.configuration.podDisruptionBudget",
        addon("coredns", {"podDisruptionBudget": {"enabled": True, "minAvailable": "100%"}}),
        addon("coredns", {"podDisruptionBudget": {"enabled": True, "minAvailable": "50%"}}),
    ),
    Case(
        "EVICTION_BLOCKED",
        "cluster.addons.aws-ebs-csi-driver.configuration.controller.podDisruptionBudget",
        addon("aws-ebs-csi-driver", {"controller": {"podDisruptionBudget": {"maxUnavailable": 0}}}),
        addon("aws-ebs-csi-driver", {"controller": {"podDisruptionBudget": {"maxUnavailable": 1}}}),
    ),
    Case(
        "EVICTION_BLOCKED",
        "cluster.addons.coredns.configuration.podDisruptionBudget",
        addon("coredns", {"replicaCount": 3, "podDisruptionBudget": {"minAvailable": 3}}),
        addon("coredns", {"replicaCount": 3, "podDisruptionBudget": {"minAvailable": 2}}),
    ),
    *(
        Case("VALUE_TAG_RESERVED", f"{path}{end}", bad, good)
        for path, end, bad, good in [
            (
                "cluster.addons.aws-ebs-csi-driver.configuration.controller.extraVolumeTags",
                "[aws:team]",
                addon("aws-ebs-csi-driver", {"controller": {"extraVolumeTags": {"aws:team": "a"}}}),
                addon("aws-ebs-csi-driver", {"controller": {"extraVolumeTags": {"team": "aws:"}}}),
            ),
            (
                "cluster.addons.aws-efs-csi-driver.configuration.controller.tags",
                "[AWS:team]",
                addon("aws-efs-csi-driver", {"controller": {"tags": {"AWS:team": "a"}}}),
                addon("aws-efs-csi-driver", {"controller": {"tags": {"team": "a"}}}),
            ),
            (
                "cluster.addons.vpc-cni.configuration.env.ADDITIONAL_ENI_TAGS",
                "",
                addon("vpc-cni", {"env": {"ADDITIONAL_ENI_TAGS": '{"aws:team": "a"}'}}),
                addon("vpc-cni", {"env": {"ADDITIONAL_ENI_TAGS": '{"team": "a"}'}}),
            ),
            (
                f"{BALANCER}.defaultTags",
                "[aws:team]",
                chart(
                    "aws-load-balancer-controller", {"defaultTags": {"aws:team": "a"}}, load_balancer_controller=True
                ),
                chart("aws-load-balancer-controller", {"defaultTags": {"team": "a"}}, load_balancer_controller=True),
            ),
        ]
    ),
    *(
        Case("VALUE_TAG_LENGTH", f"cluster.addons.{name}.configuration.{path}", addon(name, bad), addon(name, good))
        for name, path, bad, good in LONG_TAGS
    ),
    # --- software that does not run
    running("REPLICAS_ZERO", "metrics-server", "replicas", {"replicas": 0}, {"replicas": 1}),
    Case(
        "REPLICAS_ZERO",
        f"{BALANCER}.replicaCount",
        chart("aws-load-balancer-controller", {"replicaCount": 0}, load_balancer_controller=True),
        chart("aws-load-balancer-controller", {"replicaCount": 1}, load_balancer_controller=True),
    ),
    running("REPLICAS_APART", "metrics-server", "affinity", apart(3), apart(2)),
    Case(
        "REPLICAS_APART",
        "cluster.addons.coredns.configuration.affinity",
        addon("coredns", apart(5, "replicaCount")),
        {**addon("coredns", apart(5, "replicaCount")), **pools(CPU_POOL)},
    ),
    Case(
        "REPLICAS_APART",
        "cluster.addons.metrics-server.configuration.affinity",
        {**addon("metrics-server", apart(2, key="topology.kubernetes.io/zone")), **in_zones("usw2-az1")},
        {**addon("metrics-server", apart(2, key="topology.kubernetes.io/zone")), **in_zones("usw2-az1", "usw2-az2")},
    ),
    running(
        "SOFTWARE_INCOMPLETE",
        "vpc-cni",
        "env.ENABLE_POD_ENI",
        {"env": {"ENABLE_POD_ENI": "true"}},
        {"env": {"ENABLE_POD_ENI": "false"}},
    ),
    running(
        "SOFTWARE_INCOMPLETE",
        "vpc-cni",
        "nodeAgent.enabled",
        {"enableNetworkPolicy": "true", "nodeAgent": {"enabled": False}},
        {"enableNetworkPolicy": "true", "nodeAgent": {"enabled": True}},
    ),
    Case(
        "SOFTWARE_INCOMPLETE",
        "cluster.addons.aws-ebs-csi-driver.configuration.sidecars.snapshotter.forceEnable",
        addon("aws-ebs-csi-driver", SNAPSHOTTER),
        addon("aws-ebs-csi-driver", SNAPSHOTTER, **{"snapshot-controller": {}}),
    ),
    *(
        Case(
            "SOFTWARE_INCOMPLETE",
            f"kubernetes.charts.kube-prometheus-stack.values.{part}.enabled",
            chart("kube-prometheus-stack", {part: {"enabled": False}}, prometheus=True),
            chart("kube-prometheus-stack", {part: {"enabled": True}}, prometheus=True),
        )
        for part in ("crds", "prometheusOperator")
    ),
    *(chart_case("kube-prometheus-stack", *scrape, prometheus=True) for scrape in SCRAPES),
    *(
        Case(
            "SOFTWARE_INCOMPLETE",
            f"kubernetes.charts.{name}.values.{keys}",
            chart(name, values_at(keys, True), **switches),
            chart(name, values_at(keys, False), **switches),
        )
        for name, keys, switches in CERTIFICATES
    ),
    *(
        Case(
            "PRIORITY_CLASS",
            f"kubernetes.charts.{name}.values.{keys}",
            chart(name, values_at(keys, "nope"), **switches),
            chart(name, values_at(keys, "system-cluster-critical"), **switches),
        )
        for name, keys, switches in PRIORITIES
    ),
    *(
        Case(
            "PRIORITY_CLASS",
            "kubernetes.charts.kube-prometheus-stack.values.prometheus.prometheusSpec.priorityClassName",
            chart("kube-prometheus-stack", IMPORTANT, prometheus=True),
            chart("kube-prometheus-stack", {**IMPORTANT, "extraManifests": created}, prometheus=True),
        )
        for created in (
            [{"kind": "PriorityClass", "metadata": {"name": "monitoring"}, "value": 1000}],
            {"class": {"kind": "PriorityClass", "metadata": {"name": "monitoring"}, "value": 1000}},
            ["kind: PriorityClass\nmetadata:\n  name: monitoring\nvalue: 1000\n"],
        )
    ),
    running(
        "PRIORITY_CLASS",
        "metrics-server",
        "priorityClassName",
        {"priorityClassName": "mount-s3-critical"},
        {"priorityClassName": "system-node-critical"},
    ),
    running(
        "PRIORITY_CLASS",
        "aws-mountpoint-s3-csi-driver",
        "mountpointPod.preemptingPriorityClassName",
        {"mountpointPod": {"preemptingPriorityClassName": "mount-s3"}},
        {"mountpointPod": {"preemptingPriorityClassName": "mount-s3-critical"}},
    ),
    *(
        Case(
            "AUTOSCALER_ARGUMENT",
            f"kubernetes.charts.cluster-autoscaler.values.extraArgs.{wrong}",
            {**AUTOSCALED, **autoscaler(**{wrong: "10m"})},
            {**AUTOSCALED, **autoscaler(**{right: "10m"})},
        )
        for wrong, right in [("scale-down-delay", "scale-down-delay-after-add"), ("verbosity", "v")]
    ),
    *(
        Case(
            "VOLUME_DRIVER_KEPT_OFF",
            f"cluster.addons.{name}.configuration.node.{next(iter(narrow))}",
            {**addon(name, {"node": narrow}), **GPU_GROUP},
            addon(name, {"node": narrow}),
        )
        for name, narrow in (
            ("aws-efs-csi-driver", {"tolerations": []}),
            ("aws-ebs-csi-driver", {"tolerateAllTaints": False}),
            ("aws-mountpoint-s3-csi-driver", {"tolerations": [{"key": "team", "operator": "Exists"}]}),
        )
    ),
    # --- placement
    Case(
        "PLACEMENT_NOWHERE",
        "cluster.addons.metrics-server.configuration.tolerations",
        {**addon("metrics-server", {"tolerations": []}), **CRITICAL},
        {**addon("metrics-server", {"tolerations": [{"key": "CriticalAddonsOnly", "operator": "Exists"}]}), **CRITICAL},
    ),
    *(
        Case(
            "PLACEMENT_NOWHERE",
            "cluster.addons.coredns.configuration.nodeSelector",
            addon("coredns", {"nodeSelector": {key: bad}}),
            addon("coredns", {"nodeSelector": {key: good} if good else {}}),
        )
        for key, bad, good in (
            ("workload-type", "batch", "general"),
            ("hardware-type", "inferentia", "cpu"),
            ("karpenter.sh/nodepool", "no-such-pool", None),
        )
    ),
    Case(
        "PLACEMENT_NOWHERE",
        "cluster.addons.coredns.configuration.nodeSelector",
        addon("coredns", {"nodeSelector": APPS}),
        {**LABELLED, **addon("coredns", {"nodeSelector": APPS})},
    ),
    Case(
        "PLACEMENT_NOWHERE",
        "cluster.addons.coredns.configuration.nodeSelector",
        {**TAINTED, **addon("coredns", {"nodeSelector": APPS})},
        {**TAINTED, **addon("coredns", {"nodeSelector": APPS, "tolerations": [{"key": "apps", "operator": "Exists"}]})},
    ),
    Case(
        "PLACEMENT_NOWHERE",
        "cluster.addons.coredns.configuration.nodeSelector",
        addon("coredns", {"nodeSelector": {"kubernetes.io/arch": "arm64"}}),
        addon("coredns", {"nodeSelector": {"kubernetes.io/arch": "amd64"}}),
    ),
    Case(
        "PLACEMENT_NOWHERE",
        "cluster.addons.coredns.configuration.nodeSelector",
        {**pools(pool(labels=APPS)), **addon("coredns", {"nodeSelector": APPS})},
        {**pools(pool(labels=APPS)), **addon("metrics-server", {"nodeSelector": APPS})},
    ),
    Case(
        "PLACEMENT_NOWHERE",
        "cluster.addons.metrics-server.configuration.affinity",
        addon("metrics-server", {"affinity": required_labels("tier", "In", "apps")}),
        {**LABELLED, **addon("metrics-server", {"affinity": required_labels("tier", "In", "apps", "web")})},
    ),
    Case(
        "PLACEMENT_NOWHERE",
        "cluster.addons.aws-ebs-csi-driver.configuration.controller.nodeSelector",
        addon("aws-ebs-csi-driver", {"controller": {"nodeSelector": {"kubernetes.io/os": "windows"}}}),
        addon("aws-ebs-csi-driver", {"controller": {"nodeSelector": {"kubernetes.io/os": "linux"}}}),
    ),
    Case(
        "PLACEMENT_NOWHERE",
        "cluster.addons.vpc-cni.configuration.affinity",
        {**LABELLED, **addon("vpc-cni", {"affinity": required_labels("tier", "In", "apps")})},
        {**LABELLED, **addon("vpc-cni", {"affinity": required_labels("tier", "NotIn", "web")})},
    ),
    Case(
        "PLACEMENT_NOWHERE",
        "kubernetes.charts.kube-prometheus-stack.values.grafana.nodeSelector",
        chart("kube-prometheus-stack", {"grafana": {"nodeSelector": APPS}}, prometheus=True),
        {**LABELLED, **chart("kube-prometheus-stack", {"grafana": {"nodeSelector": APPS}}, prometheus=True)},
    ),
]


@in_one_test("case", CASES, ids=[f"{case.code}-{index}" for index, case in enumerate(CASES)])
def test_rule(case: Case) -> None:
    if "nodeSelector[" in case.path:
        case = case._replace(also=frozenset({"PLACEMENT_NOWHERE"}))
    if "karpenter" in case.path:
        case = case._replace(bad={**case.bad, "karpenter": {}}, good={**case.good, "karpenter": {}})
    check_case(case)


def test_every_rule_has_a_case() -> None:
    assert {case.code for case in CASES} == rules_of("addon_values", "chart_needs", "corefile", "placement", "running")


def test_which_rules_warn() -> None:
    assert warnings_of("addon_values", "chart_needs", "corefile", "placement", "running") == {
        "ADDON_VALUE_UNKNOWN",
        "AUTOSCALER_ARGUMENT",
        "EVICTION_BLOCKED",
        "MONITOR_NO_OPERATOR",
        "PRIORITY_CLASS",
        "REPLICAS_APART",
        "REPLICAS_ZERO",
        "SOFTWARE_INCOMPLETE",
        "VOLUME_CLASS",
        "VOLUME_DRIVER_KEPT_OFF",
    }


@in_one_test(
    ("name", "configuration"),
    [
        ("coredns", {"affinity": None, "podAnnotations": {"a": "b"}, "topologySpreadConstraints": [SPREAD]}),
        ("vpc-cni", {"init": {"env": {"DISABLE_TCP_EARLY_DEMUX": "true"}}, "livenessProbeTimeoutSeconds": 20}),
        ("vpc-cni", {"nodeAgent": {"enableCloudWatchLogs": "true", "healthProbeBindAddr": "8163"}}),
        ("aws-ebs-csi-driver", {"node": {"tolerateAllTaints": True, "volumeAttachLimit": 20}, "sidecars": {}}),
        ("aws-efs-csi-driver", {"controller": {"deleteAccessPointRootDir": True, "replicaCount": 2}}),
        ("eks-pod-identity-agent", {"agent": {"additionalArgs": {"-b": "169.254.170.23"}}}),
        ("amazon-cloudwatch-observability", {"agent": {"config": {"logs": {"metrics_collected": {}}}}}),
        ("kube-proxy", {"mode": "nftables", "resources": {"requests": {"cpu": "100m"}}}),
    ],
)
def test_what_eks_accepts_passes(name: str, configuration: dict[str, Any]) -> None:
    assert shown_codes(addon(name, configuration)) == []


def test_recorded_configurations_are_of_addons() -> None:
    assert set(facts.addon_configurations()["configurations"]) <= set(facts.addons())


@in_one_test(("name", "keys", "bad", "good"), REFUSED_BY_API)
def test_a_value_of_an_add_on_that_the_api_refuses(name: str, keys: str, bad: Any, good: list[Any]) -> None:
    budget = {"enabled": True} if "Budget" in keys else {}

    def with_value(value: Any) -> dict[str, Any]:
        found = at_path(keys, value)
        return {"podDisruptionBudget": {**budget, **found["podDisruptionBudget"]}} if budget else found

    path = f"cluster.addons.{name}.configuration.{keys}"
    assert shown_codes(addon(name, with_value(bad))) == [("ADDON_VALUE", path)]
    assert not any(is_shown("ADDON_VALUE", addon(name, with_value(right))) for right in good)


@in_one_test(("keys", "bad", "good"), REFUSED_PORTS)
def test_a_port_of_a_chart_that_the_api_refuses(keys: str, bad: dict[str, Any], good: list[dict[str, Any]]) -> None:
    service = keys.rpartition(".")[0]
    for right in good:
        case = chart_case(
            "kube-prometheus-stack", keys, at_path(service, bad), at_path(service, right), prometheus=True
        )
        check_case(case)


@in_one_test(("name", "switch", "keys", "bad", "good"), REFUSED_IN_CHARTS)
def test_a_value_that_the_template_of_a_chart_makes_invalid(
    name: str, switch: str, keys: str, bad: Any, good: list[Any]
) -> None:
    for right in good:
        wrong = chart(name, at_path(keys, bad), **{switch: True})
        path = f"kubernetes.charts.{name}.values.{keys}"
        assert ("CHART_VALUE_KIND", path) in shown_codes(wrong)
        assert not is_shown("CHART_VALUE_KIND", chart(name, at_path(keys, right), **{switch: True}))


@in_one_test(("keys", "bad", "good"), STUCK)
def test_an_update_strategy_that_replaces_no_pod(keys: str, bad: dict[str, Any], good: list[dict[str, Any]]) -> None:
    for right in good:
        case = addon_case(
            "metrics-server", f"updateStrategy.{keys}", {"updateStrategy": bad}, {"updateStrategy": right}
        )
        check_case(case)
        strategies = ({"controllerManager": {"strategy": each}} for each in (bad, right))
        check_case(chart_case("kueue", f"controllerManager.strategy.{keys}", *strategies, kueue=True))


def test_what_a_template_or_another_meaning_may_hold_is_not_judged() -> None:
    values: dict[str, Any] = {
        "grafana": {
            "podLabels": {"app": "{{ .Release.Name }} x", "example.com/team": "ml"},
            "deploymentStrategy": {"type": "Recreate"},
        },
        "prometheus": {"podDisruptionBudget": {"enabled": True, "minAvailable": "{{ 50 }}%"}},
    }
    assert not is_shown("CHART_VALUE_KIND", chart("kube-prometheus-stack", values, prometheus=True))
    operator = {"daemonsets": {"updateStrategy": "OnDelete"}, "mig": {"strategy": "mixed"}}
    assert not is_shown("CHART_VALUE_KIND", chart("gpu-operator", operator, gpu_operator=True))


@in_one_test(
    ("switch", "name", "keys"),
    [
        ("load_balancer_controller", "aws-load-balancer-controller", ""),
        ("cluster_autoscaler", "cluster-autoscaler", ""),
        ("kueue", "kueue", "controllerManager"),
        ("prometheus", "kube-prometheus-stack", "prometheus.prometheusSpec"),
        ("prometheus", "kube-prometheus-stack", "alertmanager.alertmanagerSpec"),
        ("prometheus", "kube-prometheus-stack", "grafana"),
        ("prometheus", "kube-prometheus-stack", "prometheusOperator"),
        ("prometheus", "kube-prometheus-stack", "kube-state-metrics"),
        ("gpu_operator", "gpu-operator", "operator"),
    ],
)
def test_every_deployment_of_a_chart_needs_nodes_that_match(switch: str, name: str, keys: str) -> None:
    below = f"{keys}.nodeSelector" if keys else "nodeSelector"
    wrong = chart(name, at_path(below, {"hardware-type": "inferentia"}), **{switch: True})
    right = chart(name, at_path(below, {"hardware-type": "cpu"}), **{switch: True})
    assert ("PLACEMENT_NOWHERE", f"kubernetes.charts.{name}.values.{below}") in shown_codes(wrong)
    assert not is_shown("PLACEMENT_NOWHERE", right)


@in_one_test(
    ("name", "keys"),
    [
        ("metrics-server", ""),
        ("aws-ebs-csi-driver", "controller"),
        ("aws-efs-csi-driver", "controller"),
        ("aws-fsx-csi-driver", "controller"),
        ("amazon-cloudwatch-observability", "manager"),
        ("snapshot-controller", ""),
    ],
)
def test_every_deployment_of_an_addon_needs_nodes_that_match(name: str, keys: str) -> None:
    below = f"{keys}.nodeSelector" if keys else "nodeSelector"
    wrong, right = (addon(name, at_path(below, {"hardware-type": kind})) for kind in ("inferentia", "cpu"))
    assert ("PLACEMENT_NOWHERE", f"cluster.addons.{name}.configuration.{below}") in shown_codes(wrong)
    assert not is_shown("PLACEMENT_NOWHERE", right)


@in_one_test(
    ("name", "configuration", "consequence"),
    [
        ("vpc-cni", {"env": "x"}, "; EKS rejects other values, or the CNI ignores them or does not start"),
        ("vpc-cni", {"nodeSelector": "x"}, ", so EKS rejects the add-on's configuration in the middle of an apply"),
    ],
)
def test_the_consequence_of_a_wrong_value_is_named(name: str, configuration: dict[str, Any], consequence: str) -> None:
    message = finding_message("ADDON_VALUE", addon(name, configuration))
    assert message.endswith(consequence)


def test_a_controller_that_is_left_out_needs_no_nodes() -> None:
    placed = {"nodeSelector": {"hardware-type": "inferentia"}}
    assert is_shown("PLACEMENT_NOWHERE", addon("aws-efs-csi-driver", {"controller": placed}))
    assert not is_shown("PLACEMENT_NOWHERE", addon("aws-efs-csi-driver", {"controller": {**placed, "create": False}}))
