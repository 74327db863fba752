"""Rules that find faults and risks in a strategy before deployment."""

from eks_hardware.rules.check import check, check_loaded, check_part, check_remains
from eks_hardware.rules.registry import RULES, Context, Rule

__all__ = ["RULES", "Context", "Rule", "check", "check_loaded", "check_part", "check_remains"]
