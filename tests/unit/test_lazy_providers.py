"""The import hook of the provider packages, without Node, on packages for this test."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import sys
import typing
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from eks_hardware import _lazy_providers
from eks_hardware._lazy_providers import EAGER_SWITCH, install

MARK = "# Loading modules to ensure their types are registered with the jsii runtime library\n"
NAME = "a_fake_provider"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Create a provider package with two sub-modules, one of them broken; removed afterwards."""
    folder = tmp_path / NAME
    folder.mkdir()
    (folder / "__init__.py").write_text(f"{MARK}from . import bucket, broken\n", encoding="utf-8")
    (folder / "bucket.py").write_text("class Bucket: ...\n", encoding="utf-8")
    (folder / "broken.py").write_text("import no_such_dependency\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(_lazy_providers, "PROVIDERS", frozenset({NAME}))
    monkeypatch.delenv(EAGER_SWITCH, raising=False)
    install()
    yield folder
    for name in [name for name in sys.modules if name.split(".")[0] == NAME]:
        del sys.modules[name]


def _root() -> ModuleType:
    return importlib.import_module(NAME)


@pytest.mark.usefixtures("package")
def test_the_root_imports_no_submodule() -> None:
    _root()
    assert not [name for name in sys.modules if name.startswith(f"{NAME}.")]


@pytest.mark.usefixtures("package")
def test_a_submodule_is_imported_when_it_is_asked_for() -> None:
    root = _root()
    assert root.bucket.Bucket.__module__ == f"{NAME}.bucket"
    assert importlib.import_module(f"{NAME}.bucket") is root.bucket


def test_type_hints_of_a_function_are_evaluated_once(package: Path) -> None:
    """Generated classes ask for them in every constructor. Other modules keep the ``typing`` that they imported."""
    source = "import typing\n\ndef stub(name: 'typing.Optional[Bucket]') -> None: ...\n\nclass Bucket: ...\n"
    (package / "hinted.py").write_text(source, encoding="utf-8")
    module = _root().hinted
    hints = module.typing.get_type_hints(module.stub)
    assert hints == typing.get_type_hints(module.stub)
    assert hints["name"] == module.Bucket | None
    assert module.typing.get_type_hints(module.stub) is hints
    assert typing.get_type_hints(module.stub) is not hints
    assert inspect.getsource(module) == source


@pytest.mark.usefixtures("package")
def test_fails_for_an_unknown_name() -> None:
    with pytest.raises(AttributeError, match=f"module '{NAME}' has no attribute 'nothing'"):
        _ = _root().nothing
    assert not hasattr(_root(), "__wrapped__")


@pytest.mark.usefixtures("package")
def test_fails_with_the_cause_when_a_submodule_lacks_a_dependency() -> None:
    with pytest.raises(ModuleNotFoundError, match="no_such_dependency"):
        _ = _root().broken


def test_files_of_the_package_are_found(package: Path) -> None:
    root = _root()
    assert root.__file__ == str(package / "__init__.py")
    assert list(root.__path__) == [str(package)]


def test_a_package_that_is_already_lazy_is_left_alone(package: Path) -> None:
    """As jsii-pacmak writes it since 1.135."""
    (package / "__init__.py").write_text("OWN = 1\n", encoding="utf-8")
    assert _root().OWN == 1


@pytest.mark.usefixtures("package")
def test_a_package_that_is_already_imported_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    before = ModuleType(NAME)
    monkeypatch.setitem(sys.modules, NAME, before)
    install()
    assert _root() is before


@pytest.mark.parametrize(("value", "eager"), [("1", True), ("true", True), ("0", False), ("", False)])
def test_it_can_be_switched_off(package: Path, monkeypatch: pytest.MonkeyPatch, value: str, eager: bool) -> None:
    monkeypatch.setenv(EAGER_SWITCH, value)
    (package / "__init__.py").write_text(f"{MARK}EAGER = True\n", encoding="utf-8")
    assert getattr(_root(), "__dict__", {}).get("EAGER", False) is eager


def test_a_package_that_is_not_installed_is_not_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_lazy_providers, "PROVIDERS", frozenset({"no_such_provider"}))
    install()
    with pytest.raises(ModuleNotFoundError, match="no_such_provider"):
        importlib.import_module("no_such_provider")


def test_the_hook_is_installed_once() -> None:
    install()
    before = list(sys.meta_path)
    install()
    assert sys.meta_path == before


def test_the_hook_covers_the_provider() -> None:
    root = importlib.import_module("cdktf_cdktf_provider_aws")
    with pytest.raises(AttributeError):
        _ = root.no_such_resource
    assert "cdktf_cdktf_provider_aws" in _lazy_providers.PROVIDERS


# --- Node


@pytest.fixture
def node_hook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the file that Node must load, in a folder whose path needs quotes."""
    file = tmp_path / 'a "folder"' / "lazy_providers.js"
    file.parent.mkdir()
    file.touch()
    monkeypatch.setattr(_lazy_providers, "_NODE_HOOK", str(file))
    monkeypatch.delenv(EAGER_SWITCH, raising=False)
    return file


@pytest.mark.parametrize("given", ["", "--max-old-space-size=8192"])
def test_node_is_told_once_beside_its_other_options(
    node_hook: Path, monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    monkeypatch.setenv("NODE_OPTIONS", given)
    importlib.util.find_spec("jsii")
    for _ in range(2):
        install()
    quoted = str(node_hook).replace('"', '\\"')
    assert os.environ["NODE_OPTIONS"] == f'{given} --max-semi-space-size=4 --require "{quoted}"'.strip()


@pytest.mark.parametrize("given", ["--max-semi-space-size=64", "--max_semi_space_size=64"])
def test_a_size_of_young_objects_that_is_given_stays(
    node_hook: Path, monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    monkeypatch.setenv("NODE_OPTIONS", given)
    install()
    importlib.util.find_spec("jsii")
    quoted = str(node_hook).replace('"', '\\"')
    assert os.environ["NODE_OPTIONS"] == f'{given} --require "{quoted}"'


def test_node_is_not_told_of_a_file_that_is_not_there(node_hook: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in an application that was packed into one file."""
    node_hook.unlink()
    monkeypatch.setenv("NODE_OPTIONS", "")
    importlib.util.find_spec("jsii")
    assert os.environ["NODE_OPTIONS"] == ""


@pytest.mark.usefixtures("node_hook")
def test_node_is_not_told_when_it_is_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NODE_OPTIONS", "")
    monkeypatch.setenv(EAGER_SWITCH, "1")
    importlib.util.find_spec("jsii")
    assert os.environ["NODE_OPTIONS"] == ""
