"""What changes from one strategy to another: hardware, capacity, cost, and what Terraform and Karpenter do about it.

found = compare(old, new)
for change in found.of(Action.REPLACE):
    print(change.resource.address, sentence(change))
"""

from eks_hardware.changes.compare import Changes, compare
from eks_hardware.changes.plan import Action, Cause, ResourceChange
from eks_hardware.changes.pools import PoolChange
from eks_hardware.changes.sentences import sentence

__all__ = ["Action", "Cause", "Changes", "PoolChange", "ResourceChange", "compare", "sentence"]
