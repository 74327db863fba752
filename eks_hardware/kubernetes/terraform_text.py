"""Text escaped for Terraform JSON."""

from __future__ import annotations

import re
from collections.abc import Callable

from eks_hardware.kubernetes.references import Reference, replaced_in_text, texts

# CDKTF's placeholder for a resource attribute, which it replaces when it writes the stack.
_TOKEN = re.compile(r"\$\{TfToken\[[^]]*\]\}")


def terraform_text(text: str, expression: Callable[[Reference], str]) -> str:
    """Return ``text`` with ``${`` and ``%{`` escaped for Terraform, and references replaced by expressions.

    Resource attributes that a program has put into the text are not changed.
    Source: https://developer.hashicorp.com/terraform/language/expressions/strings#escape-sequences
    """
    parts, start = [], 0
    for token in _TOKEN.finditer(text):
        parts += [_escaped(text[start : token.start()]), token[0]]
        start = token.end()
    return replaced_in_text("".join([*parts, _escaped(text[start:])]), expression)


def holds_token(value: object) -> bool:
    """Return whether text in nested maps and lists contains a resource attribute, which only Terraform resolves."""
    return any(_TOKEN.search(text) for text in texts(value))


def _escaped(text: str) -> str:
    return text.replace("${", "$${").replace("%{", "%%{")
