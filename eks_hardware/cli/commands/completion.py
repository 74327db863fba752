"""``eks-hardware completion``: a script for shell completion of commands, options, strategies and overlays."""

from __future__ import annotations

import click

from eks_hardware.cli.errors import exit_codes

_VARIABLE = "_EKS_HARDWARE_COMPLETE"
_SHELLS = ("bash", "zsh", "fish")


@click.command(epilog=exit_codes())
@click.argument("shell", type=click.Choice(_SHELLS), help="Your shell.")
def completion(shell: str) -> None:
    """Print a script for shell completion of commands, options, strategies and overlays.

    Requires bash 4.4 or later, zsh, or fish.

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
    # Not `source()`, which starts bash to query its version.
    click.echo(complete.source_template % complete.source_vars())
