"""``make facts-age``: what was read more than 120 days ago. Every test passes its own day."""

from __future__ import annotations

import datetime
import json
from pathlib import Path

import pytest
import yaml

from benchmarks import facts_age
from helpers.cases import in_one_test
from helpers.paths import ROOT

DAY = datetime.date(2026, 11, 25)


def _written(folder: Path, **content: object) -> Path:
    (folder / "facts").mkdir()
    (folder / "facts" / "some.json").write_text(json.dumps(content), encoding="utf-8")
    return folder


@pytest.mark.parametrize(("days", "old"), [(120, False), (121, True)])
def test_older_than_120_days(tmp_path: Path, days: int, old: bool) -> None:
    read = (DAY - datetime.timedelta(days=days)).isoformat()
    folder = _written(tmp_path, source="https://example.com/a", as_of=read, rows=[1])
    expected = [facts_age.Fact("facts/some.json", read, days, "https://example.com/a")] if old else []
    assert facts_age.old_facts(DAY, folder) == expected


def test_rows_inherit_the_day_of_their_section_and_names_of_sources_are_not_sources(tmp_path: Path) -> None:
    row = {"source": "https://example.com/row"}
    sources = {"eks": {"source": "https://example.com/eks", "as_of": "undated"}}
    choice = {"source": "our choice: small", "as_of": "2020-01-01"}
    rows = [{"source": "eks", "as_of": "2020"}]
    folder = _written(tmp_path, sources=sources, old={"as_of": "2020-02", "row": row}, choice=choice, rows=rows)
    found = facts_age.old_facts(DAY, folder)
    assert [(each.source, each.as_of) for each in found] == [
        ("https://example.com/row", "2020-02"),
        ("https://example.com/eks", "undated"),
    ]


def test_lists_of_sources_and_files_without_a_source_have_an_age_too(tmp_path: Path) -> None:
    sources = {"hub": {"text": "Hub, dimensions", "url": "https://example.com/hub", "as_of": "2020-03-01"}}
    folder = _written(
        tmp_path, _about="Helm charts", as_of="2020-04-01", sources=sources, charts={"a": {"version": "1"}}
    )
    assert [each.source for each in facts_age.old_facts(DAY, folder)] == ["https://example.com/hub", "Helm charts"]


def test_charts_are_listed_when_they_are_old() -> None:
    after = datetime.date(2027, 1, 15)
    assert "facts/charts.json" in {each.file for each in facts_age.old_facts(after)}


def test_prints_each_and_fails(capsys: pytest.CaptureFixture[str]) -> None:
    assert facts_age.main(["--day", str(DAY)]) == 1
    said = capsys.readouterr().out
    assert "prices/volumes.json: 2024-07-18, 860 days: yeo/ec2.shop data/ebs/ebs.json (AWS price file)\n" in said
    assert "more than 120 days before 2026-11-25" in said
    assert "performance/" not in said
    assert facts_age.main(["--day", "2020-01-01"]) == 0


@in_one_test("written", ["tomorrow", "2026-13-01", ""])
def test_a_wrong_day_is_refused(written: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        facts_age.main(["--day", written])
    assert caught.value.code == 2
    assert f"must be a day such as 2026-11-28, got {written!r}" in capsys.readouterr().err


def test_the_workflow_runs_it_on_a_schedule() -> None:
    text = (ROOT / ".github" / "workflows" / "facts-age.yml").read_text(encoding="utf-8")
    workflow = yaml.safe_load(text)
    (job,) = workflow["jobs"].values()
    assert job["steps"][-1]["run"] == "make facts-age"
    assert workflow[True]["schedule"]  # YAML reads the key `on` as true
    assert workflow["permissions"] == {"contents": "read"}
