"""``eks-hardware recommend --output`` outside a project: the project around the strategy."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from eks_hardware import installed_from
from eks_hardware.new_project import FILES
from helpers import cli
from helpers.paths import files_below

RECOMMEND = ("--task", "inference", "--model", "8B", "--region", "us-west-2")
PROJECT = {each.path for each in FILES}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder, which is also the working folder."""
    folder = tmp_path / "clusters"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setattr(installed_from, "_direct_url", dict)  # as installed from an index
    return folder


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["eks_hardware.cli.commands.recommend"], "at_terminal", lambda: True)


def recommend(*arguments: str, stdin: str | None = None) -> cli.Run:
    return cli.run("recommend", *RECOMMEND, *arguments, stdin=stdin)


def test_without_a_terminal_it_says_how() -> None:
    done = recommend("-o", "chat.yaml")
    assert (done.code, files_below()) == (0, ["chat.yaml"])
    assert done.err.endswith(
        "\nNext:\n"
        "  eks-hardware validate chat.yaml\n"
        "  eks-hardware cost chat.yaml\n"
        "  repeat the command with --project to create a project that can deploy it\n"
    )


def test_that_way_works() -> None:
    done = recommend("-o", "chat.yaml", "--project")
    assert (done.code, files_below()) == (0, sorted(["strategies/chat.yaml", *PROJECT]))
    assert done.err.endswith(
        "\nNext:\n"
        "  python3 -m venv .venv && .venv/bin/pip install -r requirements.txt\n"
        "  npm install\n"
        "  .venv/bin/eks-hardware validate strategies/chat.yaml\n"
        "  .venv/bin/eks-hardware cost strategies/chat.yaml\n"
        "  npx cdktf deploy chat\n"
    )
    assert Path("strategies/chat.yaml").read_text(encoding="utf-8").startswith("# yaml-language-server: $schema=../")
    assert cli.outcome("validate")[0] == 0
    assert recommend("-o", "strategies/other.yaml").code == 0
    lines = [Path(f"strategies/{name}.yaml").read_text(encoding="utf-8").splitlines() for name in ("chat", "other")]
    assert lines[0][0] == lines[1][0] == "# yaml-language-server: $schema=../strategy.schema.json"
    assert recommend("-o", "strategies/other.yaml", "--project", "--force").code == 0
    assert Path("strategies/other.yaml").read_text(encoding="utf-8").splitlines() == lines[1]


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize("output", ["chat.yaml", "strategies/chat.yaml"])
def test_at_a_terminal_it_offers_to(folder: Path, output: str) -> None:
    Path("strategies").mkdir()
    done = recommend("-o", output, stdin="\n")
    assert f"{folder} is not a CDKTF project; deploying needs one. Create it? [yes]: " in done.err
    assert (done.code, files_below()) == (0, sorted(["strategies/chat.yaml", *PROJECT]))


@pytest.mark.usefixtures("terminal")
def test_the_answer_can_be_no() -> None:
    done = recommend("-o", "chat.yaml", stdin="n\n")
    assert (done.code, files_below()) == (0, ["chat.yaml"])
    done = recommend("-o", "other.yaml", "--no-project")
    assert "Create one?" not in done.err


@pytest.mark.usefixtures("terminal")
def test_in_a_project_nothing_is_asked() -> None:
    Path("cdktf.json").write_text('{"app": "python -m eks_hardware"}', encoding="utf-8")
    done = recommend("-o", "chat.yaml")
    assert (done.code, files_below()) == (0, ["cdktf.json", "chat.yaml"])
    assert done.err.endswith("\n  EKS_HARDWARE_STRATEGIES=chat.yaml npx cdktf deploy chat\n")


def test_another_folder() -> None:
    done = recommend("-o", "ours/chat.yaml", "--project")
    assert done.code == 0
    assert "Next:\n  cd ours\n" in done.err
    assert "ours/strategies/chat.yaml" in files_below()


def test_a_strategy_of_the_project_is_kept() -> None:
    Path("strategies").mkdir()
    Path("strategies/chat.yaml").write_text("mine\n", encoding="utf-8")
    done = recommend("-o", "chat.yaml", "--project")
    assert done.code == 2
    assert "strategies/chat.yaml: already exists; chat.yaml is not moved there" in done.err
    assert Path("strategies/chat.yaml").read_text(encoding="utf-8") == "mine\n"
    assert recommend("-o", "chat.yaml", "--project", "--force").code == 0


def test_a_project_needs_an_output() -> None:
    done = recommend("--project")
    assert done.code == 2
    assert "--project requires --output FILE" in done.err


def test_a_private_api_is_followed_by_what_comes_next() -> None:
    done = recommend("-o", "chat.yaml", "--project", "--api-access", "private")
    assert done.err.endswith("\n  kubernetes/chat/install.sh\n")
    assert "--name chat\n" in done.err
    assert "## Install the charts" in Path("README.md").read_text(encoding="utf-8")


def test_without_hardware_that_fits_no_folder_is_left(folder: Path) -> None:
    done = recommend("-o", "new/chat.yaml", "--project", "--model", "20T")
    assert (done.code, list(folder.iterdir())) == (1, [])
