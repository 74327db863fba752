"""Plain messages for libyaml's syntax errors.

The messages of PyYAML's own parser differ and are shown unchanged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_hardware.printable import quoted, shown

if TYPE_CHECKING:
    from yaml import MarkedYAMLError

_TAB = "the line contains a tab; indent with spaces"
_ESCAPE = "unknown escape in double quotes; write \\\\ for a backslash, or put the value in single quotes"
DIRECTIVE = "%YAML and %TAG directives are not supported; remove the line"
_TAG = "a value that begins with ! is a tag, and tags are not supported; put the value in quotes if it is text"

# `line`: the first line of the structure that was being parsed.
_MEANINGS = {
    "block sequence entries are not allowed in this context": 'a list item ("- ") must start on its own line',
    "could not find expected ':'": 'line {line} has no value; write "key: value" on one line, with a space after the '
    "colon",
    "did not find expected '-' indicator": "this line is in the list that starts on line {line}, but is not an item; "
    "indent all items alike, and the fields of each item alike",
    "did not find expected ',' or ']'": "the [ on line {line} is not closed; add ], or a comma between its items",
    "did not find expected ',' or '}'": "the {{ on line {line} is not closed; add }}, or a comma between its fields",
    "did not find expected <document start>": "indented differently from the lines above; indent all top-level "
    "fields alike",
    "did not find expected comment or line break": "only a comment may follow | or > on the same line; start the text "
    "on the next line",
    "did not find expected hexdecimal number": _ESCAPE,
    "found a tab character that violates indentation": _TAB,
    "found a tab character where an indentation space is expected": _TAB,
    "found an indentation indicator equal to 0": "the indentation number after | or > must be 1 to 9, got 0; remove it",
    "found invalid Unicode character escape code": "the escape sequence is not a valid character; remove it",
    "found incompatible YAML document": DIRECTIVE,
    "found unexpected ':'": 'a space is missing after ":"; add it',
    "found unexpected document indicator": "the quote on line {line} is not closed before --- or ...; close it",
    "found unexpected end of stream": "the quote on line {line} is not closed; close it",
    "found unknown escape character": _ESCAPE,
    "mapping keys are not allowed in this context": 'a value cannot begin with "? "; put it in quotes',
    "mapping values are not allowed in this context": '": " is not allowed here; indent the line like its neighbors, '
    'or put a value that contains ": " in quotes',
}


def explained(error: MarkedYAMLError, text: str) -> str:
    """Return the fault and the fix."""
    problem = error.problem or error.context or "not YAML"
    mark = error.problem_mark or error.context_mark
    line = error.context_mark.line + 1 if error.context_mark else 0
    before, after = _around(text, mark.line, mark.column) if mark else ("", "")
    if problem == "found character that cannot start any token":
        return _TAB if after[:1] == "\t" else f"a value cannot begin with {shown(after[:1])}; put it in quotes"
    if problem == "did not find expected alphabetic or numeric character":
        kind, sign = ("alias", "*") if error.context == "while scanning an alias" else ("anchor", "&")
        return f"{sign} starts an {kind} name, which can contain only letters, digits, - and _; put text in quotes"
    if problem == "did not find expected node content":
        return _no_value(after, in_brackets=error.context == "while parsing a flow node")
    if problem == "did not find expected key":
        return _not_a_key(before, after, line)
    if problem in _MEANINGS:
        return _MEANINGS[problem].format(line=line)
    words = f"{problem} {error.context}".split()
    if "directive" in words:
        return DIRECTIVE
    if "tag" in words:
        return _TAG
    return ", ".join(shown(part, 160) for part in (problem, error.context) if part)


def _around(text: str, line: int, column: int) -> tuple[str, str]:
    """Return the parts of a line before and after a column."""
    lines = text.splitlines()
    found = lines[line] if line < len(lines) else ""
    return found[:column], found[column:]


def _no_value(after: str, *, in_brackets: bool) -> str:
    if in_brackets and after[:1] != ",":
        return "expected a value; add one, or close the bracket that is still open"
    return f"expected a value, got {quoted(after[:1])}; add a value, or remove this character"


def _not_a_key(before: str, after: str, line: int) -> str:
    if after[:1] in ("]", "}"):
        return f"{after[0]} closes no open bracket; remove it"
    if after[:1] == ":":
        return 'a key is missing before ":"; add it'
    if before.strip():
        return f"a value must end its line, got {quoted(after)} after it; put the whole value in quotes"
    return f"indented differently from the other fields of the mapping that starts on line {line}; indent them alike"
