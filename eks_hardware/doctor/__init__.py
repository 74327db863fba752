"""Check against an AWS account whether a strategy can be deployed. All calls are read-only.

    report = examine(loaded, profile="production")
    for finding in report.findings:
        print(finding, finding.command)

:mod:`aws` makes the calls, each only once. :mod:`model` defines a check. :mod:`run` has the list of checks and runs
their probes in parallel. :mod:`aws_cli` writes the commands that users can run. Each other module is one check.
"""

from eks_hardware.doctor.aws import AwsError
from eks_hardware.doctor.model import Diagnosis, Report
from eks_hardware.doctor.run import CHECKS, examine

__all__ = ["CHECKS", "AwsError", "Diagnosis", "Report", "examine"]
