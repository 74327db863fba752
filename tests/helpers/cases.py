"""Many small cases as one test, because each pytest test costs more time than such a case."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

Test = Callable[..., None]

_SHOWN = 20
_PARAM = type(pytest.param())


def in_one_test(
    names: str | Sequence[str], cases: Iterable[Any], *, ids: Callable[[Any], object] | Iterable[object] | None = None
) -> Callable[[Test], Test]:
    """Like ``pytest.mark.parametrize``, but in one test that shows every failing case, 20 at most.

    Each case has its own empty ``tmp_path``. All other fixtures are created once; those that use ``tmp_path`` have its
    parent. Do not use it where a case can see what another one left: a patch, a cache, or a file in the working folder.
    Cases can neither be skipped nor have marks.
    """
    arguments = [each.strip() for each in names.split(",")] if isinstance(names, str) else list(names)
    given = [case if isinstance(case, _PARAM) else pytest.param(*_values(case, len(arguments))) for case in cases]
    assert not any(each.marks for each in given), "in_one_test ignores marks"
    table = [each.values for each in given]
    labels = [str(each) for each in ids] if ids is not None and not callable(ids) else [each.id for each in given]

    def label(index: int) -> str:
        said = (str(ids(each)) if callable(ids) else repr(each)[:80] for each in table[index])
        return str(labels[index] or "-".join(said))

    def decorate(test: Test) -> Test:
        @functools.wraps(test)
        def run(*args: Any, **fixtures: Any) -> None:
            assert table, "there are no cases"
            faults: list[tuple[str, BaseException]] = []
            folder = fixtures.get("tmp_path")
            for index, values in enumerate(table):
                if folder:
                    fixtures["tmp_path"] = folder / str(index)
                    fixtures["tmp_path"].mkdir()
                try:
                    test(*args, **fixtures, **dict(zip(arguments, values, strict=True)))
                except (Exception, SystemExit, pytest.fail.Exception, pytest.skip.Exception) as error:
                    faults.append((label(index), error))
                if len(faults) == _SHOWN:
                    break
            if faults:
                shown = "\n\n".join(f"[{name}] {type(error).__name__}: {error}" for name, error in faults)
                count = f"{len(faults)} or more" if len(faults) == _SHOWN else len(faults)
                raise AssertionError(f"{count} of {len(table)} cases fail:\n\n{shown}") from faults[0][1]

        signature = inspect.signature(test)
        kept = [each for name, each in signature.parameters.items() if name not in arguments]
        run.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
        return run

    return decorate


def _values(case: Any, count: int) -> tuple[Any, ...]:
    values = tuple(case) if count > 1 else (case,)
    assert len(values) == count, case
    return values
