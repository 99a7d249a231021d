from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import structs

from shootout import paths
from shootout.errors import InputError
from shootout.paths import FIXTURES
from shootout.servers.sources import catalogue
from shootout.servers.sources.fetch import packages
from shootout.settings import layers
from tests.support.builders import BASE, HEAD
from tests.support.plans import SLOTS, planned, slots
from tests.unit.inputs.test_dump import a_workload


def test_the_quick_profile_is_the_default() -> None:
    made = planned()
    assert list(made.servers) == [BASE, HEAD]
    assert [(block.workload, block.threads) for block in made.blocks] == [
        (name, threads)
        for name in ("oltp_point_select", "oltp_read_only", "oltp_read_write")
        for threads in (1, 8, 32)
    ]
    assert all(block.servers == (BASE, HEAD) for block in made.blocks)
    assert made.workloads.keys() == {"oltp_point_select", "oltp_read_only", "oltp_read_write"}
    assert made.port is None
    assert planned(set=["port=65534"]).port == 65534  # the second server's is the last
    assert made.profile_name == "quick"


def test_a_profiles_options_may_be_of_workloads_left_out(tmp_path: Path) -> None:
    profile = tmp_path / "mine.toml"
    profile.write_text(
        f"description = 'd'\nworkloads = ['oltp_read_only']\nthreads = [1]\nservers = ['{HEAD}']\n"
        "options = { range_size = 9, point_select = 2 }\n"
    )
    with pytest.raises(InputError) as caught:
        planned(profile=str(profile))
    assert str(caught.value) == (
        f"profile {profile}: options: no workload of the run has 'point_select'; "
        "did you mean 'point_selects'?"
    )
    made = planned(profile=str(profile), workloads="oltp_delete")
    assert made.workloads["oltp_delete"].workload.options == {}


def test_a_workload_may_name_its_protocol() -> None:
    needs = planned(workloads="bulk_insert,oltp_read_only", set=["load.protocol=prepared"], threads="1")
    assert [record.protocol for record in needs.records] == ["text", "prepared"]
    assert not needs.workloads["bulk_insert"].program.prepared
    names = "oltp_read_only,oltp_read_only.prepared,bulk_insert.text"
    made = planned(workloads=names, threads="1")
    assert [(record.name, record.protocol) for record in made.records] == [
        ("oltp_read_only", "text"),
        ("oltp_read_only.prepared", "prepared"),
        ("bulk_insert.text", "text"),
    ]
    assert made.workloads["oltp_read_only.prepared"].program.prepared
    said = "^workload bulk_insert.prepared: it supports only the text protocol$"
    with pytest.raises(InputError, match=said):
        planned(workloads="bulk_insert.prepared")
    with pytest.raises(InputError, match=r"unknown workload 'oltp_read_only.binary'"):
        planned(workloads="oltp_read_only.binary")


# --- servers that may be missing, and smaller scales ----------------------------------------------


def test_what_is_not_here_is_absent_or_stood_in_for(tmp_path: Path) -> None:
    made = planned(profile=slots(tmp_path))
    # A stand-in that is among the servers already is not measured twice.
    assert list(made.servers) == ["path:mysql-5.0", f"{BASE}@defaults", HEAD]
    assert made.absent == {"path:mysql-5.0"}
    assert {cell.server for cell in made.cells} == set(made.servers)
    assert made.profile.servers == (f"path:{tmp_path}/mysql-5.0", f"{BASE}@defaults", HEAD)
    assert len(made.aa_controls) == 0  # of four slices
    selected = made.only({cell for cell in made.cells if cell.threads == 64})
    assert [block.threads for block in selected.blocks] == [64]
    with pytest.raises(
        InputError, match=r"^not available here: path:mysql-5.0; there is nothing to measure$"
    ):
        made.judging({cell for cell in made.cells if cell.server in made.absent})


def test_a_vendors_server_stands_in_once_it_has_been_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    vendors = "mysql-5.0.96"
    profile = slots(tmp_path, SLOTS.replace("mysql-5.0' = ''", f"mysql-5.0' = '{vendors}'"))
    made = planned(profile=profile)
    assert made.absent == {"path:mysql-5.0"}
    (source,) = catalogue.load()[vendors].sources
    packages.target(vendors, source, paths.cache_folder()).mkdir(parents=True)
    fetched = planned(profile=profile)
    assert fetched.absent == frozenset()
    assert list(fetched.servers) == [vendors, f"{BASE}@defaults", HEAD]


def test_a_tree_that_is_here_is_measured_itself(tmp_path: Path) -> None:
    (tmp_path / "mysql-5.7" / "bin").mkdir(parents=True)
    with pytest.raises(InputError, match=r"mysql-5.7"):  # a tree without a server is no missing one
        planned(profile=slots(tmp_path))
    mysqld = tmp_path / "mysql-5.7" / "bin" / "mysqld"
    mysqld.write_text("")
    mysqld.chmod(0o755)
    assert list(planned(profile=slots(tmp_path)).servers) == [
        "path:mysql-5.0", "path:mysql-5.7@defaults", HEAD,
    ]  # fmt: skip


def test_a_a_cells_take_a_twelfth_of_the_slices_at_most() -> None:
    for servers, threads, aa_controls in (
        ((BASE, HEAD), "1,2,3,4,5", 0),
        ((BASE, HEAD), "1,2,3,4,5,6", 1),
        ((BASE, HEAD), "1,2,3,4,5,6,7,8,9,10,11", 2),
        ((BASE,) * 12, "1", 1),
    ):
        asked = {"servers": ",".join(servers), "workloads": "oltp_read_only", "threads": threads, "seed": "1"}
        made = planned(**asked)
        assert len(made.aa_controls) == aa_controls <= (len(servers) * len(made.blocks) + aa_controls) / 12
        assert made.aa_controls == planned(**asked).aa_controls


def test_a_run_without_any_server_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none of its servers is available; expected --servers A,B,…$"):
        planned(profile=slots(tmp_path), servers=f"path:{tmp_path}/mysql-5.0")


def test_the_same_server_twice_stays_two_beside_stand_ins(tmp_path: Path) -> None:
    made = planned(profile=slots(tmp_path), servers=f"{HEAD},{HEAD}")
    assert list(made.servers) == [HEAD, f"{HEAD}#2"]
    assert made.servers[HEAD] == made.servers[f"{HEAD}#2"]


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        ("0' = ''", "0' = ''\n'path:/nowhere' = ''", "stand_ins: 'path:/nowhere' is not one of its servers"),
        ("threads = [1]", "threads = [1, 1]", "scales.small.threads: 1 appears twice"),
        (
            "rows = 10",
            "sampling = {{ starts_min = 5, starts_max = 4 }}",
            "starts_max: expected 5 (starts_min)",
        ),
        ("= 'd'", "= 'd'\npublished = 'shotout'", "unknown published comparison 'shotout'; did you mean"),
    ],
)
def test_slots_and_scales_that_do_not_fit(tmp_path: Path, right: str, wrong: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        planned(profile=slots(tmp_path, SLOTS.replace(right, wrong)))
    assert message in str(caught.value)


@pytest.mark.parametrize("name", ["scaling", "engines", "history", "flavours", "shootout", "thread-pool"])
def test_every_published_profile_can_be_run_small(name: str) -> None:
    full, small = (planned(profile=name), planned(profile=name, set=["scale=small"]))
    assert small.profile.sampling.budget_s <= 750  # of a quarter of an hour: the rest prepares and publishes
    assert small.profile.dataset.rows <= full.profile.dataset.rows
    assert max(small.profile.threads) <= max(full.profile.threads)
    assert len(small.servers) - len(small.absent) >= 2


def test_a_workload_says_which_dataset_it_runs_on(tmp_path: Path) -> None:
    steps = '[{ statements = [{ name = "a", sql = "SELECT 1" }] }]'
    profile = tmp_path / "mine.toml"
    names = []
    for kind in ("tpcc", "own"):
        mine = tmp_path / f"on_{kind}.toml"
        mine.write_text(
            f"dataset = '{kind}'\ntitle = 't'\ndescription = 'd'\ntransactions = [{{ steps = {steps} }}]"
        )
        names.append(str(mine))
    workloads = [*names, "oltp_point_select", "oltp_read_only"]
    profile.write_text(
        f"description = 'd'\nworkloads = {workloads}\nthreads = [1]\nservers = ['{HEAD}']\n"
        "[dataset]\ntables = 2\nrows = 9\nwarehouses = 3\nseed = 4\nengine = 'myisam'"
    )
    made = planned(profile=str(profile))
    keys = {
        "on_tpcc": "tpcc-3w-myisam",
        "on_own": "own-myisam",
        "oltp_point_select": "sbtest-2x9-myisam",
        "oltp_read_only": "sbtest-2x9-myisam",
    }
    assert {name: bound.dataset.key for name, bound in made.workloads.items()} == keys
    assert {cell.workload: cell.dataset for cell in made.cells} == keys
    assert [dataset.kind for dataset in made.loaded] == ["tpcc", "own", "sbtest"]
    part = made.only([cell for cell in made.cells if cell.workload == "oltp_read_only"])
    assert [dataset.kind for dataset in part.loaded] == ["sbtest"]  # nobody loads what nobody measures


def test_own_workloads_have_a_schema_each_and_numbers_only_if_they_read_them(tmp_path: Path) -> None:
    made = {}
    for name, setup in (("plain", "DO 1"), ("numbered", "CREATE TABLE t SELECT n FROM seq"),
                        ("named", "CREATE TABLE IF NOT EXISTS seq (n INT)")):  # fmt: skip
        file = tmp_path / f"{name}.toml"
        file.write_text(
            f"dataset = 'own'\ntitle = 't'\ndescription = 'd'\nsetup = ['{setup}']\n"
            "transactions = [{ steps = [{ statements = [{ name = 'a', sql = 'SELECT 1' }] }] }]"
        )
        made[name] = planned(workloads=f"{file},{file}.prepared", threads="1").loaded
    assert [len({dataset.digest for dataset in loaded}) for loaded in made.values()] == [2, 3, 2]
    assert [dataset.is_loaded for dataset in made["numbered"]] == [False, False, True]


# --- a part of it ---------------------------------------------------------------------------------


def test_some_cells_need_their_blocks_and_servers_only() -> None:
    made = planned(servers=f"{BASE},{HEAD},{HEAD}", threads="1,8")
    wanted = [cell for cell in made.cells if cell.threads == 8 and cell.server != f"{HEAD}#2"]
    part = made.only(wanted[::-1])
    assert part.cells == tuple(wanted)  # in the plan's order
    assert list(part.servers) == [BASE, HEAD]
    assert [block.key for block in part.blocks] == [
        "oltp_point_select-t8",
        "oltp_read_only-t8",
        "oltp_read_write-t8",
    ]
    assert (part.seed, part.profile) == (made.seed, made.profile)


def test_a_selected_head_is_measured_beside_the_base_of_the_whole_run() -> None:
    made = planned(servers=f"{BASE},{HEAD},{HEAD}", threads="1,8")
    block = made.blocks[-1]
    for labels in (f"{HEAD}#2",), (HEAD, f"{HEAD}#2"):
        part = made.judging([block.cell(label) for label in labels])
        assert part.blocks == (structs.replace(block, servers=(BASE, *labels)),)
        assert list(part.servers) == [BASE, *labels]


def test_the_base_that_is_not_here_is_not_judged_by(tmp_path: Path) -> None:
    made = planned(profile=slots(tmp_path))
    (block, _) = made.blocks
    part = made.judging([block.cell(HEAD), block.cell("path:mysql-5.0")])
    assert list(part.servers) == ["path:mysql-5.0", f"{BASE}@defaults", HEAD]


# --- shards, and runs that continue ---------------------------------------------------------------


def test_shards_have_the_blocks_of_the_whole_run() -> None:
    whole = planned(seed="3")
    shards = [planned(seed="3", shard=f"{number}/4") for number in (1, 2, 3, 4)]
    assert tuple(block for shard in shards for block in shard.blocks) == whole.blocks
    assert [len(shard.blocks) for shard in shards] == [2, 2, 2, 3]
    assert len(planned(shard="9/9").blocks) == 1
    assert whole.planned is None
    for shard in shards:
        assert shard.planned is not None
        assert shard.planned.blocks == whole.blocks
        assert (shard.aa_controls, shard.records, shard.digests) == (
            whole.aa_controls,
            whole.records,
            whole.digests,
        )
        assert list(shard.servers) == list(whole.servers)


def test_that_a_run_goes_on_is_no_part_of_it() -> None:
    made = planned(resume=True, seed="3")
    assert made.resume
    assert made.given == planned(seed="3").given


def test_a_workload_of_ones_own_has_another_digest_when_its_statements_change(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    text = (FIXTURES / "workloads" / "oltp_point_select.toml").read_text()
    file.write_text(text)
    before = planned(workloads=str(file)).digests
    file.write_text(text.replace("SELECT c FROM", "SELECT c, k FROM"))
    after = planned(workloads=str(file)).digests
    assert before.keys() == after.keys() == {"mine"}
    assert before != after


def test_every_server_has_the_settings_of_a_workload_below_its_own(tmp_path: Path) -> None:
    text = (FIXTURES / "workloads" / "oltp_point_select.toml").read_text()
    mine, other = tmp_path / "mine.toml", tmp_path / "other.toml"
    mine.write_text(f"settings = ['sync_binlog=1', 'max_connections=9']\n{text}")
    other.write_text(f"settings = ['sync_binlog=0']\n{text}")
    made = planned(workloads=str(mine), servers=f"{BASE},{HEAD}@max_connections=7")
    found = [
        layers.combine("defaults", server.reference.settings).options for server in made.servers.values()
    ]
    assert found == [
        {"sync_binlog": "1", "max_connections": "9"},
        {"sync_binlog": "1", "max_connections": "7"},
    ]
    with pytest.raises(
        InputError, match=r"^workload other: other settings than another workload's; run them apart$"
    ):
        planned(workloads=f"{mine},{other}")


def test_two_dumps_of_one_database_have_no_place_on_a_server_that_is_started(tmp_path: Path) -> None:
    files = []
    for name, text in (("a", "USE kitchen;\nSELECT 1"), ("b", "USE Kitchen;\nSELECT 2")):
        (tmp_path / name).mkdir()
        files.append(a_workload(tmp_path / name).rename(tmp_path / name / f"{name}.toml"))
        (tmp_path / name / "d.sql").write_text(text)
    both = ",".join(map(str, files))
    with pytest.raises(
        InputError, match=r"a/d\.sql and .*b/d\.sql are dumps of one database, [kK]itchen: a run"
    ):
        planned(workloads=both, threads="1")
    running = "dsn:mysql://a@localhost:1,dsn:mysql://a@localhost:2"
    assert len(planned(workloads=both, threads="1", servers=running).loaded) == 2
    (tmp_path / "b" / "d.sql").write_text("SELECT 2")
    assert len(planned(workloads=both, threads="1").loaded) == 2
