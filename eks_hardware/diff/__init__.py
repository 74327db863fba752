"""What changes from one strategy to another: hardware, capacity, cost, and what Terraform and Karpenter do about it.

found = compare(old, new)
for change in found.of(Action.REPLACE):
    print(change.resource.address, sentence(change))
"""

from eks_hardware.diff.compare import Changes, compare
from eks_hardware.diff.descriptions import sentence
from eks_hardware.diff.plan import Action, Cause, ResourceChange
from eks_hardware.diff.pools import PoolChange

__all__ = ["Action", "Cause", "Changes", "PoolChange", "ResourceChange", "compare", "sentence"]
