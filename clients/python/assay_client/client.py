"""Sends requests, repeats them and raises refusals. Has a method for each operation that a program needs every day."""

from __future__ import annotations

import contextlib
import email.message
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
from typing import TYPE_CHECKING, Any, BinaryIO, Callable, Dict, Iterable, Iterator, List, Literal, Mapping, Optional, Tuple, Union, cast

from .api_generated import Operations
from .errors import AssayError, JobFailed
from .place import files, segment

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from . import api_generated as api
    from .options import Asked, Called, CreateOptions, JobOptions, RunOptions, ScheduleOptions, WebhookOptions

ENDED = ("completed", "canceled")
# Statuses of passing failures: too slow, too many requests, and a service or a proxy that is away for a while.
PASSING = (408, 429, 502, 503, 504)
# The longest wait in seconds that a service may ask for. If it asks for more, the call raises at once.
LONGEST_ASKED = 60
# The time limit in seconds for operations that compute before they answer.
SLOW = 180
# The seconds for which one request may wait for the end of a job.
LONGEST_WAIT = 50
# Operations that compute before they answer.
SLOW_PATHS = ("/jobs/templates/check", "/jobs/templates/preview", "/jobs/templates/explain", "/metrics/check", "/drafts", "/jobs/bulk", "/jobs/bulk/check", "/jobs/result", "/repository/pull", "/repository/branches")
# The seconds after which a broken stream is opened again.
AGAIN = 0.2


def _asked_wait(headers: email.message.Message) -> Optional[float]:
    """Returns the seconds of a Retry-After (RFC 9110, section 10.2.3): a number, or a date, counted from the answer's own Date. None if it has neither."""
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


def _base(url: str) -> str:
    base = url.rstrip("/")
    base = base[: -len("/v1alpha")] if base.endswith("/v1alpha") else base
    if not base.lower().startswith(("http://", "https://")):
        raise AssayError(f'"{url}" is not an address: write it as http://127.0.0.1:8080.', 0, "invalid")
    return base + "/v1alpha"


def _refusal(status: int, body: bytes, asked: str) -> AssayError:
    try:
        problem = json.loads(body)
        faults = problem.get("errors", [])
        lines = [f"{fault['path']}: {fault['message']}" for fault in faults]
        message = "\n  ".join([problem["title"] + ":", *lines]) if len(lines) > 1 else problem["detail"]
        return AssayError(message, status, problem.get("code"), faults, problem.get("request_id"))
    except (ValueError, KeyError, TypeError, AttributeError):
        said = f"{asked} was answered {status} without a problem document, so by a proxy or another service: check the address."
        return AssayError(said, status, "internal")


def _body(error: urllib.error.HTTPError) -> bytes:
    try:
        return error.read()
    except (http.client.HTTPException, OSError):
        return b""


class _Connection(http.client.HTTPConnection):
    """A connection that still reads the answer if the service refuses an upload before its end and closes the connection."""

    def request(self, *args: Any, **named: Any) -> None:
        try:
            super().request(*args, **named)
        except (BrokenPipeError, ConnectionResetError):
            pass


class _SecureConnection(_Connection, http.client.HTTPSConnection):
    pass


class _Handler(urllib.request.HTTPHandler):
    def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(_Connection, req)


class _SecureHandler(urllib.request.HTTPSHandler):
    def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(_SecureConnection, req, context=getattr(self, "_context", None))


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Treats a redirect as a refusal. It would take the token to another address, and turn a POST into a GET."""

    def redirect_request(self, *args: object, **named: object) -> None:
        return None


class Answer(dict[str, Any]):
    """The object of an answer. etag: the tag for `if_match` of the next change; None if the answer has none."""

    etag: Optional[str] = None


class _Bytes(bytes):
    etag: Optional[str] = None


def etag_of(answer: Mapping[str, Any]) -> Optional[str]:
    """Returns the tag for `if_match` of the next change; None if the answer has none. Type checkers know no `.etag` of a TypedDict."""
    tag = getattr(answer, "etag", None)
    return tag if isinstance(tag, str) else None


def _object(answer: bytes) -> Any:
    value: Any = json.loads(answer) if answer else None
    if not isinstance(value, dict):
        return value
    bearing = Answer(cast(Dict[str, Any], value))
    bearing.etag = getattr(answer, "etag", None)
    return bearing


def call(client: Client, method: str, path: str, reads: str, **given: Unpack[Called]) -> Any:
    """Calls one operation of `api`. reads: "json", "bytes" or "none", the form of the answer."""
    data, media, form = given.get("data"), given.get("media"), given.get("form")
    if form is not None:
        data, media = urllib.parse.urlencode(form).encode(), "application/x-www-form-urlencoded"
    headers = {} if data is None else {"Content-Type": media or "application/octet-stream"}
    match = given.get("match")
    if match is not None:
        headers["If-Match"] = match
    answer = client.request(
        method,
        path,
        body=given.get("body"),
        query=given.get("query"),
        accept="application/json" if reads == "json" else "*/*",
        key=(given.get("key") or str(uuid.uuid4())) if given.get("keyed") else None,
        headers=headers,
        data=data,
        timeout=given.get("timeout") or (SLOW if path in SLOW_PATHS else None),
    )
    if reads == "json":
        return _object(answer)
    return answer if reads == "bytes" else None


class _Api(Operations):
    def __init__(self, client: Client) -> None:
        self._client = client

    def _call(self, method: str, path: str, reads: str, **given: Unpack[Called]) -> Any:
        return call(self._client, method, path, reads, **given)


class Client:
    """A client. `api` has every operation of the interface with its types; the methods here are those that a program needs every day.

    url: the address of the service. timeout: the seconds of silence after which a request fails. retries: the most repeats of a request that may be repeated.
    """

    def __init__(self, url: str, token: str, timeout: float = 90, retries: int = 5) -> None:
        self._url = url
        self._base = _base(url)
        self._token = token
        self._timeout = timeout
        self._retries = retries
        self._opener = urllib.request.build_opener(_Handler, _SecureHandler, _NoRedirects)
        self.api: Operations = _Api(self)

    # -- requests ------------------------------------------------------------------------------------------------------

    def request(
        self,
        method: str,
        path: str,
        body: object = None,
        query: Optional[Mapping[str, object]] = None,
        accept: str = "application/json",
        key: Optional[str] = None,
        repeatable: Optional[bool] = None,
        text: Optional[str] = None,
        headers: Optional[Mapping[str, str]] = None,
        source: Union[str, os.PathLike[str], None] = None,
        text_type: str = "text/markdown",
        timeout: Optional[float] = None,
        data: Union[bytes, BinaryIO, None] = None,
    ) -> bytes:
        """
        Sends a request to any operation of docs/api.md. Returns the body of the answer as bytes. Raises AssayError. source: a path
        whose bytes are the body, sent as they are read. data: bytes of the Content-Type in headers. timeout: seconds, in place of
        the client's.
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

    def _send(self, method: str, address: str, data: Union[bytes, BinaryIO, None], headers: Dict[str, str], repeatable: bool, timeout: float) -> bytes:
        for attempt in range(self._retries + 1):
            seek = getattr(data, "seek", None)
            if seek is not None:
                seek(0)
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

    def _try(self, method: str, address: str, data: Union[bytes, BinaryIO, None], headers: Dict[str, str], timeout: float) -> bytes:
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

    def _json(self, method: str, path: str, **asked: Unpack[Asked]) -> Any:
        return _object(self.request(method, path, **asked))

    def _pages(self, path: str, query: Mapping[str, object]) -> Iterator[Any]:
        cursor = None
        while True:
            page = self._json("GET", path, query={**query, "cursor": cursor})
            yield from page["items"]
            # A list that goes forward always has a cursor. It stays the same if nothing new has happened.
            if page["next_cursor"] in (None, cursor):
                return
            cursor = page["next_cursor"]

    def all(self, read: Callable[..., Any], *given: Any, **query: Any) -> Iterator[Any]:
        """Yields each item of all pages of a list of `api`, as in all(client.api.list_audit, action="job.run")."""
        cursor = query.pop("cursor", None)
        while True:
            page = read(*given, cursor=cursor, **query)
            yield from page["items"]
            if page["next_cursor"] in (None, cursor):
                return
            cursor = page["next_cursor"]

    # -- templates -----------------------------------------------------------------------------------------------------

    def templates(self, q: Optional[str] = None, tag: Optional[str] = None) -> List[api.Template]:
        return self._json("GET", "/jobs/templates", query={"q": q, "tag": tag})

    def template(self, template_id: str) -> api.TemplateWithSource:
        return self._json("GET", f"/jobs/templates/{segment(template_id)}")

    def put_template(self, template_id: str, source: str) -> api.Template:
        return self._json("PUT", f"/jobs/templates/{segment(template_id)}", text=source)

    def delete_template(self, template_id: str) -> None:
        self.request("DELETE", f"/jobs/templates/{segment(template_id)}")

    def draft(self, file: str, dialect: Union[str, Iterable[str], None] = None, ask: Optional[str] = None, keep: bool = False) -> api.Draft:
        """Drafts metrics and a template (`source`) for a table such as "uploads/PATH". `questions` names what can be read in two ways.
        dialect: lines such as "dates: dmy" that settle it. keep: keeps the lines with the upload. ask: the question that the report
        must answer, for a language model."""
        lines = [dialect] if isinstance(dialect, str) else dialect and list(dialect)
        return self._json("POST", "/drafts", body={"file": file, "dialect": lines, "ask": ask, "keep": keep}, timeout=SLOW)

    # -- metrics -------------------------------------------------------------------------------------------------------

    def metrics(self, q: Optional[str] = None) -> Iterator[api.Metric]:
        """Yields all metrics by id, page by page. q: words in id, label and description."""
        return self._pages("/metrics", {"q": q})

    def metric(self, metric_id: str) -> api.MetricWithSource:
        """Returns the metric with its definition (`source`, YAML)."""
        return self._json("GET", f"/metrics/{segment(metric_id)}")

    def put_metric(self, metric_id: str, source: str) -> api.Metric:
        """Creates or replaces the metric. Raises AssayError with line and column if the YAML has faults."""
        return self._json("PUT", f"/metrics/{segment(metric_id)}", text=source, text_type="application/yaml")

    def check_metric(self, source: str) -> api.CheckMetricResponse:
        """Returns the `faults`, also against the columns of its data, and the `metric` as it was read."""
        return self._json("POST", "/metrics/check", text=source, text_type="application/yaml", repeatable=True)

    def delete_metric(self, metric_id: str) -> None:
        self.request("DELETE", f"/metrics/{segment(metric_id)}")

    # -- jobs ----------------------------------------------------------------------------------------------------------

    def create(self, template_id: str, template_vars: Optional[Dict[str, Any]] = None, idempotency_key: Optional[str] = None, **options: Unpack[CreateOptions]) -> str:
        """Creates a draft. Returns its assignment_id. options: notify, presence_name, priority, metadata."""
        payload: api.CreateJobRequestPayload = {"type": "template", "template_id": template_id, "template_vars": template_vars or {}, **options}
        return self._json("POST", "/jobs/", body={"payload": payload}, key=idempotency_key or str(uuid.uuid4()))

    def start(self, assignment_id: str) -> api.Job:
        """Moves a draft to queued. Returns a job that runs already as it is."""
        return self._assignment("run", assignment_id)

    def cancel(self, assignment_id: str) -> api.Job:
        return self._assignment("cancel", assignment_id)

    def _assignment(self, verb: Literal["run", "cancel"], assignment_id: str) -> api.Job:
        payload: api.AssignmentRequestPayload = {"type": "assignment", "assignment_id": assignment_id}
        return self._json("POST", f"/jobs/{verb}", body={"payload": payload}, repeatable=True)

    def status(self, assignment_id: str, wait: Optional[int] = None) -> api.Job:
        """Returns the job. wait: the seconds for which the answer may wait for its end, 50 at most."""
        return self._json("GET", "/jobs/status", query={"assignment_id": assignment_id, "wait": wait})

    def watch(self, assignment_id: str) -> Iterator[api.Job]:
        """Yields the job now, and after each change and each progress until it has ended. A broken stream is opened again."""
        while True:
            job = self.status(assignment_id)
            yield job
            if job["job_status"] in ENDED:
                return
            ended = False
            for name, data in self._changes(assignment_id):
                ended = name != "progress" and data.get("job_status") in ENDED
                if ended:
                    break
                job = cast("api.Job", {**job, **({"progress": data} if name == "progress" else data)})
                yield job
            if not ended:
                time.sleep(AGAIN)

    def _changes(self, assignment_id: str) -> Iterator[Tuple[str, Any]]:
        """Yields the server-sent events of a job (name and data) until their stream ends or breaks."""
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

    def wait(self, assignment_id: str, on_progress: Optional[Callable[[api.JobProgress], object]] = None, timeout: Optional[float] = None) -> api.Job:
        """Returns the job once it has ended. timeout: seconds after which it raises TimeoutError; the job continues."""
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

    def run(self, template_id: str, template_vars: Optional[Dict[str, Any]] = None, on_progress: Optional[Callable[[api.JobProgress], object]] = None, timeout: Optional[float] = None, **options: Unpack[RunOptions]) -> api.Job:
        """Creates a job, runs it and waits. Returns the job after its end. Raises JobFailed if it has no insight."""
        assignment_id = self.create(template_id, template_vars, **options)
        try:
            self.start(assignment_id)
        except AssayError as error:
            # The job was already run, under the same key or by a try whose answer was lost.
            if error.code != "job_final":
                raise
        job = self.wait(assignment_id, on_progress, timeout)
        if job["insight_id"] is None:
            raise JobFailed(job)
        return job

    def jobs(self, **filters: Unpack[api.ListJobsQuery]) -> Iterator[api.Job]:
        """Yields all jobs, newest first, page by page. filters: job_status, ending, template_id, schedule_id, batch_id, user_id, presence_name, created_after, created_before."""
        return self._pages("/jobs/", filters)

    def delete(self, assignment_id: str) -> None:
        self.request("DELETE", f"/jobs/{segment(assignment_id)}")

    def create_many(self, template_id: str, items: Iterable[Dict[str, Any]], run: bool = False, idempotency_key: Optional[str] = None, **options: Unpack[JobOptions]) -> api.Batch:
        """
        Up to 1,000 jobs of one template: items are their sets of variables. `batch_id`, `created`, `refused`, and for each item
        its assignment_id or its errors. run: also queued. options: notify, presence_name, priority, metadata, of all of them.
        """
        body: api.CreateJobsRequest = {"template_id": template_id, "items": [{"template_vars": item} for item in items], "run": run, **options}
        return self._json("POST", "/jobs/bulk", body=body, key=idempotency_key or str(uuid.uuid4()))

    def batch(self, batch_id: str) -> api.BatchProgress:
        """Returns how many jobs the batch has, and how many have ended. jobs(batch_id=...) lists them."""
        return self._json("GET", f"/jobs/batches/{segment(batch_id)}")

    # -- schedules -----------------------------------------------------------------------------------------------------

    def create_schedule(self, name: str, template_id: str, cron: str, time_zone: str = "UTC", idempotency_key: Optional[str] = None, **options: Unpack[ScheduleOptions]) -> api.Schedule:
        """Creates a schedule. options: template_vars, starts_at, ends_at, missed, missed_limit, overlap, paused, notify, metadata, ..."""
        body: api.CreateScheduleRequest = {"name": name, "template_id": template_id, "cron": cron, "time_zone": time_zone, **options}
        return self._json("POST", "/schedules", body=body, key=idempotency_key or str(uuid.uuid4()))

    def schedules(self, **filters: Unpack[api.ListSchedulesQuery]) -> Iterator[api.Schedule]:
        """Yields all schedules, newest first. filters: template_id, user_id, paused."""
        return self._pages("/schedules", filters)

    def schedule(self, schedule_id: str) -> api.Schedule:
        return self._json("GET", f"/schedules/{segment(schedule_id)}")

    def change_schedule(self, schedule_id: str, **changes: Unpack[api.ChangeScheduleRequest]) -> api.Schedule:
        """Changes the given fields. paused=True pauses the schedule."""
        return self._json("PATCH", f"/schedules/{segment(schedule_id)}", body=changes)

    def run_schedule(self, schedule_id: str, idempotency_key: Optional[str] = None) -> api.Job:
        """Makes a job now, besides the due times. Returns it."""
        key = idempotency_key or str(uuid.uuid4())
        return self._json("POST", f"/schedules/{segment(schedule_id)}/run-now", key=key)

    def delete_schedule(self, schedule_id: str) -> None:
        self.request("DELETE", f"/schedules/{segment(schedule_id)}")

    # -- files ---------------------------------------------------------------------------------------------------------

    def put_file(self, path: str, source: Union[str, os.PathLike[str]], new: bool = False, dialect: Union[str, Iterable[str], None] = None) -> api.NewFile:
        """Uploads the file `source` as `path`; templates name it "uploads/PATH". new: does not replace an earlier one (412).
        dialect: lines that say how the file is read, such as "bad_rows: skip"; they are kept with it.

        The answer has `columns`, `dialect` (how a CSV or TSV is divided, else None) and `readings`: the columns that are read in
        another way than by their plain values; one with a `doubt` stays text.
        """
        headers = {"Content-Type": "application/octet-stream", **({"If-None-Match": "*"} if new else {})}
        lines = dialect if dialect is None or isinstance(dialect, str) else "\n".join(dialect)
        return self._json("PUT", f"/files/{files(path)}", query={"dialect": lines}, source=source, headers=headers)

    def files(self, prefix: Optional[str] = None) -> Iterator[api.File]:
        return self._pages("/files", {"prefix": prefix})

    def read_file(self, path: str) -> bytes:
        """Returns the bytes of the file."""
        return self.request("GET", f"/files/{files(path)}", accept="*/*")

    def delete_file(self, path: str) -> None:
        self.request("DELETE", f"/files/{files(path)}")

    # -- insights ------------------------------------------------------------------------------------------------------

    def insights(self, **filters: Unpack[api.ListInsightsQuery]) -> Iterator[api.InsightCard]:
        """Yields the cards of all insights, newest first, page by page. filters: q, template_id, series, tag, grade, created_after, created_before."""
        return self._pages("/insights", filters)

    def earlier(self, insight_id: str) -> List[api.EarlierInsightsItems]:
        """Returns the earlier runs to compare the insight with, each with its `steps` back: before, again, day, week, month, year."""
        return self._json("GET", f"/insights/{segment(insight_id)}/earlier")["items"]

    def markdown(self, insight_id: str, charts: Optional[Literal["mermaid", "image", "text", "none", "link"]] = None) -> str:
        """Returns the insight as Markdown. charts: mermaid, image, text or none."""
        query = {"insight_id": insight_id, "charts": charts}
        return self.request("GET", "/jobs/result", query=query, accept="text/markdown").decode()

    def html(self, insight_id: str) -> str:
        return self.request("GET", "/jobs/result", query={"insight_id": insight_id}, accept="text/html", timeout=SLOW).decode()

    def xlsx(self, insight_id: str, table: Optional[str] = None) -> bytes:
        """Returns the tables as a workbook, or the table of one block, as bytes."""
        accept = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
        return self.request("GET", "/jobs/result", query={"insight_id": insight_id, "table": table}, accept=accept, timeout=SLOW)

    def csv(self, insight_id: str, table: Optional[str] = None) -> str:
        """Returns the table of a block as CSV text. The block may be omitted if there is one table."""
        query = {"insight_id": insight_id, "table": table}
        return self.request("GET", "/jobs/result", query=query, accept="text/csv").decode("utf-8-sig")

    def pdf(self, insight_id: str) -> bytes:
        """Returns the bytes of the PDF."""
        return self.request("GET", "/jobs/result", query={"insight_id": insight_id}, accept="application/pdf", timeout=SLOW)

    def result(self, insight_id: str) -> api.Insight:
        """Returns tables, charts, analyses, facts, provenance, lineage and the Markdown as a dict. Positions in provenance count UTF-16 code units."""
        return self._json("GET", "/jobs/result", query={"insight_id": insight_id})

    def create_link(self, insight_id: str, expires_in: Optional[int] = None, label: Optional[str] = None, newest: Optional[bool] = None, idempotency_key: Optional[str] = None) -> api.LinkWithAddress:
        """Makes a link. `url` opens the page without a token, and is in this answer only. expires_in: seconds, by default seven days. newest: the link opens the newest run with the same variables except the period."""
        given = {"expires_in": expires_in, "label": label, "newest": newest}
        body = {name: value for name, value in given.items() if value is not None}
        path = f"/insights/{segment(insight_id)}/links"
        return self._json("POST", path, body=body, key=idempotency_key or str(uuid.uuid4()))

    def links(self, insight_id: str) -> Iterator[api.Link]:
        return self._pages(f"/insights/{segment(insight_id)}/links", {})

    def delete_link(self, insight_id: str, link_id: str) -> None:
        self.request("DELETE", f"/insights/{segment(insight_id)}/links/{segment(link_id)}")

    # -- webhooks and events -------------------------------------------------------------------------------------------

    def create_webhook(self, url: str, user_id: str, presence_name: str, idempotency_key: Optional[str] = None, **options: Unpack[WebhookOptions]) -> api.WebhookWithSecret:
        """Creates a webhook. `signing_secret` is in this answer only. options: events, headers, description, signature, ..."""
        body: api.CreateWebhookRequest = {"url": url, "user_id": user_id, "presence_name": presence_name, **options}
        return self._json("POST", "/webhooks/", body=body, key=idempotency_key or str(uuid.uuid4()))

    def webhooks(self, **filters: Unpack[api.ListWebhooksQuery]) -> Iterator[api.Webhook]:
        return self._pages("/webhooks/", filters)

    def delete_webhook(self, webhook_id: str) -> None:
        self.request("DELETE", f"/webhooks/{segment(webhook_id)}")

    def events(self, **filters: Unpack[api.ListEventsQuery]) -> Iterator[api.Event]:
        """Yields all events, newest first. filters: type."""
        return self._pages("/events", filters)
