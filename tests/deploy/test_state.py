"""No attribute is set that the AWS provider marks as sensitive, because the state contains it in plain text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from helpers.running import Run
from helpers.shared import Once
from helpers.synthesized import Synthesized, all_stacks


def sensitive(block: Mapping[str, Any]) -> Iterator[str]:
    for name, attribute in block.get("attributes", {}).items():
        if attribute.get("sensitive"):
            yield name
    for nested in block.get("block_types", {}).values():
        yield from sensitive(nested["block"])


def keys(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield key
            yield from keys(each)
    elif isinstance(value, list):
        for each in value:
            yield from keys(each)


def test_no_sensitive_argument_is_set(schemas: Mapping[str, Mapping[str, Any]], once: Once, lazy_run: Run) -> None:
    used = {
        (kind, type_): {key for stack in stacks for key in keys(stack)}
        for (kind, type_), stacks in _bodies(all_stacks(once, lazy_run.outdir)).items()
    }
    assert "password" in set(sensitive(schemas["resource"]["aws_db_instance"]["block"]))
    known = {each: sensitive(schemas[each[0]][each[1]]["block"]) for each in used if each[1] in schemas[each[0]]}
    assert len(known) > 30
    assert {each: found for each, names in known.items() if (found := used[each] & set(names))} == {}


def _bodies(stacks: Sequence[Synthesized]) -> dict[tuple[str, str], list[Any]]:
    found: dict[tuple[str, str], list[Any]] = {}
    for stack in stacks:
        for kind in ("resource", "data"):
            for type_, _, body in stack.resources(kind):
                found.setdefault((kind, type_), []).append(body)
    return found
