"""Run on CDK Terrain (``cdktn``), the maintained fork of CDK for Terraform, without a change of the code.

With ``EKS_HARDWARE_FRAMEWORK=cdktn``, read by ``import eks_hardware``, an import hook answers ``cdktf`` with the module
``cdktn`` and ``cdktf_cdktf_provider_<name>`` with ``cdktn_provider_<name>``, sub-modules too. Both names are the same
module object, so that there is one class of each kind, whichever name it was imported by. Mixing the two frameworks
fails when the app is synthesized, which is why the switch is for the whole process (docs/adr/0015,
docs/guides/cdk-terrain.md).

Only what imports the framework can fail here: commands such as ``eks-hardware validate`` need neither.
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
    # The import system asks for methods, not for base classes, and `importlib.abc` takes every command 10 ms.
    Loader = MetaPathFinder = object

SWITCH = "EKS_HARDWARE_FRAMEWORK"
CDKTF = "cdktf"
CDKTN = "cdktn"
FRAMEWORKS = (CDKTF, CDKTN)

_EXTRA = "pip install 'eks-hardware[cdktn]'"
_IN_THE_EXTRA = frozenset({"cdktn", "cdktn_provider_aws", "cdktn_provider_helm"})
_PREFIXES = {"cdktf_cdktf_provider_": "cdktn_provider_"}


class FrameworkError(ImportError):
    """The framework that was asked for cannot be used; the message says what to do."""


class _Alias(Loader):
    """Gives a module that has another name."""

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
            fix = _EXTRA if root in _IN_THE_EXTRA else f"pip install {root.replace('_', '-')}"
            raise FrameworkError(f"{SWITCH}={CDKTN} needs {root}, which is not installed: {fix}", name=root) from error
        self._spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        # It ran when it was imported by its own name. The import system put the alias's spec on it, which would be the
        # wrong parent for its own relative imports.
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
    """Return what a module of CDK for Terraform is called in CDK Terrain; ``None`` for any other module."""
    root, dot, rest = name.partition(".")
    if root == CDKTF:
        return f"{CDKTN}{dot}{rest}"
    for old, new in _PREFIXES.items():
        if root.startswith(old):
            return f"{new}{root[len(old) :]}{dot}{rest}"
    return None


def chosen() -> str:
    """Return the framework that the environment names; it may be one that does not exist."""
    return os.environ.get(SWITCH, "").strip() or CDKTF


def install() -> None:
    """Install the hook, if it is asked for; once."""
    # Ahead of the lazy provider loader, which answers to the old names.
    if chosen() == CDKTN and not any(isinstance(finder, _AliasFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _AliasFinder())


def check() -> None:
    """Fail unless the framework that was asked for is the one that is about to be used.

    Raises:
        FrameworkError: in one sentence, with what to do.
    """
    name = chosen()
    if name not in FRAMEWORKS:
        raise FrameworkError(f"{SWITCH} is {name!r}: set it to {' or '.join(FRAMEWORKS)}, or unset it")
    loaded = sys.modules.get(CDKTF)
    if name == CDKTN:
        if not any(isinstance(finder, _AliasFinder) for finder in sys.meta_path):
            raise FrameworkError(f"{SWITCH}={CDKTN} was set after eks_hardware was imported: set it before")
        if loaded is not None and loaded is not sys.modules.get(CDKTN):
            raise FrameworkError(
                f"{CDKTF} was imported before eks_hardware, so that {SWITCH}={CDKTN} comes too late: "
                f"import eks_hardware first, or import from {CDKTN} instead of {CDKTF}"
            )
    elif loaded is None:
        if CDKTN in sys.modules:
            raise FrameworkError(
                f"this app imports {CDKTN}, which does not mix with {CDKTF}: set {SWITCH}={CDKTN} for eks_hardware"
            )
        if PathFinder.find_spec(CDKTF) is None:
            raise FrameworkError(f"{CDKTF} is not installed: install it, or set {SWITCH}={CDKTN} to use {CDKTN}")
