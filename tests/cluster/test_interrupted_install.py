"""``install.sh`` goes on where Ctrl-C stopped it: in a chart, between two charts, and before the NodePools."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from eks_hardware.kubernetes.files.write import write
from eks_hardware.kubernetes.references import known
from eks_hardware.local import install_scripts
from eks_hardware.local.cluster import Cluster
from eks_hardware.local.stand_in_charts import Chart, charts_folder
from eks_hardware.testing import Template
from helpers.kubernetes.objects import bundle_of, manifest_list, resolved_named

from .test_install_scripts import Installation, node_manifest, node_objects

NAME = "mixed-hardware"
# Helm prints these lines at the beginning and at the end of a release.
BEGINS, ENDS = 'Release "{}" does not exist. Installing it now.', "NAME: {}"
MOMENTS = (ENDS.format("karpenter-crd"), BEGINS.format("karpenter"), ENDS.format("karpenter"))


@pytest.fixture
def installation(
    tools: Mapping[str, Path], templates: Mapping[str, Template], tmp_path: Path
) -> Iterator[Installation]:
    """Return a strategy whose ``install.sh`` has not run, and a cluster with its nodes."""
    bundle, resolved = bundle_of(NAME), resolved_named(NAME)
    write(bundle, tmp_path / "rendered", name=NAME, region=resolved.region, known=known(resolved))
    charts = tmp_path / "charts"
    used = {Chart(each.chart, each.version) for each in bundle.charts}
    stand_ins = charts_folder(used, charts, tools)
    with Cluster(tmp_path / "cluster", programs=tools, kwok=True) as cluster:
        environment = install_scripts.environment(cluster.environment(), tmp_path / "bin", tools, charts, outputs={})
        nodes = node_objects(templates[NAME], NAME)
        cluster.kubectl("create", "-f", "-", stdin=manifest_list([node_manifest(*each) for each in nodes.items()]))
        yield Installation(
            NAME, tmp_path / "rendered", cluster, nodes, environment, frozenset(each.name for each in stand_ins)
        )


def interrupt_script(installation: Installation, moment: str) -> None:
    """Press Ctrl-C when the script prints a line. A terminal sends it to the script and to what it runs.

    Bash goes on if the program that it waits for ends well in spite of the signal, so Ctrl-C is pressed again.
    """
    with subprocess.Popen(
        [installation.folder / "install.sh"],
        env=installation.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        text=True,
    ) as script:
        assert script.stdout is not None
        said = []
        for line in script.stdout:
            said.append(line)
            if f"{moment}\n" in said:
                with contextlib.suppress(ProcessLookupError):  # it has just ended
                    os.killpg(script.pid, signal.SIGINT)
    assert f"{moment}\n" in said, "".join(said)
    assert script.returncode != 0


def test_a_run_goes_on_where_an_earlier_one_was_interrupted(
    installation: Installation, tools: Mapping[str, Path]
) -> None:
    for moment in MOMENTS:
        interrupt_script(installation, moment)
    assert "karpenter" in names(installation, "deployments")
    assert names(installation, "nodepools") == set()
    installation.run("install.sh")
    assert names(installation, "nodepools") == {each.name for each in resolved_named(NAME).node_pools}
    listed = subprocess.run(
        [tools["helm"], "list", "--all", "--all-namespaces", "--output", "json"],
        env=installation.environment,
        capture_output=True,
        check=True,
    )
    found = {each["name"]: each["status"] for each in json.loads(listed.stdout)}
    assert found == {each.name: "deployed" for each in bundle_of(NAME).charts}


def names(installation: Installation, kind: str) -> set[str]:
    return {each["metadata"]["name"] for each in installation.get(kind)}
