"""``eks-hardware init``: the project that it creates around the first strategy."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from yaml import safe_load

import eks_hardware
from eks_hardware import installed_from
from eks_hardware.cli import COMMANDS, app
from eks_hardware.new_project import ACTION_FILE, FILES
from helpers import cli
from helpers.paths import ROOT, files_below

outcome = partial(cli.outcome, "init", COLUMNS="80")

PROJECT = sorted(["strategies/demo.yaml", *(each.path for each in FILES)])
REQUIREMENT = f"eks-hardware~={eks_hardware.__version__}"
INIT = ("demo", "--hardware", "gpu", "--task", "inference")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder, which is also the working folder."""
    folder = tmp_path / "clusters"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.delenv("EKS_HARDWARE_STRATEGIES", raising=False)
    monkeypatch.setattr(installed_from, "_direct_url", dict)  # as installed from an index
    return folder


def yaml(file: str) -> Any:
    return safe_load(Path(file).read_text(encoding="utf-8"))


def test_messages(golden: Callable[[str, str], None]) -> None:
    done = CliRunner().invoke(app, ["init", *INIT], env={"COLUMNS": "80"})
    said = done.output
    assert done.exit_code == 0
    golden("init/project.txt", said)
    assert len(said.splitlines()) <= 31  # the table, and a screen of 24 lines
    guide = (ROOT / "docs" / "guides" / "strategy-repository.md").read_text(encoding="utf-8")
    assert f"$ eks-hardware init {' '.join(INIT)}\n{said}```" in guide


def test_a_project_is_left() -> None:
    outcome(*INIT)
    assert files_below() == PROJECT
    assert [file for file in files_below() if re.search(r"@\w+@", Path(file).read_text(encoding="utf-8"))] == []


def test_validate_takes_its_strategies() -> None:
    outcome(*INIT)
    outcome("other", "--hardware", "cpu", "--yes")
    code, said = cli.outcome("validate")
    assert code == 0
    assert said.endswith("2 files: 0 errors, 0 warnings\n")


def test_a_second_strategy_joins_the_project() -> None:
    outcome(*INIT)
    code, said = outcome("other", "--hardware", "cpu", "--yes")
    assert code == 0
    assert files_below() == sorted([*PROJECT, "strategies/other.yaml"])
    assert "\nstrategies/other.yaml written: 0 errors, 0 warnings\n" in said
    assert "\n  npx cdktf deploy other\n" in said
    assert "Project files" not in said
    first = Path("strategies/other.yaml").read_text(encoding="utf-8").splitlines()[0]
    assert first == "# yaml-language-server: $schema=../strategy.schema.json"


def test_another_folder() -> None:
    code, said = outcome(*INIT, "--output", "our clusters")
    assert code == 0
    assert files_below("our clusters") == PROJECT
    following = [line.strip() for line in said.partition("Next:")[2].splitlines() if line]
    assert following[0] == "cd 'our clusters'"
    for command in (each for each in following if each.startswith("eks-hardware ")):
        assert (Path("our clusters") / shlex.split(command)[-1]).is_file()


def test_with_an_environment_in_the_folder_none_is_made() -> None:
    _, said = outcome(*INIT)
    assert "python3 -m venv" in said
    Path("there/.venv/bin").mkdir(parents=True)
    Path("there/.venv/bin/python").touch()
    _, said = outcome(*INIT, "--output", "there")
    assert "python3 -m venv" not in said


# --- existing files


@pytest.mark.parametrize("path", [each.path for each in FILES if each.path != "cdktf.json"])
def test_a_file_that_is_there_stays(path: str) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text("mine\n", encoding="utf-8")
    code, said = outcome(*INIT, "--force")
    assert code == 0
    assert Path(path).read_text(encoding="utf-8") == "mine\n"
    (line,) = (line for line in said.splitlines() if line.strip().startswith(f"{path} "))
    needed = next(each.needed for each in FILES if each.path == path).replace("@source@", REQUIREMENT)
    assert line.split()[1].startswith("kept")
    assert line.endswith(needed)
    assert len(line) <= 80
    assert files_below() == PROJECT


OTHER = '{"app": "npx ts-node main.ts"}'
PLACES: dict[str, tuple[str, tuple[str, ...], list[str]]] = {
    "another app": (OTHER, (), ["cdktf.json", "demo.yaml"]),
    "another app, a project all the same": (OTHER, ("--project",), ["cdktf.json", "strategies/demo.yaml"]),
    "no app at all": ("not JSON", (), ["cdktf.json", "demo.yaml"]),
    "a folder of another app": (OTHER, ("--output", "a"), ["a/demo.yaml", "cdktf.json"]),
    "no project": ("", ("--no-project",), ["demo.yaml"]),
    "no project in a project": ('{"app": "python -m eks_hardware"}', ("--no-project",), ["cdktf.json", "demo.yaml"]),
    "a project": ('{"app": "uv run python -m eks_hardware"}', (), ["cdktf.json", "strategies/demo.yaml"]),
    "a folder of a project": ('{"app": "python -m eks_hardware"}', ("--output", "a"), ["a/demo.yaml", "cdktf.json"]),
}


@pytest.mark.parametrize(("content", "arguments", "expected"), PLACES.values(), ids=PLACES)
def test_where_the_strategy_goes(content: str, arguments: tuple[str, ...], expected: list[str]) -> None:
    if content:
        Path("cdktf.json").write_text(content, encoding="utf-8")
    code, said = outcome(*INIT, *arguments)
    assert (code, files_below()) == (0, expected)
    alone = "strategies/demo.yaml" not in expected
    assert ("EKS_HARDWARE_STRATEGIES=" in said) == (alone and "cdktf.json" in expected)


def test_a_project_in_a_folder_of_another_app() -> None:
    Path("cdktf.json").write_text(OTHER, encoding="utf-8")
    code, _ = outcome(*INIT, "--output", "a", "--project")
    assert (code, files_below("a")) == (0, PROJECT)


def test_a_strategy_that_is_there_stops_it_before_anything_is_written() -> None:
    Path("strategies").mkdir()
    Path("strategies/demo.yaml").write_text("mine\n", encoding="utf-8")
    code, said = outcome(*INIT)
    assert code == 2
    assert "--force" in said
    assert files_below() == ["strategies/demo.yaml"]


def test_a_file_of_the_project_that_cannot_be_written() -> None:
    Path(".github").touch()
    code, said = outcome(*INIT)
    assert code == 2
    assert "error: .github/workflows" in said
    Path(".github").unlink()
    code, said = outcome(*INIT, "--project", "--force")
    assert (code, files_below()) == (0, PROJECT)


# --- files of the project


def test_the_readme_says_what_there_is() -> None:
    outcome(*INIT)
    text = Path("README.md").read_text(encoding="utf-8")
    assert set(re.findall(r"eks-hardware ([a-z]+)", text)) - {"with"} <= set(COMMANDS)
    assert {"validate demo", "explain demo"} & set(re.findall(r"eks-hardware ([a-z]+ [a-z]+)", text))
    strategy = Path("strategies/demo.yaml")
    backend = text.split("```yaml\n", 1)[1].split("```", 1)[0]
    strategy.write_text(strategy.read_text(encoding="utf-8") + backend, encoding="utf-8")
    assert cli.outcome("validate")[0] == 0


def test_cdktf_json_runs_the_module() -> None:
    outcome(*INIT)
    content = json.loads(Path("cdktf.json").read_text(encoding="utf-8"))
    ours = json.loads((ROOT / "cdktf.json").read_text(encoding="utf-8"))
    assert content["app"] == ours["app"].replace("main.py", "-m eks_hardware")
    assert "python -m eks_hardware" in content["app"]
    assert set(ours) - set(content) == {"projectId"}


def test_versions_are_those_of_this_project() -> None:
    outcome(*INIT)
    assert Path("requirements.txt").read_text(encoding="utf-8") == f"eks-hardware~={eks_hardware.__version__}\n"
    content = json.loads(Path("package.json").read_text(encoding="utf-8"))
    ours = json.loads((ROOT / "package.json").read_text(encoding="utf-8"))
    cli = ours["devDependencies"]["cdktf-cli"]
    assert content["devDependencies"] == {"cdktf-cli": cli}
    assert (content["engines"], content["allowScripts"]) == (ours["engines"], ours["allowScripts"])
    told = {each.path: each for each in FILES}
    assert told["package.json"].purpose == f"cdktf-cli {cli}"
    assert told["package.json"].needed == f"must contain cdktf-cli {cli}"


def test_the_installed_wheel_is_in_the_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = tmp_path / "eks_hardware-0.1.0-py3-none-any.whl"
    wheel.write_bytes(b"wheel")
    monkeypatch.setattr(installed_from, "_direct_url", lambda: {"url": wheel.as_uri(), "archive_info": {}})
    _, said = outcome(*INIT)
    assert Path("requirements.txt").read_text(encoding="utf-8") == f"./wheels/{wheel.name}\n"
    assert Path("wheels", wheel.name).read_bytes() == b"wheel"
    assert f"  requirements.txt                  wheels/{wheel.name}\n" in said
    assert "  wheels/                           the wheel that you installed: commit it\n" in said
    _, said = outcome(*INIT, "--project", "--force")
    assert "  wheels/                           kept\n" in said


def test_a_checkout_on_this_machine_is_named_with_a_comment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = {"url": tmp_path.as_uri(), "dir_info": {"editable": True}}
    monkeypatch.setattr(installed_from, "_direct_url", lambda: recorded)
    outcome(*INIT)
    *comment, line = Path("requirements.txt").read_text(encoding="utf-8").splitlines()
    assert line == f"-e {tmp_path.as_uri()}"
    assert "CI and other machines cannot install it" in "".join(comment)
    assert all(each.startswith("# ") for each in comment)


def test_with_a_checkout_every_text_says_how_ci_can_install_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = {"url": tmp_path.as_uri(), "dir_info": {"editable": True}}
    monkeypatch.setattr(installed_from, "_direct_url", lambda: recorded)
    _, said = outcome(*INIT)
    commands = (
        "pip wheel --no-deps --wheel-dir wheels -r requirements.txt",
        f"echo ./wheels/{installed_from.WHEEL} > requirements.txt",
    )
    readme = Path("README.md").read_text(encoding="utf-8")
    for text in (said, readme):
        assert "CI and other machines cannot install" in text
        assert [each for each in commands if each not in text] == []
    assert f"pip install -e '{tmp_path.as_uri()}[local]'\n" in readme
    workflow = Path(".github/workflows/strategies.yml").read_text(encoding="utf-8")
    assert "This workflow fails as long as requirements.txt contains a path" in workflow


def test_from_an_index_no_text_mentions_other_sources() -> None:
    _, said = outcome(*INIT)
    readme = Path("README.md").read_text(encoding="utf-8")
    assert "pip wheel" not in said + readme
    assert f"pip install 'eks-hardware[local]~={eks_hardware.__version__}'\n" in readme


def test_a_private_api_is_followed_by_what_comes_next() -> None:
    _, said = outcome(*INIT, "--api-access", "private")
    last = [line.strip() for line in said.splitlines()[-3:]]
    assert last == [
        ".venv/bin/eks-hardware render strategies/demo.yaml --output kubernetes/demo",
        "aws eks update-kubeconfig --region us-west-2 --name demo",
        "kubernetes/demo/install.sh",
    ]
    assert "Terraform creates the cluster, but installs no charts." in said
    readme = Path("README.md").read_text(encoding="utf-8")
    assert "## Install the charts" in readme
    assert last[1] in readme
    assert cli.run("render", "demo", "--output", "kubernetes/demo").code == 0
    assert Path("kubernetes/demo/install.sh").is_file()


def test_a_public_api_needs_no_such_step() -> None:
    _, said = outcome(*INIT)
    assert "install.sh" not in said + Path("README.md").read_text(encoding="utf-8")


def test_the_schema_is_that_of_the_command() -> None:
    outcome(*INIT)
    strategy = Path("strategies/demo.yaml")
    named = strategy.read_text(encoding="utf-8").splitlines()[0].partition("$schema=")[2]
    assert (strategy.parent / named).read_text(encoding="utf-8") == cli.run("schema").out


def test_every_overlay_suits_the_strategy() -> None:
    outcome(*INIT)
    assert cli.outcome("validate", "--all-overlays", "--strict") == (
        0,
        "strategies/demo.yaml was also checked with 2 overlays: development, production\n"
        "1 file: 0 errors, 0 warnings\n",
    )


COMMIT = "0123456789abcdef0123456789abcdef01234567"
GIT = {"vcs_info": {"vcs": "git", "commit_id": COMMIT}, "url": "https://example.com/OWNER/eks-hardware"}
SOURCES: dict[str, tuple[dict[str, Any], bool]] = {
    "an index": ({}, False),
    "a Git URL": (GIT, True),
    "a folder of a repository": ({**GIT, "subdirectory": "a"}, False),
    "Mercurial": ({**GIT, "vcs_info": {"vcs": "hg", "commit_id": COMMIT}}, False),
    "a wheel on the web": ({"url": "https://example.com/a.whl", "archive_info": {}}, False),
}


@pytest.mark.parametrize(("recorded", "published"), SOURCES.values(), ids=SOURCES)
def test_the_hook_is_that_of_the_installed_source(
    recorded: dict[str, Any], published: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installed_from, "_direct_url", lambda: recorded)
    outcome(*INIT)
    (repository,) = yaml(".pre-commit-config.yaml")["repos"]
    (hook,) = repository["hooks"]
    (ours,) = yaml(str(ROOT / ".pre-commit-hooks.yaml"))
    if published:
        assert repository == {"repo": GIT["url"], "rev": COMMIT, "hooks": [{"id": ours["id"]}]}
        return
    assert repository["repo"] == "local"
    assert hook["entry"] == f".venv/bin/{ours['entry']}"
    assert {each: hook[each] for each in ("id", "files", "pass_filenames")} == {
        each: ours[each] for each in ("id", "files", "pass_filenames")
    }


def test_what_runs_leave_behind_is_ignored() -> None:
    outcome(*INIT)
    subprocess.run(["git", "init", "--quiet"], check=True)
    left = ("terraform.demo.tfstate", "cdktf.out/manifest.json", ".venv/x", "node_modules/x", "findings.sarif")
    kept = ("strategies/demo.yaml", "strategies/demo.lock.json", "package-lock.json", "overlays/test.yaml")
    done = subprocess.run(["git", "check-ignore", *left, *kept], capture_output=True, text=True, check=False)
    assert done.stdout.split() == list(left)


def test_the_workflow_has_the_permissions_that_it_needs() -> None:
    outcome(*INIT)
    workflow = yaml(".github/workflows/strategies.yml")
    on = workflow[True]  # the value of the key in YAML 1.1
    assert list(on) == ["push", "pull_request"]  # never pull_request_target, which has access to the secrets
    assert on["push"] == {"branches": ["main"], **on["pull_request"]}
    assert workflow["permissions"] == {}
    (job,) = workflow["jobs"].values()
    assert job["permissions"] == {
        "contents": "read",
        "pull-requests": "write",
        "actions": "read",
        "security-events": "write",
    }
    assert job["steps"][0]["with"] == {"persist-credentials": False, "fetch-depth": 0}
    assert job["timeout-minutes"] <= 30


def test_the_workflow_pins_what_it_runs() -> None:
    outcome(*INIT)
    (job,) = yaml(".github/workflows/strategies.yml")["jobs"].values()
    action = yaml(ACTION_FILE)
    used = [step["uses"] for step in (*job["steps"], *action["runs"]["steps"]) if "uses" in step]
    ours = [each for each in used if each.startswith("./")]
    assert [f"{each}/action.yml" for each in ours] == [f"./{ACTION_FILE}"]
    others = set(used) - set(ours)
    assert len(others) == 5
    assert [each for each in others if not re.fullmatch(r"(actions|github)/[a-z/-]+@v\d+", each)] == []


def test_the_action_is_that_of_this_repository() -> None:
    outcome(*INIT)
    assert Path(ACTION_FILE).read_text(encoding="utf-8") == (ROOT / "action.yml").read_text(encoding="utf-8")


def test_no_text_of_a_pull_request_is_code() -> None:
    """Scripts contain no ``${{ }}``; all values are environment variables."""
    outcome(*INIT)
    (job,) = yaml(".github/workflows/strategies.yml")["jobs"].values()
    scripts = [step["run"] for step in (*job["steps"], *yaml(ACTION_FILE)["runs"]["steps"]) if "run" in step]
    assert len(scripts) == 5
    assert [each for each in scripts if "${{" in each] == []


def test_every_input_is_used_and_described() -> None:
    text = (ROOT / "action.yml").read_text(encoding="utf-8")
    inputs = yaml(str(ROOT / "action.yml"))["inputs"]
    assert set(re.findall(r"inputs\.([\w-]+)", text)) == set(inputs)
    guide = (ROOT / "docs" / "guides" / "pull-requests.md").read_text(encoding="utf-8")
    assert set(re.findall(r"(?m)^\| `([\w-]+)` \|", guide)) >= set(inputs)


@pytest.mark.parametrize("access", ["private", "93.184.216.34/32"])
def test_every_path_and_page_in_the_written_files_exists(access: str) -> None:
    assert cli.run("init", *INIT, "--yes", "--api-access", access).code == 0
    titles = {each.read_text(encoding="utf-8").partition("\n")[0] for each in (ROOT / "docs").rglob("*.md")}
    made_later = {"kubernetes/demo", "kubernetes/demo/install.sh", "strategies/NAME.yaml"}
    for name in files_below(Path()):
        text = Path(name).read_text(encoding="utf-8")
        for guide in re.findall(r'guide\s+(?:# )?"(.+?)"', text):
            assert f"# {guide}" in titles, (name, guide)
        assert "docs/" not in text, name
        if not str(name).endswith("README.md"):
            continue
        assert max(map(len, text.splitlines())) <= 120
        paths = set(re.findall(r"`([\w.-]+(?:/[\w.-]+)*(?:/|\.\w+))`", text)) | set(
            re.findall(r"\]\((?!http)(.+?)\)", text)
        )
        assert "strategies/" in paths
        fields = {"scaling.min"}
        assert [each for each in paths - made_later - fields if not Path(each).exists()] == []
