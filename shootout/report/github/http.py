"""HTTP requests: an answer, or one sentence that says why there is none."""

from __future__ import annotations

import urllib.request
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit

from shootout.errors import InputError, MeasureError

TIMEOUT_S = 30
ANSWER_MAX = 16 << 20  # bytes
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


class _Stay(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: a request's token is meant for its own address only."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        """None, so that the redirect itself is the answer."""


def checked(option: str, url: str) -> str:
    """Check an address: https, or http to this machine. Raises InputError, which never shows the address."""
    try:
        parts = urlsplit(url)
        secure = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)
    except ValueError:
        secure = False
    if not secure or not parts.hostname or not url.isprintable() or " " in url:
        raise InputError(f"{option}: expected an address that starts with https://")
    return url


def send(what: str, request: urllib.request.Request) -> bytes:
    """Send a request. Raises MeasureError, which names `what` but never the address."""
    opener = urllib.request.build_opener(_Stay)
    try:
        with opener.open(request, timeout=TIMEOUT_S) as answer:
            content: bytes = answer.read(ANSWER_MAX + 1)
    except HTTPError as error:
        with error:
            raise MeasureError(f"{what}: HTTP {error.code} {error.reason}") from None
    except URLError as error:
        raise MeasureError(f"{what}: {error.reason}") from None
    except (OSError, HTTPException) as error:
        raise MeasureError(f"{what}: {error or type(error).__name__}") from None
    if len(content) > ANSWER_MAX:
        raise MeasureError(f"{what}: the answer is larger than {ANSWER_MAX >> 20} MiB")
    return content
