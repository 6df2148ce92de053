/* SPDX-License-Identifier: Apache-2.0 */
/* bindings/opencv: what kb::Features, kb::Matcher and kb::OrbSlamExtractor give is what the C API gives, and OpenCV's
 * interfaces hold. Compiled as C++11. */
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <opencv2/core/ocl.hpp>

#include <keybits_orbslam.hpp>
#ifdef KEYBITS_HAVE_STITCHING
#  include <keybits_stitching.hpp>
#endif
#include "../arrays.h"

#define CHECK(condition)                                                               \
    do {                                                                               \
        if (!(condition)) {                                                            \
            std::fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
            std::exit(1);                                                              \
        }                                                                              \
    } while (0)

typedef std::vector<cv::KeyPoint> Keypoints;
typedef std::vector<std::vector<cv::DMatch> > Lists;

static cv::Mat scene(int width, int height, int seed)
{
    cv::RNG random(static_cast<uint64_t>(seed));
    cv::Mat image(height, width, CV_8U, cv::Scalar(90));
    for (int i = 0; i < width * height / 300; i++) {
        cv::Rect box(random.uniform(0, width), random.uniform(0, height), random.uniform(4, 40), random.uniform(4, 40));
        cv::rectangle(image, box, cv::Scalar(random.uniform(0, 256)), cv::FILLED);
    }
    return image;
}

static bool same_rows(const cv::Mat &a, const cv::Mat &b)
{
    return a.size() == b.size() && a.type() == b.type() && (a.empty() || cv::norm(a, b, cv::NORM_INF) == 0);
}

static bool same_keypoints(const Keypoints &a, const Keypoints &b)
{
    return a.size() == b.size() &&
           (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof a[0]) == 0);
}

/* The sentence of the cv::Exception that `body` throws. */
template <class Body> static std::string thrown(Body body)
{
    try {
        body();
    } catch (const cv::Exception &e) {
        return e.err;
    }
    return "";
}

static bool has(const std::string &text, const char *part) { return text.find(part) != std::string::npos; }

/* Rows and keypoints of the C API, on one thread. */
static void by_c_api(const char *name, kb_detector detector, const cv::Mat &image, Keypoints &keypoints, cv::Mat &rows)
{
    kb_model *model;
    kb_image view = {image.data,      image.cols, image.rows, static_cast<std::ptrdiff_t>(image.step[0]),
                     KB_FORMAT_GRAY8, 0};
    kb_detect_options detect;
    kb_describe_options describe;
    kb_model_info info;
    std::size_t n;
    KB_INIT(detect);
    KB_INIT(describe);
    KB_INIT(info);
    detect.detector = detector;
    keypoints.resize(500);
    CHECK(kb_model_builtin(name, NULL, &model) == KB_OK);
    describe.scale = kb_model_scale(model, kb_name(KB_NAMES_DETECTOR, detector));
    CHECK(kb_model_get_info(model, &info) == KB_OK);
    CHECK(detect_keypoints(&view, &detect, NULL, kb::as_keypoints(keypoints), 500, &n, nullptr) == KB_OK);
    keypoints.resize(n);
    rows.create(static_cast<int>(n), info.row_floats ? info.row_floats : info.row_bytes, info.row_floats ? CV_32F : CV_8U);
    const kb_keypoint *points = kb::as_keypoints(keypoints);
    if (info.row_floats)
        CHECK(describe_keypoints_float(model, &view, points, n, &describe, NULL, rows.ptr<float>(), NULL) == KB_OK);
    else CHECK(describe_keypoints(model, &view, points, n, &describe, NULL, rows.data, NULL) == KB_OK);
    kb_model_free(model);
}

static void test_rows_are_those_of_the_c_api()
{
    cv::Mat image = scene(320, 240, 1), inside = scene(400, 300, 1)(cv::Rect(40, 30, 320, 240));
    const char *const names[] = {"bad256", "bag256", "hashsift256", "sift"};
    for (int i = 0; i < 8; i++) {
        kb_detector detector = i & 1 ? KB_DETECTOR_SIFT : KB_DETECTOR_ORB;
        const cv::Mat &pixels = i & 2 ? inside : image; /* rows with gaps */
        Keypoints want, got, alone;
        cv::Mat want_rows, rows, again;
        by_c_api(names[i / 2], detector, pixels, want, want_rows);
        cv::Ptr<cv::Feature2D> features = kb::Features::create(names[i / 2], 500, detector);
        features->detectAndCompute(pixels, cv::noArray(), got, rows);
        CHECK(got.size() > 50 && same_keypoints(got, want) && same_rows(rows, want_rows));
        CHECK(rows.cols == features->descriptorSize() && rows.type() == features->descriptorType());
        CHECK(features->defaultNorm() == (i / 2 == 3 ? cv::NORM_L2 : cv::NORM_HAMMING));
        features->detect(pixels, alone);
        CHECK(same_keypoints(alone, want));
        features->compute(pixels, alone, again);
        CHECK(same_keypoints(alone, want) && same_rows(again, want_rows));
    }
}

static void test_inputs_and_masks()
{
    cv::Mat image = scene(320, 240, 2), colour, rows, other, mask = cv::Mat::zeros(image.size(), CV_8U);
    Keypoints keypoints, others;
    cv::Ptr<kb::Features> features = kb::Features::create("bad256", 300);
    features->detectAndCompute(image, cv::noArray(), keypoints, rows);

    cv::merge(std::vector<cv::Mat>(3, image), colour);
    features->detectAndCompute(colour, cv::noArray(), others, other);
    CHECK(same_keypoints(keypoints, others) && same_rows(rows, other));
    cv::UMat upixels, urows;
    image.copyTo(upixels);
    features->detectAndCompute(upixels, cv::noArray(), others, urows);
    CHECK(same_keypoints(keypoints, others) && same_rows(rows, urows.getMat(cv::ACCESS_READ)));
    image.convertTo(other, CV_16U, 257);
    features->detectAndCompute(other, cv::noArray(), others, other);
    CHECK(same_keypoints(keypoints, others) && same_rows(rows, other));

    mask.colRange(0, 160).setTo(255);
    features->detect(image, others, mask);
    CHECK(others.size() > 20);
    for (std::size_t i = 0; i < others.size(); i++) CHECK(others[i].pt.x < 160 + others[i].size / 31);
    features->detect(cv::Mat(), others);
    CHECK(others.empty());
    std::vector<cv::Mat> images(2, image), many_rows;
    std::vector<Keypoints> many;
    features->detect(images, many);
    features->compute(images, many, many_rows);
    CHECK(many.size() == 2 && same_keypoints(many[1], keypoints) && same_rows(many_rows[1], rows));

    CHECK(has(thrown([&] { features->detect(image, others, mask.rowRange(0, 9)); }), "as large as its image"));
    CHECK(has(thrown([&] { features->detect(cv::Mat(9, 9, CV_32F), others); }), "8 or 16 bits"));
    CHECK(has(thrown([&] { kb::Features::create("nobody"); }), "model \"nobody\""));
    CHECK(has(thrown([&] { kb::Features::create("nowhere.kbm"); }), "cannot open nowhere.kbm"));
    features->options().levels = 99;
    CHECK(has(thrown([&] { features->detect(image, others); }), "kb_detect"));
}

static void test_keypoints_without_a_region_are_removed()
{
    cv::Mat image = scene(200, 200, 3), rows, kept;
    cv::Ptr<cv::Feature2D> features = kb::Features::create("bag256");
    Keypoints keypoints, given;
    features->detectAndCompute(image, cv::noArray(), keypoints, rows);
    CHECK(keypoints.size() > 10);
    given = keypoints;
    given[2].pt.x = -50;
    given[5].pt.y = NAN;
    features->compute(image, given, kept);
    CHECK(given.size() == keypoints.size() - 2 && kept.rows == rows.rows - 2);
    CHECK(same_rows(kept.row(2), rows.row(3)) && same_rows(kept.row(4), rows.row(6)));
    CHECK(given[2].pt == keypoints[3].pt);
}

/* Rows of a larger matrix of the caller are filled. */
static void test_descriptors_are_filled()
{
    cv::Mat image = scene(200, 200, 3), rows;
    cv::Ptr<cv::Feature2D> features = kb::Features::create("bag256", 50);
    Keypoints keypoints, again;
    features->detectAndCompute(image, cv::noArray(), keypoints, rows);
    cv::Mat all(2 * rows.rows, 40, CV_8U, cv::Scalar(7));
    cv::Mat part = all(cv::Rect(4, rows.rows, 32, rows.rows));
    features->detectAndCompute(image, cv::noArray(), again, part);
    CHECK(same_rows(all(cv::Rect(4, rows.rows, 32, rows.rows)), rows) && all.at<uint8_t>(rows.rows, 3) == 7);
    part.setTo(0);
    features->compute(image, again, part);
    CHECK(same_rows(all(cv::Rect(4, rows.rows, 32, rows.rows)), rows) && all.at<uint8_t>(rows.rows, 36) == 7);
}

/* A size too small for a region is none: the keypoint is described as the detector's own on the image itself. */
static void test_keypoints_without_a_size()
{
    cv::Mat image = scene(300, 200, 5), rows, usual;
    cv::Ptr<kb::Features> features = kb::Features::create("bag256");
    Keypoints points, sized;
    for (int i = 0; i < 20; i++) {
        points.push_back(cv::KeyPoint(40.f + 10 * static_cast<float>(i), 90, 1));
        sized.push_back(cv::KeyPoint(points.back().pt, 31));
    }
    features->compute(image, points, rows);
    features->compute(image, sized, usual);
    CHECK(same_rows(rows, usual) && points.size() == 20 && points[3].size == 1);
    features->setScale(10);
    features->compute(image, points, rows);
    CHECK(!same_rows(rows, usual));
}

static void test_parameters()
{
    cv::Ptr<kb::Features> features = kb::Features::create("bad256"), other = kb::Features::create();
    CHECK(features->getMaxFeatures() == 2000);
    features->setMaxFeatures(123);
    features->options().detector = KB_DETECTOR_ORB;
    features->options().fast_threshold = 33;
    features->options().level_factor = 1.5f;
    features->setScale(2.5f);
    cv::FileStorage out(".yml", cv::FileStorage::WRITE | cv::FileStorage::MEMORY);
    features->write(out);
    cv::FileStorage in(out.releaseAndGetString(), cv::FileStorage::READ | cv::FileStorage::MEMORY);
    other->read(in.root());
    CHECK(other->getMaxFeatures() == 123 && other->getScale() == 2.5f && other->model().source() == "bad256");
    CHECK(std::memcmp(&other->options(), &features->options(), sizeof(kb_detect_options)) == 0);
    cv::Mat image = scene(200, 200, 3), a, b;
    Keypoints k, l;
    features->detectAndCompute(image, cv::noArray(), k, a);
    other->detectAndCompute(image, cv::noArray(), l, b);
    CHECK(k.size() == 123 && same_keypoints(k, l) && same_rows(a, b));
    cv::FileStorage bad("%YAML:1.0\nmodel: bad256\nlevels: 99\n", cv::FileStorage::READ | cv::FileStorage::MEMORY);
    CHECK(has(thrown([&] { other->read(bad.root()); }), "levels") && other->getMaxFeatures() == 123);
}

static bool same_lists(const Lists &a, const Lists &b)
{
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); i++) {
        if (a[i].size() != b[i].size()) return false;
        for (std::size_t m = 0; m < a[i].size(); m++)
            if (a[i][m].trainIdx != b[i][m].trainIdx || a[i][m].imgIdx != b[i][m].imgIdx ||
                a[i][m].queryIdx != b[i][m].queryIdx || std::fabs(a[i][m].distance - b[i][m].distance) > 1e-4f)
                return false;
    }
    return true;
}

/* Against OpenCV's own exhaustive matcher. */
static void test_matcher_is_opencvs_exhaustive_one(int type, int norm)
{
    cv::Mat query(150, 32, type), train(220, 32, type), more(130, 32, type), mask(150, 220, CV_8U);
    cv::RNG random(7);
    random.fill(query, cv::RNG::UNIFORM, 0, 256);
    random.fill(train, cv::RNG::UNIFORM, 0, 256);
    random.fill(more, cv::RNG::UNIFORM, 0, 256);
    random.fill(mask, cv::RNG::UNIFORM, 0, 2);
    cv::Ptr<cv::DescriptorMatcher> mine = kb::Matcher::create(), theirs = cv::BFMatcher::create(norm);
    std::vector<cv::Mat> masks;
    masks.push_back(mask);
    masks.push_back(cv::Mat(150, 130, CV_8U, cv::Scalar(1)));
    Lists a, b;
    for (int k = 1; k <= 5; k += k == 2 ? 3 : 1) {
        mine->knnMatch(query, train, a, k);
        b.clear(); /* they append */
        theirs->knnMatch(query, train, b, k);
        CHECK(same_lists(a, b));
        mine->knnMatch(query, train, a, k, mask);
        b.clear();
        theirs->knnMatch(query, train, b, k, mask);
        CHECK(same_lists(a, b));
    }
    std::vector<cv::DMatch> single, other;
    mine->match(query, train, single);
    theirs->match(query, train, other);
    CHECK(same_lists(Lists(1, single), Lists(1, other)));
    float radius = other[other.size() / 2].distance + 0.001f;
    mine->radiusMatch(query, train, a, radius);
    b.clear();
    theirs->radiusMatch(query, train, b, radius);
    for (std::size_t i = 0; i < a.size(); i++) CHECK(a[i].size() == b[i].size());
    mine->radiusMatch(query, train, a, radius, mask);
    b.clear();
    theirs->radiusMatch(query, train, b, radius, mask);
    for (std::size_t i = 0; i < a.size(); i++) CHECK(a[i].size() == b[i].size());
    mine->radiusMatch(query, train, a, FLT_MAX, mask);
    for (std::size_t i = 0; i < a.size(); i++)
        CHECK(static_cast<int>(a[i].size()) == cv::countNonZero(mask.row(static_cast<int>(i))));
    mine->radiusMatch(query, train, a, radius, cv::noArray(), true);
    b.clear();
    theirs->radiusMatch(query, train, b, radius, cv::noArray(), true);
    CHECK(a.size() == b.size() && !a[0].empty() && a.back().empty());
    for (std::size_t i = 0; i < a.size(); i++)
        CHECK(a[i].size() == b[i].size() && (a[i].empty() || a[i][0].queryIdx == b[i][0].queryIdx));

    std::vector<cv::Mat> sets;
    sets.push_back(train);
    sets.push_back(more);
    mine->add(sets);
    theirs->add(sets);
    cv::Ptr<cv::DescriptorMatcher> copy = mine->clone();
    copy->knnMatch(query, a, 2);
    b.clear();
    theirs->knnMatch(query, b, 2);
    CHECK(same_lists(a, b));
    mine->knnMatch(query, a, 2, masks);
    b.clear();
    theirs->knnMatch(query, b, 2, masks);
    CHECK(same_lists(a, b));
    CHECK(mine->clone(true)->empty() && !copy->empty());

    mine = kb::Matcher::create(true);
    theirs = cv::BFMatcher::create(norm, true);
    mine->match(query, train, single);
    theirs->match(query, train, other);
    CHECK(!single.empty() && single.size() < 150 && same_lists(Lists(1, single), Lists(1, other)));
    mine->match(query, train, other, cv::Mat(150, 220, CV_8U, cv::Scalar(1)));
    CHECK(same_lists(Lists(1, single), Lists(1, other)));
}

static void test_matcher_edges()
{
    cv::Mat query(3, 32, CV_8U, cv::Scalar(3)), train(4, 32, CV_8U, cv::Scalar(5));
    query.row(1).setTo(0);
    train.row(0).setTo(0);
    cv::Ptr<kb::Matcher> matcher = kb::Matcher::create();
    Lists lists;
    matcher->knnMatch(query, train, lists, 2);
    CHECK(lists.size() == 3 && lists[1].empty() && lists[0].size() == 2 && lists[0][0].trainIdx == 1);
    matcher->knnMatch(query, train, lists, 2, cv::noArray(), true);
    CHECK(lists.size() == 2);
    matcher->radiusMatch(query, train, lists, 1000);
    CHECK(lists[0].size() == 3 && lists[1].empty());
    cv::Mat allowed(3, 4, CV_8U, cv::Scalar(1)), floats, train_floats;
    matcher->knnMatch(query, train, lists, 4, allowed);
    CHECK(lists[0].size() == 3 && lists[1].empty());
    query.convertTo(floats, CV_32F);
    train.convertTo(train_floats, CV_32F);
    matcher->knnMatch(floats, train_floats, lists, 4);
    CHECK(lists[0].size() == 3 && lists[1].empty());
    CHECK(!thrown([&] { matcher->knnMatch(query, train, lists, 1, cv::Mat(2, 4, CV_8U, cv::Scalar(1))); }).empty());
    CHECK(has(thrown([&] { matcher->knnMatch(query, train.colRange(0, 16), lists, 1); }), "different length"));
    CHECK(has(thrown([&] { matcher->knnMatch(cv::Mat(2, 2, CV_64F), cv::Mat(2, 2, CV_64F), lists, 1); }), "CV_8U or"));
    CHECK(has(thrown([&] { kb::Matcher::create(true)->knnMatch(query, train, lists, 2); }), "k is not 1"));
}

/* As docs/slam.md tells users of ORB-SLAM to do, whose headers also declare the class beforehand. */
namespace ORB_SLAM3 {
class ORBextractor;
class ORBextractor : public kb::OrbSlamExtractor {
public:
    using kb::OrbSlamExtractor::OrbSlamExtractor;
};
} // namespace ORB_SLAM3

static void test_orb_slam_extractor()
{
    cv::Mat image = scene(640, 480, 4), rows, two;
    Keypoints keypoints, others;
    ORB_SLAM3::ORBextractor extractor(700, 1.2f, 8, 20, 7);
    std::vector<int> lapping(2);
    CHECK(extractor.thresholdLow() > 0 && extractor.thresholdLow() < extractor.thresholdHigh());
    CHECK(extractor.GetLevels() == 8 && extractor.GetScaleFactor() == 1.2f);
    CHECK(std::fabs(extractor.GetScaleFactors()[3] - 1.728f) < 1e-5f);
    CHECK(std::fabs(extractor.GetInverseScaleFactors()[2] * 1.44f - 1) < 1e-5f);
    CHECK(std::fabs(extractor.GetScaleSigmaSquares()[2] - 1.44f * 1.44f) < 1e-5f);
    CHECK(std::fabs(extractor.GetInverseScaleSigmaSquares()[1] * 1.44f - 1) < 1e-5f);

    lapping[0] = 300;
    lapping[1] = 500;
    int mono = extractor(image, cv::noArray(), keypoints, rows, lapping);
    CHECK(keypoints.size() == 700 && rows.rows == 700 && rows.cols == 32 && rows.type() == CV_8U);
    CHECK(mono > 100 && mono < 600);
    bool coarse = false;
    for (int i = 0; i < 700; i++) {
        const cv::KeyPoint &k = keypoints[static_cast<std::size_t>(i)];
        bool laps = k.pt.x >= 300 && k.pt.x <= 500;
        CHECK(laps == (i >= mono));
        CHECK(k.octave >= 0 && k.octave < 8 && k.angle >= 0 && k.angle < 360.001f);
        CHECK(std::fabs(k.size - 31 * extractor.GetScaleFactors()[static_cast<std::size_t>(k.octave)]) < 0.01f);
        coarse = coarse || k.octave > 3;
        /* their stereo code reads 11 pixels to each side in the level's image */
        const cv::Mat &level = extractor.mvImagePyramid[static_cast<std::size_t>(k.octave)];
        float inverse = extractor.GetInverseScaleFactors()[static_cast<std::size_t>(k.octave)];
        CHECK(cv::Rect(11, 11, level.cols - 22, level.rows - 22).contains(cv::Point2f(k.pt.x * inverse, k.pt.y * inverse)));
    }
    CHECK(coarse);
    CHECK(extractor.mvImagePyramid.size() == 8 && extractor.mvImagePyramid[0].size() == image.size());
    CHECK(extractor.mvImagePyramid[7].cols == cvRound(640 / std::pow(1.2, 7)));

    /* The rows belong to their keypoints. */
    kb::Features::create("bag256")->compute(image, keypoints, two);
    CHECK(same_rows(rows, two));
    extractor(image, cv::noArray(), others, two);
    CHECK(others.size() == 700);
    CHECK(extractor(cv::Mat(), cv::noArray(), others, two, lapping) == -1);
    CHECK(extractor(cv::Mat::zeros(480, 640, CV_8U), cv::noArray(), others, two, lapping) == 0 && others.empty());
    CHECK(has(thrown([] { kb::OrbSlamExtractor(700, 1.2f, 8, 20, 7, "bag512"); }), "256 bits"));
    CHECK(has(thrown([] { kb::OrbSlamExtractor(700, 1.2f, 0, 20, 7); }), "one level"));
}

/* The levels are those that the library searches, and stay when the next frame comes. */
static void test_pyramid_of_the_extractor()
{
    cv::Mat image = scene(640, 480, 5), other = scene(640, 480, 6), deep, rows;
    Keypoints keypoints;
    kb::OrbSlamExtractor extractor(500, 1.2f, 8, 20, 7);
    extractor(image, cv::noArray(), keypoints, rows);
    std::vector<cv::Mat> kept = extractor.mvImagePyramid;

    kb_image view = {image.data, 640, 480, static_cast<std::ptrdiff_t>(image.step[0]), KB_FORMAT_GRAY8, 0};
    kb_detect_options options;
    kb_pyramid pyramid;
    std::size_t size = 0;
    KB_INIT(options);
    KB_INIT(pyramid);
    options.levels = 8;
    options.level_factor = 1.2f;
    kb_pyramid_build(&view, &options, NULL, NULL, 0, NULL, &size);
    std::vector<uchar> memory(size);
    CHECK(kb_pyramid_build(&view, &options, NULL, memory.data(), size, &pyramid, &size) == KB_OK && pyramid.levels == 8);
    image.convertTo(deep, CV_16U, 257);
    extractor(deep, cv::noArray(), keypoints, rows);
    std::vector<cv::Mat> sixteen = extractor.mvImagePyramid;
    extractor(other, cv::noArray(), keypoints, rows);
    for (std::size_t i = 0; i < 8; i++) {
        const kb_image &level = pyramid.level[i];
        cv::Mat expected(level.height, level.width, CV_8U, const_cast<void *>(level.data),
                         static_cast<std::size_t>(level.stride));
        CHECK(same_rows(kept[i], expected) && same_rows(sixteen[i], expected));
        CHECK(!same_rows(kept[i], extractor.mvImagePyramid[i]));
    }
    extractor(image(cv::Rect(0, 0, 100, 80)), cv::noArray(), keypoints, rows);
    CHECK(extractor.mvImagePyramid[0].cols == 100 && extractor.mvImagePyramid[0].data != image.data);
    CHECK(extractor.mvImagePyramid[1].empty() && extractor.mvImagePyramid.size() == 8);
}

/* A corner too weak for the first threshold is found by the second. */
static void test_upright_rows_of_the_extractor()
{
    cv::Mat image = scene(400, 300, 9), oriented, upright;
    Keypoints k, l;
    ORB_SLAM3::ORBextractor extractor(300, 1.2f, 8, 20, 7);
    extractor(image, cv::Mat(), k, oriented);
    extractor.options().orientation = KB_ORIENTATION_NONE;
    extractor(image, cv::Mat(), l, upright);
    CHECK(k.size() == l.size() && k[0].pt == l[0].pt && k[0].angle >= 0 && l[0].angle < 0);
    CHECK(!same_rows(oriented, upright));
}

static void test_weak_corners_by_the_second_threshold()
{
    cv::Mat image(240, 320, CV_8U, cv::Scalar(100)), rows;
    for (int y = 40; y < 200; y += 24)
        for (int x = 40; x < 280; x += 24) cv::rectangle(image, cv::Rect(x, y, 10, 10), cv::Scalar(112), cv::FILLED);
    Keypoints keypoints;
    std::vector<int> lapping;
    kb::OrbSlamExtractor strict(500, 1.2f, 8, 20, 20), lenient(500, 1.2f, 8, 20, 7);
    strict(image, cv::noArray(), keypoints, rows, lapping);
    CHECK(keypoints.empty());
    lenient(image, cv::noArray(), keypoints, rows, lapping);
    CHECK(keypoints.size() > 50);
}

/* The lines of docs/slam.md for stella_vslam, whose levels have keypoints in their own pixels and rows of a matrix. */
static void test_level_of_stella_vslam()
{
    cv::Mat image = scene(320, 240, 9), all(40, 32, CV_8U, cv::Scalar(0)), expected;
    const float scale_factor = 1.44f;
    Keypoints keypts_at_level;
    for (int i = 0; i < 20; i++) {
        const float step = 10 * static_cast<float>(i);
        keypts_at_level.push_back(cv::KeyPoint((40 + step) / scale_factor, 60, 31 * scale_factor, step));
    }
    cv::Mat descriptors_at_level = all.rowRange(10, 30);
    kb::Model model("bag256");

    Keypoints there = keypts_at_level;
    for (cv::KeyPoint &keypt : there) keypt.pt *= scale_factor;
    kb::GrayImage whole(image);
    kb_features features = kb::features_of(descriptors_at_level);
    features.keypoints = kb::as_keypoints(there);
    features.detector = KB_DETECTOR_ORB; /* whose sizes these are */
    kb_error error;
    kb::check(kb_describe(model.get(), whole.view(), NULL, NULL, &features, &error), "kb_describe", error);

    kb::Features::create("bag256")->compute(image, there, expected);
    CHECK(same_rows(descriptors_at_level, expected));
    CHECK(cv::countNonZero(all.rowRange(0, 10)) == 0 && cv::countNonZero(all.rowRange(30, 40)) == 0);
}

#ifdef KEYBITS_HAVE_STITCHING
/* Clean pairs of a panorama have a confidence that OpenCV's own matcher drops; the same picture twice is dropped by both. */
static void test_panorama()
{
    cv::Mat wide = scene(900, 400, 11), colour, panorama;
    cv::cvtColor(wide, colour, cv::COLOR_GRAY2BGR);
    std::vector<cv::Mat> images;
    for (int x = 0; x <= 500; x += 250) images.push_back(colour(cv::Rect(x, 0, 400, 400)).clone());
    std::vector<cv::detail::ImageFeatures> features(4);
    cv::Ptr<kb::Features> finder = kb::Features::create("bag256", 2000);
    images.push_back(images[0].clone());
    for (std::size_t i = 0; i < images.size(); i++) {
        cv::detail::computeImageFeatures(finder, images[i], features[i]);
        features[i].img_idx = static_cast<int>(i);
    }
    std::vector<cv::detail::MatchesInfo> mine, theirs;
    kb::PanoramaMatcher matcher;
    matcher(features, mine);
    cv::detail::BestOf2NearestMatcher opencv(false, 0.3f);
    opencv(features, theirs);
    CHECK(mine[1].confidence > 1 && mine[6].confidence > 1 && mine[3].confidence == 0);
    CHECK(theirs[1].confidence == 0 && theirs[3].confidence == 0);
}
#endif

int main()
{
    cv::ocl::setUseOpenCL(false);
    for (int threads = 1; threads <= 3; threads += 2) {
        cv::setNumThreads(threads);
        test_rows_are_those_of_the_c_api();
        test_inputs_and_masks();
        test_keypoints_without_a_region_are_removed();
        test_descriptors_are_filled();
        test_keypoints_without_a_size();
        test_parameters();
        test_matcher_is_opencvs_exhaustive_one(CV_8U, cv::NORM_HAMMING);
        test_matcher_is_opencvs_exhaustive_one(CV_32F, cv::NORM_L2);
        test_matcher_edges();
        test_orb_slam_extractor();
        test_pyramid_of_the_extractor();
        test_upright_rows_of_the_extractor();
        test_weak_corners_by_the_second_threshold();
        test_level_of_stella_vslam();
    }
#ifdef KEYBITS_HAVE_STITCHING
    test_panorama();
#endif
    std::printf("all is well with OpenCV %s\n", CV_VERSION);
    return 0;
}
