"""The named arguments of the methods of Client, for type checkers."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, BinaryIO, Dict, List, Literal, Mapping, Optional, TypedDict, Union

if TYPE_CHECKING:
    from . import api_generated as api


class Asked(TypedDict, total=False):
    """The arguments of Client.request."""

    body: object
    query: Optional[Mapping[str, object]]
    accept: str
    key: Optional[str]
    repeatable: Optional[bool]
    text: Optional[str]
    headers: Optional[Mapping[str, str]]
    source: Union[str, os.PathLike[str], None]
    text_type: str
    timeout: Optional[float]
    data: Union[bytes, BinaryIO, None]


class Called(TypedDict, total=False):
    """The arguments of an operation of `api`."""

    query: Mapping[str, object]
    body: object
    form: Optional[Mapping[str, object]]
    data: bytes
    media: str
    keyed: bool
    key: Optional[str]
    match: Optional[str]
    timeout: Optional[float]


class JobOptions(TypedDict, total=False):
    presence_name: str
    notify: Optional[List[str]]
    priority: int
    metadata: Dict[str, str]


class CreateOptions(JobOptions, total=False):
    reader_id: Optional[str]


class RunOptions(CreateOptions, total=False):
    idempotency_key: Optional[str]


class ScheduleOptions(TypedDict, total=False):
    template_vars: Dict[str, Any]
    starts_at: Optional[str]
    ends_at: Optional[str]
    missed: Literal["skip", "once", "all"]
    missed_limit: int
    overlap: Literal["skip", "queue"]
    paused: bool
    presence_name: Optional[str]
    notify: Optional[List[str]]
    readers: Union[Literal["all"], List[str], api.CreateScheduleRequestReaders3, None]
    priority: int
    metadata: Dict[str, str]


class WebhookOptions(TypedDict, total=False):
    headers: List[api.CreateWebhookRequestHeaders]
    events: List[Literal["job.queued", "job.started", "job.completed", "job.failed", "job.canceled", "schedule.failed", "webhook.test", "subscription.confirm", "webhook.failing", "webhook.disabled", "*"]]
    signature: Literal["v1", "v1a"]
    format: Literal["standard", "openlineage"]
    description: Optional[str]
    retry_schedule: Optional[List[float]]
    max_in_flight: Optional[int]
    rate_per_second: Optional[float]
