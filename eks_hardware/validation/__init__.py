"""Validation of strategy files, and output of findings as text, JSON and SARIF."""

from eks_hardware.validation.strategies import Fill, Validation, load_strategy, validate
from eks_hardware.validation.variants import Variant, Variants, validate_variants

__all__ = ["Fill", "Validation", "Variant", "Variants", "load_strategy", "validate", "validate_variants"]
