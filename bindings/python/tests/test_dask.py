"""Shards of a collection on a Dask cluster of this machine."""
import json
import os
import signal
import threading
import time

import pytest
from conftest import leaves, write_pgm

import keybits
import keybits.dask

dask = pytest.importorskip("dask", reason="python3-dask is not there")
distributed = pytest.importorskip("distributed", reason="python3-distributed is not there")


@pytest.fixture
def photos(tmp_path, program):
    folder = tmp_path / "photos"
    folder.mkdir()
    for i in range(6):
        write_pgm(folder / f"{i}.pgm", leaves(200, 160, i // 2))
    return folder


@pytest.fixture(scope="module")
def client():
    dask.config.set({"distributed.comm.timeouts.connect": "600s"})  # a busy machine is no failure
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, \
            distributed.Client(cluster) as connected:
        yield connected


def test_the_same_database(client, photos, program, tmp_path):
    expected = json.loads(program("collection", photos, "-o", tmp_path / "alone.db", "-n", "200", "--json", "--quiet"))
    summary = keybits.dask.collection(client, [photos], tmp_path / "dask.db", shards=3, options=["-n", "200"],
                                      program=os.environ["KEYBITS"])
    assert {k: v for k, v in summary.items() if k not in ("seconds", "database")} == \
           {k: v for k, v in expected.items() if k not in ("seconds", "database")}
    assert (tmp_path / "dask.db").read_bytes() == (tmp_path / "alone.db").read_bytes()


def test_a_worker_is_lost(client, photos, program, tmp_path):
    program("collection", photos, "-o", tmp_path / "alone.db", "-n", "200", "--quiet")
    pids = client.run(os.getpid)

    def strike():
        time.sleep(0.3)
        os.kill(next(iter(pids.values())), signal.SIGKILL)
    killer = threading.Thread(target=strike)
    killer.start()
    keybits.dask.collection(client, [photos], tmp_path / "dask.db", shards=12, options=["-n", "200"],
                            program=os.environ["KEYBITS"])
    killer.join()
    assert (tmp_path / "dask.db").read_bytes() == (tmp_path / "alone.db").read_bytes()


def test_failures_have_words(client, photos, tmp_path):
    with pytest.raises(keybits.KeybitsError, match="describe 1/1.*camera"):
        keybits.dask.collection(client, [photos], tmp_path / "x.db", shards=1, options=["--camera", "NONE,1"], retries=0,
                                program=os.environ["KEYBITS"])
    with pytest.raises(keybits.KeybitsError, match="no-such-program"):
        keybits.dask.collection(client, [photos], tmp_path / "x.db", shards=1, retries=0, program="no-such-program")
    with pytest.raises(keybits.KeybitsValueError):
        keybits.dask.collection(client, [], tmp_path / "x.db")
    assert not (tmp_path / "x.db").exists()
