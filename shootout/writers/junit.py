"""JUnit reports, for programs that collect test results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement


@dataclass(frozen=True)
class Case:
    suite: str
    name: str
    seconds: float = 0.0
    failure: str = ""
    skipped: str = ""
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Suite:
    name: str
    started: str  # ISO 8601
    seconds: float
    cases: tuple[Case, ...]


def write(suite: Suite) -> str:
    root = Element("testsuites")
    counts = {
        "tests": len(suite.cases),
        "failures": sum(bool(case.failure) for case in suite.cases),
        "errors": 0,
        "skipped": sum(bool(case.skipped) for case in suite.cases),
    }
    about = {"name": suite.name, "timestamp": suite.started, "time": f"{suite.seconds:.3f}"}
    of = SubElement(root, "testsuite", about | {name: str(count) for name, count in counts.items()})
    for case in suite.cases:
        _case(of, case)
    ElementTree.indent(root)
    return ElementTree.tostring(root, "unicode", xml_declaration=True) + "\n"


def _case(parent: Element, case: Case) -> None:
    about = {"classname": case.suite, "name": case.name, "time": f"{case.seconds:.3f}"}
    made = SubElement(parent, "testcase", about)
    if case.properties:
        every = SubElement(made, "properties")
        for name, value in case.properties.items():
            SubElement(every, "property", name=name, value=value)
    for kind, text in (("failure", case.failure), ("skipped", case.skipped)):
        if text:
            SubElement(made, kind, message=text)
