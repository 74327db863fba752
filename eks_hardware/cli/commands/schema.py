"""``eks-hardware schema``: the JSON Schema of strategy files, for editors and other tools."""

from __future__ import annotations

import click


@click.command()
def schema() -> None:
    """Print the JSON Schema of strategy files, for completion and checks in an editor.

    An editor with yaml-language-server uses the file that the first line of a strategy names:
    "# yaml-language-server: $schema=strategy.schema.json".

    \b
    Example:
      eks-hardware schema > strategy.schema.json
    """
    from eks_hardware.data import FOLDER

    click.echo((FOLDER / "strategy.schema.json").read_text(encoding="utf-8"), nl=False)
