"""Properties of ``tests/unit/cli/test_recommend.py`` with random input."""

from __future__ import annotations

import json
import re

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from helpers.recommend_command import asked


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    task=some.sampled_from(["training", "fine-tuning", "inference", "development"]),
    size=some.one_of(some.integers(1, 10**16).map(str), some.sampled_from(["0.000001K", "1K", "8B", "9999T"])),
    number=some.integers(-(10**20), 10**20),
    field=some.sampled_from(["context_length", "concurrent_sequences", "sequence_length", "batch_size", "layers"]),
    budget=some.sampled_from(["cost", "balanced", "performance"]),
)
def test_absurd_numbers_are_answered_or_refused(task: str, size: str, number: int, field: str, budget: str) -> None:
    model = {"parameters": size, **({"layers": number} if field == "layers" else {})}
    asks = {"version": 1, "task": task, "model": model, "budget": budget, "region": "us-west-2"}
    code, stdout, said = asked(json.dumps(asks if field == "layers" else {**asks, field: number}))
    assert code in (0, 1)
    assert ("error" in said) == (code == 1 and not stdout)
    assert not re.search(r"\b(nan|inf)\b", stdout)
