"""Tests the client against a running service, which ASSAY_URL and ASSAY_TOKEN name."""

import asyncio
import base64
import hashlib
import hmac
import http.server
import inspect
import json
import os
import pathlib
import socket
import sys
import tempfile
import threading
import time
import unittest
import unittest.mock
import urllib.error
import urllib.parse
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from assay_client import AssayError, AsyncClient, Client, JobFailed, SignatureError, etag_of, verify  # noqa: E402
from assay_client.api_generated import AsyncOperations, Operations  # noqa: E402

BROKEN = "# Broken\n\n```sql rows\nselect cast('x' as integer) as n\n```\n\n{{ rows.size }}\n"
ENDLESS = "# Endless\n\n```sql rows\nselect count(*) as n from range(3000000) a, range(3000000) b\n```\n\n{{ rows.size }}\n"


class Jobs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.assay = Client(os.environ["ASSAY_URL"], os.environ["ASSAY_TOKEN"])

    def test_runs_a_template_and_reads_its_insight_in_each_form(self):
        told = []
        job = self.assay.run("nile-flow", on_progress=told.append, metadata={"from": "python"})
        self.assertEqual(job["job_status"], "completed")
        self.assertEqual(job["metadata"], {"from": "python"})
        markdown = self.assay.markdown(job["insight_id"], charts="text")
        self.assertTrue(markdown.startswith("# "))
        self.assertIn("<html", self.assay.html(job["insight_id"]))
        self.assertTrue(self.assay.pdf(job["insight_id"]).startswith(b"%PDF-"))
        self.assertTrue(self.assay.xlsx(job["insight_id"]).startswith(b"PK"))
        result = self.assay.result(job["insight_id"])
        self.assertEqual(result["assignment_id"], job["assignment_id"])
        self.assertIn(job["assignment_id"], [one["assignment_id"] for one in self.assay.jobs(template_id="nile-flow")])
        card = next(iter(self.assay.insights(q="nile", template_id="nile-flow")))
        self.assertEqual((card["insight_id"], card["title"]), (job["insight_id"], result["title"]))
        later = self.assay.run("nile-flow")["insight_id"]
        self.assertEqual([one["insight_id"] for one in self.assay.earlier(later) if "before" in one["steps"]], [job["insight_id"]])

    def test_the_same_key_makes_no_second_job(self):
        key = f"python-{time.time_ns()}"
        self.assertEqual(self.assay.create("penguins", idempotency_key=key), self.assay.create("penguins", idempotency_key=key))

    def test_tells_what_was_refused_and_why(self):
        with self.assertRaises(AssayError) as caught:
            self.assay.create("flight-delays", {"origin": "nowhere", "tops": 1})
        self.assertEqual(caught.exception.status, 422)
        self.assertEqual(len(caught.exception.errors), 2)
        self.assertTrue(caught.exception.request_id)
        with self.assertRaises(AssayError) as caught:
            Client(os.environ["ASSAY_URL"], "wrong").templates()
        self.assertEqual(caught.exception.code, "unauthorized")
        with self.assertRaises(AssayError) as caught:
            Client("http://127.0.0.1:9", "none", retries=0).templates()
        self.assertEqual(caught.exception.code, "unreachable")

    def test_a_job_that_fails_and_one_that_is_canceled_raise_what_happened(self):
        self.assay.put_template("python-broken", BROKEN)
        with self.assertRaises(JobFailed) as caught:
            self.assay.run("python-broken")
        self.assertEqual(caught.exception.code, "analysis_failed")
        self.assay.put_template("python-endless", ENDLESS)
        endless = self.assay.create("python-endless")
        self.assay.start(endless)
        with self.assertRaises(TimeoutError):
            self.assay.wait(endless, timeout=1)
        self.assertEqual(self.assay.cancel(endless)["job_status"], "canceled")
        self.assay.delete(endless)

    def test_many_jobs_are_made_in_one_call_each_with_its_own_faults(self):
        batch = self.assay.create_many("nile-flow", [{"from": 1900}, {"form": 1}, {}], run=True, metadata={"from": "python"})
        self.assertEqual([batch["created"], batch["refused"]], [2, 1])
        self.assertIn("from", batch["items"][1]["errors"][0]["message"])
        for job in self.assay.jobs(batch_id=batch["batch_id"]):
            self.assertEqual(self.assay.wait(job["assignment_id"])["job_status"], "completed")
        self.assertEqual(self.assay.batch(batch["batch_id"])["ended"], 2)

    def test_schedules_are_made_run_changed_and_deleted(self):
        made = self.assay.create_schedule("Python's", "nile-flow", "30 6 * * MON-FRI", "Africa/Cairo", missed="once")
        schedule_id = made["schedule_id"]
        job = self.assay.run_schedule(schedule_id)
        self.assertEqual(self.assay.wait(job["assignment_id"])["schedule_id"], schedule_id)
        self.assertIsNone(self.assay.change_schedule(schedule_id, paused=True)["next_due_at"])
        self.assertEqual([one["schedule_id"] for one in self.assay.schedules(paused=True)], [schedule_id])
        self.assay.delete_schedule(schedule_id)
        with self.assertRaises(AssayError) as caught:
            self.assay.schedule(schedule_id)
        self.assertEqual(caught.exception.status, 404)

    def test_files_are_uploaded_as_they_are_read_and_come_back_as_they_were(self):
        with tempfile.TemporaryDirectory() as folder:
            source = os.path.join(folder, "days.csv")
            with open(source, "w", encoding="utf-8") as days:
                days.write("day,n\n" + "2024-01-01,1\n" * 200_000)
            put = self.assay.put_file("py thon/dáys.csv", source)
            self.assertEqual(put["file"], "uploads/py thon/dáys.csv")
            self.assertEqual([column["name"] for column in put["columns"]], ["day", "n"])
            self.assertEqual((put["dialect"]["separator"]["is"], put["readings"]), (",", []))
            with open(source, "rb") as days:
                self.assertEqual(self.assay.read_file("py thon/dáys.csv"), days.read())
            with self.assertRaises(AssayError) as caught:
                self.assay.put_file("py thon/dáys.csv", source, new=True)
            self.assertEqual(caught.exception.status, 412)
            with open(source, "w", encoding="utf-8") as bad:
                bad.write('[{"day": 1},\n{"day": tomorrow}' + ', {"day": 1}' * 4_000_000 + "]")
            with self.assertRaises(AssayError) as caught:
                self.assay.put_file("days.json", source)
            self.assertEqual((caught.exception.status, caught.exception.errors[0]["line"]), (422, 2))
            with self.assertRaises(FileNotFoundError):
                self.assay.put_file("days.csv", os.path.join(folder, "nowhere.csv"))
        for name in ("../jobs/x", "a/./b.csv", ".."):
            with self.assertRaises(AssayError) as caught:
                self.assay.delete_file(name)
            self.assertEqual((caught.exception.status, caught.exception.code), (0, "invalid"))
        with self.assertRaises(AssayError) as caught:
            self.assay.template("nile-flow/choices")
        self.assertEqual(caught.exception.code, "invalid")
        self.assertEqual([one["path"] for one in self.assay.files("py thon/")], ["py thon/dáys.csv"])
        self.assay.delete_file("py thon/dáys.csv")
        self.assertEqual(list(self.assay.files("py thon/")), [])

    def test_a_metric_is_put_read_by_a_template_and_deleted(self):
        source = "metric: py_births\nsource: { file: sample/us-births.csv }\ntime: { column: date }\nvalue: sum(births)\n"
        self.assertEqual(self.assay.check_metric(source)["faults"], [])
        with self.assertRaises(AssayError) as refused:
            self.assay.put_metric("py_births", source.replace("sum(", "median("))
        self.assertEqual(refused.exception.errors[0]["line"], 4)
        self.assertEqual(self.assay.put_metric("py_births", source)["adding"], "sum")
        self.assertEqual([one["metric_id"] for one in self.assay.metrics("py_births")], ["py_births"])
        self.assertEqual(self.assay.metric("py_births")["source"], source)
        self.assay.put_template("py-metric", "~~~metric all\nmetric: py_births\n~~~\n\n# Days: {{ all.size }}\n")
        self.assertEqual(self.assay.run("py-metric")["job_status"], "completed")
        self.assay.delete_template("py-metric")
        self.assay.delete_metric("py_births")

    def test_a_draft_asks_and_a_line_settles_it(self):
        rows = [f"0{1 + at % 9}/0{1 + at % 7}/2025,{at},{'DE' if at % 2 else 'FR'}" for at in range(120)]
        with tempfile.TemporaryDirectory() as folder:
            source = os.path.join(folder, "orders.csv")
            with open(source, "w", encoding="utf-8") as orders:
                orders.write("\n".join(["due,amount,country", *rows]) + "\n")
            file = self.assay.put_file("drafts/orders.csv", source)["file"]
        [question] = self.assay.draft(file)["questions"]
        self.assertEqual(question["column"], "due")
        draft = self.assay.draft(file, [question["readings"][0]["write"]])
        self.assertEqual(draft["questions"], [])
        self.assay.put_template(draft["name"], draft["source"])
        self.assertEqual(self.assay.run(draft["name"])["job_status"], "completed")

    def test_a_link_opens_the_page_until_it_is_revoked(self):
        insight_id = self.assay.run("nile-flow")["insight_id"]
        link = self.assay.create_link(insight_id, expires_in=3600, label="for the board")
        page = urllib.parse.urljoin(os.environ["ASSAY_URL"], link["url"])
        with urllib.request.urlopen(page) as answer:
            self.assertIn(b"<html", answer.read())
        self.assertEqual([one["label"] for one in self.assay.links(insight_id)], ["for the board"])
        self.assay.delete_link(insight_id, link["link_id"])
        with self.assertRaises(urllib.error.HTTPError):
            urllib.request.urlopen(page)

    def test_webhooks_are_made_listed_and_deleted(self):
        made = self.assay.create_webhook("https://example.com/hook", "u", "python")
        self.assertTrue(made["signing_secret"].startswith("whsec_"))
        self.assertIn(made["webhook_id"], [one["webhook_id"] for one in self.assay.webhooks(presence_name="python")])
        self.assay.delete_webhook(made["webhook_id"])
        self.assertTrue(any(event["type"] == "job.queued" for event in self.assay.events()))


class Interface(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.assay = Client(os.environ["ASSAY_URL"], os.environ["ASSAY_TOKEN"])

    def test_every_operation_has_a_method_in_both_forms(self):
        document = json.loads((pathlib.Path(__file__).resolve().parents[3] / "openapi.json").read_text("utf-8"))
        wanted = {
            "".join("_" + letter.lower() if letter.isupper() else letter for letter in one["operationId"])
            for path, methods in document["paths"].items()
            for one in methods.values()
            if path.startswith("/v1alpha")
        } - {"job_events"}
        self.assertGreater(len(wanted), 90)
        for form in (Operations, AsyncOperations):
            self.assertEqual({name for name in vars(form) if not name.startswith("_")}, wanted)
        for name in wanted:
            plain, later = getattr(Operations, name), getattr(AsyncOperations, name)
            self.assertEqual(inspect.signature(plain), inspect.signature(later))
            self.assertTrue(inspect.iscoroutinefunction(later))

    def test_operations_take_paths_bodies_queries_text_bytes_and_forms(self):
        api = self.assay.api
        body = {"payload": {"type": "template", "template_id": "nile-flow"}}
        key = f"python-api-{time.time_ns()}"
        assignment_id = api.create_job(body, idempotency_key=key)
        self.assertEqual(api.create_job(body, idempotency_key=key), assignment_id)
        api.run_job({"payload": {"type": "assignment", "assignment_id": assignment_id}})
        *_, job = self.assay.watch(assignment_id)
        self.assertEqual(job["job_status"], "completed")
        self.assertTrue(api.read_result(insight_id=job["insight_id"])["markdown"].startswith("# "))
        self.assertEqual(api.put_file("api/é n.csv", b"day,n\n2024-01-01,1\n")["file"], "uploads/api/é n.csv")
        self.assertEqual(api.get_file("api/é n.csv"), b"day,n\n2024-01-01,1\n")
        self.assertIsNone(api.delete_file("api/é n.csv"))
        self.assertEqual(api.check_template("# Hello\n")["faults"], [])
        ids = [one["assignment_id"] for one in self.assay.all(api.list_jobs, limit=1, template_id="nile-flow")]
        self.assertIn(assignment_id, ids)
        self.assertEqual(len(set(ids)), len(ids))
        made = api.create_webhook({"url": "http://127.0.0.1:9/hook", "user_id": "ada", "presence_name": "reports"})
        read = api.get_webhook(made["webhook_id"])
        self.assertEqual(read.etag, made.etag)
        self.assertEqual(etag_of(read), read.etag)
        self.assertIsNone(etag_of({}))
        changed = api.change_webhook(made["webhook_id"], {"description": "one"}, if_match=read.etag)
        with self.assertRaises(AssayError) as caught:
            api.change_webhook(made["webhook_id"], {"description": "two"}, if_match=read.etag)
        self.assertEqual(caught.exception.code, "precondition_failed")
        api.delete_webhook(made["webhook_id"], if_match=changed.etag)
        with self.assertRaises(AssayError) as caught:
            api.login({"username": "nobody", "password": "wrong & wrong"})
        self.assertEqual(caught.exception.code, "unauthorized")

    def test_the_asynchronous_client_runs_jobs_side_by_side_and_iterates(self):
        async def main():
            async with AsyncClient(os.environ["ASSAY_URL"], os.environ["ASSAY_TOKEN"]) as assay:
                ended = await asyncio.gather(*(assay.run("nile-flow") for _ in range(3)))
                self.assertEqual({job["job_status"] for job in ended}, {"completed"})
                self.assertEqual([job["job_status"] async for job in assay.watch(ended[0]["assignment_id"])], ["completed"])
                listed = [job["assignment_id"] async for job in assay.jobs(template_id="nile-flow", limit=2)]
                self.assertLessEqual({job["assignment_id"] for job in ended}, set(listed))
                async for event in assay.all(assay.api.list_events, type="job.completed"):
                    self.assertTrue(event["data"]["insight_id"])
                    break
                self.assertEqual((await assay.api.get_template("nile-flow"))["template_id"], "nile-flow")
                with self.assertRaises(AssayError) as caught:
                    await assay.create("nowhere")
                self.assertEqual(caught.exception.code, "not_found")
                with self.assertRaises(AttributeError):
                    assay.nothing

        asyncio.run(main())


class Answers(unittest.TestCase):
    """Tests the client against a server whose answers are given."""

    def against(self, *answers, **options):
        """A client, and the requests that came. An answer is (status, headers, body), or None for a connection that is cut; the last stays."""
        asked = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def answer(self):
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                answer = answers[min(len(asked), len(answers) - 1)]
                asked.append((self.path, self.headers.get("Idempotency-Key")))
                if answer is None:
                    return
                status, headers, body = answer
                self.send_response_only(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body.encode())

            do_GET = do_POST = answer

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.url = f"http://127.0.0.1:{server.server_port}"
        return Client(self.url + options.pop("path", ""), "token", **options), asked

    def pauses(self):
        """Lets no time pass: tells the pauses, and takes one half for every random number."""
        pauses = []
        for name, instead in (("time.sleep", pauses.append), ("random.random", lambda: 0.5)):
            patch = unittest.mock.patch(f"assay_client.client.{name}", instead)
            patch.start()
            self.addCleanup(patch.stop)
        return pauses

    def test_waits_as_retry_after_asks_and_a_random_time_that_grows(self):
        pauses = self.pauses()
        dates = {"Date": "Sun, 06 Nov 1994 08:49:37 GMT", "Retry-After": "Sun, 06 Nov 1994 08:49:44 GMT"}
        busy = json.dumps({"title": "Under way", "detail": "Wait.", "code": "idempotency_in_progress"})
        assay, asked = self.against(
            (429, {"Retry-After": "3"}, "{}"), (503, dates, "{}"), (504, {}, "<h1>504</h1>"), None, (409, {}, busy), (200, {}, '"an-id"')
        )
        self.assertEqual(assay.create("t"), "an-id")
        self.assertEqual(pauses, [3.2, 7.4, 0.8, 1.6, 3.2])
        self.assertEqual(len(set(asked)), 1)

    def test_does_not_wait_for_more_than_a_minute_nor_repeat_what_may_count_twice(self):
        pauses = self.pauses()
        assay, asked = self.against((429, {"Retry-After": "61"}, "{}"))
        with self.assertRaises(AssayError) as caught:
            assay.status("a")
        self.assertEqual((caught.exception.status, caught.exception.retry_after), (429, 61))
        self.assertEqual(len(asked), 1)
        assay, asked = self.against((504, {}, "<h1>504</h1>"))
        with self.assertRaises(AssayError) as caught:
            assay.request("POST", "/auth/logout")
        self.assertIn("/v1alpha/auth/logout was answered 504 without a problem document", str(caught.exception))
        self.assertEqual((len(asked), pauses), (1, []))

    def test_says_so_when_a_page_answers_or_nothing_in_time(self):
        assay, asked = self.against((200, {"Content-Type": "text/html; charset=utf-8"}, "<!doctype html>"), path="/console/")
        with self.assertRaises(AssayError) as caught:
            assay.templates()
        self.assertEqual((caught.exception.code, len(asked)), ("not_assay", 1))
        self.assertIn(f'so "{self.url}/console/" is not the address of the interface', str(caught.exception))
        for status, headers, body in ((302, {"Location": "/elsewhere"}, ""), (403, {}, '["no"]'), (403, {"Content-Length": "9"}, "cut")):
            assay, asked = self.against((status, headers, body))
            with self.assertRaises(AssayError) as caught:
                assay.templates()
            self.assertIn(f"was answered {status} without a problem document", str(caught.exception))
            self.assertEqual([path for path, _ in asked], ["/v1alpha/jobs/templates"], "the token goes nowhere else")
        with self.assertRaises(AssayError) as caught:
            Client("localhost:8080", "token")
        self.assertIn("write it as http://", str(caught.exception))
        with socket.create_server(("127.0.0.1", 0)) as silent:
            with self.assertRaises(AssayError) as caught:
                Client(f"http://127.0.0.1:{silent.getsockname()[1]}", "token", timeout=0.05, retries=0).templates()
        self.assertEqual(caught.exception.code, "timeout")

    def test_a_list_that_goes_forward_ends_where_nothing_has_come(self):
        assay, asked = self.against((200, {}, '{"items": [1], "next_cursor": "a"}'), (200, {}, '{"items": [], "next_cursor": "a"}'), path="/v1alpha")
        self.assertEqual(list(assay.events(order="oldest")), [1])
        self.assertEqual([path for path, _ in asked], ["/v1alpha/events?order=oldest", "/v1alpha/events?order=oldest&cursor=a"])


class Signatures(unittest.TestCase):
    KEY = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

    def headers(self, body, key=KEY, at=None):
        at = str(int(time.time()) if at is None else at)
        signed = hmac.new(base64.b64decode(key[6:]), f"id.{at}.".encode() + body, hashlib.sha256).digest()
        return {"Webhook-Id": "id", "Webhook-Timestamp": at, "Webhook-Signature": "v1,other v1," + base64.b64encode(signed).decode()}

    def test_the_published_vector_of_standard_webhooks(self):
        headers = {
            "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
            "webhook-timestamp": "1614265330",
            "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
        }
        self.assertEqual(verify(self.KEY, headers, b'{"test": 2432232314}', now=1614265330), {"test": 2432232314})

    def test_refuses_what_was_changed_is_old_or_has_no_fitting_key(self):
        body = '{"text": "naïve"}'.encode()
        self.assertEqual(verify(["whsec_b3RoZXI=", self.KEY], self.headers(body), body), {"text": "naïve"})
        for headers, given in [
            (self.headers(body), body + b" "),
            (self.headers(body, at=int(time.time()) - 400), body),
            (self.headers(body, key="whsec_b3RoZXI="), body),
            ({**self.headers(body), "Webhook-Timestamp": "soon"}, body),
            ({}, body),
        ]:
            with self.assertRaises(SignatureError):
                verify(self.KEY, headers, given)


if __name__ == "__main__":
    unittest.main()
