from pathlib import Path

import pytest

from shootout.measure import dataset
from tests.real.measure.test_dataset import EVERY, NAMES, SMALL
from tests.support.runs import a_tree


@pytest.fixture(scope="module")
def cache_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


def test_rows_are_the_same_on_every_server(cache_dir: Path) -> None:
    made = [dataset.template(a_tree(name), SMALL, EVERY, cache_dir) for name in NAMES]
    assert len({template.checksum for template in made}) == 1
    assert len({template.directory for template in made}) == 2
    assert all(template.load_s is not None and template.load_s > 0 for template in made)
