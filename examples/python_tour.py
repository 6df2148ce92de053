# SPDX-License-Identifier: Apache-2.0
"""A tour of the Python package, in cells as a notebook has them (# %%): from an image to keypoints, matches, geometry,
retrieval, tracking and a model of your own. Every cell prints what it found or writes a picture.

    python3 python_tour.py OUTPUT_FOLDER [ONE.png TWO.png]

Without images a scene is drawn. Needs keybits and OpenCV's Python module, which reads and writes images.
"""
# %% Two images
import sys
from pathlib import Path

import cv2
import numpy as np

import keybits
import keybits.cv2

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "tour")
folder.mkdir(parents=True, exist_ok=True)


def draw_scene(seed: int) -> np.ndarray:
    """Blurred rectangles and discs one over the other."""
    random = np.random.RandomState(seed)
    image = np.full((360, 480, 3), 110, np.uint8)
    for _ in range(220):
        colour = tuple(int(value) for value in random.randint(0, 256, 3))
        x, y = int(random.randint(480)), int(random.randint(360))
        w, h = (int(6 + value * 60) for value in random.rand(2) * random.rand(2))
        if random.rand() < 0.7:
            cv2.rectangle(image, (x, y), (x + w, y + h), colour, -1)
        else:
            cv2.circle(image, (x, y), w // 2 + 2, colour, -1)
    return cv2.GaussianBlur(image, (0, 0), 0.8)


def save(name: str, rgb: np.ndarray) -> None:
    """keybits draws in RGB, OpenCV writes BGR."""
    cv2.imwrite(str(folder / name), rgb[:, :, ::-1])
    print(f"    wrote {folder / name}")


if len(sys.argv) > 3:
    one, two = (cv2.cvtColor(cv2.imread(name), cv2.COLOR_BGR2RGB) for name in sys.argv[2:4])
else:
    one = draw_scene(1)
    tilt = np.array([[0.85, -0.3, 110], [0.28, 0.9, -40], [2e-4, -1e-4, 1]])
    two = cv2.warpPerspective(one, tilt, (520, 400), borderValue=(40, 40, 40))

# %% Keypoints and descriptors
f = keybits.detect_and_compute(one, max_keypoints=800)
g = keybits.detect_and_compute(two, max_keypoints=800)
print(f"{len(f)} and {len(g)} keypoints, {f.descriptors.shape[1]} bytes per descriptor, model {f.model.name}")
print("    the strongest:", f.keypoints[0])
save("keypoints.png", keybits.draw_keypoints(one, f.keypoints[:150]))

# %% Matches, and the geometry behind them
m = keybits.match(f.descriptors, g.descriptors)
r = keybits.find_homography(f.keypoints, g.keypoints, m)
print(f"{len(m)} mutual matches, {r.inliers.sum()} inliers of a homography, rms {r.rms:.2f} px")
save("matches.png", keybits.draw_matches(one, f.keypoints, two, g.keypoints, m, r.inliers))

# %% Points to a fraction of a pixel
a, b, correlation = keybits.refine_matches(one, two, f.keypoints, g.keypoints, m)
better = keybits.fit(a, b, quality=m["distance"])
print(f"{(correlation > 0).sum()} of {len(m)} matches refined, rms {better.rms:.2f} px")

# %% Fewer wrong ones before fitting
kept = keybits.filter_matches(f.keypoints, g.keypoints, m)
print(f"{len(kept)} of {len(m)} matches agree with their neighbours")

# %% Where the first image is in the second
tracker = keybits.Tracker(one, max_keypoints=800)
track = tracker.find(two)
print("template found:", track.found)
save("template.png", keybits.draw_outline(two, track.corners))

# %% Which of many images is it?
scenes = [one] + [draw_scene(seed) for seed in range(2, 12)]
described = [keybits.detect_and_compute(scene, max_keypoints=500) for scene in scenes]
vocabulary = keybits.Vocabulary.train(described, branching=10, levels=3)
index = keybits.Index(vocabulary, keep_features=True)
for number, features in enumerate(described):
    index.add(features, name=f"scene {number}")
for result in index.query(g, 3, verify=2):
    checked = "not verified" if result["inliers"] < 0 else f"{result['inliers']} inliers"
    print(f"    {index.image(int(result['position'])).name}: score {result['score']:.3f}, {checked}")

# %% In place of cv2.ORB
orb = keybits.cv2.create(500)
keypoints, descriptors = orb.detectAndCompute(cv2.cvtColor(one, cv2.COLOR_RGB2BGR), None)
print(f"{len(keypoints)} {type(keypoints[0]).__name__} by {orb.getDefaultName()}")

# %% A small model of your own: patches of the same points in both images
a, b = f.keypoints[m["a"][r.inliers]], g.keypoints[m["b"][r.inliers]]
labels = np.arange(len(a))
patches = keybits.patch_set(np.concatenate([keybits.sample_patches(one, a), keybits.sample_patches(two, b)]),
                            np.concatenate([labels, labels]), support=1.0)
losses = []
mine = keybits.learn_bad(patches, 64, name="mine", triplets=512, batch=64, candidates=200,
                         progress=lambda p: losses.append(p.loss))
print(f"learned {mine.bits} bits from {len(patches)} patches; loss {losses[0]:.3f} -> {losses[-1]:.3f}")
mine.save(folder / "mine.kbm")
rows = [keybits.describe(image, features.keypoints, mine) for image, features in ((one, f), (two, g))]
found = keybits.find_homography(f.keypoints, g.keypoints, keybits.match(*rows))
print(f"    {found.inliers.sum()} inliers with {mine.row_bytes} bytes per descriptor")
