"""Run unchanged code on CDK Terrain (``cdktn``), the maintained fork of CDK for Terraform.

``import eks_hardware`` reads ``EKS_HARDWARE_FRAMEWORK``. With ``cdktn``, an import hook loads the module ``cdktn`` for
``cdktf``, and ``cdktn_provider_<name>`` for ``cdktf_cdktf_provider_<name>``, including sub-modules. Both names refer to
the same module object, so each class exists only once. Mixing the two frameworks fails during synthesis, so the switch
applies to the whole process (docs/adr/0015, docs/guides/cdk-terrain.md).

Only imports of the framework can fail here; commands such as ``eks-hardware validate`` do not import it.
"""

from __future__ import annotations

import importlib
import os
import sys
from importlib.machinery import ModuleSpec, PathFinder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.abc import Loader, MetaPathFinder
    from types import ModuleType
else:
    # The import system checks for methods, not for base classes, and importing `importlib.abc` takes every command
    # 10 ms.
    Loader = MetaPathFinder = object

SWITCH = "EKS_HARDWARE_FRAMEWORK"
CDKTF = "cdktf"
CDKTN = "cdktn"
FRAMEWORKS = (CDKTF, CDKTN)

_IN_THE_EXTRA = frozenset({"cdktn", "cdktn_provider_aws", "cdktn_provider_helm"})
_PREFIXES = {"cdktf_cdktf_provider_": "cdktn_provider_"}


class FrameworkError(ImportError):
    """Raised when the requested framework cannot be used; the message says what to do."""


class _Alias(Loader):
    """A loader that returns a module with a different name."""

    def __init__(self, real: str) -> None:
        self._real = real
        self._spec: ModuleSpec | None = None

    def create_module(self, spec: ModuleSpec) -> ModuleType:  # noqa: ARG002
        try:
            module = importlib.import_module(self._real)
        except ModuleNotFoundError as error:
            root = self._real.partition(".")[0]
            if error.name != root:
                raise
            from eks_hardware.installed_from import install_command

            fix = install_command("cdktn") if root in _IN_THE_EXTRA else f"pip install {root.replace('_', '-')}"
            raise FrameworkError(f"{SWITCH}={CDKTN} needs {root}, which is not installed: {fix}", name=root) from error
        self._spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        # The module already ran under its own name. The import system then set the alias's spec, whose parent is wrong
        # for the module's relative imports.
        module.__spec__ = self._spec


class _AliasFinder(MetaPathFinder):
    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> ModuleSpec | None:
        real = on_terrain(fullname)
        return ModuleSpec(fullname, _Alias(real)) if real else None


def on_terrain(name: str) -> str | None:
    """Return the CDK Terrain name of a CDK for Terraform module; None for any other module."""
    root, dot, rest = name.partition(".")
    if root == CDKTF:
        return f"{CDKTN}{dot}{rest}"
    for old, new in _PREFIXES.items():
        if root.startswith(old):
            return f"{new}{root[len(old) :]}{dot}{rest}"
    return None


def chosen() -> str:
    """Return the framework that the environment variable names, without checking it."""
    return os.environ.get(SWITCH, "").strip() or CDKTF


def install() -> None:
    """Install the hook once, if the environment requests it."""
    # This hook must come before the lazy provider loader, which handles the old names.
    if chosen() == CDKTN and not any(isinstance(finder, _AliasFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _AliasFinder())


def check() -> None:
    """Check that the imports will load the requested framework.

    Raises:
        FrameworkError: if they will not; the message says what to do.
    """
    name = chosen()
    if name not in FRAMEWORKS:
        raise FrameworkError(f"{SWITCH} must be {' or '.join(FRAMEWORKS)}, got {name!r}; correct or unset it")
    loaded = sys.modules.get(CDKTF)
    if name == CDKTN:
        if not any(isinstance(finder, _AliasFinder) for finder in sys.meta_path):
            raise FrameworkError(f"{SWITCH}={CDKTN} was set after eks_hardware was imported; set it before the import")
        if loaded is not None and loaded is not sys.modules.get(CDKTN):
            raise FrameworkError(
                f"{CDKTF} was imported before eks_hardware, so {SWITCH}={CDKTN} has no effect; import eks_hardware "
                f"first, or import from {CDKTN} instead of {CDKTF}"
            )
    elif loaded is None:
        if CDKTN in sys.modules:
            raise FrameworkError(
                f"this app imports {CDKTN}, which cannot be mixed with {CDKTF}; set {SWITCH}={CDKTN} for eks_hardware"
            )
        if PathFinder.find_spec(CDKTF) is None:
            raise FrameworkError(f"{CDKTF} is not installed; install it, or set {SWITCH}={CDKTN} to use {CDKTN}")
