"""What a call raises."""


class AssayError(Exception):
    """A refusal of the service, or no usable answer: the code "unreachable" or "timeout" with status 0, or "not_assay" where a page
    answers. retry_after: seconds after which the service asks to be asked again, else None."""

    retry_after = None

    def __init__(self, message, status, code, errors=(), request_id=None):
        super().__init__(message)
        self.status = status
        self.code = code
        self.errors = list(errors)
        self.request_id = request_id


class JobFailed(Exception):
    """A job that ended without an insight: `code`, `detail`, and the whole `job`."""

    def __init__(self, job):
        error = job.get("error") or {}
        super().__init__(f"{error.get('code')}: {error.get('detail')}")
        self.code = error.get("code")
        self.detail = error.get("detail")
        self.job = job
