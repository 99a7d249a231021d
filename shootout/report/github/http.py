"""GitHub's API: requests about one repository, which return the response or raise a one-line error."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit

from shootout.errors import InputError, MeasureError

TIMEOUT_S = 30
RESPONSE_MAX = 16 << 20  # bytes
PAGE = 100  # entries: GitHub's maximum
PAGES_MAX = 50
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Follow no redirects: the request's token is only for its own address."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        """Return None, so that the redirect itself is the response."""


def checked_url(option: str, url: str) -> str:
    """Return `url` if it is https, or http to this machine. Raises InputError, which never quotes it."""
    try:
        parts = urlsplit(url)
        secure = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)
    except ValueError:
        secure = False
    if not secure or not parts.hostname or not url.isprintable() or " " in url:
        raise InputError(f"{option}: expected an address that starts with https://")
    return url


def send(what: str, request: urllib.request.Request) -> bytes:
    """Send a request and return the body. Raises MeasureError, which names `what` but never the address."""
    opener = urllib.request.build_opener(_NoRedirects)
    try:
        with opener.open(request, timeout=TIMEOUT_S) as response:
            content: bytes = response.read(RESPONSE_MAX + 1)
    except HTTPError as error:
        with error:
            raise MeasureError(f"{what}: HTTP {error.code} {error.reason}") from None
    except (OSError, HTTPException) as error:
        why = error.reason if isinstance(error, URLError) else error
        raise MeasureError(f"{what}: {why or type(error).__name__}") from None
    if len(content) > RESPONSE_MAX:
        raise MeasureError(f"{what}: the response is larger than {RESPONSE_MAX >> 20} MiB")
    return content


@dataclass(frozen=True)
class Api:
    """A repository's part of the API."""

    address: str
    token: str

    def get(self, path: str) -> Any:
        """Return GitHub's answer. Raises MeasureError."""
        return self.ask("GET", path)

    def ask(self, method: str, path: str, **content: Any) -> Any:
        """Send a request and return GitHub's answer. Raises MeasureError if GitHub refuses it."""
        headers = {
            "Accept": "application/vnd.github+json",
            "Authorization": f"Bearer {self.token}",
            "X-GitHub-Api-Version": "2022-11-28",
        }
        data = json.dumps(content).encode() if content else None
        request = urllib.request.Request(f"{self.address}/{path}", data, headers, method=method)
        what = f"GitHub: {method} {path.partition('?')[0]}"
        try:
            return json.loads(send(what, request))
        except (ValueError, RecursionError):
            raise MeasureError(f"{what}: the response is not JSON") from None

    def entries(self, path: str) -> Iterator[Any]:
        """Read the entries of a list, or of the list in an object, from all pages. Raises MeasureError."""
        asked = f"{path}{'&' if '?' in path else '?'}per_page={PAGE}"
        for page in range(1, PAGES_MAX + 1):
            try:
                found = self.get(f"{asked}&page={page}")
                if isinstance(found, dict):
                    found = next(each for each in found.values() if isinstance(each, list))
                yield from found
            except (TypeError, StopIteration):
                raise MeasureError(f"GitHub: GET {path}: the response has no list") from None
            if len(found) < PAGE:
                return
        raise MeasureError(f"GitHub: GET {path}: more than {PAGE * PAGES_MAX} entries")
