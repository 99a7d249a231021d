from shootout.learn.learning import warnings
from tests.learn.builders import a_log, a_template


def test_calls_are_warned_of() -> None:
    calls = (a_template("call p(?)", count=2), a_template("CALL q (?)", count=3))
    (warning,) = warnings(a_log(*calls, a_template("SELECT 1")))
    assert warning.startswith("5 statements are CALLs; ")
    assert not [*warnings(a_log(a_template("SELECT call FROM t")))]
