"""A webhook receiver in Python (3.9 or newer) without dependencies.

    WEBHOOK_KEY=whsec_... PORT=9000 python3 receiver.py

WEBHOOK_KEY is the signing_secret of the webhook. (A webhook with "signature": "v1a" is verified with its public_key and
an Ed25519 library, such as the package "cryptography"; the signed content is the same.)
"""

import base64
import hashlib
import hmac
import json
import os
import time
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Optional, Set

TOLERANCE = 300  # seconds, both ways
LARGEST = 1024 * 1024


def is_genuine(key: str, headers: Message, body: bytes, now: Optional[float] = None) -> bool:
    """`body` is the bytes as received: a body that went through json or str may be another one."""
    webhook_id = headers.get("webhook-id", "")
    timestamp = headers.get("webhook-timestamp", "")
    signatures = headers.get("webhook-signature", "")
    if not webhook_id or not timestamp.isascii() or not timestamp.isdigit():
        return False
    if abs((time.time() if now is None else now) - int(timestamp)) > TOLERANCE:
        return False
    content = f"{webhook_id}.{timestamp}.".encode() + body
    secret = base64.b64decode(key.removeprefix("whsec_"))
    expected = "v1," + base64.b64encode(hmac.new(secret, content, hashlib.sha256).digest()).decode()
    return any([hmac.compare_digest(expected.encode(), entry.encode()) for entry in signatures.split(" ")])


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    key = os.environ.get("WEBHOOK_KEY", "")
    seen: Set[str] = set()  # in real life a table with a unique column: ids must outlive a restart

    def answer(self, status: int) -> None:
        self.send_response(status)
        self.send_header("content-length", "0")
        self.end_headers()
        self.wfile.flush()

    def do_POST(self) -> None:
        length = int(self.headers.get("content-length", 0))
        if length > LARGEST:
            self.close_connection = True
            return self.answer(413)
        body = self.rfile.read(length)
        if not is_genuine(self.key, self.headers, body):
            return self.answer(401)
        self.answer(204)  # answer first: only a 2xx within 15 seconds counts
        webhook_id = self.headers["webhook-id"]
        if webhook_id not in self.seen:
            self.seen.add(webhook_id)
            print(webhook_id, json.loads(body)["type"], flush=True)

    def log_message(self, format: str, *args: object) -> None:
        pass


if __name__ == "__main__":
    if not Receiver.key.startswith("whsec_"):
        raise SystemExit("Set WEBHOOK_KEY to the whsec_... of the webhook.")
    server = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "9000"))), Receiver)
    print(f"listening on http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()
