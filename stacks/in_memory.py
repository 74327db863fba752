"""The Terraform JSON of one strategy, without the files that ``cdktf synth`` writes."""

from __future__ import annotations

from collections.abc import Mapping
from tempfile import TemporaryDirectory

from eks_hardware._cdk import App
from eks_hardware.resolve import ResolvedStrategy
from eks_hardware.stacks.extension import Extension
from eks_hardware.stacks.per_strategy import strategy_stacks


def terraform_json(
    resolved: ResolvedStrategy, *, extension: Extension | None = None
) -> tuple[Mapping[str, object], ...]:
    """Return the Terraform JSON of a strategy's stacks; a separate stack for its charts is last.

    Each resource has its construct path in ``//.metadata.path``.

    Args:
        resolved: the strategy.
        extension: additions to the strategy.

    Examples:
        >>> (hardware,) = terraform_json(resolved)
        >>> sorted(hardware["resource"]["aws_eks_node_group"])[-1]
        'platform_nodes-system_D5FF72E4'
    """
    # An app creates empty folders when it is constructed.
    with TemporaryDirectory() as folder:
        return tuple(
            stack.to_terraform() for stack in strategy_stacks(App(outdir=folder), resolved, extension=extension)
        )
