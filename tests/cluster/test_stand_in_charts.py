"""The folder of charts for ``install.sh`` on a local cluster."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path

import yaml

from eks_hardware.local.stand_in_charts import Chart, charts_folder

KARPENTER, KUEUE, OWN = Chart("karpenter", "1.14.1"), Chart("kueue", "0.18.3"), Chart("of-the-user", "2.0.0")


def test_given_charts_come_first_and_missing_ones_are_stand_ins(tmp_path: Path, tools: Mapping[str, Path]) -> None:
    given, folder = tmp_path / "given", tmp_path / "charts"
    given.mkdir()
    (given / KUEUE.archive).write_bytes(b"a chart")
    stand_ins = charts_folder((KARPENTER, KUEUE, OWN, OWN), folder, tools, given=given)
    assert stand_ins == (OWN,)
    assert {file.name for file in folder.iterdir()} == {
        "SHA256SUMS",
        *(each.archive for each in (KARPENTER, KUEUE, OWN)),
    }
    assert (folder / KUEUE.archive).read_bytes() == b"a chart"
    shown = subprocess.run(
        [tools["helm"], "template", folder / OWN.archive], check=True, capture_output=True, encoding="utf-8"
    )
    assert shown.stdout.strip() == "", "a chart that is not in the table has no objects"


def test_a_stand_in_has_the_replicas_and_the_resources_of_the_values(tmp_path: Path, tools: Mapping[str, Path]) -> None:
    chart = Chart("kube-prometheus-stack", "1.0.0")
    charts_folder((chart,), tmp_path, tools)
    values = tmp_path / "values.json"
    resources = {"requests": {"memory": "5Gi"}}
    values.write_text(json.dumps({"grafana": {"replicas": 2, "resources": resources}}), encoding="utf-8")
    command: list[str | Path] = [tools["helm"], "template", "--values", values, tmp_path / chart.archive]
    said = subprocess.run(command, check=True, capture_output=True, encoding="utf-8").stdout
    made = {
        each["metadata"]["name"].rpartition("-")[2]: (
            each["spec"].get("replicas"),
            each["spec"]["template"]["spec"]["containers"][0]["resources"],
        )
        for each in yaml.safe_load_all(said)
    }
    assert made["grafana"] == (2, resources)
    assert made["prometheus"] == (1, {})
    assert made["exporter"] == (None, {})
