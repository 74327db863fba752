"""Commands search the catalogue once for each request: many tests look at the same answer in different ways."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from eks_hardware.advisor import recommend as module
from eks_hardware.advisor.model import Recommendation, Request

_FOUND: dict[tuple[str, ...], Recommendation] = {}
_CHEAPER: dict[tuple[str, ...], str | None] = {}


@pytest.fixture(scope="module", autouse=True)
def _one_search_for_a_request() -> Iterator[None]:
    recommend, cheaper_way = module.recommend, module.cheaper_way

    def recommend_once(request: Request, *, only: Sequence[str] = (), **catalogue: Any) -> Recommendation:
        if catalogue:
            return recommend(request, only=only, **catalogue)
        key = (repr(request), *only)
        if key not in _FOUND:
            _FOUND[key] = recommend(request, only=only)
        return _FOUND[key]

    def cheaper_way_once(found: Recommendation, *, only: Sequence[str] = ()) -> str | None:
        key = (repr(found.request), *only)
        if key not in _CHEAPER:
            _CHEAPER[key] = cheaper_way(found, only=only)
        return _CHEAPER[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "recommend", recommend_once)
        patch.setattr(module, "cheaper_way", cheaper_way_once)
        yield
