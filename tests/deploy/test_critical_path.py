"""The critical path with the real ``terraform graph``, and the page that quotes it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from benchmarks import critical_path
from helpers.paths import ROOT
from helpers.running import Run
from helpers.shared import Once
from helpers.synthesized import stacks_in, with_overlay

PAGE = (ROOT / "docs" / "explanation" / "deployment-time.md").read_text(encoding="utf-8")


@pytest.fixture(autouse=True)
def _graphs(terraform_cli: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the real ``terraform graph`` once per stack and version, and keep what it prints."""
    run = critical_path.terraform_graph

    def kept(document: Mapping[str, Any], folder: Path) -> str:
        code = Path(critical_path.__file__).read_bytes()
        return str(terraform_cli.answer("graph", code, json.dumps(document)).get(lambda: run(document, folder)))

    for name, value in terraform_cli.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(critical_path, "terraform_graph", kept)


def test_the_page_quotes_what_is_printed(
    once: Once, lazy_run: Run, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """From stacks that are synthesized for other tests, too. For the last test, the program synthesizes one."""
    stacks = {"": stacks_in(lazy_run.outdir), "manifests": with_overlay(once, "manifests")}

    def synthesized(strategy: str, _: Path, *, overlay: str = "") -> dict[str, Any]:
        return next(each.document for each in stacks[overlay] if each.stack == strategy)

    monkeypatch.setattr(critical_path, "synthesized", synthesized)
    assert critical_path.main([]) == 0
    printed = capsys.readouterr().out
    quoted = re.search(
        r"^```console\n\$ python -m benchmarks.critical_path\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL
    )
    assert quoted
    assert quoted[1] == printed


def test_the_page_has_the_reason_of_each_edge(capsys: pytest.CaptureFixture[str]) -> None:
    assert critical_path.main(["--edges"]) == 0
    assert capsys.readouterr().out in PAGE


def test_the_page_names_each_source() -> None:
    for name, source in critical_path.Durations.sources().items():
        assert f"- `{name}`, {source['as_of']}: [{source['what']}]({source['url']})." in PAGE


def test_edges_are_those_of_terraform_graph(tmp_path: Path) -> None:
    """Those of mixed-hardware are compared before the page's figures are printed."""
    document = critical_path.synthesized("gpu-inference", tmp_path / "out", overlay="manifests")
    (tmp_path / "stack").mkdir()
    printed = critical_path.terraform_graph(document, tmp_path / "stack")
    assert critical_path.derivation_differs(document, printed) == []
    # A missing edge is detected.
    group = next(iter(document["resource"]["aws_eks_node_group"].values()))
    group["depends_on"] = [each for each in group["depends_on"] if "kube-proxy" not in each]
    assert critical_path.derivation_differs(document, printed)
