"""Builds that are not for speed, as far as they say: for debugging, under a sanitizer, or not optimised."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from shootout.model.run import Warning

_WORDS = re.compile(r"\b(debug|asan|lsan|msan|tsan|ubsan|valgrind|gcov)\b", re.IGNORECASE)
_BUILD_TYPE = re.compile(r"^CMAKE_BUILD_TYPE:\w+=(Debug)$", re.MULTILINE | re.IGNORECASE)
_SWITCHES = re.compile(
    r"^(?:WITH_(DEBUG|ASAN|LSAN|MSAN|TSAN|UBSAN|VALGRIND)|ENABLE_(GCOV)):\w+=(?:ON|1|YES|TRUE)$",
    re.MULTILINE | re.IGNORECASE,
)
_FLAGS = re.compile(r"^(?:CXX_FLAGS = |CMAKE_CXX_FLAGS:\w+=)(.*)$", re.MULTILINE)
_COMPILED = "CXX_FLAGS = "  # the flags are all there are; CMake's cache lacks those of the build's type


def warnings(version: str, comment: str, variables: Mapping[str, str], flags: str) -> Iterator[Warning]:
    """Warn if version, version_comment, variables or `flags`, how it was built, tell of such a build."""
    said = {word.lower() for word in _WORDS.findall(f"{version} {comment}")}
    said |= {word.lower() for found in _SWITCHES.findall(flags) for word in found if word}
    said |= {word.lower() for word in _BUILD_TYPE.findall(flags)}
    if "debug" in variables or "debug_dbug" in variables:  # others lack them
        said.add("debug")
    for line in _FLAGS.findall(flags):
        said |= {f"-fsanitize={kind}" for kind in re.findall(r"-fsanitize=(\S+)", line)}
        levels = re.findall(r"(?<!\S)-O(\S*)", line)
        if levels[-1:] == ["0"] or (not levels and _COMPILED + line in flags):
            said.add("not optimised")
    if said:
        text = f"It is no build for speed ({', '.join(sorted(said))}): its figures say little of a release"
        yield Warning(code="slow-build", text=text)
