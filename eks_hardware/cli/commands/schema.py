"""``eks-hardware schema``: the JSON Schemas of strategies and other files, for editors and other tools."""

from __future__ import annotations

import click

from eks_hardware.cli.errors import exit_codes

_KINDS = ("strategy", "adoption", "measurements", "policy")


@click.command(epilog=exit_codes())
@click.argument(
    "kind",
    type=click.Choice(_KINDS),
    default=_KINDS[0],
    help="strategy; adoption: node pools for an existing cluster; measurements or policy: the file of that option of "
    "`recommend`. Default: strategy.",
)
def schema(kind: str) -> None:
    """Print the JSON Schema of strategy files, for completion and checks in an editor.

    An editor with yaml-language-server uses the file that the first line of a strategy names:
    "# yaml-language-server: $schema=strategy.schema.json".

    \b
    Examples:
      eks-hardware schema > strategy.schema.json
      eks-hardware schema adoption > adoption.schema.json
    """
    from eks_hardware.data import FOLDER

    click.echo((FOLDER / f"{kind}.schema.json").read_text(encoding="utf-8"), nl=False)
