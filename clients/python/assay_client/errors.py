"""The errors that a call raises."""

from __future__ import annotations

from typing import TYPE_CHECKING, Iterable, Optional

if TYPE_CHECKING:
    from .api_generated import Job, ProblemErrors


class AssayError(Exception):
    """A refusal of the service. Without a usable answer the code is "unreachable" or "timeout" with status 0, or "not_assay" if
    another program answered. retry_after: the seconds after which the service allows a repeat; None if it does not say."""

    retry_after: Optional[float] = None

    def __init__(self, message: str, status: int, code: str, errors: Iterable[ProblemErrors] = (), request_id: Optional[str] = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.errors = list(errors)
        self.request_id = request_id


class JobFailed(Exception):
    """A job that ended without an insight: `code`, `detail`, and the whole `job`."""

    def __init__(self, job: Job) -> None:
        error = job.get("error")
        self.code = error.get("code") if error else None
        self.detail = error.get("detail") if error else None
        super().__init__(f"{self.code}: {self.detail}")
        self.job = job
