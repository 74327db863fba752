"""The project in docs/guides/testing.md is assembled and tested as written: passing tests, and failure messages."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from helpers.paths import ROOT

GUIDE = (ROOT / "docs" / "guides" / "testing.md").read_text(encoding="utf-8")
_FILE = re.compile(r"^`([\w./]+)`:\n\n```\w+\n(.*?)^```", re.MULTILINE | re.DOTALL)
_OUTPUT = re.compile(r"^```text\n(.*?)^```", re.MULTILINE | re.DOTALL)
FILES = dict(_FILE.findall(GUIDE))


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("another team")
    for name, text in FILES.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return folder


def run_pytest(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("EKS_HARDWARE", "PYTEST"))}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider", *arguments],
        cwd=project,
        env={**environment, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def test_all_files_are_there() -> None:
    assert list(FILES) == [
        "pytest.ini",
        "conftest.py",
        "strategies/chat.yaml",
        "tests/test_chat.py",
        "team.py",
        "tests/test_team.py",
        "tests/test_failing.py",
        "tests/test_constructs.py",
    ]


def test_what_should_pass_passes_and_the_rest_says_what_the_guide_says(project: Path) -> None:
    """In one process, because synthesizing takes most of the time."""
    done = run_pytest(project, "-rA")
    assert (done.returncode, done.stderr) == (1, ""), done.stdout
    outcomes = Counter(re.findall(r"^(PASSED|FAILED|ERROR) (tests/\w+\.py)::", done.stdout, re.MULTILINE))
    failing = FILES["tests/test_failing.py"].count("def test_")
    assert outcomes.pop(("FAILED", "tests/test_failing.py")) == failing
    assert outcomes.total() == 8
    assert set(outcomes) == {("PASSED", f"tests/test_{name}.py") for name in ("chat", "constructs", "team")}
    # As pytest shows it, without its margin.
    said = "".join(f"{line[12:]}\n" for line in done.stdout.splitlines() if re.match(r"E {3}", line))
    assert said == "".join(_OUTPUT.findall(GUIDE))


def test_without_strategies_it_says_how_to_name_some(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(FILES["conftest.py"], encoding="utf-8")
    (tmp_path / "test_chat.py").write_text(FILES["tests/test_chat.py"], encoding="utf-8")
    done = run_pytest(tmp_path)
    assert done.returncode == 1
    assert "no strategies are set; set eks_hardware_strategies in pytest.ini" in done.stdout


def test_a_fault_in_a_strategy_is_shown_with_its_line_and_one_in_sections_with_its_code(tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        faulty = text.replace("g6e.xlarge", "g6e.3xlarge").replace("p5.48xlarge", "g6.xlarge")
        (tmp_path / name).write_text(faulty, encoding="utf-8")
    done = run_pytest(tmp_path, "tests/test_chat.py", "tests/test_constructs.py")
    assert done.returncode == 1
    assert re.search(r"chat.yaml:8:\d+: error INSTANCE_TYPE_UNKNOWN", done.stdout)
    assert "error EFA_UNSUPPORTED node_groups[h100].instance_types[0]" in done.stdout
