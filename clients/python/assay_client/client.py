"""Requests, their repetition and their refusals; a method for each operation that a program needs every day."""

import contextlib
import http.client
import json
import os
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


def _segment(name):
    """One name in a path. An empty one, "." and ".." would lead to another operation."""
    if name in ("", ".", ".."):
        raise AssayError(f'"{name}" cannot be a name.', 0, "invalid")
    return urllib.parse.quote(name, safe="")


def _path(path):
    return "/".join(_segment(name) for name in path.split("/"))


class _ReadsOn:
    """A service that refuses an upload before its end closes the connection: what it said is read all the same."""

    def request(self, *args, **kwargs):
        try:
            super().request(*args, **kwargs)
        except (BrokenPipeError, ConnectionResetError):
            pass


class _Connection(_ReadsOn, http.client.HTTPConnection):
    pass


class _SecureConnection(_ReadsOn, http.client.HTTPSConnection):
    pass


class _Handler(urllib.request.HTTPHandler):
    def http_open(self, request):
        return self.do_open(_Connection, request)


class _SecureHandler(urllib.request.HTTPSHandler):
    def https_open(self, request):
        return self.do_open(_SecureConnection, request, context=self._context)


class Client:
    """url: the address of the service without /v1alpha. timeout: seconds for one request. retries: of what may be repeated."""

    def __init__(self, url, token, timeout=90, retries=5):
        self._base = url.rstrip("/") + "/v1alpha"
        self._token = token
        self._timeout = timeout
        self._retries = retries
        self._opener = urllib.request.build_opener(_Handler, _SecureHandler)

    # -- requests ------------------------------------------------------------------------------------------------------

    def request(self, method, path, body=None, query=None, accept="application/json", key=None, repeatable=None, text=None, headers=None, source=None, text_type="text/markdown"):
        """
        The body of the answer as bytes. Any operation of docs/api.md can be asked with it. source: a path whose bytes are the
        body, sent as they are read.
        """
        query = {
            name: str(value).lower() if isinstance(value, bool) else value
            for name, value in (query or {}).items()
            if value is not None
        }
        address = self._base + path + ("?" + urllib.parse.urlencode(query) if query else "")
        headers = {"Authorization": f"Bearer {self._token}", "Accept": accept, **(headers or {})}
        data = None
        if body is not None:
            data, headers["Content-Type"] = json.dumps(body).encode(), "application/json"
        if text is not None:
            data, headers["Content-Type"] = text.encode(), text_type
        if key is not None:
            headers["Idempotency-Key"] = key
        if repeatable is None:
            repeatable = method != "POST" or key is not None
        with contextlib.ExitStack() as opened:
            if source is not None:
                data = opened.enter_context(open(source, "rb"))
                headers["Content-Length"] = str(os.fstat(data.fileno()).st_size)
            return self._send(method, address, data, headers, repeatable)

    def _send(self, method, address, data, headers, repeatable):
        for attempt in range(self._retries + 1):
            wait = 0.2 * 2**attempt * (0.5 + random.random())
            last = attempt == self._retries or not repeatable
            if hasattr(data, "seek"):
                data.seek(0)
            try:
                asked = urllib.request.Request(address, data=data, method=method, headers=headers)
                with self._opener.open(asked, timeout=self._timeout) as answer:
                    return answer.read()
            except urllib.error.HTTPError as error:
                if last or error.code not in (429, 503):
                    raise _refusal(error.code, error.read()) from None
                asked_for = error.headers.get("Retry-After", "")
                wait = max(wait, float(asked_for)) if asked_for.isdigit() else wait
            except (urllib.error.URLError, http.client.HTTPException, OSError) as error:
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
        return self._json("GET", f"/jobs/templates/{_segment(template_id)}")

    def put_template(self, template_id, source):
        return self._json("PUT", f"/jobs/templates/{_segment(template_id)}", text=source)

    def delete_template(self, template_id):
        self.request("DELETE", f"/jobs/templates/{_segment(template_id)}")

    def draft(self, file, dialect=None, ask=None, keep=False):
        """Metrics and a template (`source`) for a table such as "uploads/PATH"; `questions` names what can be read in two ways.
        dialect: lines such as "dates: dmy" that settle them. keep: keeps them with the upload. ask: what the report is to
        tell, for a language model."""
        lines = [dialect] if isinstance(dialect, str) else dialect and list(dialect)
        return self._json("POST", "/drafts", body={"file": file, "dialect": lines, "ask": ask, "keep": keep})

    # -- metrics -------------------------------------------------------------------------------------------------------

    def metrics(self, q=None):
        """All by id, page by page. q: words in id, label and description."""
        return self._pages("/metrics", {"q": q})

    def metric(self, metric_id):
        """With its definition (`source`, YAML)."""
        return self._json("GET", f"/metrics/{_segment(metric_id)}")

    def put_metric(self, metric_id, source):
        """AssayError with line and column where the YAML has faults."""
        return self._json("PUT", f"/metrics/{_segment(metric_id)}", text=source, text_type="application/yaml")

    def check_metric(self, source):
        """`faults`, also against the columns of its data, and the `metric` as it was read."""
        return self._json("POST", "/metrics/check", text=source, text_type="application/yaml", repeatable=True)

    def delete_metric(self, metric_id):
        self.request("DELETE", f"/metrics/{_segment(metric_id)}")

    # -- jobs ----------------------------------------------------------------------------------------------------------

    def create(self, template_id, template_vars=None, idempotency_key=None, **options):
        """The assignment_id of a draft. options: notify, presence_name, priority, metadata."""
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
        """All, newest first, page by page. filters: job_status, template_id, schedule_id, batch_id, created_after, created_before."""
        return self._pages("/jobs/", filters)

    def delete(self, assignment_id):
        self.request("DELETE", f"/jobs/{_segment(assignment_id)}")

    def create_many(self, template_id, items, run=False, idempotency_key=None, **options):
        """
        Up to 1,000 jobs of one template: items are their sets of variables. `batch_id`, `created`, `refused`, and for each item
        its assignment_id or its errors. run: also queued. options: notify, presence_name, priority, metadata, of all of them.
        """
        body = {"template_id": template_id, "items": [{"template_vars": item} for item in items], "run": run, **options}
        return self._json("POST", "/jobs/bulk", body=body, key=idempotency_key or str(uuid.uuid4()))

    def batch(self, batch_id):
        """How many there are, and how many have ended. Its jobs: jobs(batch_id=...)."""
        return self._json("GET", f"/jobs/batches/{_segment(batch_id)}")

    # -- schedules -----------------------------------------------------------------------------------------------------

    def create_schedule(self, name, template_id, cron, time_zone="UTC", idempotency_key=None, **options):
        """options: template_vars, starts_at, ends_at, missed, missed_limit, overlap, paused, notify, metadata, ..."""
        body = {"name": name, "template_id": template_id, "cron": cron, "time_zone": time_zone, **options}
        return self._json("POST", "/schedules", body=body, key=idempotency_key or str(uuid.uuid4()))

    def schedules(self, **filters):
        """All, newest first. filters: template_id, user_id, paused."""
        return self._pages("/schedules", filters)

    def schedule(self, schedule_id):
        return self._json("GET", f"/schedules/{_segment(schedule_id)}")

    def change_schedule(self, schedule_id, **changes):
        """What is left out stays; paused=True pauses."""
        return self._json("PATCH", f"/schedules/{_segment(schedule_id)}", body=changes)

    def run_schedule(self, schedule_id, idempotency_key=None):
        """The job that is made now, besides the due times."""
        key = idempotency_key or str(uuid.uuid4())
        return self._json("POST", f"/schedules/{_segment(schedule_id)}/run-now", key=key)

    def delete_schedule(self, schedule_id):
        self.request("DELETE", f"/schedules/{_segment(schedule_id)}")

    # -- files ---------------------------------------------------------------------------------------------------------

    def put_file(self, path, source, new=False):
        """Uploads the file `source` as `path`; templates name it "uploads/PATH". new: an earlier one is not replaced (412).

        The answer has `columns`, `dialect` (how a CSV or TSV is divided, else None) and `readings`: the columns that are read in
        another way than by their plain values; one with a `doubt` stays text.
        """
        headers = {"Content-Type": "application/octet-stream", **({"If-None-Match": "*"} if new else {})}
        return self._json("PUT", f"/files/{_path(path)}", source=source, headers=headers)

    def files(self, prefix=None):
        return self._pages("/files", {"prefix": prefix})

    def read_file(self, path):
        """Its bytes."""
        return self.request("GET", f"/files/{_path(path)}", accept="*/*")

    def delete_file(self, path):
        self.request("DELETE", f"/files/{_path(path)}")

    # -- insights ------------------------------------------------------------------------------------------------------

    def insights(self, **filters):
        """Cards of all, newest first, page by page. filters: q, template_id, series, tag, grade, created_after, created_before."""
        return self._pages("/insights", filters)

    def earlier(self, insight_id):
        """The earlier runs to compare it with, each with its `steps` back: before, again, day, week, month, year."""
        return self._json("GET", f"/insights/{_segment(insight_id)}/earlier")["items"]

    def markdown(self, insight_id, charts=None):
        """charts: mermaid, image, text or none."""
        query = {"insight_id": insight_id, "charts": charts}
        return self.request("GET", "/jobs/result", query=query, accept="text/markdown").decode()

    def html(self, insight_id):
        return self.request("GET", "/jobs/result", query={"insight_id": insight_id}, accept="text/html").decode()

    def xlsx(self, insight_id, table=None):
        """The tables as a workbook, or that of one block, as bytes."""
        accept = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
        return self.request("GET", "/jobs/result", query={"insight_id": insight_id, "table": table}, accept=accept)

    def csv(self, insight_id, table=None):
        """The table of a block as text; the block is not needed where there is one table."""
        query = {"insight_id": insight_id, "table": table}
        return self.request("GET", "/jobs/result", query=query, accept="text/csv").decode("utf-8-sig")

    def pdf(self, insight_id):
        """Its bytes."""
        return self.request("GET", "/jobs/result", query={"insight_id": insight_id}, accept="application/pdf")

    def result(self, insight_id):
        """tables, charts, analyses, facts, provenance, lineage and the Markdown, as a dict. Positions in provenance count UTF-16 code units."""
        return self._json("GET", "/jobs/result", query={"insight_id": insight_id})

    def create_link(self, insight_id, expires_in=None, label=None, newest=None, idempotency_key=None):
        """`url` opens the page without a token, and is in this answer only. expires_in: seconds; seven days unless given. newest: it always opens the newest run with the same variables but the period."""
        given = {"expires_in": expires_in, "label": label, "newest": newest}
        body = {name: value for name, value in given.items() if value is not None}
        path = f"/insights/{_segment(insight_id)}/links"
        return self._json("POST", path, body=body, key=idempotency_key or str(uuid.uuid4()))

    def links(self, insight_id):
        return self._pages(f"/insights/{_segment(insight_id)}/links", {})

    def delete_link(self, insight_id, link_id):
        self.request("DELETE", f"/insights/{_segment(insight_id)}/links/{_segment(link_id)}")

    # -- webhooks and events -------------------------------------------------------------------------------------------

    def create_webhook(self, url, user_id, presence_name, idempotency_key=None, **options):
        """`signing_secret` is in this answer only. options: events, headers, description, signature, ..."""
        body = {"url": url, "user_id": user_id, "presence_name": presence_name, **options}
        return self._json("POST", "/webhooks/", body=body, key=idempotency_key or str(uuid.uuid4()))

    def webhooks(self, **filters):
        return self._pages("/webhooks/", filters)

    def delete_webhook(self, webhook_id):
        self.request("DELETE", f"/webhooks/{_segment(webhook_id)}")

    def events(self, **filters):
        """All that happened, newest first. filters: type."""
        return self._pages("/events", filters)
