"""A built server as one file, so that one machine can build what others measure."""

from __future__ import annotations

import io
import re
import shutil
import tarfile
import tempfile
from pathlib import Path

from shootout import files
from shootout.errors import InputError
from shootout.servers.sources import layout, libraries
from shootout.servers.sources.fetch.unpack import ArchiveError, Destination, extract


def pack(directory: Path, file: Path, commit: str = "") -> None:
    """Write a tar of the files that a server needs, with its commit; always the same bytes."""
    if commit and re.fullmatch(layout.HASH, commit) is None:
        raise InputError(f"commit {commit!r}: expected its full hash")
    tree = layout.find(directory.absolute())
    contents = tree.contents
    programs = [path for place, path in contents.items() if _runs(place)]
    contents |= {f"lib/private/{name}": path for name, path in libraries.brought(programs, tree.top).items()}
    commit = commit or tree.commit
    with files.writing(file):
        file.parent.mkdir(parents=True, exist_ok=True)
        with tarfile.open(file, "w", format=tarfile.GNU_FORMAT) as tar:
            for place, path in sorted(contents.items()):
                with path.open("rb") as content:
                    member = tarfile.TarInfo(place)
                    member.size = path.stat().st_size
                    member.mode = 0o755 if _runs(place) else 0o644
                    tar.addfile(member, content)
            if commit:
                member = tarfile.TarInfo(layout.COMMIT)
                member.size = len(commit)
                tar.addfile(member, io.BytesIO(commit.encode()))


def unpack(file: Path, directory: Path) -> None:
    """Unpack a packed server, or any archive of one, as the new `directory`. Raises InputError."""
    if directory.exists():
        raise InputError(f"{directory}: exists already; name a new folder")
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(prefix=".unpacking-", dir=directory.parent))
        try:
            with file.open("rb") as opened:
                extract(opened, Destination(fresh))
            layout.find(fresh)
            fresh.chmod(0o755)
            fresh.rename(directory)
        except BaseException:
            shutil.rmtree(fresh, ignore_errors=True)
            raise
    except ArchiveError as error:
        raise InputError(f"{file}: {error}") from None
    except OSError as error:
        raise InputError(f"{file}: cannot be unpacked as {directory}: {error.strerror}") from None


def _runs(place: str) -> bool:
    return place.startswith(("bin/", "lib/"))
