"""Ask the stacks for the Terraform JSON of a strategy.

This is the one module below the stacks that imports them, and only when it is called (``tests/unit/test_layout.py``):
what Terraform would do to a resource follows from what is synthesized, and from nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence

from eks_hardware._node import NODE_IS_MISSING, node
from eks_hardware.diff.resources import Document
from eks_hardware.resolve import ResolvedStrategy


class SynthesisError(Exception):
    """The stacks of a strategy cannot be synthesized; the message says why, in one line."""


class NodeMissingError(SynthesisError):
    """There is no Node, which the framework needs."""


def synthesize(resolved: ResolvedStrategy) -> Sequence[Document]:
    """Return the Terraform JSON of a strategy's stacks, that of its charts last.

    Raises:
        NodeMissingError: without Node on the PATH.
        SynthesisError: for anything else that goes wrong.
    """
    if node() is None:
        raise NodeMissingError(NODE_IS_MISSING)
    try:
        from eks_hardware.stacks.in_memory import terraform_json

        return terraform_json(resolved)
    except Exception as error:
        # The framework raises errors of its own, of jsii, and of Node with a stack trace of many lines.
        reason = next(iter(str(error).splitlines()), "") or type(error).__name__
        raise SynthesisError(f"{resolved.name} cannot be synthesized: {reason}") from error
