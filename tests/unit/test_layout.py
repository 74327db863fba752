"""The rules that keep the folders apart: what is imported under which name, and what may import what."""

from __future__ import annotations

import ast
import fnmatch
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from helpers.paths import ROOT

CODE = ("config", "constructs", "eks_hardware", "stacks")
FRAMEWORK = re.compile(r"^(cdktf|cdktn|constructs|jsii|(cdktf_cdktf|cdktn)_provider_\w+)$")


def _files(*folders: str) -> list[Path]:
    return sorted(
        file for folder in folders for file in (ROOT / folder).rglob("*.py") if "__pycache__" not in file.parts
    )


def _relative(file: Path) -> str:
    return file.relative_to(ROOT).as_posix()


def _imports(file: Path) -> Iterator[str]:
    """The modules that a file imports anywhere, absolute."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module or ""
            # `from eks_hardware import constructs` imports a package, too.
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _breaches(folders: tuple[str, ...], forbidden: str) -> list[str]:
    return [
        f"{_relative(file)} imports {name}"
        for file in _files(*folders)
        for name in _imports(file)
        if re.match(forbidden, name)
    ]


def _python(code: str) -> str:
    """Run code the way ``python main.py`` runs: with the repository's root first on the path."""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_constructs_is_no_package() -> None:
    """With an ``__init__.py`` it would hide the library of that name, and ``import cdktf`` would fail."""
    assert not (ROOT / "constructs" / "__init__.py").exists()


def test_constructs_is_the_library_from_the_root_too() -> None:
    origin = _python("import importlib.util; print(importlib.util.find_spec('constructs').origin)")
    assert origin.endswith("constructs/__init__.py")
    assert "site-packages" in origin


def test_ours_are_imported_under_the_umbrella() -> None:
    origin = _python("import importlib.util as u; print(u.find_spec('eks_hardware.constructs.network').origin)")
    assert origin == str(ROOT / "constructs" / "network" / "__init__.py")


def test_nothing_of_ours_is_imported_without_the_umbrella() -> None:
    folders = [folder.name for folder in (ROOT / "constructs").iterdir() if folder.is_dir()]
    ours = rf"^(config|stacks)(\.|$)|^constructs\.({'|'.join(folders)})(\.|$)"
    assert _breaches((*CODE, "tests", "examples"), ours) == []


def test_every_folder_of_constructs_is_a_package() -> None:
    lacking = {file.parent for file in _files("constructs") if not (file.parent / "__init__.py").exists()}
    assert {_relative(folder) for folder in lacking} <= {"constructs"}


def _pyproject() -> dict[str, Any]:
    tomllib = pytest.importorskip("tomllib")  # Python 3.11
    content: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return content["tool"]["setuptools"]


def _package(folder: Path) -> str:
    parts = folder.relative_to(ROOT).parts
    return ".".join(parts if parts[0] == "eks_hardware" else ("eks_hardware", *parts))


def test_every_package_is_published() -> None:
    """A mapping of folders needs the list written out; a package that is missing there is missing in the wheel."""
    packages = {_package(file.parent) for file in _files(*CODE) if file.name == "__init__.py"}
    assert sorted(_pyproject()["packages"]) == sorted({*packages, "eks_hardware.constructs"})


def test_every_data_file_is_published() -> None:
    data = _pyproject()["package-data"]
    packages = set(_pyproject()["packages"])
    files = [
        file
        for folder in CODE
        for file in (ROOT / folder).rglob("*")
        if file.is_file() and file.suffix not in (".py", ".pyc") and not file.name.startswith(".")
    ]
    assert files
    lacking = []
    for file in files:
        holder = next(folder for folder in file.parents if _package(folder) in packages)
        inside = file.relative_to(holder).as_posix()
        # fnmatch's * crosses folders, that of setuptools does not.
        matches = [
            pattern
            for pattern in data.get(_package(holder), [])
            if fnmatch.fnmatch(inside, pattern) and inside.count("/") == pattern.count("/")
        ]
        if not matches:
            lacking.append(f"{_package(holder)}: {inside}")
    assert lacking == []


def test_every_pattern_of_data_files_finds_some() -> None:
    folders = {_package(file.parent): file.parent for file in _files(*CODE) if file.name == "__init__.py"}
    for package, patterns in _pyproject()["package-data"].items():
        folder = folders[package]
        # Facts come in either format, so that one of two patterns may find nothing.
        assert any(True for pattern in patterns for _ in folder.glob(pattern)), package


def test_only_one_file_imports_the_framework() -> None:
    """Moving to CDK Terrain for good changes this file (docs/guides/cdk-terrain.md)."""
    importing = {
        _relative(file)
        for file in [*_files(*CODE, "examples"), ROOT / "main.py"]
        for name in _imports(file)
        if FRAMEWORK.match(name.split(".")[0])
    }
    theirs = {name for name in importing if name.startswith("examples/")}
    assert importing - theirs == {"eks_hardware/_cdk.py"}


def test_everything_imported_from_the_framework_is_exported() -> None:
    tree = ast.parse((ROOT / "eks_hardware" / "_cdk.py").read_text(encoding="utf-8"))
    imported = {alias.name for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assigned = next(node for node in tree.body if isinstance(node, ast.Assign))
    assert set(ast.literal_eval(assigned.value)) == imported


def test_config_needs_neither_framework_nor_sdk() -> None:
    loaded = _python(
        "import importlib, pkgutil, sys, eks_hardware.config as config\n"
        "for module in pkgutil.walk_packages(config.__path__, 'eks_hardware.config.'):\n"
        "    importlib.import_module(module.name)\n"
        "print(sum(name.startswith('eks_hardware.config.') for name in sys.modules) > 20,"
        " sorted({'boto3', 'cdktf', 'constructs', 'jsii', 'moto', 'rich', 'typer'} & set(sys.modules)))"
    )
    assert loaded == "True []"


def test_config_is_the_lowest_layer() -> None:
    assert _breaches(("config",), r"^eks_hardware\.(?!config\b)") == []


def test_constructs_see_only_config_and_manifests() -> None:
    assert _breaches(("constructs",), r"^eks_hardware\.(?!config\b|constructs\b|kubernetes\b|_cdk\b)") == []


def test_manifests_see_only_config() -> None:
    assert _breaches(("eks_hardware/kubernetes",), r"^eks_hardware\.(?!config\b|kubernetes\b)") == []


def test_what_commands_show_does_not_see_the_command_line() -> None:
    folders = ("advisor", "changes", "explain", "page", "project", "workloads")
    upwards = r"^eks_hardware\.(cli|constructs|doctor|local|stacks)\b"
    assert _breaches(tuple(f"eks_hardware/{folder}" for folder in folders), upwards) == []


def test_stacks_do_not_see_the_command_line() -> None:
    allowed = r"advisor\.loading\b|(config|constructs|kubernetes|stacks|_cdk|_framework|_startup|local\.terraform)\b"
    assert _breaches(("stacks",), rf"^eks_hardware\.(?!{allowed})") == []


def test_the_command_line_needs_no_node() -> None:
    """`eks-hardware validate` answers at once. ``stacks.app`` imports the framework when it synthesizes."""
    found = _breaches(("eks_hardware",), r"^eks_hardware\.(constructs\b|stacks\.(?!app\b)|_cdk\b)")
    # Fixtures synthesize; nothing but tests loads them.
    assert [each for each in found if not each.startswith("eks_hardware/testing/fixtures.py ")] == []


def test_what_tests_use_is_used_by_nothing_else() -> None:
    folders = [f"eks_hardware/{each.name}" for each in (ROOT / "eks_hardware").iterdir() if each.is_dir()]
    others = tuple(each for each in folders if each != "eks_hardware/testing")
    assert _breaches(("config", "constructs", "stacks", *others), r"^(eks_hardware\.testing|pytest)\b") == []
    importing = [_relative(file) for file in _files("eks_hardware/testing") if "pytest" in _imports(file)]
    assert importing == ["eks_hardware/testing/fixtures.py"]


def test_constructs_read_neither_files_nor_environment() -> None:
    assert _breaches(("constructs",), r"^(os|io|pathlib|subprocess|shutil|tempfile|glob)(\.|$)") == []
    calls = [
        f"{_relative(file)}:{node.lineno} {node.func.id}"
        for file in _files("constructs")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("open", "exec", "eval")
    ]
    assert calls == []


def test_main_is_only_an_entry() -> None:
    text = (ROOT / "main.py").read_text(encoding="utf-8")
    code = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith(("#", '"""'))]
    assert len(code) <= 10
