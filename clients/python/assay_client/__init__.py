"""The client of Assay's HTTP interface: jobs, insights, schedules, files, webhooks. Python's own library and nothing else."""

from .client import AssayError, Client, JobFailed
from .signature import SignatureError, verify

__all__ = ["AssayError", "Client", "JobFailed", "SignatureError", "verify"]
