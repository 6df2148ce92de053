# SPDX-License-Identifier: Apache-2.0
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
    counts = keybits.dask.collection(client, [photos], tmp_path / "dask.db", shards=3, max_keypoints=200)
    assert counts._asdict() == {k: v for k, v in expected.items() if k not in ("seconds", "database")}
    assert (tmp_path / "dask.db").read_bytes() == (tmp_path / "alone.db").read_bytes()


def test_a_worker_is_lost(client, photos, program, tmp_path):
    program("collection", photos, "-o", tmp_path / "alone.db", "-n", "200", "--quiet")
    pids = client.run(os.getpid)

    def strike():
        time.sleep(0.3)
        os.kill(next(iter(pids.values())), signal.SIGKILL)
    killer = threading.Thread(target=strike)
    killer.start()
    keybits.dask.collection(client, [photos], tmp_path / "dask.db", shards=12, max_keypoints=200)
    killer.join()
    assert (tmp_path / "dask.db").read_bytes() == (tmp_path / "alone.db").read_bytes()


def test_failures_have_words(client, photos, tmp_path):
    with pytest.raises(keybits.KeybitsError, match="camera"):
        keybits.dask.collection(client, [photos], tmp_path / "x.db", shards=1, retries=0, camera="NONE,1")
    with pytest.raises(keybits.KeybitsValueError):
        keybits.dask.collection(client, [], tmp_path / "x.db")
    assert not (tmp_path / "x.db").exists()
