"""Requests, their repetition and their refusals; a method for each operation that a program needs every day."""

import contextlib
import email.utils
import http.client
import json
import os
import random
import socket
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from typing import Any, Mapping, Optional

from .api_generated import Operations
from .errors import AssayError, JobFailed
from .place import files, segment

ENDED = ("completed", "canceled")
# What passes: too slow, too many, and a service or a proxy before it that is away for a while.
PASSING = (408, 429, 502, 503, 504)
# Seconds. A service that asks for more is not waited for: the caller is told at once.
LONGEST_ASKED = 60
# Seconds for what the service computes before it answers.
SLOW = 180
# Seconds that a request may wait for the end of a job.
LONGEST_WAIT = 50
# Operations that compute before they answer.
SLOW_PATHS = ("/jobs/templates/check", "/jobs/templates/preview", "/metrics/check", "/drafts", "/jobs/bulk", "/jobs/bulk/check", "/jobs/result", "/repository/pull", "/repository/branches")
# Seconds before a stream that broke is opened again.
AGAIN = 0.2


def _asked_wait(headers):
    """Seconds of a Retry-After (RFC 9110, section 10.2.3): a number, or a date, counted from the answer's own Date."""
    text = (headers.get("Retry-After") or "").strip()
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        until = email.utils.parsedate_to_datetime(text).timestamp()
    except (TypeError, ValueError):
        return None
    try:
        answered = email.utils.parsedate_to_datetime(headers.get("Date") or "").timestamp()
    except (TypeError, ValueError):
        answered = time.time()
    return max(0.0, until - answered)


def _base(url):
    base = url.rstrip("/")
    base = base[: -len("/v1alpha")] if base.endswith("/v1alpha") else base
    if not base.lower().startswith(("http://", "https://")):
        raise AssayError(f'"{url}" is not an address: write it as http://127.0.0.1:8080.', 0, "invalid")
    return base + "/v1alpha"


def _refusal(status, body, asked):
    try:
        problem = json.loads(body)
        faults = problem.get("errors", [])
        lines = [f"{fault['path']}: {fault['message']}" for fault in faults]
        message = "\n  ".join([problem["title"] + ":", *lines]) if len(lines) > 1 else problem["detail"]
        return AssayError(message, status, problem.get("code"), faults, problem.get("request_id"))
    except (ValueError, KeyError, TypeError, AttributeError):
        said = f"{asked} was answered {status} without a problem document, so by a proxy or another service: check the address."
        return AssayError(said, status, "internal")


def _body(error):
    try:
        return error.read()
    except (http.client.HTTPException, OSError):
        return b""


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


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect would take the token to another place, and make a GET of a POST: it is a refusal."""

    def redirect_request(self, *_):
        return None


class Answer(dict):
    """The object of an answer. etag: what `if_match` of the next change takes; None where it has none."""

    etag = None


class _Bytes(bytes):
    etag = None


def etag_of(answer: Mapping[str, Any]) -> Optional[str]:
    """What `if_match` of the next change takes; None where the answer has none. The type checker knows no `.etag` of a TypedDict."""
    tag = getattr(answer, "etag", None)
    return tag if isinstance(tag, str) else None


def _object(answer):
    value = json.loads(answer) if answer else None
    if isinstance(value, dict):
        value = Answer(value)
        value.etag = getattr(answer, "etag", None)
    return value


class _Api(Operations):
    def __init__(self, client):
        self._client = client

    def _call(self, method, path, reads, query=None, body=None, form=None, data=None, media=None, keyed=False, key=None, match=None, timeout=None):
        if form is not None:
            data, media = urllib.parse.urlencode(form).encode(), "application/x-www-form-urlencoded"
        headers = {} if data is None else {"Content-Type": media or "application/octet-stream"}
        if match is not None:
            headers["If-Match"] = match
        answer = self._client.request(
            method,
            path,
            body=body,
            query=query,
            accept="application/json" if reads == "json" else "*/*",
            key=(key or str(uuid.uuid4())) if keyed else None,
            headers=headers,
            data=data,
            timeout=timeout or (SLOW if path in SLOW_PATHS else None),
        )
        if reads == "json":
            return _object(answer)
        return answer if reads == "bytes" else None


class Client:
    """`api` has every operation of the interface with its types; the methods here are what a program needs every day.

    url: the address of the service. timeout: seconds of silence in one request. retries: of what may be repeated.
    """

    def __init__(self, url, token, timeout=90, retries=5):
        self._url = url
        self._base = _base(url)
        self._token = token
        self._timeout = timeout
        self._retries = retries
        self._opener = urllib.request.build_opener(_Handler, _SecureHandler, _NoRedirects)
        self.api: Operations = _Api(self)

    # -- requests ------------------------------------------------------------------------------------------------------

    def request(self, method, path, body=None, query=None, accept="application/json", key=None, repeatable=None, text=None, headers=None, source=None, text_type="text/markdown", timeout=None, data=None):
        """
        The body of the answer as bytes. Any operation of docs/api.md can be asked with it. source: a path whose bytes are the
        body, sent as they are read. data: bytes, of the Content-Type in headers. timeout: seconds, in place of the client's.
        """
        query = {
            name: str(value).lower() if isinstance(value, bool) else value
            for name, value in (query or {}).items()
            if value is not None
        }
        address = self._base + path + ("?" + urllib.parse.urlencode(query) if query else "")
        headers = {"Authorization": f"Bearer {self._token}", "Accept": accept, **(headers or {})}
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
            return self._send(method, address, data, headers, repeatable, timeout or self._timeout)

    def _send(self, method, address, data, headers, repeatable, timeout):
        for attempt in range(self._retries + 1):
            if hasattr(data, "seek"):
                data.seek(0)
            try:
                return self._try(method, address, data, headers, timeout)
            except AssayError as error:
                passes = error.status in (0, *PASSING) or error.code == "idempotency_in_progress"
                asked_for = error.retry_after or 0
                if attempt == self._retries or not repeatable or not passes or asked_for > LONGEST_ASKED:
                    raise
            # Full jitter (Brooker, Exponential Backoff and Jitter, AWS Architecture Blog, 2015).
            time.sleep(asked_for + random.random() * min(10, 0.4 * 2**attempt))
        raise AssertionError("unreachable")

    def _try(self, method, address, data, headers, timeout):
        place = address.split("?")[0]
        asked = f"{method} {place}"
        try:
            request = urllib.request.Request(address, data=data, method=method, headers=headers)
            with self._opener.open(request, timeout=timeout) as answer:
                body, content_type = _Bytes(answer.read()), answer.headers.get_content_type()
                body.etag = answer.headers.get("ETag")
        except urllib.error.HTTPError as error:
            refusal = _refusal(error.code, _body(error), asked)
            refusal.retry_after = _asked_wait(error.headers)
            raise refusal from None
        except (urllib.error.URLError, http.client.HTTPException, OSError) as error:
            if isinstance(error, socket.timeout) or isinstance(getattr(error, "reason", None), socket.timeout):
                raise AssayError(f"{asked} was not answered within {timeout:g} seconds.", 0, "timeout") from error
            raise AssayError(f"{place} cannot be reached ({error}).", 0, "unreachable") from error
        if content_type == "text/html" and headers["Accept"] not in ("text/html", "*/*"):
            said = f'{asked} was answered with a page (text/html), so "{self._url}" is not the address of the interface: write that of the service, such as http://127.0.0.1:8080.'
            raise AssayError(said, 200, "not_assay")
        return body

    def _json(self, *args, **kwargs):
        return _object(self.request(*args, **kwargs))

    def _pages(self, path, query):
        cursor = None
        while True:
            page = self._json("GET", path, query={**query, "cursor": cursor})
            yield from page["items"]
            # A list that goes forward has a cursor for what will come: the same one where nothing has come.
            if page["next_cursor"] in (None, cursor):
                return
            cursor = page["next_cursor"]

    def all(self, read, *given, **query):
        """Each item of all pages of a list of `api`, as in all(client.api.list_audit, action="job.run")."""
        cursor = query.pop("cursor", None)
        while True:
            page = read(*given, cursor=cursor, **query)
            yield from page["items"]
            if page["next_cursor"] in (None, cursor):
                return
            cursor = page["next_cursor"]

    # -- templates -----------------------------------------------------------------------------------------------------

    def templates(self, q=None, tag=None):
        return self._json("GET", "/jobs/templates", query={"q": q, "tag": tag})

    def template(self, template_id):
        return self._json("GET", f"/jobs/templates/{segment(template_id)}")

    def put_template(self, template_id, source):
        return self._json("PUT", f"/jobs/templates/{segment(template_id)}", text=source)

    def delete_template(self, template_id):
        self.request("DELETE", f"/jobs/templates/{segment(template_id)}")

    def draft(self, file, dialect=None, ask=None, keep=False):
        """Metrics and a template (`source`) for a table such as "uploads/PATH"; `questions` names what can be read in two ways.
        dialect: lines such as "dates: dmy" that settle them. keep: keeps them with the upload. ask: what the report is to
        tell, for a language model."""
        lines = [dialect] if isinstance(dialect, str) else dialect and list(dialect)
        return self._json("POST", "/drafts", body={"file": file, "dialect": lines, "ask": ask, "keep": keep}, timeout=SLOW)

    # -- metrics -------------------------------------------------------------------------------------------------------

    def metrics(self, q=None):
        """All by id, page by page. q: words in id, label and description."""
        return self._pages("/metrics", {"q": q})

    def metric(self, metric_id):
        """With its definition (`source`, YAML)."""
        return self._json("GET", f"/metrics/{segment(metric_id)}")

    def put_metric(self, metric_id, source):
        """AssayError with line and column where the YAML has faults."""
        return self._json("PUT", f"/metrics/{segment(metric_id)}", text=source, text_type="application/yaml")

    def check_metric(self, source):
        """`faults`, also against the columns of its data, and the `metric` as it was read."""
        return self._json("POST", "/metrics/check", text=source, text_type="application/yaml", repeatable=True)

    def delete_metric(self, metric_id):
        self.request("DELETE", f"/metrics/{segment(metric_id)}")

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
        """wait: seconds in which the answer may wait for the end, 50 at most."""
        return self._json("GET", "/jobs/status", query={"assignment_id": assignment_id, "wait": wait})

    def watch(self, assignment_id):
        """Yields the job now, and after each change and each progress until it has ended. A broken stream is opened again."""
        while True:
            job = self.status(assignment_id)
            yield job
            if job["job_status"] in ENDED:
                return
            ended = False
            for name, data in self._changes(assignment_id):
                changed = {"progress": data} if name == "progress" else data
                ended = changed.get("job_status") in ENDED
                if ended:
                    break
                job = {**job, **changed}
                yield job
            if not ended:
                time.sleep(AGAIN)

    def _changes(self, assignment_id):
        """The server-sent events of a job until their stream ends or breaks: name and data."""
        address = f"{self._base}/jobs/events?" + urllib.parse.urlencode({"assignment_id": assignment_id})
        headers = {"Authorization": f"Bearer {self._token}", "Accept": "text/event-stream"}
        try:
            with self._opener.open(urllib.request.Request(address, headers=headers), timeout=self._timeout) as answer:
                name = ""
                for line in answer:
                    field, _, value = line.decode().rstrip("\r\n").partition(": ")
                    if field == "event":
                        name = value
                    elif field == "data":
                        yield name, json.loads(value)
        except urllib.error.HTTPError as error:
            if error.code not in PASSING:
                raise _refusal(error.code, _body(error), "GET /jobs/events") from None
            error.close()
        except (urllib.error.URLError, http.client.HTTPException, OSError):
            return

    def wait(self, assignment_id, on_progress=None, timeout=None):
        """The job once it has ended. timeout: seconds, then TimeoutError; the job goes on."""
        until = None if timeout is None else time.monotonic() + timeout
        told = None
        while True:
            left = LONGEST_WAIT if until is None else max(0, min(LONGEST_WAIT, until - time.monotonic()))
            job = self.status(assignment_id, wait=max(1, int(min(left, 2 if on_progress else LONGEST_WAIT))))
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
        try:
            self.start(assignment_id)
        except AssayError as error:
            # It was run before, under the same key or by a try whose answer was lost.
            if error.code != "job_final":
                raise
        job = self.wait(assignment_id, on_progress, timeout)
        if job["insight_id"] is None:
            raise JobFailed(job)
        return job

    def jobs(self, **filters):
        """All, newest first, page by page. filters: job_status, ending, template_id, schedule_id, batch_id, user_id, presence_name, created_after, created_before."""
        return self._pages("/jobs/", filters)

    def delete(self, assignment_id):
        self.request("DELETE", f"/jobs/{segment(assignment_id)}")

    def create_many(self, template_id, items, run=False, idempotency_key=None, **options):
        """
        Up to 1,000 jobs of one template: items are their sets of variables. `batch_id`, `created`, `refused`, and for each item
        its assignment_id or its errors. run: also queued. options: notify, presence_name, priority, metadata, of all of them.
        """
        body = {"template_id": template_id, "items": [{"template_vars": item} for item in items], "run": run, **options}
        return self._json("POST", "/jobs/bulk", body=body, key=idempotency_key or str(uuid.uuid4()))

    def batch(self, batch_id):
        """How many there are, and how many have ended. Its jobs: jobs(batch_id=...)."""
        return self._json("GET", f"/jobs/batches/{segment(batch_id)}")

    # -- schedules -----------------------------------------------------------------------------------------------------

    def create_schedule(self, name, template_id, cron, time_zone="UTC", idempotency_key=None, **options):
        """options: template_vars, starts_at, ends_at, missed, missed_limit, overlap, paused, notify, metadata, ..."""
        body = {"name": name, "template_id": template_id, "cron": cron, "time_zone": time_zone, **options}
        return self._json("POST", "/schedules", body=body, key=idempotency_key or str(uuid.uuid4()))

    def schedules(self, **filters):
        """All, newest first. filters: template_id, user_id, paused."""
        return self._pages("/schedules", filters)

    def schedule(self, schedule_id):
        return self._json("GET", f"/schedules/{segment(schedule_id)}")

    def change_schedule(self, schedule_id, **changes):
        """What is left out stays; paused=True pauses."""
        return self._json("PATCH", f"/schedules/{segment(schedule_id)}", body=changes)

    def run_schedule(self, schedule_id, idempotency_key=None):
        """The job that is made now, besides the due times."""
        key = idempotency_key or str(uuid.uuid4())
        return self._json("POST", f"/schedules/{segment(schedule_id)}/run-now", key=key)

    def delete_schedule(self, schedule_id):
        self.request("DELETE", f"/schedules/{segment(schedule_id)}")

    # -- files ---------------------------------------------------------------------------------------------------------

    def put_file(self, path, source, new=False, dialect=None):
        """Uploads the file `source` as `path`; templates name it "uploads/PATH". new: an earlier one is not replaced (412).
        dialect: lines that say how it is read, such as "bad_rows: skip", which are kept with it.

        The answer has `columns`, `dialect` (how a CSV or TSV is divided, else None) and `readings`: the columns that are read in
        another way than by their plain values; one with a `doubt` stays text.
        """
        headers = {"Content-Type": "application/octet-stream", **({"If-None-Match": "*"} if new else {})}
        lines = dialect if dialect is None or isinstance(dialect, str) else "\n".join(dialect)
        return self._json("PUT", f"/files/{files(path)}", query={"dialect": lines}, source=source, headers=headers)

    def files(self, prefix=None):
        return self._pages("/files", {"prefix": prefix})

    def read_file(self, path):
        """Its bytes."""
        return self.request("GET", f"/files/{files(path)}", accept="*/*")

    def delete_file(self, path):
        self.request("DELETE", f"/files/{files(path)}")

    # -- insights ------------------------------------------------------------------------------------------------------

    def insights(self, **filters):
        """Cards of all, newest first, page by page. filters: q, template_id, series, tag, grade, created_after, created_before."""
        return self._pages("/insights", filters)

    def earlier(self, insight_id):
        """The earlier runs to compare it with, each with its `steps` back: before, again, day, week, month, year."""
        return self._json("GET", f"/insights/{segment(insight_id)}/earlier")["items"]

    def markdown(self, insight_id, charts=None):
        """charts: mermaid, image, text or none."""
        query = {"insight_id": insight_id, "charts": charts}
        return self.request("GET", "/jobs/result", query=query, accept="text/markdown").decode()

    def html(self, insight_id):
        return self.request("GET", "/jobs/result", query={"insight_id": insight_id}, accept="text/html", timeout=SLOW).decode()

    def xlsx(self, insight_id, table=None):
        """The tables as a workbook, or that of one block, as bytes."""
        accept = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
        return self.request("GET", "/jobs/result", query={"insight_id": insight_id, "table": table}, accept=accept, timeout=SLOW)

    def csv(self, insight_id, table=None):
        """The table of a block as text; the block is not needed where there is one table."""
        query = {"insight_id": insight_id, "table": table}
        return self.request("GET", "/jobs/result", query=query, accept="text/csv").decode("utf-8-sig")

    def pdf(self, insight_id):
        """Its bytes."""
        return self.request("GET", "/jobs/result", query={"insight_id": insight_id}, accept="application/pdf", timeout=SLOW)

    def result(self, insight_id):
        """tables, charts, analyses, facts, provenance, lineage and the Markdown, as a dict. Positions in provenance count UTF-16 code units."""
        return self._json("GET", "/jobs/result", query={"insight_id": insight_id})

    def create_link(self, insight_id, expires_in=None, label=None, newest=None, idempotency_key=None):
        """`url` opens the page without a token, and is in this answer only. expires_in: seconds; seven days unless given. newest: it always opens the newest run with the same variables but the period."""
        given = {"expires_in": expires_in, "label": label, "newest": newest}
        body = {name: value for name, value in given.items() if value is not None}
        path = f"/insights/{segment(insight_id)}/links"
        return self._json("POST", path, body=body, key=idempotency_key or str(uuid.uuid4()))

    def links(self, insight_id):
        return self._pages(f"/insights/{segment(insight_id)}/links", {})

    def delete_link(self, insight_id, link_id):
        self.request("DELETE", f"/insights/{segment(insight_id)}/links/{segment(link_id)}")

    # -- webhooks and events -------------------------------------------------------------------------------------------

    def create_webhook(self, url, user_id, presence_name, idempotency_key=None, **options):
        """`signing_secret` is in this answer only. options: events, headers, description, signature, ..."""
        body = {"url": url, "user_id": user_id, "presence_name": presence_name, **options}
        return self._json("POST", "/webhooks/", body=body, key=idempotency_key or str(uuid.uuid4()))

    def webhooks(self, **filters):
        return self._pages("/webhooks/", filters)

    def delete_webhook(self, webhook_id):
        self.request("DELETE", f"/webhooks/{segment(webhook_id)}")

    def events(self, **filters):
        """All that happened, newest first. filters: type."""
        return self._pages("/events", filters)
