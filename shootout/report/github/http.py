"""Requests to other machines: one answer each, or one sentence why there is none."""

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
    """Follows no redirect: what a request carries is for the address that it was given."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        """None: the redirect is the answer."""


def checked(option: str, url: str) -> str:
    """An https address; http to this machine will do. Raises InputError, which does not show the address."""
    try:
        parts = urlsplit(url)
        secure = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)
    except ValueError:
        secure = False
    if not secure or not parts.hostname or not url.isprintable() or " " in url:
        raise InputError(f"{option}: expected an address that begins with https://")
    return url


def send(what: str, request: urllib.request.Request) -> bytes:
    """The answer to a request. Raises MeasureError, which names `what` and never the address."""
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
