"""Texts in Terraform JSON: expressions in strategies are escaped, attributes of resources are not."""

from __future__ import annotations

from typing import Any

from eks_hardware.kubernetes.references import Reference
from eks_hardware.kubernetes.terraform_text import holds_token, terraform_text
from helpers.cases import in_one_test

TOKEN = "${TfToken[TOKEN.12]}"
VPC = Reference.VPC_ID.text

TEXTS = {
    "plain": "plain",
    "${HOME} %{ if }": "$${HOME} %%{ if }",
    VPC: "<vpc_id>",
    f"${{{VPC}}}": "$${<vpc_id>}",
    TOKEN: TOKEN,
    f"${{a}}{TOKEN}%{{b}}{TOKEN}{VPC}": f"$${{a}}{TOKEN}%%{{b}}{TOKEN}<vpc_id>",
    "${TfToken[": "$${TfToken[",
}


@in_one_test("text", TEXTS)
def test_text(text: str) -> None:
    assert terraform_text(text, lambda reference: f"<{reference.value}>") == TEXTS[text]


VALUES: list[tuple[Any, bool]] = [
    ({"a": [{"b": f"x{TOKEN}"}]}, True),
    ({TOKEN: 1}, True),
    (({"a": TOKEN},), True),
    ({"a": [VPC, "${HOME}", 1, None]}, False),
]


@in_one_test(("value", "expected"), VALUES)
def test_tokens_are_found(value: Any, expected: bool) -> None:
    assert holds_token(value) is expected
