"""Ask an AWS account whether a strategy could be deployed in it; every call only reads.

    report = examine(loaded, profile="production")
    for finding in report.findings:
        print(finding, finding.command)

:mod:`aws` makes the calls, each once; :mod:`model` says what a check is; :mod:`run` has the list of checks and runs
their probes side by side. Each other module is one check.
"""

from eks_hardware.doctor.aws import AwsError
from eks_hardware.doctor.model import Diagnosis, Report
from eks_hardware.doctor.run import CHECKS, examine

__all__ = ["CHECKS", "AwsError", "Diagnosis", "Report", "examine"]
