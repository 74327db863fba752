"""Golden files of every synthesized strategy: a review shows each change.

``stack.json`` is the Terraform JSON. ``addresses.txt`` contains the address of every resource with its construct; a
changed line is a resource that Terraform replaces. ``user_data.txt`` is the user data, which is base64 in the JSON.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Mapping

from eks_hardware.testing import Template
from helpers.paths import GOLDEN, ROOT, SHIPPED, SPECIAL

Golden = Callable[[str, str], None]


def test_stack(strategy_name: str, templates: Mapping[str, Template], golden: Golden) -> None:
    document = templates[strategy_name].document
    golden(f"{strategy_name}/stack.json", json.dumps(document, indent=2, sort_keys=True) + "\n")


def test_addresses(strategy_name: str, templates: Mapping[str, Template], golden: Golden) -> None:
    lines = [f"{address}  {path}\n" for address, path in sorted(templates[strategy_name].addresses().items())]
    golden(f"{strategy_name}/addresses.txt", "".join(lines))


def test_user_data(strategy_name: str, templates: Mapping[str, Template], golden: Golden) -> None:
    parts = [
        f"# {body['name']}\n{_readable(body['user_data'])}\n"
        for body in templates[strategy_name].resources("aws_launch_template").values()
    ]
    golden(f"{strategy_name}/user_data.txt", "\n".join(parts))


def _readable(user_data: str) -> str:
    # The user data of a custom image is an expression with references.
    match = re.search(r'base64decode\("([^"]*)"\)', user_data)
    if match is None:
        return base64.b64decode(user_data).decode()
    return f"{user_data.replace(match[0], 'TEXT')}\nTEXT =\n{base64.b64decode(match[1]).decode()}"


def test_every_golden_folder_has_its_strategy() -> None:
    strategies = {file.stem for folder in (SHIPPED, SPECIAL) for file in folder.glob("*.yaml")}
    assert {file.parent.name for file in GOLDEN.glob("*/stack.json")} == strategies


def test_nothing_in_it_depends_on_the_machine(strategy_name: str) -> None:
    text = (GOLDEN / strategy_name / "stack.json").read_text(encoding="utf-8")
    assert str(ROOT) not in text
    assert "/tmp/" not in text
