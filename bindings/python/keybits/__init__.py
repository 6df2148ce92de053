# SPDX-License-Identifier: Apache-2.0
"""keybits: learned binary local image descriptors.

    import keybits
    f = keybits.detect_and_compute(gray)
    g = keybits.detect_and_compute(other)
    m = keybits.match(f, g)
    r = keybits.find_homography(f, g, m)

Images are numpy arrays (uint8 or uint16, gray or RGB), keypoints and matches are structured arrays, descriptors are
n x bytes of uint8. Calls release the GIL. Errors are exceptions (KeybitsError) with the library's sentence.

keybits.cv2 (objects in place of cv2.ORB_create()), keybits.hloc (HDF5 files), keybits.colmap (databases) and
keybits.dask (collections on a cluster) are imported by their names.
"""
from . import _tree  # noqa: F401  (first: the others need keybits._abi)
from ._arrays import keypoint_dtype, match_dtype, to_gray
from ._checked import KeybitsError, KeybitsFileError, KeybitsMemoryError, KeybitsValueError
from ._library import cpu_features, set_threads, version
from .collection import Collection, CollectionCounts
from .draw import draw_keypoints, draw_matches, draw_outline
from .features import (KP_BORDER, KP_INVALID, KP_OUTSIDE, KP_SMALL, Detector, Features, Origin, Pyramid, build_pyramid,
                       describe, describe_float, describe_patches, describe_patches_float, detect, detect_and_compute,
                       deviations, orient, sample_octaves, sample_patches, select)
from .geometry import (Camera, Fit, find_essential, find_fundamental, find_homography, fit, fit_pose, match_points,
                       pose_from_homography, project_homography)
from .index import (Index, IndexImage, Loop, LoopDetector, Verification, Vocabulary, builtin_vocabularies, node_dtype,
                    result_dtype, verify_pair)
from .learn import LearningStopped, Progress, learn_bad, learn_bag, learn_hashsift, shrink_patches
from .localizer import Localizer, Location, build_map
from .matching import (filter_matches, guide_dtype, guides_epipolar, guides_homography, hamming, match, match_guided,
                       match_knn, match_stereo, refine_matches, stereo_dtype)
from .models import Model, box_dtype, builtin_models, preset_scale, presets
from .pairs import Pair, match_images
from .patches import PatchSet, patch_set, read_patches, write_patches
from .points import PointTracker, track_dtype, track_points
from .tracking import Track, Tracker, plausible_corners, track

__version__ = version()

__all__ = [
    "Camera", "Collection", "CollectionCounts", "Detector", "Features", "Fit", "Index", "IndexImage", "KP_BORDER",
    "KP_INVALID", "KP_OUTSIDE", "KP_SMALL", "KeybitsError", "KeybitsFileError", "KeybitsMemoryError",
    "KeybitsValueError", "LearningStopped", "Localizer", "Location", "Loop", "LoopDetector", "Model", "Origin", "Pair", "PatchSet",
    "PointTracker", "Progress", "Pyramid", "Track", "Tracker", "Verification", "Vocabulary",
    "box_dtype", "build_map", "build_pyramid", "builtin_models", "builtin_vocabularies", "cpu_features", "describe",
    "describe_float", "describe_patches", "describe_patches_float", "detect", "detect_and_compute", "deviations",
    "draw_keypoints", "draw_matches",
    "draw_outline", "filter_matches", "find_essential", "find_fundamental", "find_homography", "fit", "fit_pose",
    "guide_dtype", "guides_epipolar", "guides_homography", "hamming", "keypoint_dtype", "learn_bad", "learn_bag",
    "learn_hashsift", "match", "match_dtype",
    "match_guided", "match_images", "match_knn", "match_points", "match_stereo", "node_dtype", "orient", "patch_set",
    "plausible_corners", "pose_from_homography", "preset_scale", "presets", "project_homography", "read_patches",
    "result_dtype", "sample_octaves", "sample_patches", "select", "set_threads", "shrink_patches",
    "stereo_dtype", "to_gray", "track",
    "track_dtype", "track_points", "verify_pair", "version", "write_patches",
]
