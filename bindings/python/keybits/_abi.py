"""Made from the C headers by generate_abi.py."""
from ctypes import (  # noqa: F401
    CFUNCTYPE, Structure, c_char, c_char_p, c_double, c_float, c_int, c_int8, c_int16, c_int32, c_int64,
    c_size_t, c_ssize_t, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p)
from typing import Any, Dict, List, Tuple

KB_VERSION_MAJOR = 0
KB_VERSION_MINOR = 1
KB_VERSION_PATCH = 0
KB_SMALL_PATCH = 8.0
KB_PYRAMID_MAX_LEVELS = 16
KB_PATCH_SIDE = 32
KB_OCTAVES = 4
KB_OCTAVE_SIDE = 16
KB_MAX_BITS = 1024
KB_CHANNELS = 9
KB_MAX_RADIUS = 7
KB_MAX_CELL_RADIUS = 8
KB_SIFT_VALUES = 128
KB_OK = 0
KB_E_ARGUMENT = -1
KB_E_MEMORY = -2
KB_E_IMAGE = -3
KB_E_UNKNOWN = -4
KB_E_NO_TABLE = -5
KB_E_FORMAT = -6
KB_E_TRUNCATED = -7
KB_E_CHECKSUM = -8
KB_E_TABLE = -9
KB_E_KIND = -10
KB_E_SPACE = -11
KB_E_MODEL = -12
KB_E_STRUCT = -13
KB_GRAY8 = 0
KB_GRAY16 = 1
KB_BAD = 1
KB_BAG = 2
KB_HASHSIFT = 3
KB_SIFT = 4
KB_ROOTSIFT = 5
KB_KP_BORDER = 1
KB_KP_SMALL = 2
KB_KP_OUTSIDE = 4
KB_KP_INVALID = 8
KB_DETECTOR_ORB = 1
KB_DETECTOR_SIFT = 2
KB_DETECTOR_HESSIAN = 3
KB_SELECT_DEFAULT = 0
KB_SELECT_BEST = 1
KB_SELECT_GRID = 2
KB_SELECT_ANMS = 3
KB_SELECT_QUADTREE = 4
KB_ORIENTATION_DEFAULT = 0
KB_ORIENTATION_GRADIENT = 1
KB_ORIENTATION_CENTROID = 2
KB_ORIENTATION_NONE = 3
KB_HOMOGRAPHY = 1
KB_FUNDAMENTAL = 2
KB_SIMILARITY = 3
KB_AFFINE = 4
KB_ESSENTIAL = 5
KB_ROTATION = 6
KB_FIT_FOUND = 0
KB_FIT_TOO_FEW = 1
KB_FIT_DEGENERATE = 2
KB_FIT_NOT_FOUND = 3
KB_SAMPLER_PATCH = 0
KB_SAMPLER_IMAGE = 1
KB_SAMPLER_OCTAVES = 2
KB_SAMPLER_CELLS = 3
KB_MAX_BRANCHING = 256
KB_MAX_LEVELS = 10
KB_MAX_PROBES = 64
KB_TF_IDF = 0
KB_TF = 1
KB_IDF = 2
KB_BINARY = 3
KB_SCORE_BINARY = 0
KB_SCORE_TF_IDF = 1
KB_SCORE_EXACT = 2
KB_LEARN_TRIPLET = 0
KB_LEARN_BINARY = 1
KB_LEARN_ORB = 2

kb_write: Any = CFUNCTYPE(c_int, c_void_p, c_void_p, c_size_t)

kb_learn_report: Any = CFUNCTYPE(c_int32, c_void_p, c_void_p)

kb_learn_augment: Any = CFUNCTYPE(None, c_void_p, c_void_p, c_size_t, c_uint64, c_void_p, c_void_p)

kb_learn_hash_report: Any = CFUNCTYPE(c_int32, c_void_p, c_void_p)


class kb_error(Structure):
    _fields_ = [
        ("text", c_char * 192),
        ("field", c_char_p),
        ("row", c_int32),
    ]


class kb_image(Structure):
    _fields_ = [
        ("data", c_void_p),
        ("width", c_int32),
        ("height", c_int32),
        ("stride", c_ssize_t),
        ("format", c_int),
        ("white", c_int32),
    ]


class kb_keypoint(Structure):
    _fields_ = [
        ("x", c_float),
        ("y", c_float),
        ("size", c_float),
        ("angle", c_float),
        ("response", c_float),
        ("octave", c_int32),
        ("class_id", c_int32),
    ]


class kb_model_info(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("row_bytes", c_int32),
        ("spec", c_void_p),
        ("id", c_uint64),
        ("row_floats", c_int32),
        ("channels", c_uint32),
        ("distinct_boxes", c_int32),
        ("threshold_low", c_int32),
        ("threshold_high", c_int32),
    ]


class kb_preset(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("scale", c_float),
    ]


class kb_describe_options(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("scale", c_float),
        ("parallel", c_void_p),
        ("row_stride", c_size_t),
    ]


class kb_detect_options(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("detector", c_int),
        ("max_keypoints", c_int32),
        ("selection", c_int),
        ("mask", c_void_p),
        ("parallel", c_void_p),
        ("levels", c_int32),
        ("level_factor", c_float),
        ("fast_threshold", c_int32),
        ("fast_threshold_min", c_int32),
        ("cell_size", c_int32),
        ("orientation", c_int),
        ("second_angle", c_int32),
        ("whole_pixels", c_int32),
        ("low_memory", c_int32),
        ("layers", c_int32),
        ("contrast_threshold", c_float),
        ("edge_threshold", c_float),
        ("sigma", c_float),
        ("no_upsampling", c_int32),
        ("hessian_threshold", c_float),
    ]


class kb_orient_options(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("orientation", c_int),
        ("scale", c_float),
        ("parallel", c_void_p),
    ]


class kb_pyramid(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("levels", c_int32),
        ("level", kb_image * 16),
        ("factor", c_double * 16),
    ]


class kb_match(Structure):
    _fields_ = [
        ("a", c_int32),
        ("b", c_int32),
        ("distance", c_float),
        ("second", c_float),
    ]


class kb_match_options(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("one_way", c_int32),
        ("max_ratio", c_float),
        ("max_distance", c_float),
        ("parallel", c_void_p),
        ("stride_a", c_size_t),
        ("stride_b", c_size_t),
    ]


class kb_filter_options(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("tolerance", c_float),
        ("max_angle", c_float),
        ("max_scale", c_float),
        ("min_support", c_int32),
    ]


class kb_point_pair(Structure):
    _fields_ = [
        ("x1", c_double),
        ("y1", c_double),
        ("x2", c_double),
        ("y2", c_double),
    ]


class kb_neighbour(Structure):
    _fields_ = [
        ("index", c_int32),
        ("distance", c_float),
    ]


class kb_guide(Structure):
    _fields_ = [
        ("x", c_float),
        ("y", c_float),
        ("radius", c_float),
        ("angle", c_float),
        ("min_level", c_int32),
        ("max_level", c_int32),
    ]


class kb_guided_options(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("max_ratio", c_float),
        ("max_distance", c_float),
        ("ratio_per_level", c_int32),
        ("any_angle", c_int32),
        ("parallel", c_void_p),
    ]


class kb_stereo_match(Structure):
    _fields_ = [
        ("a", c_int32),
        ("b", c_int32),
        ("distance", c_float),
        ("x", c_float),
        ("disparity", c_float),
    ]


class kb_stereo_options(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("min_disparity", c_float),
        ("max_disparity", c_float),
        ("row_tolerance", c_float),
        ("max_scale", c_float),
        ("max_distance", c_float),
        ("max_ratio", c_float),
        ("left", c_void_p),
        ("right", c_void_p),
        ("parallel", c_void_p),
    ]


class kb_refine_options(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("scale", c_float),
        ("iterations", c_int32),
        ("max_shift", c_float),
        ("min_correlation", c_float),
        ("parallel", c_void_p),
    ]


class kb_camera(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("fx", c_double),
        ("fy", c_double),
        ("cx", c_double),
        ("cy", c_double),
        ("k1", c_double),
        ("k2", c_double),
        ("p1", c_double),
        ("p2", c_double),
        ("k3", c_double),
    ]


class kb_fit_options(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("geometry", c_int),
        ("threshold", c_double),
        ("confidence", c_double),
        ("max_iterations", c_int32),
        ("seed", c_uint64),
        ("plain_ransac", c_int32),
        ("quality", c_void_p),
        ("keep_duplicates", c_int32),
        ("camera1", c_void_p),
        ("camera2", c_void_p),
    ]


class kb_fit_report(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("result", c_int),
        ("model", c_double * 9),
        ("inliers", c_int32),
        ("iterations", c_int32),
        ("rms", c_double),
        ("rotation", c_double * 9),
        ("translation", c_double * 3),
    ]


class kb_scene_point(Structure):
    _fields_ = [
        ("X", c_double),
        ("Y", c_double),
        ("Z", c_double),
        ("x", c_double),
        ("y", c_double),
    ]


class kb_workspace_limits(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("threads", c_int32),
        ("width", c_int32),
        ("height", c_int32),
        ("format", c_int),
        ("detect", c_void_p),
        ("model", c_void_p),
        ("keypoints", c_size_t),
        ("rows_a", c_size_t),
        ("rows_b", c_size_t),
        ("row_bytes", c_size_t),
        ("pairs", c_size_t),
        ("refine", c_int32),
    ]


class kb_parallel(Structure):
    _fields_ = [
        ("run", c_void_p),
        ("self", c_void_p),
        ("threads", c_int32),
    ]


class kb_box_pair(Structure):
    _fields_ = [
        ("channel1", c_uint8),
        ("x1", c_uint8),
        ("y1", c_uint8),
        ("radius1", c_uint8),
        ("channel2", c_uint8),
        ("x2", c_uint8),
        ("y2", c_uint8),
        ("radius2", c_uint8),
        ("threshold", c_float),
    ]


class kb_model_spec(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("kind", c_int),
        ("sampler", c_int),
        ("bits", c_int32),
        ("support", c_float),
        ("name", c_char_p),
        ("text", c_char_p),
        ("boxes", c_void_p),
        ("weights", c_void_p),
        ("bias", c_void_p),
        ("root", c_int32),
        ("sift_support", c_float),
        ("threshold_low", c_int32),
        ("threshold_high", c_int32),
    ]


class kb_allocator(Structure):
    _fields_ = [
        ("allocate", c_void_p),
        ("release", c_void_p),
        ("self", c_void_p),
    ]


class kb_kernel(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("variant", c_char_p),
    ]


class kb_features(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("rows", c_void_p),
        ("n", c_size_t),
        ("row_bytes", c_size_t),
        ("keypoints", c_void_p),
        ("model_id", c_uint64),
        ("width", c_int32),
        ("height", c_int32),
    ]


class kb_vocabulary_options(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("branching", c_int32),
        ("levels", c_int32),
        ("iterations", c_int32),
        ("seed", c_uint64),
        ("model", c_void_p),
        ("image_ends", c_void_p),
        ("images", c_size_t),
        ("parallel", c_void_p),
    ]


class kb_vocabulary_info(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("nodes", c_uint32),
        ("words", c_uint32),
        ("row_bytes", c_int32),
        ("branching", c_int32),
        ("levels", c_int32),
        ("scoring", c_int32),
        ("weighting", c_int),
        ("model_id", c_uint64),
        ("model_name", c_char_p),
        ("bytes", c_size_t),
    ]


class kb_vocabulary_node(Structure):
    _fields_ = [
        ("first_child", c_uint32),
        ("children", c_uint32),
        ("word", c_uint32),
        ("weight", c_double),
        ("row", c_void_p),
    ]


class kb_vocabulary_spec(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("nodes", c_uint32),
        ("parents", c_void_p),
        ("rows", c_void_p),
        ("weights", c_void_p),
        ("row_bytes", c_int32),
        ("branching", c_int32),
        ("levels", c_int32),
        ("scoring", c_int32),
        ("weighting", c_int),
        ("model_id", c_uint64),
        ("model_name", c_char_p),
    ]


class kb_words_options(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("levels_up", c_int32),
        ("parallel", c_void_p),
    ]


class kb_index_options(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("no_signatures", c_int32),
        ("keep_features", c_int32),
    ]


class kb_index_query_options(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("scoring", c_int),
        ("first_images", c_size_t),
        ("verify", c_int32),
        ("geometry", c_int),
        ("threshold", c_double),
        ("probes", c_int32),
    ]


class kb_index_result(Structure):
    _fields_ = [
        ("id", c_uint64),
        ("position", c_size_t),
        ("score", c_double),
        ("inliers", c_int32),
        ("model", c_double * 9),
    ]


class kb_index_info(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("signatures", c_int32),
        ("features", c_int32),
        ("images", c_size_t),
        ("positions", c_size_t),
        ("entries", c_uint64),
        ("bytes", c_uint64),
    ]


class kb_index_image(Structure):
    _fields_ = [
        ("id", c_uint64),
        ("name", c_char_p),
        ("rows", c_uint32),
        ("words", c_uint32),
        ("removed", c_int32),
    ]


class kb_loop_options(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("window", c_int32),
        ("checks", c_int32),
        ("island", c_int32),
        ("min_inliers", c_int32),
        ("min_score", c_double),
        ("geometry", c_int),
        ("threshold", c_double),
    ]


class kb_loop(Structure):
    _fields_ = [
        ("found", c_int32),
        ("query", c_size_t),
        ("reference", c_size_t),
        ("score", c_double),
        ("inliers", c_int32),
        ("model", c_double * 9),
        ("island_first", c_size_t),
        ("island_last", c_size_t),
        ("checked", c_int32),
    ]


class kb_learn_patches(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("pixels", c_void_p),
        ("labels", c_void_p),
        ("count", c_size_t),
    ]


class kb_learn_progress(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("bit", c_int32),
        ("bits", c_int32),
        ("loss", c_double),
        ("active", c_double),
        ("mean", c_double),
        ("boxes", c_void_p),
    ]


class kb_learn_options(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("kind", c_int),
        ("bits", c_int32),
        ("loss", c_int),
        ("seed", c_uint64),
        ("triplets", c_int32),
        ("batch", c_int32),
        ("neighbours", c_int32),
        ("candidates", c_int32),
        ("margin", c_double),
        ("channels", c_uint32),
        ("min_radius", c_int32),
        ("max_radius", c_int32),
        ("fixed_threshold", c_int32),
        ("two_radii", c_int32),
        ("local_search", c_int32),
        ("distinct_boxes", c_int32),
        ("keep", c_int32),
        ("screen", c_int32),
        ("augment", kb_learn_augment),
        ("augment_context", c_void_p),
        ("start", c_void_p),
        ("started", c_int32),
        ("report", kb_learn_report),
        ("report_context", c_void_p),
        ("parallel", c_void_p),
        ("sampler", c_int),
    ]


class kb_learn_summary(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("points", c_size_t),
        ("patches", c_size_t),
        ("singletons", c_size_t),
        ("bits", c_int32),
        ("batch", c_int32),
        ("triplets", c_int32),
        ("loss", c_double),
    ]


class kb_learn_hash_progress(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("step", c_int64),
        ("steps", c_int64),
        ("loss", c_double),
        ("active", c_double),
        ("checkpoint", c_void_p),
        ("checkpoint_size", c_size_t),
    ]


class kb_learn_hash_options(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("bits", c_int32),
        ("root", c_int32),
        ("loss", c_int),
        ("seed", c_uint64),
        ("steps", c_int64),
        ("batch", c_int32),
        ("neighbours", c_int32),
        ("margin", c_double),
        ("rate", c_double),
        ("constant_rate", c_int32),
        ("versions", c_int32),
        ("augment", kb_learn_augment),
        ("augment_context", c_void_p),
        ("checkpoint", c_void_p),
        ("checkpoint_size", c_size_t),
        ("report", kb_learn_hash_report),
        ("report_context", c_void_p),
        ("parallel", c_void_p),
    ]


class kb_learn_hash_summary(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("points", c_size_t),
        ("patches", c_size_t),
        ("steps", c_int64),
        ("batch", c_int32),
        ("loss", c_double),
        ("openblas", c_int32),
    ]


FUNCTIONS: Dict[str, Tuple[Any, List[Any]]] = {
    "kb_status_string": (c_char_p, [c_int]),
    "kb_version": (c_char_p, []),
    "kb_version_number": (c_int32, []),
    "kb_model_builtin": (c_int, [c_char_p, c_void_p]),
    "kb_model_builtin_name": (c_char_p, [c_int32, c_void_p]),
    "kb_model_load": (c_int, [c_void_p, c_size_t, c_void_p, c_void_p]),
    "kb_model_free": (None, [c_void_p]),
    "kb_model_get_info": (c_int, [c_void_p, c_void_p]),
    "kb_preset_at": (kb_preset, [c_int32]),
    "kb_preset_scale": (c_float, [c_char_p]),
    "kb_model_scale": (c_float, [c_void_p, c_char_p]),
    "kb_patch_width": (c_float, [c_void_p, c_void_p, c_float]),
    "kb_describe": (c_int, [c_void_p, c_void_p, c_void_p, c_size_t, c_void_p, c_void_p, c_void_p, c_void_p]),
    "kb_describe_float": (c_int, [c_void_p, c_void_p, c_void_p, c_size_t, c_void_p, c_void_p, c_void_p, c_void_p]),
    "kb_describe_patches": (c_int, [c_void_p, c_void_p, c_size_t, c_int32, c_void_p, c_void_p, c_void_p]),
    "kb_describe_patches_float": (c_int, [c_void_p, c_void_p, c_size_t, c_int32, c_void_p, c_void_p, c_void_p]),
    "kb_sample_patches": (c_int, [c_void_p, c_void_p, c_size_t, c_void_p, c_void_p, c_void_p, c_void_p]),
    "kb_sample_octaves": (c_int, [c_void_p, c_void_p, c_size_t, c_void_p, c_void_p, c_void_p, c_void_p]),
    "kb_detector_default": (c_int, []),
    "kb_selection_name": (c_char_p, [c_int]),
    "kb_orientation_name": (c_char_p, [c_int]),
    "kb_detect": (c_int, [c_void_p, c_void_p, c_void_p, c_void_p, c_size_t, c_void_p]),
    "kb_detect_and_describe": (c_int, [c_void_p, c_void_p, c_void_p, c_void_p, c_void_p, c_void_p, c_size_t, c_void_p, c_void_p, c_void_p]),
    "kb_detector_scale": (c_float, [c_int]),
    "kb_detector_name": (c_char_p, [c_int]),
    "kb_select": (c_int, [c_void_p, c_size_t, c_int32, c_int32, c_int, c_size_t, c_void_p, c_void_p]),
    "kb_orient": (c_int, [c_void_p, c_void_p, c_size_t, c_void_p, c_void_p, c_void_p]),
    "kb_pyramid_build": (c_int, [c_void_p, c_void_p, c_void_p, c_void_p, c_size_t, c_void_p, c_void_p]),
    "kb_match_hamming": (c_int, [c_void_p, c_size_t, c_void_p, c_size_t, c_size_t, c_void_p, c_void_p, c_void_p, c_void_p]),
    "kb_match_float": (c_int, [c_void_p, c_size_t, c_void_p, c_size_t, c_size_t, c_void_p, c_void_p, c_void_p, c_void_p]),
    "kb_filter": (c_int, [c_void_p, c_size_t, c_void_p, c_size_t, c_void_p, c_size_t, c_void_p, c_void_p, c_void_p, c_void_p]),
    "kb_match_points": (c_int, [c_void_p, c_size_t, c_void_p, c_size_t, c_void_p, c_size_t, c_void_p, c_void_p]),
    "kb_match_knn": (c_int, [c_void_p, c_size_t, c_void_p, c_size_t, c_size_t, c_int32, c_void_p, c_void_p, c_void_p]),
    "kb_hamming": (c_int32, [c_void_p, c_void_p, c_size_t]),
    "kb_match_guided": (c_int, [c_void_p, c_void_p, c_size_t, c_void_p, c_void_p, c_size_t, c_size_t, c_void_p, c_void_p, c_void_p, c_void_p]),
    "kb_match_stereo": (c_int, [c_void_p, c_void_p, c_size_t, c_void_p, c_void_p, c_size_t, c_size_t, c_void_p, c_void_p, c_void_p, c_void_p]),
    "kb_match_refine": (c_int, [c_void_p, c_void_p, c_void_p, c_size_t, c_void_p, c_size_t, c_void_p, c_size_t, c_void_p, c_void_p, c_void_p, c_void_p]),
    "kb_camera_unproject": (c_int, [c_void_p, c_double, c_double, c_void_p, c_void_p]),
    "kb_camera_project": (c_int, [c_void_p, c_double, c_double, c_void_p, c_void_p]),
    "kb_fit": (c_int, [c_void_p, c_size_t, c_void_p, c_void_p, c_void_p, c_void_p]),
    "kb_fit_result_name": (c_char_p, [c_int]),
    "kb_fit_pose": (c_int, [c_void_p, c_size_t, c_void_p, c_void_p, c_void_p, c_void_p]),
    "kb_pose_from_homography": (c_int, [c_void_p, c_void_p, c_void_p, c_void_p]),
    "kb_homography_apply": (None, [c_void_p, c_double, c_double, c_void_p, c_void_p]),
    "kb_workspace_create": (c_int, [c_void_p]),
    "kb_workspace_create_in": (c_int, [c_void_p, c_size_t, c_void_p]),
    "kb_workspace_free": (None, [c_void_p]),
    "kb_workspace_bytes": (c_size_t, [c_void_p]),
    "kb_workspace_needed": (c_int, [c_void_p, c_void_p]),
    "kb_workspace_reserve": (c_int, [c_void_p, c_void_p]),
    "kb_pool_create": (c_int, [c_int32, c_void_p]),
    "kb_pool_free": (None, [c_void_p]),
    "kb_pool_parallel": (c_void_p, [c_void_p]),
    "kb_model_create": (c_int, [c_void_p, c_void_p, c_void_p]),
    "kb_model_save": (c_int, [c_void_p, c_void_p, c_size_t, c_void_p]),
    "kb_kind_name": (c_char_p, [c_int]),
    "kb_sampler_name": (c_char_p, [c_int]),
    "kb_model_builtin_with": (c_int, [c_char_p, c_void_p, c_void_p]),
    "kb_model_create_with": (c_int, [c_void_p, c_void_p, c_void_p, c_void_p]),
    "kb_model_load_with": (c_int, [c_void_p, c_size_t, c_void_p, c_void_p, c_void_p]),
    "kb_pool_create_with": (c_int, [c_int32, c_void_p, c_void_p]),
    "kb_workspace_create_with": (c_int, [c_void_p, c_void_p]),
    "kb_kernel_at": (kb_kernel, [c_int32]),
    "kb_cpu_features": (c_char_p, []),
    "kb_cpu_limit": (c_int, [c_char_p]),
    "kb_cpu_request_amx": (c_int, []),
    "kb_vocabulary_train": (c_int, [c_void_p, c_size_t, c_size_t, c_void_p, c_void_p, c_void_p]),
    "kb_vocabulary_train_with": (c_int, [c_void_p, c_size_t, c_size_t, c_void_p, c_void_p, c_void_p, c_void_p]),
    "kb_vocabulary_load": (c_int, [c_void_p, c_size_t, c_void_p, c_void_p]),
    "kb_vocabulary_load_with": (c_int, [c_void_p, c_size_t, c_void_p, c_void_p, c_void_p]),
    "kb_vocabulary_data": (c_void_p, [c_void_p, c_void_p]),
    "kb_vocabulary_free": (None, [c_void_p]),
    "kb_vocabulary_get_info": (c_int, [c_void_p, c_void_p]),
    "kb_vocabulary_get_node": (c_int32, [c_void_p, c_uint32, c_void_p]),
    "kb_vocabulary_create": (c_int, [c_void_p, c_void_p, c_void_p]),
    "kb_vocabulary_create_with": (c_int, [c_void_p, c_void_p, c_void_p, c_void_p]),
    "kb_vocabulary_words": (c_int, [c_void_p, c_void_p, c_void_p, c_void_p, c_void_p, c_void_p]),
    "kb_index_create": (c_int, [c_void_p, c_void_p, c_void_p, c_void_p]),
    "kb_index_create_with": (c_int, [c_void_p, c_void_p, c_void_p, c_void_p, c_void_p]),
    "kb_index_free": (None, [c_void_p]),
    "kb_index_add": (c_int, [c_void_p, c_void_p, c_uint64, c_char_p, c_void_p, c_void_p]),
    "kb_index_remove": (c_int, [c_void_p, c_uint64, c_void_p]),
    "kb_index_query": (c_int, [c_void_p, c_void_p, c_void_p, c_void_p, c_void_p, c_size_t, c_void_p, c_void_p]),
    "kb_index_get_info": (c_int, [c_void_p, c_void_p]),
    "kb_index_get_vocabulary": (c_void_p, [c_void_p]),
    "kb_index_get_image": (c_int32, [c_void_p, c_size_t, c_void_p]),
    "kb_index_get_size": (c_int, [c_void_p, c_size_t, c_void_p, c_void_p]),
    "kb_index_get_features": (c_int, [c_void_p, c_size_t, c_void_p, c_void_p, c_void_p]),
    "kb_index_save": (c_int, [c_void_p, kb_write, c_void_p]),
    "kb_index_load": (c_int, [c_void_p, c_size_t, c_void_p, c_void_p]),
    "kb_index_load_with": (c_int, [c_void_p, c_size_t, c_void_p, c_void_p, c_void_p]),
    "kb_index_check": (c_int, [c_void_p]),
    "kb_loop_detector_create": (c_int, [c_void_p, c_void_p, c_void_p, c_void_p]),
    "kb_loop_detector_create_with": (c_int, [c_void_p, c_void_p, c_void_p, c_void_p, c_void_p]),
    "kb_loop_detector_free": (None, [c_void_p]),
    "kb_loop_detector_add": (c_int, [c_void_p, c_void_p, c_void_p, c_void_p, c_void_p]),
    "kb_learn_defaults": (None, [c_void_p]),
    "kb_learn_boxes": (c_int, [c_void_p, c_void_p, c_void_p, c_void_p, c_void_p]),
    "kb_learn_hash_defaults": (None, [c_void_p]),
    "kb_learn_hashsift": (c_int, [c_void_p, c_void_p, c_void_p, c_void_p, c_void_p, c_void_p]),
}
