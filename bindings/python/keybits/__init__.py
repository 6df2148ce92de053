"""keybits: learned binary local image descriptors.

    import keybits
    f = keybits.detect_and_compute(gray)
    g = keybits.detect_and_compute(other)
    m = keybits.match(f.descriptors, g.descriptors)
    r = keybits.find_homography(f.keypoints, g.keypoints, m)

Images are numpy arrays (uint8 or uint16, gray or RGB), keypoints and matches are structured arrays, descriptors are
n x bytes of uint8. Calls release the GIL. Errors are exceptions (KeybitsError) with the library's sentence.
"""
from ._arrays import keypoint_dtype, match_dtype, to_gray
from ._library import (KeybitsError, KeybitsFileError, KeybitsMemoryError, KeybitsValueError, cpu_features, set_threads,
                       version)
from .features import (KP_BORDER, KP_INVALID, KP_OUTSIDE, KP_SMALL, Detector, Features, Model, builtin_models, describe,
                       describe_float, describe_patches, detect, detect_and_compute, preset_scale, presets,
                       sample_patches)
from .geometry import (Camera, Fit, find_essential, find_fundamental, find_homography, fit, fit_pose, match_points,
                       project_homography)
from .matching import filter_matches, guide_dtype, hamming, match, match_guided

__version__ = version()

__all__ = [
    "KP_BORDER", "KP_INVALID", "KP_OUTSIDE", "KP_SMALL", "Camera", "Detector", "Features", "Fit", "KeybitsError", "KeybitsFileError", "KeybitsMemoryError",
    "KeybitsValueError", "Model", "builtin_models", "cpu_features", "describe", "describe_float", "describe_patches", "detect",
    "detect_and_compute", "filter_matches", "find_essential", "find_fundamental", "find_homography", "fit", "fit_pose",
    "guide_dtype", "hamming", "keypoint_dtype", "match", "match_dtype", "match_guided", "match_points",
    "preset_scale", "presets", "project_homography", "sample_patches", "set_threads", "to_gray", "version",
]
