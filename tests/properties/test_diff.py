"""Changes between every strategy of the corpus and a shipped one can be shown."""

from __future__ import annotations

from pathlib import Path

from eks_hardware.diff.json import as_json
from eks_hardware.diff.markdown import as_markdown
from eks_hardware.diff.terminal import as_text
from eks_hardware.validation import load_strategy
from helpers.cases import in_one_test
from helpers.diff import compared_without_node
from helpers.paths import TESTS
from helpers.strategies import shipped


@in_one_test("file", sorted((TESTS / "corpus" / "good").glob("*.yaml")), ids=lambda file: file.stem)
def test_every_strategy_of_the_corpus(file: Path) -> None:
    found = load_strategy(file).strategy
    changes = compared_without_node(found, shipped("mixed-hardware").model_copy(update={"name": found.name}))
    assert as_json(changes)["changed"] is changes.any
    assert as_markdown(changes).startswith("### ")
    assert as_text(changes)
