"""From a file to a checked strategy: validate, and what was found as text, JSON and SARIF."""

from eks_hardware.validation.strategies import Fill, Validation, load_strategy, validate

__all__ = ["Fill", "Validation", "load_strategy", "validate"]
