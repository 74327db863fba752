"""The written folder: it reads back as the bundle, it is the same twice, and other files are not changed."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from eks_hardware import facts
from eks_hardware.kubernetes import ChartRelease, Reference
from eks_hardware.kubernetes.files.scripts import INSTALL, PULL_CHARTS, SUMS, UNINSTALL
from eks_hardware.kubernetes.files.summary import read_summary
from eks_hardware.kubernetes.files.tree import SUBSTITUTE
from eks_hardware.kubernetes.files.write import LIST_FILE, WriteError, remove
from eks_hardware.printable import plural
from helpers.cases import in_one_test
from helpers.written import item, objects, put, read_yaml

NASTY = {
    "template": '{{ .Values.x | quote }} {{- "a" }}',
    "dollar": "${datasource} $${x} ${vpc_id} %{if}",
    "quotes": """it's "quoted" \\ and `so on`""",
    "lines": "first\n  second: #no comment\n\nthird\n",
    "no end of line": "first\nsecond",
    "many ends of lines": "first\nsecond\n\n\n",
    "begins with spaces": "   first\nsecond\n",
    "begins with lines": "\n\nfirst\n",
    "trailing spaces": "first   \nsecond\t\n   \n",
    "spaces alone": "   ",
    "tabs": "\tfirst\n\tsecond\n",
    "carriage returns": "first\r\nsecond\r",
    "controls": "\x00\x07\x1b\x7f\x85\u2028\ufeff",
    "characters": "žluťoučký 日本語 🚀",
    "wide lines": "日本語\n🚀\n",
    "words": ["yes", "no", "on", "off", "y", "n", "true", "null", "~", "NULL", "", "=", "<<", ".inf", ".NaN", "-"],
    "numbers": ["1e3", "0123", "0x1f", "0o7", "1_000", "1:30", "1.35", "+1", ".5", "0b1", "12e03", "2025-01-01", "1."],
    "signs": [
        "# a",
        "a # b",
        "a: b",
        "a:",
        "- a",
        "? a",
        "! a",
        "&a",
        "*a",
        "@a",
        "%a",
        "[a",
        "{a",
        "|",
        ">",
        "---",
        ":",
    ],
    "true": True,
    "nothing": None,
    "number": 3,
    "large": 10**18,
    "fraction": 0.5,
    "thousand": 1000.0,
    "empty list": [],
    "empty map": {},
    "nested": [[1, [2]], [], {"a": [{"b": []}]}],
    "key: with # signs": "a",
    "yes": "a",
    "1": "a",
    "long": "word " * 60,
    "x" * 200: "a",
    "several\nlines": "a",
}


def karpenter_release(name: str = "karpenter", **fields: Any) -> ChartRelease:
    own: dict[str, Any] = {
        "namespace": "kube-system",
        "key": "karpenter",
        "chart": "karpenter",
        "repository": "oci://registry.example/karpenter",
        "version": "1.2.3",
        "values": {},
    }
    return ChartRelease(name=name, **{**own, **fields})


def present(folder: Path) -> set[str]:
    return {file.relative_to(folder).as_posix() for file in folder.rglob("*") if not file.is_dir()}


# Helm and kubectl read YAML 1.1 with parts of 1.2.
@pytest.mark.parametrize("version", ["1.1", "1.2"])
def test_reads_back_as_the_bundle(tmp_path: Path, version: str) -> None:
    known = {Reference.VPC_ID: "vpc-1"}
    files = put(tmp_path, karpenter_release(values=NASTY), objects(item(data=NASTY)), known=known)
    assert read_yaml(files["values/karpenter.yaml"], version) == NASTY
    assert read_yaml(files["manifests/resources/configmap-a.yaml"], version) == item(data=NASTY)


def test_several_lines_are_a_block(tmp_path: Path) -> None:
    text = 'one: 1\ntwo: "2"\n'
    files = put(tmp_path, objects(item(data={"config": text})))
    assert files["manifests/resources/configmap-a.yaml"].read_text().endswith('config: |\n    one: 1\n    two: "2"\n')


def test_the_same_bundle_gives_the_same_files(tmp_path: Path) -> None:
    releases = (karpenter_release(values=NASTY), objects(item(), item(name="b")))
    first = {name: file.read_bytes() for name, file in put(tmp_path / "a", *releases).items()}
    second = {name: file.read_bytes() for name, file in put(tmp_path / "b", *releases).items()}
    assert first == second


def test_files_that_have_not_changed_are_left_alone(tmp_path: Path) -> None:
    file = put(tmp_path, karpenter_release())["values/karpenter.yaml"]
    os.utime(file, (1, 1))
    put(tmp_path, karpenter_release(), objects(item()))
    assert file.stat().st_mtime == 1


NAMES: dict[str, tuple[list[dict[str, Any]], list[str]]] = {
    "kind and name": ([item("NodePool", "gpu")], ["nodepool-gpu"]),
    "namespaces": ([item(namespace="x"), item(namespace="y")], ["configmap-x-a", "configmap-y-a"]),
    "signs": ([item("Role", "system:a/b"), item("Role", "..")], ["role-system-a-b", "role-.."]),
}


@in_one_test("case", NAMES)
def test_names_of_files(tmp_path: Path, case: str) -> None:
    items, names = NAMES[case]
    files = put(tmp_path, objects(*items))
    assert {f"manifests/resources/{name}.yaml" for name in names} <= set(files)


COLLIDING = {
    "upper and lower case": [item(name="a:b"), item(name="A-b"), item(name="a-b")],
    "groups": [{**item("Cluster"), "apiVersion": f"{group}/v1"} for group in ("a.io", "b.io")],
    "dashes": [item("Role", "a-b", "x"), item("Role", "b", "x-a"), item("Role", "a-b", "x-a"), item("Role", "b", "x")],
    "long": [item(name="a" * 253), item(name="a" * 252 + "b"), item(name="c" * 253)],
}


@in_one_test("case", COLLIDING)
def test_every_object_has_a_file_of_its_own(tmp_path: Path, case: str) -> None:
    items = COLLIDING[case]
    files = {name: file for name, file in put(tmp_path, objects(*items)).items() if name.startswith("manifests/")}
    assert len({name.lower() for name in files}) == len(items)
    assert all(len(file.name) < 240 for file in files.values())
    assert sorted(map(str, map(read_yaml, files.values()))) == sorted(map(str, items))


def test_an_object_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="ConfigMap/a"):
        put(tmp_path, objects(item(), item()))


def test_the_list_of_releases(tmp_path: Path) -> None:
    pools = objects(item("NodePool", "a"), item("NodePool", "b"), after=("karpenter",), timeout_seconds=90)
    files = put(tmp_path, karpenter_release(), pools)
    assert read_yaml(files["releases.yaml"]) == {
        "cluster": "demo",
        "region": "us-west-2",
        "releases": [
            {
                "name": "karpenter",
                "namespace": "kube-system",
                "chart": "karpenter",
                "repository": "oci://registry.example/karpenter",
                "version": "1.2.3",
                "values": "values/karpenter.yaml",
                "timeout_seconds": 600,
            },
            {
                "name": "resources",
                "namespace": "kube-system",
                "manifests": "manifests/resources",
                "objects": {"NodePool": 2},
                "after": ["karpenter"],
                "timeout_seconds": 90,
            },
        ],
    }
    summary = read_summary(tmp_path)
    assert [(each.name, each.version, dict(each.kinds)) for each in summary.releases] == [
        ("karpenter", "1.2.3", {}),
        ("resources", "", {"NodePool": 2}),
    ]
    assert summary.fill_in == ()


@in_one_test(
    ("kind", "number", "expected"),
    [
        ("NodePool", 1, "NodePool"),
        ("NodePool", 2, "NodePools"),
        ("EC2NodeClass", 3, "EC2NodeClasses"),
        ("NodeOverlay", 2, "NodeOverlays"),
        ("NetworkPolicy", 2, "NetworkPolicies"),
    ],
)
def test_kinds_are_counted(kind: str, number: int, expected: str) -> None:
    assert plural(kind, number) == expected


# References.


def test_what_is_known_is_written_and_the_rest_is_a_variable(tmp_path: Path) -> None:
    data = {"a": f"{Reference.VPC_ID.text}/{Reference.EFS_ID.text}"}
    files = put(tmp_path, objects(item(data=data)), known={Reference.VPC_ID: "vpc-1"})
    assert read_yaml(files["manifests/resources/configmap-a.yaml"])["data"] == {"a": "vpc-1/${efs_id}"}
    assert read_summary(tmp_path).fill_in == ("efs_id",)


def test_flux_leaves_a_dashboard_alone(tmp_path: Path) -> None:
    """Its variable substitution would remove ``${datasource}``; without variables it is not used at all."""
    dashboard = item(name="dashboard", data={"a": "${datasource}"})
    plain = item(name="plain", data={"a": Reference.EFS_ID.text})
    files = put(tmp_path, objects(dashboard, plain))
    place = "manifests/resources/configmap-{}.yaml".format
    assert read_yaml(files[place("dashboard")])["metadata"]["annotations"] == {SUBSTITUTE: "disabled"}
    assert "annotations" not in read_yaml(files[place("plain")])["metadata"]
    files = put(tmp_path, objects(dashboard, plain), known={Reference.EFS_ID: "fs-1"})
    assert read_yaml(files[place("dashboard")]) == dashboard


def test_the_readme_names_what_flux_cannot_fill_in(tmp_path: Path) -> None:
    both = item(data={"a": f"${{HOME}} {Reference.EFS_ID.text}"})
    assert "`manifests/resources/configmap-a.yaml`" in put(tmp_path, objects(both))["README.md"].read_text()


# The scripts, run by the real shell against programs that record their arguments.

_NOTING = """#!/bin/sh
printf '%s' "{name}" >>"$CALLS"; for each in "$@"; do printf ' %s' "$each" >>"$CALLS"; done; echo >>"$CALLS"
for each in "$@"; do [ "$each" = - ] && cat >>"$CALLS"; done
exit 0
"""


def fake_tools(tools: Path) -> dict[str, str]:
    """Create programs that record their arguments in ``calls``; return the environment for them."""
    tools.mkdir()
    for name in ("helm", "kubectl"):
        (tools / name).write_text(_NOTING.format(name=name), encoding="utf-8")
        (tools / name).chmod(0o755)
    (tools / "calls").touch()
    return {"PATH": f"{tools}{os.pathsep}{os.environ['PATH']}", "CALLS": str(tools / "calls")}


def run_with_fake_tools(script: Path, tools: Path, **variables: str) -> tuple[int, list[str]]:
    """Run a script; return the exit code, and the calls with their standard input."""
    environment = fake_tools(tools) | variables
    done = subprocess.run([script], env=environment, capture_output=True, cwd="/", timeout=30, check=False)
    lines = (tools / "calls").read_text(encoding="utf-8").splitlines()
    return done.returncode, [line for line in lines if line != "kubectl config current-context"]


def test_install_and_uninstall_in_order(tmp_path: Path) -> None:
    folder = tmp_path / "a folder"
    files = put(
        folder,
        karpenter_release(),
        karpenter_release("exporter", repository="https://charts.example", namespace="gpu"),
        objects(item("ConfigMap", namespace="b"), item("Namespace", "b")),
    )
    code, calls = run_with_fake_tools(files[INSTALL], tmp_path / "in")
    common = "--values values/{}.yaml --timeout 600s --create-namespace --wait".format
    assert (code, calls) == (
        0,
        [
            "helm upgrade --install karpenter oci://registry.example/karpenter/karpenter --version 1.2.3"
            f" --namespace kube-system {common('karpenter')}",
            "helm upgrade --install exporter karpenter --repo https://charts.example --version 1.2.3"
            f" --namespace gpu {common('exporter')}",
            "kubectl apply --server-side --force-conflicts --filename manifests/resources/namespace-b.yaml"
            " --filename manifests/resources",
        ],
    )
    code, calls = run_with_fake_tools(files[UNINSTALL], tmp_path / "out")
    assert (code, [call.split(" --")[0] for call in calls]) == (
        0,
        ["kubectl delete", "helm uninstall exporter", "helm uninstall karpenter"],
    )


def listed_archives(folder: Path, **archives: bytes) -> Path:
    """Create a folder with archives, and the list of their digests."""
    folder.mkdir()
    for name, content in archives.items():
        (folder / name).write_bytes(content)
    lines = [f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in archives.items()]
    (folder / SUMS).write_text("".join(lines), encoding="utf-8")
    return folder


ARCHIVE = "karpenter-1.2.3.tgz"


def test_install_takes_charts_from_a_folder(tmp_path: Path) -> None:
    exporter = karpenter_release("exporter", repository="https://charts.example", namespace="gpu")
    files = put(tmp_path / "out", karpenter_release(), exporter)
    charts = listed_archives(tmp_path / "charts", **{ARCHIVE: b"a chart"})
    code, calls = run_with_fake_tools(files[INSTALL], tmp_path / "tools", CHARTS=str(charts))
    assert code == 0
    assert [call.partition(" --namespace")[0] for call in calls] == [
        f"helm upgrade --install karpenter {charts / ARCHIVE}",
        f"helm upgrade --install exporter {charts / ARCHIVE}",
    ]


@in_one_test("case", ["missing", "damaged", "not listed"])
def test_install_refuses_a_folder_before_it_installs(tmp_path: Path, case: str) -> None:
    files = put(tmp_path / "out", karpenter_release())
    charts = listed_archives(tmp_path / "charts", **{ARCHIVE: b"a chart"})
    if case == "missing":
        (charts / ARCHIVE).unlink()
        said = f"{charts}/{ARCHIVE} is missing; download it with pull-charts.sh"
    elif case == "damaged":
        (charts / ARCHIVE).write_bytes(b"a char")
        before, after = (hashlib.sha256(content).hexdigest() for content in (b"a chart", b"a char"))
        said = (
            f"{ARCHIVE} must have the SHA-256 {before}, which SHA256SUMS lists, got {after}; "
            f"delete {charts}/{ARCHIVE}, and run pull-charts.sh"
        )
    else:
        (charts / SUMS).unlink()
        said = f"{ARCHIVE} is not in {charts}/SHA256SUMS; add it with pull-charts.sh"
    done = subprocess.run(
        [files[INSTALL]], env=fake_tools(tmp_path / "tools") | {"CHARTS": str(charts)}, capture_output=True, check=False
    )
    assert (done.returncode, done.stderr.decode()) == (1, f"error: {said}\n")
    assert (tmp_path / "tools" / "calls").read_text(encoding="utf-8") == ""


def test_charts_are_pulled_from_their_repositories(tmp_path: Path) -> None:
    """``tests/cluster/test_pull_charts.py`` runs the script with Helm."""
    exporter = karpenter_release("exporter", repository="https://charts.example", version="2.0.0")
    files = put(tmp_path / "out", karpenter_release(), exporter)
    script = files[PULL_CHARTS].read_text(encoding="utf-8")
    assert script.endswith(
        "pull karpenter 1.2.3 oci://registry.example/karpenter\npull karpenter 2.0.0 https://charts.example\n"
    )
    code, calls = run_with_fake_tools(files[PULL_CHARTS], tmp_path / "tools")
    assert (code, calls) == (2, [])


@in_one_test("changed", [{}, {"version": "0.19.3"}, {"repository": "oci://registry.example"}])
def test_a_published_digest_is_of_one_version_in_one_repository(tmp_path: Path, changed: Mapping[str, str]) -> None:
    row = facts.chart("nvidia-device-plugin")
    assert row["archive"] is not None
    published: dict[str, Any] = {"chart": row["chart"], "repository": row["repository"], "version": row["version"]}
    release = karpenter_release(key="nvidia-device-plugin", **published | dict(changed))
    script = put(tmp_path, release)[PULL_CHARTS].read_text(encoding="utf-8")
    assert (row["archive"]["sha256"] in script) is (not changed)


def test_a_folder_without_charts_has_no_script_for_them(tmp_path: Path) -> None:
    files = put(tmp_path, objects(item()))
    assert PULL_CHARTS not in files
    assert "CHARTS" not in files[INSTALL].read_text(encoding="utf-8") + files["README.md"].read_text(encoding="utf-8")


def test_install_creates_the_namespaces_that_no_release_creates(tmp_path: Path) -> None:
    files = put(
        tmp_path / "out",
        karpenter_release(namespace="gpu"),
        objects(item("ConfigMap", namespace="gpu"), item("ConfigMap", namespace="default"), name="there"),
        objects(item("ConfigMap", namespace="monitoring"), name="first"),
        objects(item("ConfigMap", namespace="monitoring"), name="second"),
    )
    lines = [line for line in files[INSTALL].read_text(encoding="utf-8").splitlines() if "create namespace" in line]
    assert lines == ["kubectl get namespace monitoring >/dev/null 2>&1 || kubectl create namespace monitoring"]
    code, calls = run_with_fake_tools(files[INSTALL], tmp_path / "tools")
    assert code == 0
    assert calls.index("kubectl get namespace monitoring") < calls.index(
        "kubectl apply --server-side --force-conflicts --filename manifests/first"
    )
    assert "kubectl create namespace monitoring" not in calls  # the fake kubectl finds it


def test_install_fills_in_the_stack_s_outputs_alone(tmp_path: Path) -> None:
    text = f"{Reference.VPC_ID.text} ${{datasource}} $HOME"
    files = put(tmp_path / "out", karpenter_release(values={"a": text}), objects(item(data={"a": text})))
    code, calls = run_with_fake_tools(files[INSTALL], tmp_path / "tools", vpc_id="vpc-1")
    assert code == 0
    filled = [line for line in calls if "vpc-1" in line]
    assert [line.strip() for line in filled] == ['a: "vpc-1 ${datasource} $HOME"'] * 2


def test_install_says_what_is_not_set(tmp_path: Path) -> None:
    files = put(tmp_path / "out", karpenter_release(values={"a": Reference.VPC_ID.text}))
    code, calls = run_with_fake_tools(files[INSTALL], tmp_path / "tools")
    assert (code != 0, calls) == (True, [])


# The folder.


def test_what_is_no_longer_there_is_removed(tmp_path: Path) -> None:
    put(tmp_path, karpenter_release(), objects(item(), item(name="b")))
    (tmp_path / "manifests" / "resources" / "mine.yaml").write_text("mine")
    put(tmp_path, objects(item(), name="others"))
    kept = {"manifests/resources/mine.yaml", "manifests/others/configmap-a.yaml"}
    assert present(tmp_path) == {LIST_FILE, "README.md", INSTALL, UNINSTALL, "releases.yaml", *kept}
    assert not (tmp_path / "values").exists()


def test_remove_leaves_what_is_not_ours(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    put(folder, karpenter_release(), objects(item()))
    (folder / "mine.yaml").write_text("mine")
    remove(folder)
    assert present(folder) == {"mine.yaml"}
    (folder / "mine.yaml").unlink()
    put(folder, karpenter_release())
    remove(folder)
    remove(folder)
    assert not folder.exists()


def test_a_folder_of_someone_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("mine")
    with pytest.raises(WriteError, match="--force"):
        put(tmp_path, karpenter_release())
    assert present(tmp_path) == {"README.md"}
    put(tmp_path, karpenter_release(), force=True)
    assert (tmp_path / "README.md").read_text() != "mine"


def test_a_file_of_someone_else_in_our_folder_is_refused(tmp_path: Path) -> None:
    put(tmp_path, karpenter_release())
    mine = tmp_path / "values" / "other.yaml"
    mine.write_text("mine")
    with pytest.raises(WriteError, match="--force"):
        put(tmp_path, karpenter_release("other"))
    assert mine.read_text() == "mine"
    assert "values/karpenter.yaml" in present(tmp_path)


@in_one_test("line", ["../outside", "/{outside}", "link/outside", "values/../../outside"])
def test_a_list_leads_nowhere_else(tmp_path: Path, line: str) -> None:
    outside = tmp_path / "outside"
    outside.write_text("mine")
    folder = tmp_path / "out"
    put(folder, karpenter_release())
    (folder / "link").symlink_to(tmp_path)
    with (folder / LIST_FILE).open("a") as file:
        file.write(line.format(outside=outside) + "\n")
    put(folder, karpenter_release())
    assert outside.read_text() == "mine"


def test_an_interrupted_run_is_made_good(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, karpenter_release(), objects(item()))
    replace, left = Path.replace, iter(range(3))

    def interrupted(self: Path, target: Path) -> Path:
        if next(left, None) is None:
            raise KeyboardInterrupt
        return replace(self, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", interrupted)
        with pytest.raises(KeyboardInterrupt):
            put(tmp_path, karpenter_release("a"), karpenter_release("b"), objects(item(name="c")))
    (tmp_path / "values" / ".a.yaml.4711.draft").write_text("what a killed run leaves")
    put(tmp_path, karpenter_release("z"))
    assert present(tmp_path) == {
        LIST_FILE,
        "README.md",
        INSTALL,
        PULL_CHARTS,
        UNINSTALL,
        "releases.yaml",
        "values/z.yaml",
    }


def test_another_run_that_has_just_begun_is_not_foreign(tmp_path: Path) -> None:
    (tmp_path / f".{LIST_FILE}.4711.draft").write_text("its list")
    put(tmp_path, karpenter_release())
    assert (tmp_path / LIST_FILE).is_file()


@pytest.mark.parametrize("place", ["", "values"])
def test_a_file_where_a_folder_belongs(tmp_path: Path, place: str) -> None:
    folder = tmp_path / "out"
    blocked = folder / place
    blocked.parent.mkdir(exist_ok=True)
    blocked.write_text("mine")
    with pytest.raises(WriteError, match="out"):
        put(folder, karpenter_release(), force=True)
    assert blocked.read_text() == "mine"


def test_a_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Path, _target: Path) -> None:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(WriteError, match=r"out/.*: permission denied"):
        put(tmp_path / "out", karpenter_release())
