from pathlib import Path

import pytest

from shootout.errors import MeasureError
from shootout.servers.processes import instances
from shootout.settings import profiles
from tests.support.runs import BASE, a_tree
from tests.unit.settings.test_profiles import PRODUCTION


def test_a_server_starts_with_the_file_of_one_in_production(tmp_path: Path) -> None:
    tree, home, file = a_tree(BASE), tmp_path / "instance", tmp_path / "my.cnf"
    file.write_text(PRODUCTION + "log_bin = binlog\n")
    settings = profiles.load(str(file)).options
    instances.initialise(tree, home, settings)
    with instances.start(tree, home, settings) as server:
        found = server.variables()
        assert (found["max_connections"], found["gtid_mode"], found["read_only"]) == ("500", "ON", "OFF")
        assert found["bind_address"] == "127.0.0.1"
        assert found["secure_file_priv"] == f"{home}/tmp/"
        assert [value for value in found.values() if "/var/lib/mysql" in value or "/var/log" in value] == []
        with pytest.raises(MeasureError, match="--secure-file-priv"):
            server.query(f"SELECT 1 INTO OUTFILE '{tmp_path}/elsewhere'")
        server.query(f"SELECT 1 INTO OUTFILE '{home}/tmp/here'")
        assert "Insecure configuration for --secure-file-priv" not in (home / "error.log").read_text()
