"""Runs GitHub workflows on this machine: their jobs and steps, as written, one after the other.

Supports what the project's workflows use of expressions, `needs`, matrices, called workflows and composite
actions; anything else is an error. Callers and callees may be of different repositories: each takes its own
actions from the commit that it is called at, and gets no more permissions than its caller has. Emulates the
checkout, artifact and cache actions; a step with another third-party action must have a condition that skips
it if the variable ACT is set, as `act` sets it.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import yaml

from shootout import __version__
from tests.support.workflows.artifacts import Artifacts, now

PATIENCE_S = 1800.0  # for a step that takes two minutes at most on an idle machine
_TOKEN = re.compile(
    r"\s*(?:(?P<text>'(?:[^']|'')*')|(?P<number>\d+)|(?P<operator>&&|\|\||==|!=|!|\(|\)|,)|(?P<member>(?<=\))\.[A-Za-z_]\w*)|(?P<name>[A-Za-z_][\w.-]*))"
)
_EXPRESSION = re.compile(r"\$\{\{((?:(?!\}\}).)*)\}\}", re.DOTALL)
_OPERATORS = {"&&": " and ", "||": " or ", "!": " not "}
_WORDS = {"true": True, "false": False, "null": None}


@dataclass(frozen=True)
class Hub:
    """State that the jobs of one workflow run share."""

    folder: Path
    origin: Path  # a clone of each repository, at OWNER/NAME
    repository: str
    sha: str
    tools: Path
    environment: Mapping[str, str]
    event_name: str = "workflow_dispatch"
    event: Mapping[str, Any] = field(default_factory=dict)
    scope: str = "main"  # whose caches it writes; it reads those of main, too
    run_id: int = 1
    variables: Mapping[str, str] = field(default_factory=dict)  # of the repository
    done: dict[str, Job] = field(default_factory=dict)  # the jobs that have ended so far

    @property
    def artifacts(self) -> Path:
        return self.folder / "artifacts"

    @property
    def service(self) -> Artifacts:
        return Artifacts(self.artifacts)


@dataclass
class Job:
    """The outcome of a job."""

    result: str  # success, failure or skipped
    name: str = ""  # with the names of the jobs that called its workflow
    started_at: str = ""
    completed_at: str = ""
    own_steps: list[dict[str, str]] = field(default_factory=list)  # without those of its actions
    outputs: dict[str, str] = field(default_factory=dict)
    summary: str = ""
    log: str = ""
    steps: dict[str, str] = field(default_factory=dict)  # outcomes by name
    environment: str = ""  # in which it ran
    labels: list[str] = field(default_factory=list)  # of its runner


class UnsupportedError(AssertionError):
    """A workflow uses something that is not supported here."""


def run(
    hub: Hub,
    workflow: Path,
    inputs: Mapping[str, Any] | None = None,
    granted: Mapping[str, str] | None = None,
) -> dict[str, Job]:
    """Run a workflow; returns jobs by id: `id`, `id[0]` in a matrix, `id/job` in a called workflow.

    `inputs` and `granted`, permissions, are what its caller passes on; None: an event starts it.
    """
    found = _load(workflow)
    jobs: dict[str, Any] = found["jobs"]
    given = _inputs(found, inputs)
    done: dict[str, Job] = {}
    if granted is None:
        hub.done.clear()
    for name in _in_order(jobs):
        job = _with_shell(jobs[name], found)
        where = f"{workflow.stem}/{name}"
        permissions = job.get("permissions", found.get("permissions", {}))
        _check_permissions(where, permissions, granted)
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
            "vars": {} if _is_forks(hub) else hub.variables,
        }
        context["env"] |= _filled(found.get("env", {}), context)
        if not _wanted(job.get("if"), context, failed=any(each != "success" for each in before)):
            done[name] = Job("skipped")
            continue
        parts = []
        matrix = list(_matrix(job, context))
        for number, values in enumerate(matrix):
            strategy = {"job-index": number, "job-total": len(matrix)}
            own = context | {"matrix": values, "strategy": strategy}
            if "uses" in job:
                inner = run(
                    hub,
                    called(hub, workflow, job["uses"]),
                    _filled(job.get("with", {}), own),
                    permissions,
                )
                prefix = f"{name}[{number}]" if "strategy" in job else name
                title = _text(filled(job.get("name", name), own))
                done |= {
                    f"{prefix}/{key}": replace(value, name=f"{title} / {value.name}")
                    for key, value in inner.items()
                }
                parts.append(Job(_combined([each.result for each in inner.values()])))
            else:
                parts.append(_job(hub, workflow, where, job, own))
                done[f"{name}[{number}]"] = hub.done[f"{where}[{number}]"] = parts[-1]
        done[name] = replace(parts[-1], result=_combined([each.result for each in parts]))
    return done


def _is_forks(hub: Hub) -> bool:
    """Whether a fork's pull request started the run: GitHub passes it no variables."""
    pull = hub.event.get("pull_request")
    return pull is not None and (pull["head"]["repo"] or {}).get("full_name") != hub.repository


def records(jobs: Mapping[str, Job]) -> list[dict[str, Any]]:
    """The jobs that ran, as GitHub's API tells them."""
    return [
        {
            "id": number,
            "name": job.name,
            "conclusion": job.result,
            "started_at": job.started_at,
            "completed_at": job.completed_at,
            "steps": job.own_steps,
            "labels": job.labels,
            "runner_group_name": "Default" if "self-hosted" in job.labels else "GitHub Actions",
        }
        for number, (key, job) in enumerate(jobs.items(), 21)
        if key.endswith("]")
    ]


def called(hub: Hub, workflow: Path, uses: str) -> Path:
    """The called workflow: of the caller's repository and commit, or of those that it names."""
    if uses.startswith("$/"):
        return _top(workflow) / uses.removeprefix("$/")
    return _elsewhere(hub, uses)


def _top(file: Path) -> Path:
    """The top folder of the repository that a workflow or an action is in."""
    return next(folder.parent for folder in file.parents if folder.name == ".github")


def _elsewhere(hub: Hub, uses: str) -> Path:
    """A file or folder of another repository, from OWNER/NAME/PATH@COMMIT."""
    place, _, commit = uses.partition("@")
    owner, name, path = place.split("/", 2)
    if re.fullmatch(r"[0-9a-f]{40}", commit) is None:
        raise UnsupportedError(f"{uses}: not pinned by a commit")
    target = hub.folder / "_actions" / owner / name / commit
    if not target.exists():
        _clone(hub.origin / owner / name, target, commit)
    return target / path


_LEVELS = ("none", "read", "write")


def _check_permissions(where: str, wanted: Mapping[str, str], granted: Mapping[str, str] | None) -> None:
    """Raise UnsupportedError if a job of a called workflow wants more than its caller has, as GitHub does."""
    for name, level in wanted.items():
        if granted is not None and _LEVELS.index(level) > _LEVELS.index(granted.get(name, "none")):
            raise UnsupportedError(f"{where}: wants {name}: {level}, which its caller does not grant")


def evaluated(text: str, context: Mapping[str, Any]) -> Any:
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
        elif found["member"] is not None:
            python.append(found["member"])
        else:
            python.append(_OPERATORS.get(found["operator"] or "", found["operator"] or found["number"]))
    names = {
        "_value": lambda name: _WORDS[name] if name in _WORDS else _value(name, context),
        "_format": lambda text, *values: text.format(*map(_text, values)),
        "_fromJSON": lambda text: json.loads(text, object_hook=_Record),
        "_toJSON": lambda value: json.dumps(value, indent=2),
        "_startsWith": lambda text, start: (text or "").startswith(start),
        "_always": lambda: True,
        "_cancelled": lambda: False,
    }
    return eval("".join(python).strip(), {"__builtins__": {}}, names)


class _Record(dict[str, Any]):
    """An object, whose members have the syntax of attributes."""

    def __getattr__(self, name: str) -> Any:
        return self.get(name)


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
    explicit = any(f"{word}(" in expression for word in ("always", "cancelled"))
    return (explicit or not failed) and bool(evaluated(expression, context))


def _with_shell(job: Mapping[str, Any], workflow: Mapping[str, Any]) -> Mapping[str, Any]:
    """The job with the workflow's default shell in its steps."""
    steps = [workflow.get("defaults", {}).get("run", {}) | step for step in job.get("steps", ())]
    return {**job, "steps": steps}


def _job(hub: Hub, workflow: Path, where: str, job: Mapping[str, Any], context: dict[str, Any]) -> Job:
    name = f"{where.replace('/', '-')}-{context['strategy']['job-index']}"
    place = next(  # a workflow may be called several times
        folder for count in itertools.count() if not (folder := hub.folder / (name + count * "+")).exists()
    )
    named = job.get("environment", "")
    environment = _text(filled(named if isinstance(named, str) else named["name"], context))
    title = _text(filled(job.get("name", where.partition("/")[2]), context))
    labels = _listed(filled(job["runs-on"], context))
    done = Job("success", title, now(), environment=environment, labels=labels)
    runner = _Runner(hub, place / "workspace", place / "temp", done, _top(workflow))
    for folder in (runner.workspace, runner.temp):
        folder.mkdir(parents=True)
    context = context | {
        "runner": {"tool_cache": str(hub.tools), "temp": str(runner.temp), "environment": "self-hosted"},
        "steps": {},
    }
    context["github"] = context["github"] | {"workspace": str(runner.workspace)}
    context["env"] = context["env"] | _filled(job.get("env", {}), context)
    runner.run(job["steps"], context)
    done.outputs = _texts(_filled(job.get("outputs", {}), context))
    done.completed_at = now()
    return done


@dataclass
class _Runner:
    """Runs the steps of a job, or of a composite action in it."""

    hub: Hub
    workspace: Path
    temp: Path
    done: Job
    top: Path  # of the repository that the steps are from
    path: list[str] = field(default_factory=list)
    action: Path | None = None
    count: Iterator[int] = field(default_factory=itertools.count)

    def run(self, steps: Sequence[Mapping[str, Any]], context: dict[str, Any]) -> None:
        done = self.done
        for step in steps:
            name = step.get("name", step.get("uses", ""))
            own = context | {"env": context["env"] | _filled(step.get("env", {}), context)}
            if not _wanted(step.get("if"), own, failed=done.result == "failure"):
                self._ended(name, "skipped")
                continue
            done.log += f"--- {name}\n"
            passed, outputs = (self._command if "run" in step else self._uses)(step, own)
            context["steps"] = context["steps"] | {step.get("id", ""): {"outputs": outputs}}
            self._ended(name, "success" if passed else "failure", _text(filled(name, own)))
            if not passed and not step.get("continue-on-error"):
                done.result = "failure"

    def _ended(self, name: str, outcome: str, title: str = "") -> None:
        """Note a step's outcome; `title` is its name with expressions evaluated, as they are once it runs."""
        self.done.steps[name] = outcome
        if self.action is None:
            self.done.own_steps.append({"name": title or name, "conclusion": outcome})

    def _command(self, step: Mapping[str, Any], context: Mapping[str, Any]) -> tuple[bool, dict[str, str]]:
        hub, folder, number = self.hub, self.temp.parent, next(self.count)
        keys = ("OUTPUT", "STEP_SUMMARY", "PATH", "ENV", "STATE")
        files = {key: folder / f"{key}-{number}" for key in keys}
        for file in files.values():
            file.touch()
        (folder / "event.json").write_text(json.dumps(hub.event))
        script = folder / f"script-{number}.sh"
        script.write_text(_text(filled(step["run"], context)), "utf-8")
        environment = {
            **os.environ,
            **_texts(context["env"]),
            **{f"GITHUB_{key}": str(file) for key, file in files.items()},
            "GITHUB_ACTION_PATH": str(self.action or ""),
            "GITHUB_ACTOR": "ann",
            "GITHUB_EVENT_PATH": str(folder / "event.json"),
            "GITHUB_REPOSITORY": hub.repository,
            "GITHUB_REF_NAME": f"v{__version__}",
            "GITHUB_RUN_ID": str(hub.run_id),
            "GITHUB_SERVER_URL": hub.origin.as_uri(),
            "GITHUB_SHA": hub.sha,
            "GITHUB_WORKSPACE": str(self.workspace),
            "RUNNER_TEMP": str(self.temp),
            "RUNNER_TOOL_CACHE": str(hub.tools),
            "PATH": os.pathsep.join([*reversed(self.path), context["env"].get("PATH", os.environ["PATH"])]),
        }
        shell = ["--noprofile", "--norc", "-eo", "pipefail"] if step.get("shell") == "bash" else ["-e"]
        ended = subprocess.run(
            ["bash", *shell, str(script)],
            cwd=self.workspace,
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
            return self._composite(self.top / action.removeprefix("$/"), given, context)
        if ".github/actions/" in action:
            return self._composite(_elsewhere(self.hub, step["uses"]), given, context)
        if re.fullmatch(r"[0-9a-f]{40}", version) is None:
            raise UnsupportedError(f"{step['uses']}: not pinned by a commit")
        target = self.workspace / given.get("path", ".")
        match action:
            case "actions/checkout":
                if given.get("persist-credentials") is not False:
                    raise UnsupportedError("checkout: leaves its token behind")
                repository = given.get("repository", self.hub.repository)
                _clone(self.hub.origin / repository, target, given.get("ref") or self.hub.sha)
            case "actions/upload-artifact" | "actions/upload-pages-artifact":
                return self._upload(target, given)
            case "actions/download-artifact":
                return self._download(target, given), {}
            case "actions/cache/restore" | "actions/cache/save":
                return True, self._cache(action.rpartition("/")[2], target, given["key"])
            case _:
                raise UnsupportedError(f"{step['uses']}: needs GitHub; expected `if: ${{{{ !env.ACT }}}}`")
        return True, {}

    def _upload(self, source: Path, given: Mapping[str, Any]) -> tuple[bool, dict[str, str]]:
        """Keep a file or a folder as an artifact; a file that is no archive goes by its own name.

        `overwrite` removes by the input `name` in either case.
        """
        service, name = self.hub.service, given.get("name", "artifact")
        if given.get("overwrite"):
            service.delete(name)
        name = source.name if given.get("archive") is False else name
        number = service.upload(name, source)
        if number is None:
            self.done.log += f"409 Conflict: {name}\n"
            return False, {}
        return True, {"artifact-id": str(number), "artifact-url": f"https://github.example/{name}"}

    def _download(self, target: Path, given: Mapping[str, Any]) -> bool:
        """Whether there is what was asked for by its name or ids; a pattern may match nothing."""
        known = {str(each["id"]): each["name"] for each in self.hub.service.records()}
        if ids := _text(given.get("artifact-ids")):
            found = [known[each] for each in ids.split(",") if each in known]
        else:
            pattern = given.get("name") or given["pattern"]
            found = [each for each in known.values() if fnmatchcase(each, pattern)]
        self.hub.service.download(found, target)
        return bool(found) or bool(given.get("pattern"))

    def _cache(self, action: str, path: Path, key: str) -> dict[str, str]:
        own, main = (self.hub.origin.parent / "caches" / scope / key for scope in (self.hub.scope, "main"))
        if action == "save":
            if not own.exists():
                shutil.copytree(path, own)
            return {}
        cache = next((each for each in (own, main) if each.exists()), None)
        if cache is not None:
            shutil.copytree(cache, path)
        return {"cache-hit": "" if cache is None else "true"}

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
        part = replace(self, action=folder, done=Job("success"), top=_top(folder))
        part.run(action["runs"]["steps"], own)
        self.done.log += part.done.log
        self.done.summary += part.done.summary
        self.done.steps |= part.done.steps
        outputs = {key: each["value"] for key, each in action.get("outputs", {}).items()}
        return part.done.result == "success", _texts(_filled(outputs, own))


def _clone(source: Path, target: Path, commit: str) -> None:
    subprocess.run(["git", "clone", "--quiet", "--no-checkout", str(source), str(target)], check=True)
    if commit.startswith("refs/"):
        subprocess.run(["git", "-C", str(target), "fetch", "--quiet", "origin", commit], check=True)
        commit = "FETCH_HEAD"
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


def _inputs(workflow: Mapping[Any, Any], given: Mapping[str, Any] | None) -> dict[str, Any]:
    """The given inputs, as their types allow, and the defaults; a workflow that an event starts has none."""
    if given is None:
        return {}
    known = (triggers(workflow).get("workflow_call") or {}).get("inputs", {})
    _check_inputs("workflow", given, known)
    values = {}
    for key, each in known.items():
        if key not in given and each.get("required"):
            raise UnsupportedError(f"workflow: lacks its input {key}")
        value = given.get(key, each.get("default"))
        if isinstance(value, bool) != (each["type"] == "boolean"):
            raise UnsupportedError(f"workflow: input {key}: expected a {each['type']}, not {value!r}")
        values[key] = _text(value) if each["type"] == "string" else value
    return values


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
        "api_url": hub.environment.get("GITHUB_API_URL", "http://127.0.0.1:9"),
        "event": hub.event,
        "event_name": hub.event_name,
        "ref": "refs/heads/main",
        "repository": hub.repository,
        "repository_id": "7",
        "run_attempt": "1",
        "run_id": str(hub.run_id),
        "server_url": "https://github.example",
        "sha": hub.sha,
        "token": "a-token",
        "workflow": "a workflow",
    }
