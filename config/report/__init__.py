"""Findings as people and machines read them: :mod:`text` with the line at fault, :mod:`machine` as JSON and SARIF."""
