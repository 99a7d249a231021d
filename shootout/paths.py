"""Where things lie on this machine, and what files can be called."""

from __future__ import annotations

import hashlib
import os
import re
from contextlib import suppress
from pathlib import Path

from shootout.errors import InputError

PACKAGE = Path(__file__).parent
_BESIDE = PACKAGE.resolve().parent
IS_CHECKOUT = (_BESIDE / "engine" / "Cargo.toml").is_file()
ROOT = _BESIDE if IS_CHECKOUT else PACKAGE / "_data"  # a wheel has a copy of what is beside the package
FIXTURES = ROOT / "fixtures"
TEMPLATES = ROOT / "templates"
SUITES = ROOT / "suites"
REPORTS = ROOT / "reports" if IS_CHECKOUT else Path("reports")


def cache_folder() -> Path:
    """Return the user's cache folder: servers, loaded datasets, instances. Raises InputError."""
    try:
        folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "shootout"
        with suppress(FileNotFoundError, NotADirectoryError):
            os.scandir(folder).close()
    except RuntimeError as error:
        raise InputError(f"{error}; choose another place with XDG_CACHE_HOME") from None
    except OSError as error:
        message = f"{folder}: cannot be read: {error.strerror}; choose another place with XDG_CACHE_HOME"
        raise InputError(message) from None
    return folder


def file_stem(text: str) -> str:
    """Make a file name for any text: itself where safe, else its safe part and a digest, never shared."""
    if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", text):
        return text
    digest = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:12]
    return f"{re.sub(r'[^A-Za-z0-9._]+', '-', text)[:60].strip('-.')}~{digest}"
