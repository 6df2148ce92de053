# SPDX-License-Identifier: Apache-2.0
"""Threads, memory, Ctrl-C, and what the package says about itself."""
import ast
import inspect
import os
import pickle
import re
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from conftest import leaves

import keybits


def pipeline(image):
    f = keybits.detect_and_compute(image, max_keypoints=300)
    m = keybits.match(f.descriptors, f.descriptors[::-1].copy())
    return f.descriptors.tobytes(), m.tobytes(), keybits.find_homography(f.keypoints, f.keypoints, m).inliers.tobytes()


def test_eight_threads_give_equal_results():
    images = [leaves(200 + 16 * i, 160, i) for i in range(4)]
    expected = [pipeline(image) for image in images]
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda i: pipeline(images[i % 4]), range(64)))
    assert results == expected * 16


def test_objects_pass_between_processes(image, features):
    for name in ("bag256", "hashsift256"):
        model = pickle.loads(pickle.dumps(keybits.Model(name)))
        assert model.id == keybits.Model(name).id and model.thresholds == keybits.Model(name).thresholds
    again = pickle.loads(pickle.dumps(features))
    assert np.array_equal(again.descriptors, features.descriptors) and again.size == features.size
    detector = pickle.loads(pickle.dumps(keybits.Detector("orb", 77, "quadtree", fast_threshold=30)))
    assert np.array_equal(keybits.detect(image, detector),
                          keybits.detect(image, keybits.Detector("orb", 77, "quadtree", fast_threshold=30)))


def test_queries_while_images_are_added():
    described = [keybits.detect_and_compute(leaves(160, 120, i), max_keypoints=100) for i in range(6)]
    index = keybits.Index(keybits.Vocabulary.train(described, branching=6, levels=2))
    index.add(described[0], id=0)

    def ask(_):
        return index.query(described[0], 1)["id"][0]
    with ThreadPoolExecutor(6) as pool:
        answers = pool.map(ask, range(200))
        for number in range(1, 200):
            index.add(described[number % 5 + 1], id=number)
        assert set(answers) == {0}
    assert len(index) == 200


def resident():
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="no /proc/self/statm")
def test_memory_stays():
    image = leaves(160, 120)
    rows = keybits.detect_and_compute(image, max_keypoints=100).descriptors
    vocabulary = keybits.Vocabulary.train(np.array_split(rows, 5), branching=4, levels=2)

    def work():
        f = keybits.detect_and_compute(image, model=keybits.Model("bad256"), max_keypoints=100)
        m = keybits.match(f.descriptors, f.descriptors)
        keybits.find_homography(f.keypoints, f.keypoints, m)
        index = keybits.Index(vocabulary)
        index.add(f.descriptors)
        index.query(f.descriptors)
        thread = threading.Thread(target=lambda: keybits.detect(image, max_keypoints=10))
        thread.start()
        thread.join()
    for _ in range(100):
        work()
    before = resident()
    for _ in range(1000):
        work()
    assert resident() - before < 4 << 20


def test_conversions_do_not_leak():
    kcv2 = pytest.importorskip("keybits.cv2")
    keypoints = keybits.detect(leaves(), max_keypoints=500)
    for _ in range(20):
        kcv2.from_keypoints(kcv2.to_keypoints(keypoints))
    before = resident()
    for _ in range(1000):
        kcv2.from_keypoints(kcv2.to_keypoints(keypoints))
    assert resident() - before < 4 << 20


@pytest.mark.parametrize("call", [
    "keybits.Vocabulary.train(np.tile(rows, (20, 1)), branching=256, levels=2, iterations=1000)",
    "keybits.match(np.tile(rows, (5, 1)), np.tile(rows, (5, 1)), max_ratio=0.9)",
    "keybits.learn_bag(keybits.patch_set(patches.reshape(4000, 4, 16, 16), np.arange(4000) // 4), 1024, triplets=65536, candidates=100000)",
    "keybits.learn_hashsift(keybits.patch_set(patches, np.arange(4000) // 4), 256)"])
def test_ctrl_c(call):
    program = f"""
import numpy as np, keybits
random = np.random.RandomState(1)
rows = random.randint(0, 256, (100000, 32)).astype(np.uint8)
patches = random.randint(0, 256, (4000, 32, 32)).astype(np.uint8)
try:
    print("begin", flush=True)
    {call}
    print("through")
except KeyboardInterrupt:
    f = keybits.detect_and_compute(rows.reshape(1000, -1))
    print("interrupted", len(f))
"""
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout.readline() == "begin\n"
        time.sleep(0.5)
        child.send_signal(signal.SIGINT)
        output, _ = child.communicate(timeout=1200)
    finally:
        child.kill()
    assert output.startswith("interrupted 2000"), output


def public_objects():
    for name in keybits.__all__:
        yield name, getattr(keybits, name)
    for module in ("cv2", "hloc", "colmap"):
        try:
            loaded = __import__(f"keybits.{module}", fromlist=["x"])
        except ImportError:
            continue
        yield module, loaded
        for name, value in vars(loaded).items():
            if not name.startswith("_") and getattr(value, "__module__", "") == loaded.__name__:
                yield f"{module}.{name}", value


def test_everything_public_has_a_docstring():
    for name, value in public_objects():
        if not (inspect.isclass(value) or inspect.isfunction(value) or inspect.ismodule(value)):
            continue
        assert inspect.getdoc(value), name
        if inspect.isclass(value) and value.__module__.startswith("keybits"):
            for member, method in vars(value).items():
                if not member.startswith("_") and (inspect.isfunction(method) or isinstance(method, property)):
                    assert inspect.getdoc(method), f"{name}.{member}"


def test_public_signatures_say_what_they_take():
    """No parameter and no result of a public function is Any."""
    for path in Path(keybits.__file__).parent.glob("*.py"):
        if path.name.startswith("_"):
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        classes = [node for node in tree.body if isinstance(node, ast.ClassDef) and not node.name.startswith("_")]
        for node in [*tree.body, *(member for owner in classes for member in owner.body)]:
            if not isinstance(node, ast.FunctionDef) or node.name.startswith("_") and node.name != "__init__":
                continue
            arguments = node.args
            for each in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg,
                         arguments.kwarg, ast.arg("the result", node.returns)]:
                if each is not None and each.annotation is not None:
                    assert not re.search(r"\bAny\b", ast.unparse(each.annotation)), (path.name, node.name, each.arg)


def test_syntax_is_that_of_python_3_8():
    for path in Path(keybits.__file__).parent.glob("*.py"):
        ast.parse(path.read_text(encoding="utf-8"), str(path), feature_version=(3, 8))


def test_version_is_the_headers():
    header = Path(os.environ.get("KEYBITS_SOURCE", "")) / "include/keybits/keybits.h"
    if not header.exists():
        pytest.skip("KEYBITS_SOURCE does not name the sources")
    assert f'"{keybits.__version__}"' in header.read_text(encoding="utf-8")


def test_the_tour_runs(tmp_path):
    pytest.importorskip("cv2")
    tour = Path(os.environ.get("KEYBITS_SOURCE", "")) / "examples/python_tour.py"
    if not tour.exists():
        pytest.skip("KEYBITS_SOURCE does not name the sources")
    done = subprocess.run([sys.executable, tour, tmp_path], capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stderr
    assert "template found: True" in done.stdout and "    scene 0: score" in done.stdout
    assert sorted(p.name for p in tmp_path.iterdir()) == ["keypoints.png", "matches.png", "mine.kbm", "template.png"]


def snippets():
    """The Python code of the README and of the guide, one piece per file."""
    root = Path(os.environ.get("KEYBITS_SOURCE", ""))
    for name in ("README.md", "docs/python.md"):
        if (root / name).exists():
            blocks = re.findall(r"```python\n(.*?)```", (root / name).read_text(encoding="utf-8"), flags=re.S)
            if blocks:
                yield pytest.param("\n".join(blocks), id=name)


@pytest.mark.parametrize("code", list(snippets()))
def test_snippets_of_the_documents_run(code, image, view, tmp_path, monkeypatch):
    cv2 = pytest.importorskip("cv2")
    pytest.importorskip("h5py")
    monkeypatch.chdir(tmp_path)
    cv2.imwrite("one.png", image)
    cv2.imwrite("two.png", view)
    for number in range(3):
        cv2.imwrite(f"photo{number}.png", np.roll(leaves(200, 160, number), number))
    exec(compile(code, "snippet", "exec"), {"gray": image, "other": view})
