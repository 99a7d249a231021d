"""Archives given by URL and checksum, and their download, which continues where it was cut."""

from __future__ import annotations

import re
import time
from http.client import HTTPException
from pathlib import Path, PurePosixPath
from typing import IO, Any
from urllib.error import HTTPError, URLError
from urllib.parse import unquote, urlsplit
from urllib.request import HTTPRedirectHandler, OpenerDirector, Request, build_opener

from shootout.errors import InputError, MeasureError
from shootout.model.catalogue import Archive, Download, Vendor

FORM = "path:URL#sha256=HEX, with http, https or file"
TIMEOUT_S = 60.0  # for each answer
RESUMED_MAX = 3  # times that a download is continued
DOWNLOAD_MAX_S = 7200.0
DOWNLOAD_MAX_BYTES = 8 * 10**9  # the checksum comes last: a stream without an end must not fill the disk

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_WRITTEN = re.compile(r"(?P<url>(?:https?|file)://[^#\s]+)#sha256=(?P<sha256>[0-9a-f]{64})", re.IGNORECASE)
_ENDINGS = re.compile(r"(\.tar)?(\.(gz|bz2|xz|tgz|tbz2|txz|zip|tar))?$")


def is_url(text: str) -> bool:
    """Whether a path is an archive's URL."""
    return _URL.match(text) is not None


def read(text: str) -> Archive:
    """Read `URL#sha256=HEX`. Raises InputError for any other form."""
    written = _WRITTEN.fullmatch(text)
    if written is None:
        raise InputError(f"server 'path:{text}': expected {FORM} (64 digits) of an archive")
    try:
        parts = urlsplit(written["url"])
        private = parts.username or parts.password
    except ValueError as error:
        raise InputError(f"server 'path:{text}': {error}") from None
    if private:
        raise InputError(
            f"server 'path:{parts.scheme}://…@{parts.hostname}{parts.path}': expected no user or password:\n"
            "it would appear in every report"
        )
    return Archive(url=written["url"], sha256=written["sha256"].lower())


def text(source: Archive) -> str:
    """Write the form that `read` accepts."""
    return f"{source.url}#sha256={source.sha256}"


def name(url: str) -> str:
    """Return the archive's file name without its suffix."""
    last = PurePosixPath(unquote(urlsplit(url).path)).name
    return re.sub(r"[^A-Za-z0-9._+-]+", "-", _ENDINGS.sub("", last)).strip("-.") or "archive"


def display_path(source: Archive) -> str:
    """Return its location as a path without suffix, which distinguishes archives of one name."""
    parts = urlsplit(source.url)
    folders = PurePosixPath(unquote(parts.path)).parts[1:-1]
    return str(PurePosixPath("/", parts.netloc, *folders, name(source.url)))


class _Redirects(HTTPRedirectHandler):
    """Follows redirects, but never from https to what nobody authenticates."""

    def redirect_request(self, req: Request, *details: Any) -> Request | None:
        *_, target = details
        if req.type == "https" and urlsplit(target).scheme != "https":
            raise URLError(f"it redirects to {target}, which is not https")
        return super().redirect_request(req, *details)


def download(source: Download, directory: Path) -> Path:
    """Download the archive into the empty `directory`. Raises MeasureError unless it is complete."""
    path = directory / name(source.url)
    opener, ends_s = build_opener(_Redirects), time.monotonic() + DOWNLOAD_MAX_S
    with path.open("wb") as file:
        for _ in range(1 + RESUMED_MAX):
            length = _continue(opener, source, file, ends_s)
            if file.tell() == length:
                return path
        raise _failure(source, EOFError(f"it ended after {file.tell()} of {length} bytes"))


def _continue(opener: OpenerDirector, source: Download, file: IO[bytes], ends_s: float) -> int:
    """Append what comes until the end or a cut; returns the length of the whole archive, in bytes."""
    headers = {"Range": f"bytes={file.tell()}-"} if file.tell() else {}
    try:
        answer = opener.open(Request(source.url, headers=headers), timeout=TIMEOUT_S)
    except (OSError, HTTPException) as error:
        raise _failure(source, error) from None
    limit = DOWNLOAD_MAX_BYTES if not isinstance(source, Vendor) or source.bytes is None else source.bytes
    with answer:
        if answer.status != 206:  # not what was asked for: it begins again
            file.seek(0)
            file.truncate()
        announced = answer.headers.get("Content-Length")
        length = None if announced is None else file.tell() + int(announced)
        while content := _part(answer, source, resumable=length is not None):
            file.write(content)
            if max(file.tell(), length or 0) > limit:
                raise _failure(source, ValueError(f"it is larger than {limit} bytes"))
            if time.monotonic() > ends_s:
                raise _failure(source, ValueError(f"it took longer than {DOWNLOAD_MAX_S:.0f} s"))
    return file.tell() if length is None else length


def _part(answer: Any, source: Download, *, resumable: bool) -> bytes:
    try:
        part: bytes = answer.read1(2**20)  # what has come: a slow stream must not outlast the time limit
    except (OSError, HTTPException) as error:
        if resumable:
            return b""
        raise _failure(source, error) from None
    return part


def _failure(source: Download, error: Exception) -> MeasureError:
    match error:
        case HTTPError():
            reason = f"HTTP {error.code} {error.reason}"
        case URLError():
            reason = str(error.reason)
        case _:
            reason = str(error) or type(error).__name__
    return MeasureError(f"cannot download {source.url}: {reason}")
