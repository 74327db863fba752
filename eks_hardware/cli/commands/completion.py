"""``eks-hardware completion``: a script that makes a shell complete commands, options, strategies and overlays."""

from __future__ import annotations

import click

_VARIABLE = "_EKS_HARDWARE_COMPLETE"


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]), help="The shell that is to complete.")
def completion(shell: str) -> None:
    """Print a script with which a shell completes commands, options, names of strategies and overlays.

    Needs bash 4.4 or later, zsh, or fish.

    \b
    Examples:
      echo 'eval "$(eks-hardware completion bash)"' >> ~/.bashrc
      echo 'eval "$(eks-hardware completion zsh)"' >> ~/.zshrc
      eks-hardware completion fish > ~/.config/fish/completions/eks-hardware.fish
    """
    from click.shell_completion import ShellComplete, get_completion_class

    from eks_hardware.cli import app

    found = get_completion_class(shell) or ShellComplete
    complete = found(app, {}, "eks-hardware", _VARIABLE)
    # Not `source()`, which starts bash to ask for its version.
    click.echo(complete.source_template % complete.source_vars())
