"""Properties of ``tests/unit/kubernetes/test_write.py`` with random input."""

from __future__ import annotations

from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helpers.written import item, objects, put, read_yaml


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from(" \n\t#:-'\"${}0eyYnN.~")))
def test_any_text_reads_back(tmp_path: Path, text: str) -> None:
    files = put(tmp_path, objects(item(data={"a": text, "list": [text]})))
    for version in ("1.1", "1.2"):
        assert read_yaml(files["manifests/resources/configmap-a.yaml"], version)["data"] == {"a": text, "list": [text]}
