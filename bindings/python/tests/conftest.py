# SPDX-License-Identifier: Apache-2.0
"""Pictures for the tests, drawn here: rectangles one over the other, and the same seen through a homography."""
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

import keybits


def leaves(width=320, height=240, seed=1):
    """Rectangles of random gray one over the other: many corners of all sizes."""
    random = np.random.RandomState(seed)
    image = np.full((height, width), 120, np.uint8)
    for _ in range(width * height // 150):
        x, y = random.randint(width), random.randint(height)
        w, h = (3 + (random.rand(2) * random.rand(2) * 40)).astype(int)
        image[y:y + h, x:x + w] = random.randint(256)
    return image


def warp(image, matrix, width, height):
    """What is seen when pixel p of the result shows matrix^-1 p of the image, by bilinear interpolation."""
    inverse = np.linalg.inv(matrix)
    y, x = np.mgrid[:height, :width]
    place = np.stack([x.ravel(), y.ravel(), np.ones(x.size)]).astype(float)
    u, v, w = inverse @ place
    u, v = u / w, v / w
    inside = (u >= 0) & (v >= 0) & (u < image.shape[1] - 1) & (v < image.shape[0] - 1)
    u, v = np.where(inside, u, 0), np.where(inside, v, 0)
    i, j = v.astype(int), u.astype(int)
    a, b = v - i, u - j
    pixels = image.astype(float)
    value = ((1 - a) * ((1 - b) * pixels[i, j] + b * pixels[i, j + 1])
             + a * ((1 - b) * pixels[i + 1, j] + b * pixels[i + 1, j + 1]))
    return np.where(inside, value + 0.5, 90).astype(np.uint8).reshape(height, width)


HOMOGRAPHY = np.array([[0.92, -0.18, 40.0], [0.2, 0.95, -12.0], [1e-4, -5e-5, 1.0]])


@pytest.fixture(scope="session")
def image():
    return leaves()


@pytest.fixture(scope="session")
def view(image):
    """The image under HOMOGRAPHY."""
    return warp(image, HOMOGRAPHY, 340, 260)


@pytest.fixture(scope="session")
def features(image):
    return keybits.detect_and_compute(image, max_keypoints=500)


@pytest.fixture(scope="session")
def view_features(view):
    return keybits.detect_and_compute(view, max_keypoints=500)


@pytest.fixture
def program():
    """Runs the C program."""
    path = os.environ.get("KEYBITS", "")
    if not os.access(path, os.X_OK):
        pytest.skip("KEYBITS does not name the program")

    def run(*arguments):
        done = subprocess.run([path, *map(str, arguments)], capture_output=True, text=True, timeout=1800)
        assert done.returncode == 0, done.stderr
        return done.stdout
    return run


def write_pgm(path, image):
    height, width = image.shape
    largest = 255 if image.dtype == np.uint8 else 65535
    pixels = image if largest == 255 else image.astype(">u2")
    Path(path).write_bytes(b"P5\n%d %d\n%d\n" % (width, height, largest) + pixels.tobytes())


def read_keypoints(path):
    table = np.genfromtxt(path, delimiter=",", names=True, dtype=np.float64)
    keypoints = np.zeros(len(table), keybits.keypoint_dtype)
    keypoints["class_id"] = -1
    for name in table.dtype.names:
        keypoints[name] = table[name]
    return keypoints
