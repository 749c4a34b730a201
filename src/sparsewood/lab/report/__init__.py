"""Reports of runs, each one HTML page."""

from sparsewood.lab.report._results import Told
from sparsewood.lab.report.page import write_report

__all__ = ["Told", "write_report"]
