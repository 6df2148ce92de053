# SPDX-License-Identifier: Apache-2.0
"""Objects that threads share: one index under additions, removals, saves, queries and looks at once."""
import copy
import os
import pickle
import queue
import sys
import threading
import time

import numpy as np
import pytest
from conftest import leaves

import keybits
from keybits._library import long_call, parallel, workspace

ROUNDS = int(os.environ.get("KEYBITS_ROUNDS", 150))


def run_together(*jobs):
    """Runs every job(number) ROUNDS times in a thread of its own; raises what one of them raised."""
    failures, begin = [], threading.Barrier(len(jobs))

    def run(job):
        begin.wait()
        try:
            for number in range(ROUNDS):
                if failures:
                    return
                job(number)
        except BaseException as error:
            failures.append(error)
    threads = [threading.Thread(target=run, args=(job,)) for job in jobs]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)  # threads change places between almost any two steps
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    if failures:
        raise failures[0]


@pytest.fixture(scope="module")
def described():
    """Images with different numbers of rows, so that what belongs to another one shows."""
    return [keybits.detect_and_compute(leaves(160, 120, i), max_keypoints=20 + 12 * i) for i in range(6)]


@pytest.fixture(scope="module")
def vocabulary(described):
    return keybits.Vocabulary.train(described, branching=6, levels=2)


@pytest.mark.parametrize("opened", [False, True], ids=["made", "opened"])
def test_one_index_for_all(vocabulary, described, tmp_path, opened):
    index = keybits.Index(vocabulary, keep_features=True)
    index.add(described[0], id=0, name="image 0")
    if opened:
        index.save(tmp_path / "start")
        index = keybits.Index.open(tmp_path / "start")

    def add(number):
        index.add(described[number % 6], id=number % 6, name=f"image {number % 6}")

    def remove(number):
        index.remove(number % 5 + 1)  # image 0 stays
        time.sleep(0)

    def save(number):
        index.save(tmp_path / "saved")
        assert len(keybits.Index.open(tmp_path / "saved", check_all=True)) >= 1

    def query(number):
        results = index.query(described[0], 3, verify=number % 2, scoring=("binary", "tf-idf", "exact")[number % 3])
        assert results["id"][0] == 0

    def look(number):
        assert len(index) >= 1 and "images" in repr(index) and index.vocabulary.row_bytes == 32
        for position in range(12):
            try:
                image = index.image(position)
                keypoints, rows = index.features(position)
            except keybits.KeybitsValueError:
                return  # no such position any more
            assert image.removed or (image.name == f"image {image.id}" and image.rows == len(described[image.id]))
            if len(rows) == 0:
                continue  # removed
            which = [i for i, features in enumerate(described) if len(features) == len(rows)]
            assert len(keypoints) == len(rows) and np.array_equal(rows, described[which[0]].descriptors)
            assert np.array_equal(keypoints["x"], described[which[0]].keypoints["x"])
    run_together(add, remove, save, query, look, look)


def test_a_writer_gets_its_turn(vocabulary, described):
    """Queries that never pause do not keep an addition out."""
    index = keybits.Index(vocabulary)
    index.add(described[0])
    over = threading.Event()

    def ask():
        while not over.is_set():
            index.query(described[5], 3)
    threads = [threading.Thread(target=ask, daemon=True) for _ in range(6)]
    for thread in threads:
        thread.start()
    done = threading.Thread(target=lambda: [index.add(described[1]) for _ in range(20)], daemon=True)
    done.start()
    done.join(60)
    over.set()
    assert not done.is_alive() and len(index) == 21


def test_one_loop_detector_for_all(vocabulary, described):
    loops = keybits.LoopDetector(vocabulary, window=2)
    positions = []
    run_together(*[lambda number: positions.append(loops.add(described[number % 6]).query)] * 3)
    assert sorted(positions) == list(range(3 * ROUNDS))


def test_shared_objects_that_do_not_change(vocabulary, described):
    image = leaves(160, 120, 3)
    detector, tracker = keybits.Detector("orb", 60), keybits.Tracker(image, max_keypoints=100)
    words = vocabulary.words(described[2])
    keypoints, seen = detector.detect(image), tracker.find(image)

    def work(number):
        assert np.array_equal(vocabulary.words(described[2]), words) and len(vocabulary) > 6
        assert np.array_equal(detector.detect(image), keypoints)
        if number % 10 == 0:
            assert tracker.find(image).inliers == seen.inliers
            assert vocabulary.to_bytes() == vocabulary.to_bytes()
    run_together(work, work, work)


def test_what_owns_memory_is_not_copied(vocabulary, described):
    for owner in (keybits.Index(vocabulary), keybits.LoopDetector(vocabulary)):
        for copied in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match="neither be copied nor pickled"):
                copied(owner)
    for other in (copy.copy(vocabulary), copy.deepcopy(vocabulary), pickle.loads(pickle.dumps(vocabulary))):
        assert other is not vocabulary and other.to_bytes() == vocabulary.to_bytes()
        assert np.array_equal(other.words(described[1]), vocabulary.words(described[1]))


def test_a_long_call_has_its_workspace_for_itself():
    """While it runs in another thread, callbacks and signal handlers of this one may call the library."""
    lent, pool, inside, requests = workspace().value, [], [], queue.SimpleQueue()
    keybits.set_threads(2)
    try:
        pool.append(parallel())

        def call():
            requests.put(lambda: inside.extend([workspace().value, parallel()]))
            return 7
        assert long_call(call, requests=requests) == 7
        assert inside[0] != lent and inside[1] != pool[0]
        assert workspace().value == lent and parallel() == pool[0]
    finally:
        keybits.set_threads(1)
