"""Find resources of a strategy that exist in the account, and that Terraform's state does not have. Reads only.

    report = find(document, state, aws, strategy="mixed-hardware", region="us-west-2", folder=Path("cdktf.out/..."))
    for orphan in report.orphans:
        print(orphan.commands)

Ctrl-C makes Terraform stop its providers, and the AWS provider then gives up requests that AWS may still
complete (https://github.com/hashicorp/terraform-plugin-go/pull/25,
https://github.com/hashicorp/terraform-provider-aws/issues/18051). A killed Terraform loses the answers, too.

:mod:`named` finds what has a name in the stack, :mod:`tagged` what only its tags identify.
"""

from eks_hardware.orphans.find import find
from eks_hardware.orphans.model import Orphan, Report, Stack

__all__ = ["Orphan", "Report", "Stack", "find"]
