"""A fitted mixture as one web page, to be explored without a network."""

from sticktree.report.page import build_report, write_report

__all__ = ["build_report", "write_report"]
