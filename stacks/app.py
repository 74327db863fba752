"""The CDKTF app: every strategy becomes one or two stacks."""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from eks_hardware._framework import FrameworkError
from eks_hardware._node import NODE_IS_MISSING, node
from eks_hardware.findings import Finding, StrategyError
from eks_hardware.kubernetes.files.write import WriteError, remove, write
from eks_hardware.kubernetes.references import known
from eks_hardware.loader.discovery import read_environment
from eks_hardware.printable import counted, reason
from eks_hardware.provider_mirror import link_mirror
from eks_hardware.resolve import ResolvedStrategy, resolve
from eks_hardware.stacks.extension import Extension
from eks_hardware.validation import validate
from eks_hardware.validation.terminal import as_text

if TYPE_CHECKING:
    from eks_hardware._cdk import App
    from eks_hardware.stacks.hardware_stack import HardwareStack

# https://nodejs.org/api/errors.html#class-systemerror, as `jsii` passes it on
_SYSTEM_ERROR = re.compile(r"(?:Error: )?E[A-Z0-9]+: (?P<reason>[^,]+), \w+(?: '.+' ->)?(?: '(?P<path>.+)')?")


def strategies(environ: Mapping[str, str] | None = None) -> list[tuple[ResolvedStrategy, tuple[Finding, ...]]]:
    """Load, check and resolve the strategies that the environment names, and return each with its warnings.

    Args:
        environ: environment with ``EKS_HARDWARE_STRATEGIES`` and ``EKS_HARDWARE_OVERLAY``; by default the process's.

    Raises:
        StrategyError: with all errors in all files.

    Examples:
        >>> found = strategies({"EKS_HARDWARE_STRATEGIES": "config/strategies/development.yaml"})
        >>> [(resolved.name, [warning.code for warning in warnings]) for resolved, warnings in found]
        [('development', ['ENDPOINT_OPEN'])]
    """
    validation = validate(*read_environment(os.environ if environ is None else environ))
    if validation.errors:
        raise StrategyError(validation.shown)
    return [
        (resolve(each.strategy), tuple(warning for warning in warnings if not warning.ignored))
        for each, warnings in validation.strategies
    ]


def main(environ: Mapping[str, str] | None = None, *, extension: Extension | None = None) -> int:
    """Synthesize every strategy into the folder that the CDKTF command line names; return an exit code.

    Args:
        environ: environment with ``EKS_HARDWARE_STRATEGIES`` and ``EKS_HARDWARE_OVERLAY``; by default the process's.
        extension: additions to every strategy.

    Examples:
        The last line of a ``main.py`` is ``raise SystemExit(main())``. If a file has errors, they are printed and
        nothing is synthesized:

        >>> main({"EKS_HARDWARE_STRATEGIES": "no-such-folder"})
        1
    """
    environ = os.environ if environ is None else environ
    try:
        resolved = strategies(environ)
    except StrategyError as error:
        print(as_text(error.findings), file=sys.stderr)
        print(f"{counted(len(error.errors), 'error')}; nothing was synthesized", file=sys.stderr)
        return 1
    if node() is None:
        print(f"error: {NODE_IS_MISSING}", file=sys.stderr)
        return 1
    # The framework is loaded only now, so that an invalid file is reported first.
    if problem := _framework_error():
        print(f"error: {problem}", file=sys.stderr)
        return 1
    from eks_hardware._cdk import Annotations, App
    from eks_hardware.stacks.per_strategy import strategy_stacks

    folder = Path(os.environ.get("CDKTF_OUTDIR", "cdktf.out"), "stacks")
    try:
        # The framework would also create the folder, but its errors are JavaScript tracebacks.
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        fix = "remove the file in its place, or choose another folder with --output"
        print(f"error: {folder} cannot be created: {reason(error)}; {fix}", file=sys.stderr)
        return 1
    app = App()
    stacks: list[HardwareStack] = []
    for each, warnings in resolved:
        stack = strategy_stacks(app, each, extension=extension)[0]
        stacks.append(stack)
        if warnings:
            # Not printed to stderr, because the CDKTF command line shows the app's stderr as errors.
            Annotations.of(stack).add_warning(f"{counted(len(warnings), 'warning')}; see `eks-hardware validate`")
    outdir = Path(app.outdir)
    try:
        _synthesize(app, outdir)
        for stack in stacks:
            _deliver_manifests(stack, outdir / "stacks" / stack.resolved.name / "kubernetes")
    except WriteError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    link_mirror(outdir)
    return 0


def _framework_error() -> str:
    """Load the framework; return the reason why it cannot start, or an empty string."""
    try:
        importlib.import_module("eks_hardware._cdk")
    except FrameworkError as error:
        return str(error)
    except OSError as error:
        # jsii writes its JavaScript to a temporary folder, and starts Node.
        place = f"{error.filename}: " if error.filename else ""
        fix = "it needs 2 MB in the folder for temporary files; set TMPDIR to a folder with free space"
        return f"the framework cannot start: {place}{reason(error)}; {fix}"
    return ""


def _synthesize(app: App, folder: Path) -> None:
    try:
        app.synth()
    except RuntimeError as error:  # raised by `jsii`
        if problem := _unwritten(error, folder):
            raise WriteError(problem) from error
        raise


def _unwritten(error: Exception, folder: Path) -> str:
    """Return the reason why Node could not write a stack; empty for other errors, which need their traceback."""
    found = _SYSTEM_ERROR.match(str(error))
    return f"{found['path'] or folder} cannot be written: {found['reason']}" if found else ""


def _deliver_manifests(stack: HardwareStack, folder: Path) -> None:
    """Write the strategy's manifests, or remove them if Terraform installs the charts now."""
    resolved = stack.resolved
    if resolved.kubernetes.delivery == "manifests":
        # The folder belongs to the app; it contains no other files.
        write(stack.bundle, folder, name=resolved.name, region=resolved.region, known=known(resolved), force=True)
    else:
        remove(folder)
