"""Load the AWS provider package one sub-module at a time, in Python and in Node.

``cdktf_cdktf_provider_aws/__init__.py`` imports its 2,210 sub-modules: 10 s and 0.6 GB for a single resource
(https://github.com/hashicorp/terraform-cdk/issues/3753). Every generated sub-module registers its own types with jsii.
An import hook can therefore give the package an empty root that imports sub-modules on first use, as jsii-pacmak itself
has generated since 1.135 (https://github.com/aws/jsii/pull/5110).

jsii's Node process also loads the whole package, in 1.4 s and 0.6 GB. ``lazy_providers.js`` makes Node load the
package's ``lib/lazy-index.js`` instead. ``NODE_OPTIONS`` names this script before jsii starts its process.

Generated classes check their arguments against type hints, which they evaluate again for each object. Sub-modules get a
``typing`` that caches the evaluated hints, which saves a quarter of Python's time for a large stack.

At exit, Python would traverse all objects once more, which takes 0.4 s for an app; ``gc.freeze`` prevents this.

Set ``EKS_HARDWARE_EAGER_PROVIDERS=1`` to turn all of this off.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import os
import sys
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.abc import Loader, MetaPathFinder
    from types import ModuleType
else:
    # The import system checks for methods, not for base classes, and importing `importlib.abc` takes every command
    # 10 ms.
    Loader = MetaPathFinder = object

EAGER_SWITCH = "EKS_HARDWARE_EAGER_PROVIDERS"
PROVIDERS = frozenset({"cdktf_cdktf_provider_aws", "cdktf_cdktf_provider_helm"})

_NODE_HOOK = os.path.join(os.path.dirname(__file__), "lazy_providers.js")  # noqa: PTH118, PTH120 (pathlib is slow)

# The generated comment above the eager imports; a package without it is already lazy.
_EAGER_MARK = b"Loading modules to ensure their types are registered with the jsii runtime library"


class _LazyRoot(Loader):
    """A loader that executes only a module ``__getattr__`` in place of the package's ``__init__.py``."""

    def create_module(self, spec: ModuleSpec) -> None:  # noqa: ARG002
        return None

    def exec_module(self, module: ModuleType) -> None:
        name = module.__name__

        def __getattr__(attribute: str) -> ModuleType:  # noqa: N807
            if not attribute.startswith("__"):
                child = f"{name}.{attribute}"
                try:
                    return importlib.import_module(child)
                except ModuleNotFoundError as error:
                    if error.name != child:
                        raise
            raise AttributeError(f"module {name!r} has no attribute {attribute!r}")

        module.__dict__["__getattr__"] = __getattr__


class _SubModule(SourceFileLoader):
    """A loader that gives the module its own copy of ``typing``; the real ``typing`` is not changed."""

    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        module.__dict__["typing"] = _remembering_typing()


def _remembering_typing() -> ModuleType:
    """Return a copy of ``typing`` whose ``get_type_hints`` evaluates the hints of each function once."""
    if not _TYPING:
        import functools
        import types
        import typing

        copy = types.ModuleType("typing")
        copy.__dict__.update(vars(typing))
        copy.__dict__["get_type_hints"] = functools.cache(typing.get_type_hints)
        _TYPING.append(copy)
    return _TYPING[0]


_TYPING: list[ModuleType] = []


class _LazyProviderFinder(MetaPathFinder):
    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> ModuleSpec | None:
        if fullname == "jsii":
            _hook_node()
        package, _, child = fullname.partition(".")
        if package not in PROVIDERS or is_eager():
            return None
        if child:
            return _sub_module(fullname, path)
        spec = PathFinder.find_spec(fullname, path)
        if spec is None or spec.origin is None or not spec.submodule_search_locations:
            return None
        with open(spec.origin, "rb") as file:  # noqa: PTH123
            if _EAGER_MARK not in file.read():
                return None
        spec.loader = _LazyRoot()
        return spec


def _sub_module(fullname: str, path: Sequence[str] | None) -> ModuleSpec | None:
    spec = PathFinder.find_spec(fullname, path)
    if spec is not None and type(spec.loader) is SourceFileLoader:
        spec.loader = _SubModule(spec.loader.name, spec.loader.path)
    return spec


def install() -> None:
    """Install the hooks once; a provider that has already been imported is not changed."""
    if not any(isinstance(finder, _LazyProviderFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _LazyProviderFinder())
        if not is_eager():
            atexit.register(gc.freeze)
    if "jsii" in sys.modules:  # jsii's process may not have started yet
        _hook_node()


def is_eager() -> bool:
    """Return whether the switch turns off everything in this module."""
    return os.environ.get(EAGER_SWITCH, "") not in ("", "0")


def _hook_node() -> None:
    """Append the hook to ``NODE_OPTIONS``.

    Quotes follow Node's syntax: https://nodejs.org/api/cli.html#node_optionsoptions
    """
    options = os.environ.get("NODE_OPTIONS", "")
    escaped = _NODE_HOOK.replace("\\", "\\\\").replace('"', '\\"')
    option = f'--require "{escaped}"'
    if is_eager() or option in options or not os.path.isfile(_NODE_HOOK):  # noqa: PTH113
        return
    if "semi-space" not in options.replace("_", "-"):
        # One synth's young objects need no more. V8 reserves the default of 16 MiB three times, so this saves 20 MB.
        # Allowed in NODE_OPTIONS since Node 18.9 (https://github.com/nodejs/node/pull/44436).
        option = f"--max-semi-space-size=4 {option}"
    os.environ["NODE_OPTIONS"] = f"{options} {option}".strip()
