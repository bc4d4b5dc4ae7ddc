"""The client for asyncio. It runs each request in a thread, so it needs no further library."""

from __future__ import annotations

import asyncio
import concurrent.futures
import functools
from typing import TYPE_CHECKING, Any, AsyncIterator, Awaitable, Callable, Iterator

from .api_generated import AsyncOperations
from .client import Client, call

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .options import Called

# The names of the methods that yield items.
ITERATORS = ("metrics", "jobs", "schedules", "files", "insights", "links", "webhooks", "events", "watch")
_END = object()


class _AsyncApi(AsyncOperations):
    def __init__(self, client: Client, later: Callable[..., Awaitable[Any]]) -> None:
        self._client = client
        self._later = later

    async def _call(self, method: str, path: str, reads: str, **given: Unpack[Called]) -> Any:
        return await self._later(call, self._client, method, path, reads, **given)


class AsyncClient:
    """Every method of Client, to be awaited; what Client yields is read by `async for`. Functions that are given run in a thread.

    parallel: requests at a time. A canceled task leaves its request to end by itself. Use it by `async with`, or call close().
    """

    def __init__(self, url: str, token: str, timeout: float = 90, retries: int = 5, parallel: int = 32) -> None:
        self._client = Client(url, token, timeout, retries)
        self._threads = concurrent.futures.ThreadPoolExecutor(parallel, thread_name_prefix="assay")
        self.api: AsyncOperations = _AsyncApi(self._client, self._later)

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Accepts no more requests. Requests under way end by themselves."""
        self._threads.shutdown(wait=False)

    async def _later(self, function: Callable[..., Any], *given: Any, **named: Any) -> Any:
        work = functools.partial(function, *given, **named)
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    async def _each(self, iterator: Iterator[Any]) -> AsyncIterator[Any]:
        while (item := await self._later(next, iterator, _END)) is not _END:
            yield item

    async def all(self, read: Callable[..., Any], *given: Any, **query: Any) -> AsyncIterator[Any]:
        """Yields each item of all pages of a list of `api`, as in `async for record in assay.all(assay.api.list_audit)`."""
        cursor = query.pop("cursor", None)
        while True:
            page = await read(*given, cursor=cursor, **query)
            for item in page["items"]:
                yield item
            if page["next_cursor"] in (None, cursor):
                return
            cursor = page["next_cursor"]

    def __getattr__(self, name: str) -> Any:
        method: Callable[..., Any] = getattr(self._client, name)
        if name.startswith("_") or not callable(method):
            raise AttributeError(name)
        if name in ITERATORS:

            def each(*given: Any, **named: Any) -> AsyncIterator[Any]:
                return self._each(method(*given, **named))

            return each
        return functools.partial(self._later, method)
