"""Types: mypy in strict mode and pyright find nothing, and pyright resolves every import of a checkout."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from helpers.answers import Answer, contents, packages
from helpers.paths import ROOT, repository_files

PYRIGHT = ROOT / "node_modules" / ".bin" / "pyright"


def pyright(*files: Path) -> dict[str, Any]:
    """Return pyright's report for these files, or for all files in ``pyproject.toml``."""
    done = subprocess.run(
        [str(PYRIGHT), "--outputjson", *map(str, files)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def of_the_repository() -> dict[str, Any]:
    """Return the report on everything, cached until a file, setting or package changes."""
    files = [ROOT / name for name in repository_files() if name.endswith((".py", ".pyi"))]
    settings = [ROOT / "pyproject.toml", ROOT / "package-lock.json"]
    answer = Answer("pyright", [sys.version, *packages(), *contents([*files, *settings])])
    report: dict[str, Any] = answer.get(pyright)
    return report


def diagnostics(report: dict[str, Any]) -> list[str]:
    return [
        f"{Path(each['file']).name}:{each['range']['start']['line'] + 1} {each.get('rule')} {each['message']}"
        for each in report["generalDiagnostics"]
    ]


def test_pyright_finds_nothing_and_resolves_every_import() -> None:
    report = of_the_repository()
    assert diagnostics(report) == []
    assert report["summary"]["filesAnalyzed"] > 500


def test_pyright_would_find_an_import_that_leads_nowhere_and_a_key_that_no_data_file_has(tmp_path: Path) -> None:
    file = tmp_path / "app.py"
    file.write_text(
        "from eks_hardware import Cluster, NodeGroupSpec\n"
        "from eks_hardware.resolve import resolve_nowhere\n"
        "import eks_hardware.nowhere\n"
        "reveal_type(Cluster)\n"
        "from eks_hardware import facts\n"
        "facts.choices.cite(lambda file: file['metadata_hop_limit']['pods'])\n"
        "facts.choices.cite(lambda file: file['metadata_hop_limit']['renamed'])\n",
        encoding="utf-8",
    )
    rules = {(each["range"]["start"]["line"] + 1, each.get("rule")) for each in pyright(file)["generalDiagnostics"]}
    assert {(2, "reportAttributeAccessIssue"), (3, "reportMissingImports")} <= rules
    assert {line for line, _ in rules} & {1, 6, 7} == {7}


def test_mypy_finds_nothing() -> None:
    done = subprocess.run([sys.executable, "-m", "mypy"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.splitlines()[:-1]) == (0, []), done.stdout


def test_mypy_knows_the_types_of_the_provider(tmp_path: Path) -> None:
    """Its package, which imports 2,200 modules, is not read (pyproject.toml), but the modules are."""
    file = tmp_path / "app.py"
    file.write_text("from eks_hardware._cdk import EksCluster\nreveal_type(EksCluster.nowhere)\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", str(file)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert 'error: "type[EksCluster]" has no attribute "nowhere"' in done.stdout, done.stdout
