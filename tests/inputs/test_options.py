from pathlib import Path

from shootout.inputs.options import MEASURING, Selection


def test_what_is_not_given_is_left_to_the_profile() -> None:
    assert Selection.read() == Selection(written={"--profile": "quick"})
    assert Selection.read(threads=None, resume=False) == Selection.read()


def test_texts_are_parsed_and_kept_as_they_were_written(tmp_path: Path) -> None:
    found = Selection.read(threads="1, 8", resume=True, data=str(tmp_path), table_size="10")
    assert (found.threads, found.resume) == ((1, 8), True)
    assert (found.place.data, found.dataset.table_size) == (tmp_path, 10)
    assert found.written == {
        "--profile": "quick", "--threads": "1, 8", "--table-size": "10", "--data": str(tmp_path),
        "--resume": "",
    }  # fmt: skip


def test_a_budget_leaves_the_rest_as_it_was() -> None:
    asked = Selection.read(threads="1,8", budget="5", isolation="share")
    assert asked.within(2.5).sampling.budget == 2.5
    assert asked.within(2.5).within(5) == asked
    assert asked.within(None).sampling.budget is None
    assert (asked.within(2.5).written["--budget"], "--budget" in asked.within(None).written) == ("2.5", False)


def test_rows_that_are_loaded_anew_are_among_the_options() -> None:
    anew = Selection.read(rows_seed="7").loaded_anew(3)
    assert (anew.dataset.rows_seed, anew.written["--rows-seed"]) == (3, "3")


def test_every_option_of_a_selection_has_its_help() -> None:
    assert len({option.name for option in MEASURING}) == len(MEASURING) == 30
    assert all(option.help for option in MEASURING)
