"""Names in the path of a request."""

import urllib.parse

from .errors import AssayError


def segment(name: str) -> str:
    """One name in a path. An empty one, "." and ".." would lead to another operation."""
    if name in ("", ".", ".."):
        raise AssayError(f'"{name}" cannot be a name.', 0, "invalid")
    return urllib.parse.quote(name, safe="")


def files(path: str) -> str:
    """The path of a file, whose slashes stay."""
    return "/".join(segment(name) for name in path.split("/"))
