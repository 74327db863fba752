"""``eks-hardware report``: its output, and the files that it refuses to overwrite."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import pytest

from eks_hardware import __version__
from helpers import cli
from helpers.cases import in_one_test
from helpers.paths import ROOT, TESTS
from helpers.strategies import SHIPPED, group, write_document

run = partial(cli.run, "report")


@in_one_test("name", SHIPPED)
def test_every_shipped_strategy(tmp_path: Path, name: str) -> None:
    out = tmp_path / "report.html"
    code, said, _ = run(name, "--output", str(out))
    text = out.read_text(encoding="utf-8")
    assert code == 0
    assert said == f"{out}: {name}, {len(text.encode()) / 1000:,.0f} kB; open it in a browser\n"
    assert text.startswith("<!doctype html>")
    assert text.endswith("</html>\n")
    assert f"Created by eks-hardware {__version__}" in text


def test_stdout_has_the_page_and_nothing_else() -> None:
    """A warning goes to stderr."""
    code, page, said = run("mixed-hardware", "--output", "-")
    assert code == 0
    assert (page[:15], page[-8:]) == ("<!doctype html>", "</html>\n")
    assert said == "1 warning; see `eks-hardware validate mixed-hardware`\n"


def test_a_page_is_replaced(tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    run("development", "--output", str(out))
    assert run("cpu-inference", "--output", str(out))[0] == 0
    assert "<title>cpu-inference" in out.read_text(encoding="utf-8")


@in_one_test("name", ["mine.yaml", "mine.YML", "README.md", "notes"])
def test_nothing_else_is_written_over(tmp_path: Path, name: str) -> None:
    out = tmp_path / name
    out.write_text("mine\n", encoding="utf-8")
    code, said, problem = run("development", "--output", str(out))
    assert (code, said) == (2, "")
    assert problem.startswith("error: --output ")
    assert out.read_text(encoding="utf-8") == "mine\n"


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    """A FIFO without a reader would hang; a message after the page on stdout would make it invalid."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    for place, why in (
        (fifo, "not a regular file"),
        (tmp_path, "not a regular file"),
        (Path("/dev/zero"), "not a regular file"),
    ):
        code, said, problem = run("development", "--output", str(place))
        assert (code, said) == (2, "")
        assert why in problem


def test_a_new_file_with_the_name_of_a_strategy_is_not_written(tmp_path: Path) -> None:
    assert run("development", "--output", str(tmp_path / "new.yaml"))[0] == 2
    assert list(tmp_path.iterdir()) == []


def test_an_empty_file_is_filled(tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    out.touch()
    assert run("development", "--output", str(out))[0] == 0


@pytest.mark.parametrize("place", ["missing/report.html", "."])
def test_a_place_where_nothing_can_be_written(tmp_path: Path, place: str) -> None:
    code, said, problem = run("development", "--output", str(tmp_path / place))
    assert (code, said) == (2, "")
    assert problem.splitlines()[-1].startswith("error: --output ")
    assert "Traceback" not in problem


def test_errors_in_the_strategy_leave_everything_as_it_was(tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    code, said, problem = run(str(TESTS / "corpus" / "bad" / "efa-unsupported.yaml"), "--output", str(out))
    assert (code, said) == (1, "")
    assert "EFA_UNSUPPORTED" in problem
    assert not out.exists()


def test_what_is_too_dear_can_be_looked_at(tmp_path: Path) -> None:
    file = write_document(tmp_path / "mine.yaml", budget={"usd_per_month_at_max": 1})
    out = tmp_path / "mine.html"
    code, said, problem = run(str(file), "--output", str(out))
    assert (code, said.startswith(f"{out}: ")) == (1, True)
    assert "BUDGET_EXCEEDED" in problem
    assert "error BUDGET_EXCEEDED" in out.read_text(encoding="utf-8")


def test_a_strategy_that_is_not_there(tmp_path: Path) -> None:
    code, _, problem = run("no-such", "--output", str(tmp_path / "report.html"))
    assert code == 2
    assert "is not a file or the name of a strategy" in problem


def test_a_folder_of_several_strategies(tmp_path: Path) -> None:
    code, _, problem = run(str(ROOT / "config" / "strategies"), "--output", str(tmp_path / "report.html"))
    assert code == 2
    assert f"contains {len(SHIPPED)} strategies; name one of them" in problem


def test_without_output_it_is_wrong_usage() -> None:
    assert run("development")[0] == 2


def test_an_overlay(tmp_path: Path) -> None:
    pages: list[str] = []
    for arguments in ([], ["--overlay", "private"]):
        out = tmp_path / f"{len(pages)}.html"
        assert run("development", "--output", str(out), *arguments)[0] == 0
        pages.append(out.read_text(encoding="utf-8"))
    assert "public to 0.0.0.0/0" in pages[0]
    assert "public to" not in pages[1]


def test_a_strategy_of_ones_own(tmp_path: Path) -> None:
    file = write_document(tmp_path / "mine.yaml", group("g6.xlarge", name="inference"), description="Ours & <theirs>")
    out = tmp_path / "mine.html"
    assert run(str(file), "--output", str(out))[0] == 0
    text = out.read_text(encoding="utf-8")
    assert "Ours &amp; &lt;theirs&gt;" in text
    assert ">inference<" in text
