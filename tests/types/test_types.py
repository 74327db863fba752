"""Types: mypy in strict mode and pyright find nothing, and pyright resolves every import of a checkout."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from helpers.paths import ROOT
from helpers.typed_files import answers, imports, interface, names, typed_files

PYRIGHT = ROOT / "node_modules" / ".bin" / "pyright"
NOTHING_TO_CHECK: dict[str, Any] = {"generalDiagnostics": [], "summary": {"filesAnalyzed": 0}}


def pyright(*files: Path) -> dict[str, Any]:
    """Return pyright's report for these files, or for all files in ``pyproject.toml``."""
    done = subprocess.run(
        [str(PYRIGHT), "--outputjson", *map(str, files)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def diagnostics(report: dict[str, Any]) -> list[str]:
    return [
        f"{Path(each['file']).name}:{each['range']['start']['line'] + 1} {each.get('rule')} {each['message']}"
        for each in report["generalDiagnostics"]
    ]


def test_pyright_finds_nothing_and_resolves_every_import() -> None:
    """Only files whose answer can be another one are checked again (helpers/typed_files.py)."""
    kept = answers(typed_files())
    assert len(kept) > 500
    new = {(ROOT / name).as_posix(): answer for name, answer in kept.items() if answer.kept() is None}
    report = pyright(*map(Path, new)) if new else NOTHING_TO_CHECK
    faulty = {each["file"] for each in report["generalDiagnostics"]}
    assert report["summary"]["filesAnalyzed"] == len(new)
    assert faulty <= new.keys()
    for file in new.keys() - faulty:
        new[file].keep([])
    assert diagnostics(report) == []


_MODULE = """
LIMIT = 3

class Group:
    size: int = 1

    def __init__(self, name: str) -> None:
        self.name = name

    def first(self, count: int) -> int:
        return count + 1

def inferred(count):
    return count + 1
"""


@pytest.mark.parametrize(
    ("before", "after", "changes"),
    [
        ("return count + 1\n\n", "total = count * 2\n        return total\n\n", False),
        ("LIMIT = 3", "# A comment.\nLIMIT = 3", False),
        ("LIMIT = 3", "LIMIT = 'three'", True),
        ("size: int", "size: str", True),
        ("self.name = name", "self.name = len(name)", True),
        ("count: int", "count: float", True),
        ("-> int", "-> float", True),
        ("return count + 1\n\n", "yield count\n\n", True),
        ("return count + 1\n\n", "...\n\n", True),
        ("(count):\n    return count", "(count):\n    return 'a' * count", True),
        ("def first", "@property\n    def first", True),
    ],
)
def test_only_a_change_of_its_interface_reaches_files_that_import_it(before: str, after: str, changes: bool) -> None:
    assert _MODULE.count(before) == 1
    one, other = (interface(ast.parse(each)) for each in (_MODULE, _MODULE.replace(before, after)))
    assert (one != other) is changes


def test_every_import_of_a_file_is_found() -> None:
    """As pyright resolves it: from the repository, from tests/, from the file's folder, and in packages."""
    sources = {
        "a/__init__.py": "from a.b import c",
        "a/b/__init__.py": "",
        "a/b/c.py": "from . import d\nfrom .. import b",
        "a/b/d.py": "def f() -> None:\n    import helpers.x",
        "tests/helpers/x.py": "import beside",
        "tests/helpers/beside.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import a.b.c",
    }
    assert imports({name: names(name, ast.parse(source)) for name, source in sources.items()}) == {
        "a/__init__.py": {"a/__init__.py", "a/b/__init__.py", "a/b/c.py"},
        "a/b/__init__.py": set(),
        "a/b/c.py": {"a/__init__.py", "a/b/__init__.py", "a/b/d.py"},
        "a/b/d.py": {"tests/helpers/x.py"},
        "tests/helpers/x.py": {"tests/helpers/beside.py"},
        "tests/helpers/beside.py": {"a/__init__.py", "a/b/__init__.py", "a/b/c.py"},
    }


def test_pyright_would_find_an_import_that_leads_nowhere(tmp_path: Path) -> None:
    file = tmp_path / "app.py"
    file.write_text(
        "from eks_hardware import Cluster, NodeGroupSpec\n"
        "from eks_hardware.resolve import resolve_nowhere\n"
        "import eks_hardware.nowhere\n"
        "reveal_type(Cluster)\n",
        encoding="utf-8",
    )
    rules = {(each["range"]["start"]["line"] + 1, each.get("rule")) for each in pyright(file)["generalDiagnostics"]}
    assert {(2, "reportAttributeAccessIssue"), (3, "reportMissingImports")} <= rules
    assert not [line for line, rule in rules if line == 1]


def test_mypy_finds_nothing() -> None:
    done = subprocess.run([sys.executable, "-m", "mypy"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.splitlines()[:-1]) == (0, []), done.stdout
