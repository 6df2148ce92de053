# SPDX-License-Identifier: Apache-2.0
"""Times the package beside OpenCV's Python module, in one process, OpenCV with one thread.

    python3 bench.py [IMAGE IMAGE]

Two images of 640 x 480 are drawn when none are named. Times are CPU times, which other load on the machine disturbs
least: the median of rounds in which both sides take turns; the ratio is the median of the rounds' ratios. The package must
be installed, or KEYBITS_LIBRARY names the library of a build (build/python/libkeybits.so).
"""
import multiprocessing
import os
import statistics
import sys
import threading
import time
from pathlib import Path
from typing import Any, Callable, List, Tuple

# The folder of this file holds the package without its library; the installed one is meant, unless a library is named.
if "KEYBITS_LIBRARY" not in os.environ:
    sys.path[:] = [path for path in sys.path if Path(path).resolve() != Path(__file__).resolve().parent]

import cv2  # type: ignore[import]  # noqa: E402
import numpy as np  # noqa: E402

import keybits  # noqa: E402
import keybits.cv2  # noqa: E402

ROUNDS = 25


def draw_pair() -> Tuple[Any, Any]:
    """Rectangles and noise, and the same turned, scaled and tilted."""
    random = np.random.RandomState(1)
    image = np.full((480, 640), 120, np.uint8)
    for _ in range(1200):
        x, y, w, h = random.randint(640), random.randint(480), *(3 + random.rand(2) * random.rand(2) * 90).astype(int)
        image[y:y + h, x:x + w] = random.randint(256)
    image = np.clip(cv2.GaussianBlur(image, (0, 0), 0.8) + random.randn(480, 640) * 3, 0, 255).astype(np.uint8)
    tilt = np.array([[0.95, -0.15, 60], [0.17, 0.97, -30], [5e-5, -3e-5, 1]])
    return image, cv2.warpPerspective(image, tilt, (640, 480))


def cpu_seconds(function: Callable[[], Any]) -> float:
    start = time.process_time()
    function()
    return time.process_time() - start


def seconds(function: Callable[[], Any]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def compare(name: str, theirs: Callable[[], Any], ours: Callable[[], Any], rounds: int = ROUNDS) -> None:
    theirs(), ours()
    pairs: List[Tuple[float, float]] = [(cpu_seconds(theirs), cpu_seconds(ours)) for _ in range(rounds)]
    left, right = (1000 * statistics.median(side) for side in zip(*pairs))
    ratio = statistics.median(a / b for a, b in pairs)
    print(f"{name:46} {left:9.3f} ms {right:9.3f} ms {ratio:8.1f} x")


def bench_pipeline(one: Any, two: Any) -> None:
    """Detecting, describing and mutual matching of two images, arrays in and out."""
    for count in (500, 1000, 2000, 5000):
        rounds = ROUNDS if count < 5000 else 7
        orb, matcher = cv2.ORB_create(count), cv2.BFMatcher(cv2.NORM_HAMMING, crossCheck=True)

        def theirs() -> Any:
            return matcher.match(*(orb.detectAndCompute(each, None)[1] for each in (one, two)))

        for model in ("bad256", "bag256"):
            detector, loaded = keybits.Detector("orb", count), keybits.Model(model)

            def ours() -> Any:
                return keybits.match(*(keybits.detect_and_compute(each, detector, loaded).descriptors
                                       for each in (one, two)))
            compare(f"two images, {count} keypoints, {model}", theirs, ours, rounds)

        features = keybits.cv2.create(count, detector="orb")

        def drop_in() -> Any:
            return matcher.match(*(features.detectAndCompute(each, None)[1] for each in (one, two)))
        compare("the same by keybits.cv2 and OpenCV's matcher", theirs, drop_in, rounds)
        quick = keybits.cv2.Matcher(cv2.NORM_HAMMING, crossCheck=True)

        def drop_in_both() -> Any:
            return quick.match(*(features.detectAndCompute(each, None)[1] for each in (one, two)))
        compare("the same by keybits.cv2 with its matcher", theirs, drop_in_both, rounds)


def bench_calls() -> None:
    """What a call costs besides its work: an image in which there is nothing to find, and one row to match."""
    detector, model = keybits.Detector("orb", 1000), keybits.Model("bad256")
    image, row = np.zeros((8, 8), np.uint8), np.ones((1, 32), np.uint8)
    for name, call in (("detect_and_compute", lambda: keybits.detect_and_compute(image, detector, model)),
                       ("match", lambda: keybits.match(row, row))):
        least = min(cpu_seconds(lambda: [call() for _ in range(100)]) for _ in range(ROUNDS)) / 100
        print(f"{name + ' without work, least of many':46} {'':12} {1e3 * least:9.3f} ms")


def bench_conversion() -> None:
    """5000 keypoints and matches as lists of cv2 objects, against the loops that people write."""
    keypoints = np.zeros(5000, keybits.keypoint_dtype)
    keypoints["x"], keypoints["size"] = np.arange(5000), 31
    objects = keybits.cv2.to_keypoints(keypoints)
    names = keypoints.dtype.names
    assert names is not None

    def loop_to() -> Any:
        return [cv2.KeyPoint(*(k[name].item() for name in names)) for k in keypoints]

    def loop_from() -> Any:
        return np.array([(*k.pt, k.size, k.angle, k.response, k.octave, k.class_id) for k in objects],
                        keybits.keypoint_dtype)
    compare("5000 keypoints to cv2, loop", loop_to, lambda: keybits.cv2.to_keypoints(keypoints))
    compare("5000 keypoints from cv2, loop", loop_from, lambda: keybits.cv2.from_keypoints(objects))
    matches = np.zeros(5000, keybits.match_dtype)
    found = keybits.cv2.to_matches(matches)
    compare("5000 matches to cv2, loop",
            lambda: [cv2.DMatch(int(m["a"]), int(m["b"]), float(m["distance"])) for m in matches],
            lambda: keybits.cv2.to_matches(matches))
    compare("5000 matches from cv2, loop", lambda: np.array([(m.queryIdx, m.trainIdx, m.distance, 0) for m in found],
                                                            keybits.match_dtype),
            lambda: keybits.cv2.from_matches(found))


def bench_threads(image: Any) -> None:
    """Two Python threads against one, and against two processes, which share no lock: what the machine can give."""
    def work() -> None:
        for _ in range(40):
            f = keybits.detect_and_compute(image, max_keypoints=1000)
            keybits.match(f.descriptors, f.descriptors)

    def in_threads() -> None:
        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def in_processes() -> None:
        children = [multiprocessing.get_context("fork").Process(target=work) for _ in range(2)]
        for child in children:
            child.start()
        for child in children:
            child.join()
    work(), in_threads()
    rounds = [(seconds(work), seconds(in_threads), seconds(in_processes)) for _ in range(7)]
    for name, gains in (("threads", [2 * one / threads for one, threads, _ in rounds]),
                        ("processes", [2 * one / processes for one, _, processes in rounds])):
        print(f"two Python {name}: {statistics.median(gains):.2f} x the work of one in the same time (best "
              f"{max(gains):.2f})")


def main() -> None:
    cv2.setNumThreads(1)
    keybits.set_threads(1)
    if len(sys.argv) == 3:
        one, two = (cv2.imread(name, cv2.IMREAD_GRAYSCALE) for name in sys.argv[1:])
        if one is None or two is None:
            raise SystemExit("an image cannot be read")
    else:
        one, two = draw_pair()
    print(f"keybits {keybits.__version__} ({keybits.cpu_features()}), OpenCV {cv2.__version__}, images of "
          f"{one.shape[1]} x {one.shape[0]}")
    print(f"{'':46} {'OpenCV':>12} {'keybits':>12} {'faster':>10}")
    bench_pipeline(one, two)
    bench_calls()
    bench_conversion()
    bench_threads(one)


if __name__ == "__main__":
    main()
