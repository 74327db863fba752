"""Rules: what cannot work, found in the file, before anything is deployed."""

from eks_hardware.rules.check import check, check_loaded, check_part, check_remains
from eks_hardware.rules.registry import RULES, Context, Rule

__all__ = ["RULES", "Context", "Rule", "check", "check_loaded", "check_part", "check_remains"]
