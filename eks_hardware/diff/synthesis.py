"""Synthesize the Terraform JSON of a strategy.

This is the only module below the stacks that imports them, and only when it is called (``tests/unit/test_layout.py``):
Terraform's actions depend only on the synthesized JSON.
"""

from __future__ import annotations

from collections.abc import Sequence

from eks_hardware._node import NODE_IS_MISSING, node
from eks_hardware.diff.resources import Document
from eks_hardware.resolve import ResolvedStrategy


class SynthesisError(Exception):
    """The stacks of a strategy cannot be synthesized. The message is the reason, in one line."""


class NodeMissingError(SynthesisError):
    """Node, which the framework requires, is missing."""


def synthesize(resolved: ResolvedStrategy) -> Sequence[Document]:
    """Return the Terraform JSON of a strategy's stacks, the charts' stack last.

    Raises:
        NodeMissingError: Node is not on the PATH.
        SynthesisError: the synthesis fails for another reason.
    """
    if node() is None:
        raise NodeMissingError(NODE_IS_MISSING)
    try:
        from eks_hardware.stacks.in_memory import terraform_json

        return terraform_json(resolved)
    except Exception as error:
        # The framework raises its own errors, jsii's, and Node's with long stack traces.
        reason = next(iter(str(error).splitlines()), "") or type(error).__name__
        raise SynthesisError(f"{resolved.name} cannot be synthesized: {reason}") from error
