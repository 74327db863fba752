"""Meaning of unquoted YAML values: the core schema of YAML 1.2.

https://yaml.org/spec/1.2.2/#103-core-schema
"""

from __future__ import annotations

import re

_NULL = frozenset(("", "~", "null", "Null", "NULL"))
_BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,99})")
_HEXADECIMAL = re.compile(r"0x[0-9a-fA-F]{1,99}")
_OCTAL = re.compile(r"0o[0-7]{1,99}")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]{0,99})(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]{1,9})?")
_SPECIAL_FLOAT = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_MAY_BE_NUMBER = frozenset("0123456789+-.")

OLD_BOOLEANS = {"yes": True, "on": True, "no": False, "off": False}
"""Text that YAML 1.1 reads as booleans; as a key it would be ambiguous."""


def resolve_plain(text: str) -> object:
    """Return the value of an unquoted scalar in YAML 1.2; ``012`` (octal in 1.1) and ``1_000`` stay text."""
    if text in _NULL:
        return None
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    if text[0] not in _MAY_BE_NUMBER:
        return text
    return _number(text)


def _number(text: str) -> object:
    if _INTEGER.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text):
        return float(text)
    if _HEXADECIMAL.fullmatch(text) or _OCTAL.fullmatch(text):
        return int(text, 0)
    if _SPECIAL_FLOAT.fullmatch(text):
        return float(text.replace(".", ""))
    return text
