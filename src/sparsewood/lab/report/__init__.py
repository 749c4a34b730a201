"""Runs written up as one HTML page."""

from sparsewood.lab.report.page import write_report

__all__ = ["write_report"]
