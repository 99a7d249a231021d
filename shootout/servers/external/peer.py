"""The server process at the other end of a connection, if it is visible from here."""

from __future__ import annotations

import ipaddress
import os
import re
import socket
import stat
import struct
import time
from pathlib import Path

NAMES = re.compile(r"(mysqld|mariadbd)\b")
PID_FILE_MAX = 64  # bytes
AGE_TOLERANCE_S = 5.0  # between the uptime that the server reports and the kernel's

_CREDENTIALS = struct.Struct("3i")  # pid, uid, gid: socket(7), SO_PEERCRED


def socket_pid(link: socket.socket) -> int | None:
    """Find the server that listens on a unix socket; None if another process does, such as systemd."""
    credentials = link.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid: int = _CREDENTIALS.unpack(credentials)[0]
    return pid if pid > 0 and _is_server(pid) else None


def loopback_pid(hostname: str, pid_file: Path, uptime_s: float) -> int | None:
    """Find the server behind a local TCP connection, as old as its uptime: a port may be forwarded."""
    if hostname != socket.gethostname():
        return None
    try:
        pid = int(_beginning(pid_file))
    except (OSError, ValueError):
        return None
    age_s = _age_s(pid)
    if age_s is None or abs(age_s - uptime_s) > AGE_TOLERANCE_S or not _is_server(pid):
        return None
    return pid


def _beginning(file: Path) -> bytes:
    """The first bytes of a regular file; a server may name any file, such as a pipe or an endless device."""
    descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK)
    try:
        return os.read(descriptor, PID_FILE_MAX) if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""
    finally:
        os.close(descriptor)


def is_local(link: socket.socket) -> bool:
    """Whether the peer is on this machine, judging by its address."""
    return link.family == socket.AF_UNIX or ipaddress.ip_address(link.getpeername()[0]).is_loopback


def _is_server(pid: int) -> bool:
    """Tell a server by its name; one started through a loader has it among its first arguments."""
    try:
        arguments = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return any(NAMES.match(Path(os.fsdecode(argument)).name) for argument in arguments[:6])


def _age_s(pid: int) -> float | None:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    started_s = int(fields[19]) / os.sysconf("SC_CLK_TCK")  # field 22 of proc(5), since boot
    return time.clock_gettime(time.CLOCK_BOOTTIME) - started_s
