"""The client of Assay's HTTP interface: jobs, insights, schedules, files, webhooks. It needs only Python's own library."""

from .asynchronous import AsyncClient
from .client import Client, etag_of
from .errors import AssayError, JobFailed
from .signature import SignatureError, verify

__all__ = ["AssayError", "AsyncClient", "Client", "JobFailed", "SignatureError", "etag_of", "verify"]
