"""Metrics: the releases, the nodes with exporters, the dashboards' queries, and our exporter of EFA counters."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

from eks_hardware.kubernetes import Bundle, bundle
from eks_hardware.kubernetes.dashboards import DASHBOARDS, dashboard
from eks_hardware.kubernetes.exporters import EFA_SCRIPT
from eks_hardware.resolve import resolve
from eks_hardware.rules.unknown_keys import unknown_keys
from helpers.cases import in_one_test
from helpers.kubernetes.kubernetes_schema import check_objects
from helpers.strategies import group, strategy

G6, P4D = group("g6.xlarge"), group("p4d.24xlarge", "p4d", efa=True)
INF2, TRN1 = group("inf2.xlarge", "inf2"), group("trn1.32xlarge", "trn1", efa=True)
ALL = [G6, P4D, INF2, TRN1]


def bundle_with(*groups: dict[str, Any], **kubernetes: Any) -> Bundle:
    return bundle(resolve(strategy(*groups, kubernetes=kubernetes)))


def objects_by_name(found: Bundle, kind: str) -> dict[str, Any]:
    return {each["metadata"]["name"]: each for each in found.objects if each["kind"] == kind}


STACK = "kube-prometheus-stack"


@in_one_test(
    ("groups", "kubernetes", "expected"),
    [
        (ALL, {}, set()),
        ([], {"prometheus": True}, {STACK}),
        ([G6], {"prometheus": True, "dcgm_exporter": True}, {STACK, "dcgm-exporter", "dashboards"}),
        ([G6], {"dcgm_exporter": True}, {"dcgm-exporter"}),
        ([INF2], {"neuron_monitor": True}, {"neuron-monitor"}),
        ([G6], {"neuron_monitor": True}, set()),
        ([INF2], {"prometheus": True, "neuron_monitor": True}, {STACK, "neuron-monitor", "dashboards"}),
        ([P4D], {"prometheus": True}, {STACK, "efa-metrics", "dashboards"}),
        ([P4D], {"dcgm_exporter": True}, {"dcgm-exporter"}),
    ],
)
def test_which_releases(groups: list[dict[str, Any]], kubernetes: dict[str, Any], expected: set[str]) -> None:
    found = bundle_with(*groups, **kubernetes)
    plugins = {"nvidia-device-plugin", "neuron-helm-chart", "aws-efa-k8s-device-plugin"}
    assert expected == {each.name for each in found.releases} - plugins
    for chart in found.charts:
        assert unknown_keys(chart.key, chart.values) == []


def test_what_prometheus_reads_comes_after_it() -> None:
    found = bundle_with(*ALL, prometheus=True, dcgm_exporter=True, neuron_monitor=True)
    for name in ("dcgm-exporter", "neuron-monitor", "efa-metrics", "dashboards"):
        assert found.release(name).after == (STACK,), name
    # Its resource definitions exist only with it.
    for kubernetes in ({"dcgm_exporter": True, "neuron_monitor": True}, {}):
        alone = bundle_with(*ALL, **kubernetes)
        assert objects_by_name(alone, "ServiceMonitor") == {}
        assert all(not each.values["serviceMonitor"]["enabled"] for each in alone.charts if each.key == "dcgm-exporter")


def test_prometheus() -> None:
    (chart,) = bundle_with(prometheus=True).charts
    for part in ("kubeControllerManager", "kubeScheduler", "kubeEtcd"):
        assert chart.values[part] == {"enabled": False}
    # Monitors of every release are read, not only its own.
    assert set(chart.values["prometheus"]["prometheusSpec"].values()) == {False}
    assert chart.values["prometheus-node-exporter"]["tolerations"] == [{"operator": "Exists"}]


def test_dcgm_exporter() -> None:
    bottlerocket = group("g6.xlarge", "image", ami={"family": "bottlerocket"}, taints=[{"key": "team"}])
    found = bundle_with(G6, bottlerocket, INF2, dcgm_exporter=True, prometheus=True)
    chart = next(each for each in found.charts if each.key == "dcgm-exporter")
    assert [each["key"] for each in chart.values["tolerations"]] == ["nvidia.com/gpu", "team"]
    assert chart.values["serviceMonitor"] == {"enabled": True}


def test_objects_fit_their_schemas() -> None:
    found = bundle_with(*ALL, prometheus=True, dcgm_exporter=True, neuron_monitor=True)
    assert check_objects(list(found.objects), "1.35", custom_groups=["monitoring.coreos.com"]) == []
    assert set(objects_by_name(found, "DaemonSet")) == {"neuron-monitor", "efa-metrics"}


def test_a_monitor_finds_its_service_and_the_service_its_pods() -> None:
    found = bundle_with(*ALL, prometheus=True, neuron_monitor=True)
    services, monitors = objects_by_name(found, "Service"), objects_by_name(found, "ServiceMonitor")
    assert set(services) == set(monitors) == set(objects_by_name(found, "DaemonSet"))
    for name, daemonset in objects_by_name(found, "DaemonSet").items():
        template = daemonset["spec"]["template"]
        assert services[name]["spec"]["selector"].items() <= template["metadata"]["labels"].items()
        assert monitors[name]["spec"]["selector"]["matchLabels"].items() <= services[name]["metadata"]["labels"].items()
        (port,) = services[name]["spec"]["ports"]
        (endpoint,) = monitors[name]["spec"]["endpoints"]
        assert endpoint["port"] == port["name"]
        (container,) = template["spec"]["containers"]
        assert [each["containerPort"] for each in container["ports"]] == [port["port"]]
        assert str(port["port"]) in [*container["command"], *container.get("args", [])]


# --- dashboards


@in_one_test(
    ("groups", "expected"),
    [
        ([G6], {"eks-hardware-gpu"}),
        ([INF2], {"eks-hardware-neuron"}),
        ([P4D], {"eks-hardware-gpu", "eks-hardware-efa"}),
        ([TRN1], {"eks-hardware-neuron", "eks-hardware-efa"}),
        (ALL, {"eks-hardware-gpu", "eks-hardware-neuron", "eks-hardware-efa"}),
    ],
)
def test_dashboards_are_of_the_hardware_that_is_there(groups: list[dict[str, Any]], expected: set[str]) -> None:
    found = bundle_with(*groups, prometheus=True)
    maps = {name: each for name, each in objects_by_name(found, "ConfigMap").items() if name != "efa-metrics"}
    assert expected == set(maps)
    sidecar = next(each for each in found.charts if each.key == STACK).values["grafana"]["sidecar"]["dashboards"]
    for name, each in maps.items():
        assert each["metadata"]["labels"] == {sidecar["label"]: sidecar["labelValue"]}
        assert json.loads(each["data"][f"{name}.json"])["uid"] == name


# Metrics that the exporters have by default; sources in the docstring of the package.
METRICS = {
    "eks-hardware-gpu": r"DCGM_FI_"
    r"(DEV_(FB_USED|POWER_USAGE|GPU_TEMP|XID_ERRORS|UNCORRECTABLE_REMAPPED_ROWS|ROW_REMAP_FAILURE)"
    r"|PROF_(GR_ENGINE_ACTIVE|PIPE_TENSOR_ACTIVE|DRAM_ACTIVE|PCIE_[TR]X_BYTES))",
    "eks-hardware-neuron": r"neuroncore_utilization_ratio|neuron_runtime_(memory_used_bytes|vcpu_usage_ratio)"
    r"|execution_(latency_seconds|status_total)|system_memory_(used|total)_bytes",
    "eks-hardware-efa": r"node_amazonefa_"
    r"([tr]x_(bytes|pkts)|rx_drops|(send|recv)_bytes|rdma_(read|write)_(bytes|wr_err)"
    r"|retrans_(pkts|timeout_events)|unresponsive_remote_events|impaired_remote_conn_events)",
}
_NOT_METRICS = re.compile(r'"[^"]*"|\bby \([^)]*\)|\{[^}]*\}|\$\w+|\b(sum|avg|max|count|rate|by)\b')


@in_one_test("name", DASHBOARDS)
def test_dashboard(name: str) -> None:
    model = json.loads(dashboard(name))
    assert model["uid"] == name
    expressions = [target["expr"] for panel in model["panels"] for target in panel["targets"]]
    used = {name for each in expressions for name in re.findall(r"[A-Za-z_]{3,}", _NOT_METRICS.sub(" ", each))}
    assert used
    assert [each for each in sorted(used) if not re.fullmatch(METRICS[name], each)] == []
    assert [each.count("(") for each in expressions] == [each.count(")") for each in expressions]
    (variable,) = model["templating"]["list"]
    assert {panel["datasource"]["uid"] for panel in model["panels"]} == {f"${{{variable['name']}}}"}
    places = [tuple(panel["gridPos"].values()) for panel in model["panels"]]
    assert len({panel["id"] for panel in model["panels"]}) == len(set(places)) == len(places)
    assert all(x + width <= 24 for x, _, width, _ in places)


# --- the exporter of EFA counters


def run_exporter_script(sysfs: Path) -> str:
    done = subprocess.run(
        ["/bin/sh", EFA_SCRIPT],
        env={"PATH": "/usr/bin:/bin", "SYSFS": str(sysfs)},
        capture_output=True,
        text=True,
        check=True,
        timeout=20,
    )
    header, _, body = done.stdout.replace("\r\n", "\n").partition("\n\n")
    assert header == "Content-Type: text/plain; version=0.0.4"
    return body


@in_one_test("devices", [1, 2, 3])
def test_efa_counters(tmp_path: Path, devices: int) -> None:
    for index in range(devices):
        folder = tmp_path / "class" / "infiniband" / f"rdmap{index}s0" / "ports" / "1" / "hw_counters"
        folder.mkdir(parents=True)
        for name, value in {"tx_bytes": 10 + index, "rx_drops": 0, "lifespan": 12}.items():
            (folder / name).write_text(f"{value}\n")
    expected = []
    for name, value in (("rx_drops", 0), ("tx_bytes", 10)):
        expected.append(f"# TYPE node_amazonefa_{name} counter")
        expected += [
            f'node_amazonefa_{name}{{device="rdmap{index}s0",port="1"}} {value and value + index}'
            for index in range(devices)
        ]
    assert run_exporter_script(tmp_path).splitlines() == expected


def test_a_node_without_efa_devices_has_no_counters(tmp_path: Path) -> None:
    assert run_exporter_script(tmp_path) == ""
    (tmp_path / "class" / "infiniband").mkdir(parents=True)
    assert run_exporter_script(tmp_path) == ""


def test_the_script_is_what_the_server_runs() -> None:
    found = bundle_with(P4D, prometheus=True)
    daemonset = objects_by_name(found, "DaemonSet")["efa-metrics"]
    pod = daemonset["spec"]["template"]["spec"]
    (container,), (volume,) = pod["containers"], pod["volumes"]
    (mount,) = container["volumeMounts"]
    (endpoint,) = objects_by_name(found, "ServiceMonitor")["efa-metrics"]["spec"]["endpoints"]
    script = objects_by_name(found, "ConfigMap")[volume["configMap"]["name"]]["data"]
    root = container["command"][container["command"].index("-h") + 1]
    assert [f"{mount['mountPath']}/{name}" for name in script] == [root + endpoint["path"]]
    assert volume["configMap"]["defaultMode"] & 0o111
