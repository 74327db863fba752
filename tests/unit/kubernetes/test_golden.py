"""Golden files of every strategy's objects on its cluster: a review shows each change.

If Terraform installs the charts, their values and manifests are in ``stack.json`` next to the file.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from eks_hardware.kubernetes import bundle
from eks_hardware.kubernetes.files.tree import tree
from eks_hardware.kubernetes.references import known
from helpers.cases import in_one_test
from helpers.paths import SHIPPED, SPECIAL
from helpers.strategies import resolved_of

FILES = sorted([*SHIPPED.glob("*.yaml"), *SPECIAL.glob("*.yaml")], key=lambda file: file.stem)


@in_one_test("file", FILES, ids=lambda file: file.stem)
def test_bundle(file: Path, golden: Callable[[str, str], None]) -> None:
    resolved = resolved_of(file)
    files = tree(bundle(resolved), name=resolved.name, region=resolved.region, known=known(resolved)).files()
    in_stack = (resolved.kubernetes.delivery, resolved.kubernetes.stack) == ("helm", "same")
    kept = [path for path in files if not (in_stack and path.startswith(("values/", "manifests/")))]
    golden(f"{file.stem}/kubernetes.txt", "\n".join(f"### {path}\n{files[path]}" for path in kept))
