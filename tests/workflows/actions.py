"""Runs GitHub workflows on this machine: their jobs and steps, as written, one after the other.

Supports what the project's workflows use of expressions, `needs`, matrices, called workflows and composite
actions; anything else is an error. Emulates the checkout and artifact actions; a step with another
third-party action must have a condition that skips it if the variable ACT is set, as `act` sets it. Skips
jobs for another processor than this machine's.
"""

from __future__ import annotations

import itertools
import json
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

PATIENCE_S = 180.0
_TOKEN = re.compile(
    r"\s*(?:(?P<text>'(?:[^']|'')*')|(?P<number>\d+)|(?P<operator>&&|\|\||==|!=|!|\(|\)|,)|(?P<name>[A-Za-z_][\w.-]*))"
)
_EXPRESSION = re.compile(r"\$\{\{((?:(?!\}\}).)*)\}\}", re.DOTALL)
_OPERATORS = {"&&": " and ", "||": " or ", "!": " not "}
_WORDS = {"true": True, "false": False, "null": None}


@dataclass(frozen=True)
class Hub:
    """What the jobs of one workflow run share."""

    folder: Path
    origin: Path  # a clone of each repository, at OWNER/NAME
    repository: str
    sha: str
    tools: Path
    environment: Mapping[str, str]
    event_name: str = "workflow_dispatch"
    event: Mapping[str, Any] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)

    @property
    def artifacts(self) -> Path:
        return self.folder / "artifacts"


@dataclass
class Job:
    """The outcome of a job."""

    result: str  # success, failure or skipped
    outputs: dict[str, str] = field(default_factory=dict)
    summary: str = ""
    log: str = ""
    steps: dict[str, str] = field(default_factory=dict)  # outcomes by name
    scripts: set[str] = field(default_factory=set)  # `run:` steps that passed, named as in `scripts`


class UnsupportedError(AssertionError):
    """A workflow uses something that is not supported here."""


def run(hub: Hub, workflow: Path, inputs: Mapping[str, Any] | None = None) -> dict[str, Job]:
    """Run a workflow; returns jobs by id: `id`, `id[0]` in a matrix, `id/job` in a called workflow."""
    found = _load(workflow)
    jobs: dict[str, Any] = found["jobs"]
    given = _inputs(found, inputs or {})
    done: dict[str, Job] = {}
    for name in _in_order(jobs):
        job = _with_shell(jobs[name], found)
        needs = {each: done[each] for each in _listed(job.get("needs"))}
        before = [each.result for each in needs.values()]
        context: dict[str, Any] = {
            "inputs": given,
            "env": {"ACT": "true", **hub.environment},
            "github": _github(hub),
            "needs": {
                key: {"result": value.result, "outputs": value.outputs} for key, value in needs.items()
            },
            "runner": {"tool_cache": str(hub.tools)},
            "secrets": _secrets(found, hub, called=inputs is not None),
            "vars": hub.variables,
        }
        context["env"] |= _filled(found.get("env", {}), context)
        if not _wanted(job.get("if"), context, failed=any(each != "success" for each in before)):
            done[name] = Job("skipped")
            continue
        if "uses" in job:
            inner = run(hub, called(workflow, job["uses"]), _filled(job.get("with", {}), context))
            done |= {f"{name}/{key}": value for key, value in inner.items()}
            done[name] = Job(_combined([each.result for each in inner.values()]))
            continue
        parts = []
        matrix = list(_matrix(job, context))
        for number, values in enumerate(matrix):
            strategy = {"job-index": number, "job-total": len(matrix)}
            own = context | {"matrix": values, "strategy": strategy}
            here = _is_here(filled(job["runs-on"], own))
            where = f"{workflow.stem}/{name}"
            parts.append(_job(hub, where, number, job, own) if here else Job("skipped"))
            done[f"{name}[{number}]"] = parts[-1]
        last = next((each for each in reversed(parts) if each.result != "skipped"), parts[-1])
        done[name] = replace(
            last,
            result=_combined([each.result for each in parts]),
            scripts={script for each in parts for script in each.scripts},
        )
    return done


def scripts(file: Path) -> Iterator[str]:
    """The `run:` steps of a workflow or an action, except those that need GitHub."""
    found = _load(file)
    if "runs" in found:
        places = {file.parent.name: found["runs"]["steps"]}
    else:
        places = {f"{file.stem}/{name}": job.get("steps", ()) for name, job in found["jobs"].items()}
    for where, steps in places.items():
        for step in steps:
            if "run" in step and "!env.ACT" not in str(step.get("if")):
                yield f"{where}: {step['name']}"


def _is_here(runner: str | Sequence[str]) -> bool:
    """Whether this machine has the hosted runner's processor; a self-hosted one may have any."""
    return not isinstance(runner, str) or runner.endswith("-arm") == (platform.machine() == "aarch64")


def called(workflow: Path, uses: str) -> Path:
    """The called workflow, which is in the same repository."""
    if not uses.startswith("$/"):
        raise UnsupportedError(f"{workflow.name}: calls {uses}")
    return workflow.parents[2] / uses.removeprefix("$/")


def evaluated(text: str, context: Mapping[str, Any], *, failed: bool = False) -> Any:
    """The value of an expression."""
    python, position = [], 0
    while position < len(text.rstrip()):
        found = _TOKEN.match(text, position)
        if found is None:
            raise UnsupportedError(f"expression {text!r}: not understood from {text[position:]!r}")
        position = found.end()
        if found["text"] is not None:
            python.append(repr(found["text"][1:-1].replace("''", "'")))
        elif found["name"] is not None:
            follows = text[position:].lstrip().startswith("(")
            python.append(f"_{found['name']}" if follows else f"_value({found['name']!r})")
        else:
            python.append(_OPERATORS.get(found["operator"] or "", found["operator"] or found["number"]))
    names = {
        "_value": lambda name: _WORDS[name] if name in _WORDS else _value(name, context),
        "_fromJSON": json.loads,
        "_always": lambda: True,
        "_cancelled": lambda: False,
        "_failure": lambda: failed,
        "_success": lambda: not failed,
    }
    return eval("".join(python).strip(), {"__builtins__": {}}, names)


def _value(name: str, context: Mapping[str, Any]) -> Any:
    found: Any = context
    for part in name.split("."):
        if not isinstance(found, Mapping):
            return None
        found = found.get(part)
    return found


def filled(text: Any, context: Mapping[str, Any]) -> Any:
    """A value with its expressions evaluated; a lone expression keeps its type."""
    if not isinstance(text, str):
        return text
    whole = _EXPRESSION.fullmatch(text.strip())
    if whole is not None:
        return evaluated(whole[1], context)
    return _EXPRESSION.sub(lambda found: _text(evaluated(found[1], context)), text)


def _filled(values: Mapping[str, Any], context: Mapping[str, Any]) -> dict[str, Any]:
    return {key: filled(value, context) for key, value in values.items()}


def _text(value: Any) -> str:
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _texts(values: Mapping[str, Any]) -> dict[str, str]:
    return {key: _text(value) for key, value in values.items()}


def _wanted(condition: Any, context: Mapping[str, Any], *, failed: bool) -> bool:
    """Whether a job or step runs; by default, only if nothing before it failed."""
    if condition is None:
        return not failed
    text = str(condition).strip()
    inner = _EXPRESSION.fullmatch(text)
    expression = inner[1] if inner else text
    explicit = any(f"{word}(" in expression for word in ("always", "cancelled", "failure", "success"))
    return (explicit or not failed) and bool(evaluated(expression, context, failed=failed))


def _with_shell(job: Mapping[str, Any], workflow: Mapping[str, Any]) -> Mapping[str, Any]:
    """The job with the workflow's default shell in its steps."""
    steps = [workflow.get("defaults", {}).get("run", {}) | step for step in job.get("steps", ())]
    return {**job, "steps": steps}


def _job(hub: Hub, where: str, number: int, job: Mapping[str, Any], context: dict[str, Any]) -> Job:
    place = hub.folder / f"{where.replace('/', '-')}-{number}"
    runner = _Runner(hub, where, place / "workspace", place / "temp", Job("success"))
    for folder in (runner.workspace, runner.temp):
        folder.mkdir(parents=True)
    context = context | {"runner": {"tool_cache": str(hub.tools), "temp": str(runner.temp)}, "steps": {}}
    context["github"] = context["github"] | {"workspace": str(runner.workspace)}
    context["env"] = context["env"] | _filled(job.get("env", {}), context)
    runner.run(job["steps"], context)
    runner.done.outputs = _texts(_filled(job.get("outputs", {}), context))
    return runner.done


@dataclass
class _Runner:
    """Runs the steps of a job, or of a composite action in it."""

    hub: Hub
    name: str  # of workflow and job, or of the action
    workspace: Path
    temp: Path
    done: Job
    path: list[str] = field(default_factory=list)
    action: Path | None = None
    count: Iterator[int] = field(default_factory=itertools.count)

    def run(self, steps: Sequence[Mapping[str, Any]], context: dict[str, Any]) -> None:
        done = self.done
        for step in steps:
            name = step.get("name", step.get("uses", ""))
            own = context | {"env": context["env"] | _filled(step.get("env", {}), context)}
            if not _wanted(step.get("if"), own, failed=done.result == "failure"):
                done.steps[name] = "skipped"
                continue
            done.log += f"--- {name}\n"
            passed, outputs = (self._command if "run" in step else self._uses)(step, own)
            context["steps"] = context["steps"] | {step.get("id", ""): {"outputs": outputs}}
            done.steps[name] = "success" if passed else "failure"
            if passed and "run" in step:
                done.scripts.add(f"{self.name}: {name}")
            if not passed and not step.get("continue-on-error"):
                done.result = "failure"

    def _command(self, step: Mapping[str, Any], context: Mapping[str, Any]) -> tuple[bool, dict[str, str]]:
        hub, folder, number = self.hub, self.temp.parent, next(self.count)
        files = {key: folder / f"{key}-{number}" for key in ("OUTPUT", "STEP_SUMMARY", "PATH", "ENV")}
        for file in files.values():
            file.touch()
        script = folder / f"script-{number}.sh"
        script.write_text(_text(filled(step["run"], context)), "utf-8")
        environment = {
            **os.environ,
            **_texts(context["env"]),
            **{f"GITHUB_{key}": str(file) for key, file in files.items()},
            "GITHUB_ACTION_PATH": str(self.action or ""),
            "GITHUB_REPOSITORY": hub.repository,
            "GITHUB_RUN_ID": "1",
            "GITHUB_SERVER_URL": hub.origin.as_uri(),
            "GITHUB_WORKSPACE": str(self.workspace),
            "RUNNER_TEMP": str(self.temp),
            "RUNNER_TOOL_CACHE": str(hub.tools),
            "PATH": os.pathsep.join([*reversed(self.path), context["env"].get("PATH", os.environ["PATH"])]),
        }
        shell = ["--noprofile", "--norc", "-eo", "pipefail"] if step.get("shell") == "bash" else ["-e"]
        ended = subprocess.run(
            ["bash", *shell, str(script)],
            cwd=self.workspace / step.get("working-directory", "."),
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        self.done.log += ended.stdout
        self.done.summary += files["STEP_SUMMARY"].read_text("utf-8")
        if files["ENV"].read_text():
            raise UnsupportedError(f"{step.get('name')}: sets environment variables")
        self.path += files["PATH"].read_text().split()
        lines = files["OUTPUT"].read_text("utf-8").splitlines()
        return ended.returncode == 0, dict(line.split("=", 1) for line in lines)

    def _uses(self, step: Mapping[str, Any], context: Mapping[str, Any]) -> tuple[bool, dict[str, str]]:
        given = _filled(step.get("with", {}), context)
        action, _, version = step["uses"].partition("@")
        if re.match(r"\$/.", action):  # this syntax cannot name the top folder itself
            return self._composite(_sources(self.hub) / action.removeprefix("$/"), given, context)
        if re.fullmatch(r"[0-9a-f]{40}", version) is None:
            raise UnsupportedError(f"{step['uses']}: not pinned by a commit")
        hub, target = self.hub, self.workspace / given.get("path", ".")
        match action:
            case "actions/checkout":
                if given.get("persist-credentials") is not False:
                    raise UnsupportedError("checkout: leaves its token behind")
                repository = given.get("repository", hub.repository)
                _clone(hub.origin / repository, target, given.get("ref") or hub.sha)
            case "actions/upload-artifact":
                artifact = hub.artifacts / given["name"]
                shutil.rmtree(artifact, ignore_errors=True)
                shutil.copytree(target, artifact)
            case "actions/download-artifact":
                flat = "name" in given or given.get("merge-multiple")
                for artifact in hub.artifacts.glob(given.get("name") or given["pattern"]):
                    into = target if flat else target / artifact.name
                    shutil.copytree(artifact, into, dirs_exist_ok=True)
            case _:
                raise UnsupportedError(f"{step['uses']}: needs GitHub; expected `if: ${{{{ !env.ACT }}}}`")
        return True, {}

    def _composite(
        self, folder: Path, given: Mapping[str, Any], context: Mapping[str, Any]
    ) -> tuple[bool, dict[str, str]]:
        action = _load(folder / "action.yml")
        known = action.get("inputs", {})
        _check_inputs(folder.name, given, known)
        missing = [key for key, each in known.items() if each.get("required") and not given.get(key)]
        if missing:
            raise UnsupportedError(f"{folder.name}: lacks its input {', '.join(missing)}")
        values = {key: each.get("default", "") for key, each in known.items()} | _texts(given)
        own = {**context, "inputs": values, "steps": {}}
        part = replace(self, name=folder.name, action=folder, done=Job("success"))
        part.run(action["runs"]["steps"], own)
        self.done.log += part.done.log
        self.done.summary += part.done.summary
        self.done.steps |= part.done.steps
        self.done.scripts |= part.done.scripts
        outputs = {key: each["value"] for key, each in action.get("outputs", {}).items()}
        return part.done.result == "success", _texts(_filled(outputs, own))


def _sources(hub: Hub) -> Path:
    """The repository at the running commit, from which a runner takes the repository's own actions."""
    target = hub.folder / "_actions"
    if not target.exists():
        _clone(hub.origin / hub.repository, target, hub.sha)
    return target


def _clone(source: Path, target: Path, commit: str) -> None:
    subprocess.run(["git", "clone", "--quiet", "--no-checkout", str(source), str(target)], check=True)
    subprocess.run(["git", "-C", str(target), "checkout", "--quiet", "--detach", commit], check=True)


def _check_inputs(name: str, given: Mapping[str, Any], known: Mapping[str, Any]) -> None:
    if unknown := given.keys() - known.keys():
        raise UnsupportedError(f"{name}: has no input {', '.join(sorted(unknown))}")


def _load(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(file.read_text("utf-8"))
    return found


def triggers(workflow: Mapping[Any, Any]) -> Mapping[str, Any]:
    """The workflow's triggers; YAML 1.1 reads the key `on` as true."""
    found: Mapping[str, Any] = workflow[True]
    return found


def _inputs(workflow: Mapping[Any, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The given inputs and the defaults; a workflow that an event starts has none."""
    known = (triggers(workflow).get("workflow_call") or {}).get("inputs", {})
    _check_inputs("workflow", given, known)
    return {key: each.get("default") for key, each in known.items()} | dict(given) if given else {}


def _secrets(workflow: Mapping[Any, Any], hub: Hub, *, called: bool) -> Mapping[str, str]:
    """A called workflow gets the secrets that it declares, of those that its caller passes on."""
    if not called:
        return hub.secrets
    declared = (triggers(workflow).get("workflow_call") or {}).get("secrets", {})
    return {name: value for name, value in hub.secrets.items() if name in declared}


def concurrency(workflow: Path, hub: Hub, inputs: Mapping[str, Any]) -> str:
    """The concurrency group of a run of the workflow."""
    found = _load(workflow)
    context = {"inputs": _inputs(found, inputs), "github": _github(hub)}
    return _text(filled(found["concurrency"]["group"], context))


def _in_order(jobs: Mapping[str, Any]) -> list[str]:
    """The jobs, each after those that it needs."""
    order: list[str] = []

    def add(name: str) -> None:
        for each in _listed(jobs[name].get("needs")):
            add(each)
        if name not in order:
            order.append(name)

    for name in jobs:
        add(name)
    return order


def _listed(value: Any) -> list[str]:
    return [] if value is None else [value] if isinstance(value, str) else list(value)


def _matrix(job: Mapping[str, Any], context: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    axes = {key: filled(each, context) for key, each in job.get("strategy", {}).get("matrix", {}).items()}
    for values in itertools.product(*axes.values()):
        yield dict(zip(axes, values, strict=True))


def _combined(results: Sequence[str]) -> str:
    return "failure" if "failure" in results else "success" if "success" in results else "skipped"


def _github(hub: Hub) -> dict[str, Any]:
    return {
        "event": hub.event,
        "event_name": hub.event_name,
        "ref": "refs/heads/main",
        "repository": hub.repository,
        "run_id": "1",
        "server_url": "https://github.example",
        "sha": hub.sha,
        "token": "a-token",
        "workflow": "a workflow",
    }
