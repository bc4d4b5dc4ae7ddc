"""Requests, their repetition and their refusals; a method for each operation that a program needs every day."""

import json
import random
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid

ENDED = ("completed", "canceled")


class AssayError(Exception):
    """A refusal of the service, or no usable answer at all (status 0, code "unreachable")."""

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


def _refusal(status, body):
    try:
        problem = json.loads(body)
        faults = problem.get("errors", [])
        lines = [f"{fault['path']}: {fault['message']}" for fault in faults]
        message = "\n  ".join([problem["title"] + ":", *lines]) if len(lines) > 1 else problem["detail"]
        return AssayError(message, status, problem.get("code"), faults, problem.get("request_id"))
    except (ValueError, KeyError, TypeError):
        return AssayError(f"The service answered {status} without a problem document.", status, "internal")


class Client:
    """url: the address of the service without /v1alpha. timeout: seconds for one request. retries: of what may be repeated."""

    def __init__(self, url, token, timeout=90, retries=5):
        self._base = url.rstrip("/") + "/v1alpha"
        self._token = token
        self._timeout = timeout
        self._retries = retries

    # -- requests ------------------------------------------------------------------------------------------------------

    def request(self, method, path, body=None, query=None, accept="application/json", key=None, repeatable=None, text=None):
        """The body of the answer as bytes. Any operation of docs/api.md can be asked with it."""
        query = {name: value for name, value in (query or {}).items() if value is not None}
        address = self._base + path + ("?" + urllib.parse.urlencode(query) if query else "")
        headers = {"Authorization": f"Bearer {self._token}", "Accept": accept}
        data = None
        if body is not None:
            data, headers["Content-Type"] = json.dumps(body).encode(), "application/json"
        if text is not None:
            data, headers["Content-Type"] = text.encode(), "text/markdown"
        if key is not None:
            headers["Idempotency-Key"] = key
        if repeatable is None:
            repeatable = method != "POST" or key is not None
        for attempt in range(self._retries + 1):
            wait = 0.2 * 2**attempt * (0.5 + random.random())
            last = attempt == self._retries or not repeatable
            try:
                asked = urllib.request.Request(address, data=data, method=method, headers=headers)
                with urllib.request.urlopen(asked, timeout=self._timeout) as answer:
                    return answer.read()
            except urllib.error.HTTPError as error:
                if last or error.code not in (429, 503):
                    raise _refusal(error.code, error.read()) from None
                asked_for = error.headers.get("Retry-After", "")
                wait = max(wait, float(asked_for)) if asked_for.isdigit() else wait
            except (urllib.error.URLError, OSError) as error:
                if last:
                    raise AssayError(f"{address} cannot be reached ({error}).", 0, "unreachable") from error
            time.sleep(min(wait, 10))
        raise AssertionError("unreachable")

    def _json(self, *args, **kwargs):
        answer = self.request(*args, **kwargs)
        return json.loads(answer) if answer else None

    def _pages(self, path, query):
        cursor = None
        while True:
            page = self._json("GET", path, query={**query, "cursor": cursor})
            yield from page["items"]
            cursor = page["next_cursor"]
            if cursor is None:
                return

    # -- templates -----------------------------------------------------------------------------------------------------

    def templates(self, q=None, tag=None):
        return self._json("GET", "/jobs/templates", query={"q": q, "tag": tag})

    def template(self, template_id):
        return self._json("GET", f"/jobs/templates/{urllib.parse.quote(template_id)}")

    def put_template(self, template_id, source):
        return self._json("PUT", f"/jobs/templates/{urllib.parse.quote(template_id)}", text=source)

    # -- jobs ----------------------------------------------------------------------------------------------------------

    def create(self, template_id, template_vars=None, idempotency_key=None, **options):
        """The assignment_id of a draft. options: presence_name, priority, metadata."""
        payload = {"type": "template", "template_id": template_id, "template_vars": template_vars or {}, **options}
        return self._json("POST", "/jobs/", body={"payload": payload}, key=idempotency_key or str(uuid.uuid4()))

    def start(self, assignment_id):
        """draft -> queued; a job that runs already is answered as it is."""
        return self._assignment("run", assignment_id)

    def cancel(self, assignment_id):
        return self._assignment("cancel", assignment_id)

    def _assignment(self, verb, assignment_id):
        payload = {"type": "assignment", "assignment_id": assignment_id}
        return self._json("POST", f"/jobs/{verb}", body={"payload": payload}, repeatable=True)

    def status(self, assignment_id, wait=None):
        """wait: seconds (at most 60) in which the answer may wait for the end."""
        return self._json("GET", "/jobs/status", query={"assignment_id": assignment_id, "wait": wait})

    def wait(self, assignment_id, on_progress=None, timeout=None):
        """The job once it has ended. timeout: seconds, then TimeoutError; the job goes on."""
        until = None if timeout is None else time.monotonic() + timeout
        told = None
        while True:
            left = 60 if until is None else max(0, min(60, until - time.monotonic()))
            job = self.status(assignment_id, wait=max(1, int(min(left, 2 if on_progress else 60))))
            progress = job.get("progress")
            if on_progress and progress and progress != told:
                told = progress
                on_progress(progress)
            if job["job_status"] in ENDED:
                return job
            if until is not None and time.monotonic() >= until:
                raise TimeoutError(f"The job {assignment_id} is {job['job_status']} after {timeout} seconds.")

    def run(self, template_id, template_vars=None, on_progress=None, timeout=None, **options):
        """Creates a job, runs it and waits. The job as it ended; JobFailed where it has no insight."""
        assignment_id = self.create(template_id, template_vars, **options)
        self.start(assignment_id)
        job = self.wait(assignment_id, on_progress, timeout)
        if job["insight_id"] is None:
            raise JobFailed(job)
        return job

    def jobs(self, **filters):
        """All, newest first, page by page. filters: job_status, template_id, created_after, created_before."""
        return self._pages("/jobs/", filters)

    def delete(self, assignment_id):
        self.request("DELETE", f"/jobs/{urllib.parse.quote(assignment_id)}")

    # -- insights ------------------------------------------------------------------------------------------------------

    def markdown(self, insight_id, charts=None):
        """charts: mermaid, image, text or none."""
        query = {"insight_id": insight_id, "charts": charts}
        return self.request("GET", "/jobs/result", query=query, accept="text/markdown").decode()

    def html(self, insight_id):
        return self.request("GET", "/jobs/result", query={"insight_id": insight_id}, accept="text/html").decode()

    def result(self, insight_id):
        """tables, charts, analyses, facts, lineage and the Markdown, as a dict."""
        return self._json("GET", "/jobs/result", query={"insight_id": insight_id})

    # -- webhooks and events -------------------------------------------------------------------------------------------

    def create_webhook(self, url, user_id, presence_name, idempotency_key=None, **options):
        """`signing_secret` is in this answer only. options: events, headers, description, signature, ..."""
        body = {"url": url, "user_id": user_id, "presence_name": presence_name, **options}
        return self._json("POST", "/webhooks/", body=body, key=idempotency_key or str(uuid.uuid4()))

    def webhooks(self, **filters):
        return self._pages("/webhooks/", filters)

    def delete_webhook(self, webhook_id):
        self.request("DELETE", f"/webhooks/{urllib.parse.quote(webhook_id)}")

    def events(self, **filters):
        """All that happened, newest first. filters: type."""
        return self._pages("/events", filters)
