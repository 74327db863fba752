"""``eks-hardware validate``: its output and exit codes."""

from __future__ import annotations

import json
import shlex
from functools import partial
from pathlib import Path

import pytest
import yaml

from helpers import cli
from helpers.cases import in_one_test
from helpers.guides import blocks
from helpers.paths import ROOT

run = partial(cli.run, "validate")

OPEN = """\
version: 1
name: demo
region: us-west-2
cluster: {creator_is_admin: true, endpoint: {public_cidrs: [0.0.0.0/0]}}
node_groups:
  - {name: system, instance_types: [m6i.xlarge], scaling: {min: 2, max: 4}}
kubernetes: {delivery: manifests}
"""
CLEAN = OPEN.replace("0.0.0.0/0", "93.184.216.0/24")
WRONG = CLEAN.replace("m6i.xlarge", "m6i.xlrge")
IGNORED = OPEN + "ignore: [{code: ENDPOINT_OPEN, path: cluster.endpoint, reason: a sandbox without data}]\n"


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in {"open": OPEN, "clean": CLEAN, "wrong": WRONG, "ignored": IGNORED}.items():
        (tmp_path / f"{name}.yaml").write_text(text.replace("name: demo", f"name: {name}"), encoding="utf-8")


@in_one_test(
    ("arguments", "code", "last"),
    [
        (["clean.yaml"], 0, "1 file: 0 errors, 0 warnings"),
        (["clean.yaml", "--strict"], 0, "1 file: 0 errors, 0 warnings"),
        (["open.yaml"], 0, "1 file: 0 errors, 1 warning"),
        (["open.yaml", "--strict"], 1, "1 file: 0 errors, 1 warning"),
        (["ignored.yaml", "--strict"], 0, "1 file: 0 errors, 0 warnings, 1 ignored"),
        (["wrong.yaml"], 1, "1 file: 1 error, 0 warnings"),
        (["."], 1, "4 files: 1 error, 1 warning, 1 ignored"),
        (["nowhere.yaml", "open.yaml"], 2, "1 file: 1 error, 1 warning"),
        (["clean.yaml", "--overlay", "nowhere"], 2, "1 file: 1 error, 0 warnings"),
    ],
)
def test_exit_code_and_summary(arguments: list[str], code: int, last: str) -> None:
    given, out, err = run(*arguments)
    assert (given, out.splitlines()[-1], bool(err)) == (code, last, code == 2)


def test_a_missing_file_lists_the_strategy_files_that_are_there(tmp_path: Path) -> None:
    (tmp_path / "mkdocs.yml").write_text("site_name: other\n", encoding="utf-8")
    (tmp_path / "empty").mkdir()
    there = "clean.yaml, ignored.yaml, open.yaml, wrong.yaml"
    assert run("claen.yaml").err == (
        f'error: "claen.yaml" does not exist; did you mean clean.yaml? (strategy files there: {there})\n'
    )
    said = run("empty/gpu-trainin.yaml").err
    assert '"empty/gpu-trainin.yaml" does not exist; did you mean gpu-training? (strategies: cpu-inference, ' in said


POOLS = """\
name: research
region: us-west-2
cluster: {kubernetes_version: "1.35"}
network: {existing: {vpc_id: vpc-0bbbbbbbbbbbbbbb0, private_subnets: {usw2-az2: subnet-0bbbbbbbbbbbbbbb2}}}
karpenter:
  node_pools:
    - {name: l4, instance_types: [g6.4xlarge], limits: {nvidia.com/gpu: 4}}
"""


def test_node_pools_for_an_existing_cluster(tmp_path: Path) -> None:
    file = tmp_path / "pools.yaml"
    file.write_text(POOLS, encoding="utf-8")
    for more in ([], ["--all-overlays"]):
        assert run("pools.yaml", "clean.yaml", *more) == (
            0,
            "pools.yaml was checked as node pools for an existing cluster\n2 files: 0 errors, 0 warnings\n",
            "",
        )
    file.write_text(POOLS.replace("limits:", "efa: true, limits:"), encoding="utf-8")
    code, out, _ = run("pools.yaml")
    assert code == 1
    assert out.startswith("pools.yaml:7:35: error EFA_UNSUPPORTED karpenter.node_pools[l4].instance_types[0]: ")
    file.write_text(POOLS.replace("region:", "regoin:"), encoding="utf-8")
    code, out, _ = run("pools.yaml", "--json")
    found = json.loads(out)
    assert (code, found["adoptions"]) == (1, ["pools.yaml"])
    assert {each["code"] for each in found["findings"]} == {"FIELD_MISSING", "FIELD_UNKNOWN"}


@in_one_test("more", ["version: 1\n", "node_groups: []\n", "node_groups : []\n", '"version": 1\n'])
def test_a_strategy_with_node_pools_is_checked_as_a_strategy(more: str) -> None:
    Path("pools.yaml").write_text(POOLS + more, encoding="utf-8")
    assert json.loads(run("pools.yaml", "--json").out)["adoptions"] == []


@in_one_test(
    "arguments",
    [["--colour"], ["--sarif"], ["clean.yaml", "--sarif", "no/such/folder/x.sarif"], ["--sarif", "clean.yaml"]],
)
def test_wrong_usage(arguments: list[str]) -> None:
    code, _, err = run(*arguments)
    assert code == 2
    assert "Traceback" not in err
    assert err
    assert Path("clean.yaml").read_text(encoding="utf-8") == CLEAN.replace("name: demo", "name: clean")


def test_prints_the_line_with_a_caret() -> None:
    _, out, _ = run("wrong.yaml")
    first, line, caret, _ = out.splitlines()
    assert first.startswith("wrong.yaml:6:37: error INSTANCE_TYPE_UNKNOWN node_groups[system].instance_types[0]: ")
    assert line[caret.index("^") : caret.rindex("^") + 1] == "m6i.xlrge"


def test_json_is_all_that_is_printed() -> None:
    code, out, err = run("--format", "json", ".")
    report = json.loads(out)
    assert (code, err) == (1, "")
    assert [each["code"] for each in report["findings"]] == ["ENDPOINT_OPEN", "ENDPOINT_OPEN", "INSTANCE_TYPE_UNKNOWN"]


def test_sarif_is_written_beside_the_text(tmp_path: Path) -> None:
    code, out, _ = run("--sarif", "report.sarif", ".")
    report = json.loads((tmp_path / "report.sarif").read_text(encoding="utf-8"))
    assert (code, len(report["runs"][0]["results"])) == (1, 3)
    assert out.splitlines()[-1] == "4 files: 1 error, 1 warning, 1 ignored"


def test_sarif_of_nothing_is_a_whole_report(tmp_path: Path) -> None:
    """An upload without results closes the alerts of earlier runs."""
    run("--sarif", "report.sarif", "clean.yaml")
    (only,) = json.loads((tmp_path / "report.sarif").read_text(encoding="utf-8"))["runs"]
    assert only["results"] == []


def test_sarif_to_stdout() -> None:
    _, out, _ = run("--sarif", "-", "wrong.yaml")
    assert json.loads(out)["version"] == "2.1.0"


def test_json_and_sarif_cannot_share_stdout() -> None:
    code, _, err = run("--sarif", "-", "--format", "json", "wrong.yaml")
    assert (code, bool(err)) == (2, True)


def test_the_workflow_of_the_guide_is_that_of_a_project() -> None:
    """It differs only in the place of the Action."""
    guide = yaml.safe_load(blocks("pull-requests", "yaml")[0])["jobs"]["strategies"]["steps"]
    file = ROOT / "eks_hardware" / "new_project" / "files" / "strategies.yml"
    written = yaml.safe_load(file.read_text(encoding="utf-8"))["jobs"]["strategies"]["steps"]
    assert guide[0] == written[0]
    assert (guide[1]["uses"], written[1]["uses"]) == ("OWNER/eks-hardware@v0", "./.github/eks-hardware")


def test_the_local_hook_of_the_guide_runs() -> None:
    (hook,) = (block for block in blocks("pull-requests", "yaml") if "repo: local" in block)
    entry = yaml.safe_load(hook)["repos"][0]["hooks"][0]["entry"]
    assert run(*shlex.split(entry)[2:], "open.yaml").code == 0


def test_the_ignore_of_the_guide_silences(tmp_path: Path) -> None:
    example = next(block for block in blocks("pull-requests", "yaml") if block.startswith("ignore:"))
    (tmp_path / "guide.yaml").write_text(OPEN + example, encoding="utf-8")
    assert run("--strict", "guide.yaml") == (0, "1 file: 0 errors, 0 warnings, 1 ignored\n", "")


def test_all_overlays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("strategies", "overlays"):
        (tmp_path / folder).mkdir()
    (tmp_path / "strategies" / "demo.yaml").write_text(CLEAN, encoding="utf-8")
    (tmp_path / "overlays" / "wide.yaml").write_text("cluster: {endpoint: {public_cidrs: [0.0.0.0/0]}}\n")
    (tmp_path / "overlays" / "other.yaml").write_text("strategies: [dmeo]\n")
    monkeypatch.setenv("EKS_HARDWARE_OVERLAY", "nowhere")  # every overlay, not this one
    code, out, err = run("strategies", "--all-overlays", "--sarif", "found.sarif")
    assert code == 0
    assert out.splitlines()[0].startswith("overlays/wide.yaml:1:37: warning ENDPOINT_OPEN")
    assert out.splitlines()[0].endswith(" (for demo)")
    assert out.splitlines()[-2:] == [
        "strategies/demo.yaml was also checked with 1 overlay: wide",
        "1 file: 0 errors, 1 warning",
    ]
    assert err == "the overlay other applies to none of these strategies; check its `strategies` list\n"
    (result,) = json.loads(Path("found.sarif").read_text(encoding="utf-8"))["runs"][0]["results"]
    assert result["ruleId"] == "ENDPOINT_OPEN"
    found = json.loads(run("strategies", "--all-overlays", "--format", "json").out)
    assert (found["warnings"], found["overlays"]) == (1, {"strategies/demo.yaml": ["wide"]})
    assert run("strategies", "--all-overlays", "--overlay", "wide").code == 2
