"""``eks-hardware render``: its files and output, and the errors."""

from __future__ import annotations

import io
import json
from functools import partial
from pathlib import Path

import pytest
from rich.console import Console

from eks_hardware.kubernetes import Bundle, ObjectRelease, Reference, bundle
from eks_hardware.kubernetes.files.summary import ReleaseSummary, Summary, summary_table
from helpers import cli
from helpers.cases import in_one_test
from helpers.strategies import SHIPPED, gpu_pool, group, pools, resolved_shipped, write_document

run = partial(cli.run, "render")
GPU_POOL = pools(gpu_pool("gpu", instance_types=["g6.xlarge"], limits={"nvidia.com/gpu": 4}))

# Kinds without a namespace; all others must state theirs, because kubectl would use `default`.
CLUSTER_WIDE = {
    "Namespace",
    "NodePool",
    "EC2NodeClass",
    "NodeOverlay",
    "StorageClass",
    "PersistentVolume",
    "PriorityClass",
    "RuntimeClass",
    "ClusterRole",
    "ClusterRoleBinding",
    "ClusterQueue",
    "ResourceFlavor",
    "Topology",
}


@in_one_test("name", SHIPPED)
def test_every_shipped_strategy(tmp_path: Path, name: str) -> None:
    code, out, err = run(name, "--output", str(tmp_path / "out"))
    assert (code, " error " in err) == (0, False)
    table = [line for line in out.splitlines() if str(tmp_path) not in line]
    assert max(map(len, table), default=0) <= 80
    assert "…" not in out
    for release in bundle(resolved_shipped(name)).releases:
        assert release.name in out
        expected = "manifests" if isinstance(release, ObjectRelease) else "values"
        assert list((tmp_path / "out" / expected).glob(f"{release.name}*"))


def test_the_table_fits_with_the_longest_names() -> None:
    kinds = {"ClusterQueue": 12, "EC2NodeClass": 12, "LimitRange": 1, "NodePool": 12}
    row = ReleaseSummary("aws-load-balancer-controller", "kube-system", "10.10.10", kinds)
    page = io.StringIO()
    Console(width=80, file=page).print(summary_table(Summary((row,), ())))
    printed = page.getvalue()
    assert max(map(len, printed.splitlines())) <= 80
    for part in (row.name, row.namespace, row.version, "12 EC2NodeClasses", "1 LimitRange", "12 NodePools"):
        assert part in printed


@in_one_test("name", SHIPPED)
def test_objects_say_their_namespace(name: str) -> None:
    """Helm installs them into the release's namespace; kubectl, Argo CD and Flux do not know it."""
    lacking = [
        f"{each['kind']} {each['metadata']['name']}"
        for each in bundle(resolved_shipped(name)).objects
        if each["kind"] not in CLUSTER_WIDE and "namespace" not in each["metadata"]
    ]
    assert lacking == []


def test_a_file_with_an_overlay(tmp_path: Path) -> None:
    file = write_document(tmp_path / "mine.yaml", **GPU_POOL)
    (tmp_path / "overlays").mkdir()
    (tmp_path / "overlays" / "tokyo.yaml").write_text("region: ap-northeast-1\n")
    code, out, _ = run(str(file), "--output", str(tmp_path / "out"), EKS_HARDWARE_OVERLAY="tokyo")
    assert (code, "1 EC2NodeClass" in out) == (0, True)
    assert "region: ap-northeast-1" in (tmp_path / "out" / "releases.yaml").read_text()


def test_a_name_among_the_strategies_that_would_become_stacks(tmp_path: Path) -> None:
    write_document(tmp_path / "mine.yaml", **GPU_POOL)
    code, _, _ = run("mine", "--output", str(tmp_path / "out"), EKS_HARDWARE_STRATEGIES=str(tmp_path))
    assert (code, (tmp_path / "out" / "releases.yaml").is_file()) == (0, True)


def test_errors_are_those_of_validate_and_nothing_is_written(tmp_path: Path) -> None:
    file = write_document(tmp_path / "mine.yaml", **GPU_POOL, node_groups=[group("m6i.xlargee", name="system")])
    code, out, err = run(str(file), "--output", str(tmp_path / "out"))
    assert (code, out) == (1, "")
    assert "error INSTANCE_TYPE_UNKNOWN" in err
    assert err.splitlines() == cli.run("validate", file).out.splitlines()[:-1]
    assert not (tmp_path / "out").exists()


def test_a_warning_is_printed_and_no_obstacle(tmp_path: Path) -> None:
    cluster = {"creator_is_admin": True, "endpoint": {"public_cidrs": ["0.0.0.0/0"]}}
    code, _, err = run(
        write_document(tmp_path / "a.yaml", **GPU_POOL, cluster=cluster), "--output", str(tmp_path / "out")
    )
    assert (code, "1 warning; see `eks-hardware validate " in err) == (0, True)


@in_one_test("name", ["gone", "gone.yaml", "config/gone"])
def test_a_strategy_that_is_not_there(tmp_path: Path, name: str) -> None:
    code, _, err = run(name, "--output", str(tmp_path / "out"))
    assert (code, err.startswith("error: ")) == (2, True)


def test_a_folder_of_someone_else(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    code, _, err = run("mixed-hardware", "--output", str(tmp_path))
    assert (code, err.startswith("error: "), "--force" in err) == (2, True, True)
    assert run("mixed-hardware", "--output", str(tmp_path), "--force")[0] == 0
    assert (tmp_path / "mine").read_text() == "mine"


# The stack's outputs provide the values that only AWS knows.

OUTPUTS = {
    "terraform output -json": {"vpc_id": {"value": "vpc-1", "type": "string", "sensitive": False}, "region": {}},
    "cdktf deploy --outputs-file": {"demo": {"vpc_id": "vpc-1"}},
}


@pytest.fixture
def asks_for_vpc(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Return a strategy with an object that refers to the VPC."""
    pool = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "b"}}
    release = ObjectRelease(name="a", namespace="b", objects=({**pool, "data": {"vpc": Reference.VPC_ID.text}},))
    monkeypatch.setattr("eks_hardware.kubernetes.bundle", lambda _: Bundle((release,)))
    return write_document(tmp_path / "mine.yaml", **GPU_POOL)


def test_what_to_fill_in_is_named(asks_for_vpc: Path, tmp_path: Path) -> None:
    code, out, _ = run(str(asks_for_vpc), "--output", str(tmp_path / "out"))
    assert (code, "${vpc_id}" in out) == (0, True)


@pytest.mark.parametrize("form", OUTPUTS)
def test_outputs_fill_in(asks_for_vpc: Path, tmp_path: Path, form: str) -> None:
    out = tmp_path / "out"
    code, said, _ = run(str(asks_for_vpc), "--output", str(out), "--outputs", "-", stdin=json.dumps(OUTPUTS[form]))
    assert (code, "${vpc_id}" in said) == (0, False)
    assert "vpc-1" in (out / "manifests" / "a" / "configmap-a.yaml").read_text()


@in_one_test("text", ["", "[]", "{", '{"demo": 1}'])
def test_outputs_that_are_none(tmp_path: Path, text: str) -> None:
    file = write_document(tmp_path / "mine.yaml", **GPU_POOL)
    code, _, err = run(str(file), "--output", str(tmp_path / "out"), "--outputs", "-", stdin=text)
    assert (code, err.startswith("error: --outputs")) == (2, True)
    assert not (tmp_path / "out").exists()


def test_json_lists_the_files(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    found = json.loads(run("mixed-hardware", "--output", str(folder), "--json").out)
    there = {each.relative_to(folder).as_posix() for each in folder.rglob("*") if each.is_file()}
    assert (found["version"], found["folder"]) == (1, str(folder))
    assert set(found["files"]) <= there
    assert {"README.md", "install.sh", "releases.yaml", "values/karpenter.yaml"} <= set(found["files"])
    assert {"name": "karpenter", "namespace": "kube-system"} in found["releases"]
    assert found["fill_in"] == []


def test_an_overlay_applies_as_in_the_environment(tmp_path: Path) -> None:
    def files(*more: str, **environ: str) -> dict[str, str]:
        out = tmp_path / f"{more}{environ}"
        assert run("inferentia-inference", "--output", out, *more, **environ).code == 0
        return {str(each.relative_to(out)): each.read_text() for each in out.rglob("*") if each.is_file()}

    private = files("--overlay", "private")
    assert private == files(EKS_HARDWARE_OVERLAY="private")
    assert private != files()
