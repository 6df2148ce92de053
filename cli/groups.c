/* Tables of options that several commands include. */
#include "groups.h"

static const char *const selections[] = {"best", "grid", "anms", "quadtree", NULL};

const cli_option detector_options[] = {
    {"detector", 0, CLI_CHOICE(kb_detect_options, detector, KB_DETECTOR_ORB), "NAME", .words = cli_detectors,
     .help = "orb: FAST corners on a pyramid, quick (default); sift: differences of Gaussians, more precise in place and "
             "scale, slower"},
    {"max-keypoints", 'n', CLI_NUMBER(kb_detect_options, max_keypoints, 1, 1000000), "N", "2000",
     .help = "keypoints per image"},
    {"select", 0, CLI_CHOICE(kb_detect_options, selection, KB_SELECT_BEST), "RULE", .words = selections,
     .help = "best: the strongest (default); grid: the strongest of every cell of a grid; anms: strong and far from "
             "anything stronger, the most even; quadtree: the strongest of every leaf of a quad-tree, as ORB-SLAM"},
    CLI_SECTION("Thresholds of orb"),
    {"fast-threshold", 0, CLI_NUMBER(kb_detect_options, fast_threshold, 1, 255), "N", "20",
     .help = "gray levels; lower it for dim or soft images that give too few"},
    {"fast-threshold-min", 0, CLI_NUMBER(kb_detect_options, fast_threshold_min, 1, 255), "N",
     .help = "gray levels, up to --fast-threshold: cells without a corner are searched again with this one; ORB-SLAM uses "
             "7 (default: they are not)"},
    {"cell-size", 0, CLI_NUMBER(kb_detect_options, cell_size, 8, 1024), "N", "32", .help = "px of a level, of these cells"},
    {"levels", 0, CLI_NUMBER(kb_detect_options, levels, 1, 16), "N", "8", .help = "levels of the pyramid"},
    {"level-factor", 0, CLI_NUMBER(kb_detect_options, level_factor, 1.05, 2), "X", "1.2",
     .help = ", from one level to the next"},
    CLI_SECTION("Thresholds of sift"),
    {"contrast", 0, CLI_NUMBER(kb_detect_options, contrast_threshold, 1e-6, 1), "X", "0.04",
     .help = "; lower finds more and weaker keypoints"},
    {"edge", 0, CLI_NUMBER(kb_detect_options, edge_threshold, 1, 1000), "X", "10",
     .help = "; higher keeps more keypoints on edges"},
    {"layers", 0, CLI_NUMBER(kb_detect_options, layers, 1, 8), "N", "3", .help = "layers per octave"},
    {"sigma", 0, CLI_NUMBER(kb_detect_options, sigma, 0.5, 4), "X", "1.6", .help = "px, the blur of the first layer"},
    {"no-upsampling", 0, CLI_FLAG(kb_detect_options, no_upsampling),
     .help = "do not double the image first: four times faster, loses the small keypoints"},
    {0}};

const cli_option reading_options[] = {
    {"exif", 0, CLI_FLAG(io_read_options, exif),
     .help = "turn images as their EXIF orientation says (default: pixels as stored, as OpenCV's detectors with "
             "IMREAD_IGNORE_ORIENTATION see them)"},
    {"white", 0, CLI_NUMBER(io_read_options, white, 1, 65535), "N",
     .help = ", the value that is white in 16-bit images (default: the file's, else 65535)"},
    {0}};

void detector_begin(kb_detect_options *detect) { KB_INIT(*detect); }

void reading_begin(io_read_options *reading) { *reading = (io_read_options){.keep16 = true}; }
