"""A strategy as one HTML page: diagram, cost, quotas and derived settings.

report_page(report_of(strategy, findings, version=__version__))
"""

from eks_hardware.html_report.page import report_page
from eks_hardware.html_report.report import Report, report_of

__all__ = ["Report", "report_of", "report_page"]
