"""Changes from one strategy to another: hardware, capacity, cost, and the actions of Terraform and Karpenter.

found = compare(old, new)
for change in found.of(Action.REPLACE):
    print(change.resource.address, sentence(change))
"""

from eks_hardware.diff.compare import Changes, compare
from eks_hardware.diff.messages import sentence
from eks_hardware.diff.node_pools import PoolChange
from eks_hardware.diff.plan import Action, Cause, ResourceChange
from eks_hardware.diff.synthesis import SynthesisError

__all__ = ["Action", "Cause", "Changes", "PoolChange", "ResourceChange", "SynthesisError", "compare", "sentence"]
