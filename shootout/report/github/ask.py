"""Ask GitHub what a workflow has to know: `python3 -P -m shootout.report.github.ask QUESTION`.

The program stands on Python alone. It reads the run's event, and the workflow's inputs from INPUTS as JSON,
and puts out the answer as JSON.
"""

from __future__ import annotations

import json
import os
import sys
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

from shootout.errors import InputError, MeasureError
from shootout.report.github import gate, handed, http, request, selftest
from shootout.report.github.workflow import Answer, Run

QUESTIONS: dict[str, Callable[[Run], Answer]] = {
    "decide": gate.decide,
    "ended": request.end,
    "find": handed.find,
    "regression": request.regression,
    "request": request.answer,
    "selftest": selftest.examine,
}


def main() -> int:
    """Run the program; returns its exit code."""
    environment = os.environ
    try:
        address = http.checked_url("GITHUB_API_URL", environment["GITHUB_API_URL"])
        api = http.Api(f"{address}/repos/{environment['GITHUB_REPOSITORY']}", environment["TOKEN"])
        event = json.loads(Path(environment["GITHUB_EVENT_PATH"]).read_text("utf-8"))
        given = json.loads(environment["INPUTS"]).items()
        inputs = defaultdict(str, {name: value for name, value in given if value is not None})
        answer = QUESTIONS[sys.argv[1]](Run(api, event, inputs, environment))
    except (InputError, MeasureError) as error:
        print("::error::" + str(error).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A"))
        return 1
    if answer:
        text = json.dumps(answer)
        print(text)
        with Path(environment["GITHUB_OUTPUT"]).open("a", encoding="utf-8") as file:
            file.write(f"answer={text}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
