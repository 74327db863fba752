"""Validation of strategy files, and output of findings as text, JSON and SARIF."""

from eks_hardware.validation.strategies import Fill, Validation, load_strategy, validate

__all__ = ["Fill", "Validation", "load_strategy", "validate"]
