"""The fitted constants of the models of speed: the rows that they are fitted to, and no better ones nearby."""

from __future__ import annotations

from functools import cache

from benchmarks.estimates import HALVES, half
from benchmarks.fit import Constant, calibration_rows, constants, loss


@cache
def found() -> list[Constant]:
    return constants(calibration_rows())


def test_constants_are_fitted_to_as_many_rows_as_the_data_say() -> None:
    most: dict[str, int] = {}
    for each in found():
        source = str(each.row["source"])
        key = f"{each.row['step']} {each.row['kind']} {each.row.get('accelerators')}: {source.split()[2]}"
        most[key] = max(most.get(key, 0), len(each.rows))
    assert {key: rows for key, rows in most.items() if not key.endswith(f": {rows}")} == {}


def test_no_reserved_row_is_read() -> None:
    rows = calibration_rows()
    assert {half(row["id"]) for row in rows} == {HALVES[0]}
    assert all(loss(row) >= 0 for row in rows)


def test_no_constant_is_far_from_a_better_one() -> None:
    """A quarter more or less of a constant that many rows depend on does not lower their loss by a fifth."""
    for each in found():
        if len(each.rows) < 5:
            continue
        now = sum(map(loss, each.rows))
        for factor in (1.25, 0.8):
            each.moved(factor)
            try:
                moved = sum(map(loss, each.rows))
            finally:
                each.row[each.name] = each.before
            assert moved > 0.8 * now, (each.row["step"], each.row.get("accelerators"), each.name, factor)
