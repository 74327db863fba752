"""Find a strategy's resources that exist in the account but not in the Terraform state. All calls are read-only.

    report = find(document, state, aws, strategy="mixed-hardware", region="us-west-2", folder=Path("cdktf.out/..."))
    for orphan in report.orphans:
        print(orphan.commands)

On Ctrl-C, Terraform stops its providers, and the AWS provider abandons requests that AWS may still complete
(https://github.com/hashicorp/terraform-plugin-go/pull/25,
https://github.com/hashicorp/terraform-provider-aws/issues/18051). If Terraform is killed, it loses the responses, too.

:mod:`named` finds resources by their names and ids in the stack, :mod:`tagged` those that only tags identify.
"""

from eks_hardware.orphans.find import find
from eks_hardware.orphans.model import Orphan, Report, Stack

__all__ = ["Orphan", "Report", "Stack", "find"]
