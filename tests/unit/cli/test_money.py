"""Money in JSON documents: prices per hour or token have at most four decimals, all other amounts two."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from eks_hardware.cli.output import rounded
from helpers import cli
from helpers.cases import in_one_test

_RATES = ("usd_per_hour", "usd_per_hour_at_most", "usd_per_million_tokens")
_DOCUMENTS = {
    "recommend": "recommend --task training --model 8B --region us-west-2",
    "recommend a run": "recommend --from -",
    "cost": "cost mixed-hardware",
    "diff": "diff gpu-inference gpu-training",
    "explain": "explain mixed-hardware",
    "instances": "instances --family g6 --region us-west-2",
}
_RUN = "{version: 1, task: training, model: {parameters: 7B}, training_tokens: 100B, region: us-east-2}"
_WITHOUT = ("explain",)
"""Commands whose documents contain no money."""


def money(content: Any, path: str = "", rate: bool | None = None) -> Iterator[tuple[str, Decimal, bool]]:
    """Yield the path of each amount, the amount, and whether it is a rate."""
    if isinstance(content, dict):
        for key, value in content.items():
            is_money = "usd" in key.lower()
            yield from money(value, f"{path}.{key}", key in _RATES if is_money else rate)
    elif isinstance(content, list):
        for each in content:
            yield from money(each, f"{path}[]", rate)
    elif rate is not None and isinstance(content, Decimal):
        yield path, content, rate


@in_one_test("name", _DOCUMENTS)
def test_money_is_rounded(name: str) -> None:
    found = cli.run(*_DOCUMENTS[name].split(), "--json", stdin=_RUN)
    assert found.code in (0, 1), found.err
    amounts = list(money(json.loads(found.out, parse_float=Decimal)))
    assert bool(amounts) == (name not in _WITHOUT)
    assert [each for each in amounts if -int(each[1].as_tuple().exponent) > (4 if each[2] else 2)] == []


def test_the_kind_of_an_amount_is_known_below_its_key() -> None:
    document = {"usd_per_hour": {"min": 0.123456, "max": None}, "usd_per_month": [1.005, 7], "hours": 0.123456}
    assert rounded(document) == {
        "usd_per_hour": {"min": 0.1235, "max": None},
        "usd_per_month": [1.0, 7],
        "hours": 0.123456,
    }
