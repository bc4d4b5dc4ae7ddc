"""Names in the path of a request."""

import urllib.parse

from .errors import AssayError


def segment(name: str) -> str:
    """Encodes one name in a path. Raises for an empty one, "." and "..", which would lead to another operation."""
    if name in ("", ".", ".."):
        raise AssayError(f'"{name}" cannot be a name.', 0, "invalid")
    return urllib.parse.quote(name, safe="")


def files(path: str) -> str:
    """Encodes the path of a file. Its slashes stay."""
    return "/".join(segment(name) for name in path.split("/"))
