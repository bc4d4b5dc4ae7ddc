"""Verifies signatures of Standard Webhooks, version v1 (HMAC-SHA256)."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import time
from typing import TYPE_CHECKING, Iterable, Optional, Protocol, Tuple, Union

if TYPE_CHECKING:
    from .api_generated import WebhookMessage


class Headers(Protocol):
    """A dict, an email.message.Message, or any other object with names and values."""

    def items(self) -> Iterable[Tuple[str, str]]: ...


class SignatureError(Exception):
    """Raised if a signature is missing or wrong, or the request is too old."""


def _header(headers: Headers, name: str) -> str:
    for key, value in headers.items():
        if key.lower() == name:
            return value
    raise SignatureError(f"The header {name} is missing.")


def _secret(key: str) -> bytes:
    if not key.startswith("whsec_"):
        raise SignatureError("The key must start with whsec_; v1a needs an Ed25519 library.")
    try:
        return base64.b64decode(key[len("whsec_") :], validate=True)
    except binascii.Error as error:
        raise SignatureError("The key goes on in base64 after whsec_.") from error


def verify(key: Union[str, Iterable[str]], headers: Headers, body: Union[bytes, bytearray], tolerance: float = 300, now: Optional[float] = None) -> WebhookMessage:
    """Returns the event in `body` if its signature and age are right.

    key: the webhook's signing_secret, or a list of them. headers: a mapping of names to values. body: the bytes as they were received.
    tolerance: seconds that the timestamp may lie in the past or the future. Raises SignatureError.
    """
    webhook_id = _header(headers, "webhook-id")
    timestamp = _header(headers, "webhook-timestamp")
    signatures = _header(headers, "webhook-signature").split(" ")
    if not (timestamp.isascii() and timestamp.isdigit()):
        raise SignatureError("The timestamp is not a whole number of seconds.")
    age = (time.time() if now is None else now) - int(timestamp)
    if abs(age) > tolerance:
        raise SignatureError(f"The timestamp is {abs(age):.0f} seconds {'old' if age > 0 else 'ahead'}: only {tolerance} are allowed.")
    content = f"{webhook_id}.{timestamp}.".encode() + bytes(body)
    for one in [key] if isinstance(key, str) else key:
        digest = hmac.new(_secret(one), content, hashlib.sha256).digest()
        expected = b"v1," + base64.b64encode(digest)
        if any([hmac.compare_digest(expected, given.encode()) for given in signatures]):
            return json.loads(body)
    raise SignatureError("No signature fits: another key, or the body was changed on its way.")
