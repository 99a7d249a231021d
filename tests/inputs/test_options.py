from pathlib import Path

from shootout.inputs.options import MEASURING, Selection


def test_what_is_not_given_is_left_to_the_profile() -> None:
    assert Selection.read() == Selection(written={"--profile": "quick"})
    assert Selection.read(threads=None, resume=False) == Selection.read()


def test_texts_are_parsed_and_kept_as_they_were_written(tmp_path: Path) -> None:
    found = Selection.read(threads="1, 8", resume=True, data=str(tmp_path), table_size="10")
    assert (found.threads, found.resume, found.data, found.table_size) == ((1, 8), True, tmp_path, 10)
    assert found.written == {
        "--profile": "quick", "--threads": "1, 8", "--table-size": "10", "--data": str(tmp_path),
        "--resume": "",
    }  # fmt: skip


def test_other_texts_replace_some_options_and_the_rest_stays() -> None:
    asked = Selection.read(threads="1,8", budget="5", resume=True, reconnect=True)
    assert asked.with_changes() == asked
    assert asked.with_changes(budget=None, threads="2", resume=False) == Selection.read(
        threads="2", reconnect=True
    )


def test_every_option_of_a_selection_is_declared_with_its_help() -> None:
    fields = [name for name in Selection.__dataclass_fields__ if name != "written"]
    assert [option.name for option in MEASURING] == fields
    assert all(option.help for option in MEASURING)
