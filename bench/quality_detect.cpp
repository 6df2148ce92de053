/* SPDX-License-Identifier: Apache-2.0 */
/* Our detectors side by side with OpenCV's on image sets with known homographies (Oxford's layout: SCENE/img1.png to
 * img6.png, SCENE/H1to2p.xml to H1to6p.xml). One thread on both sides.
 *
 *   repeatability  of the keypoints of image 1 whose place lies inside image k, the share that has a keypoint of
 *                  image k within 3 px of that place, whatever its size; mean over the pairs.
 *   precision      of the mutual nearest neighbours of the keypoints' descriptors, the share within 3 px; mean over
 *                  the pairs. The descriptor is OpenCV's: ORB's for hessian and orb, SIFT's for sift.
 *   correct        such matches per pair, mean.
 *   ms             CPU time of detection in one image, mean over the images of the best of some runs; CPU time, since
 *                  it suffers less than the clock from whatever else the machine does.
 */
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <time.h>
#include <vector>

#include <opencv2/core.hpp>
#include <opencv2/features2d.hpp>
#include <opencv2/imgcodecs.hpp>

#include "keybits/advanced.h"
#include "../tests/arrays.h"

namespace {

const double tolerance = 3;

using Keypoints = std::vector<cv::KeyPoint>;
using Detector = std::function<Keypoints(const cv::Mat &)>;

struct Pair {
    int second; // image, 2 to 6
    cv::Matx33d h;
};

struct Scene {
    std::string name;
    std::vector<cv::Mat> images;
    std::vector<Pair> pairs;
};

struct Score {
    double repeatability = 0, precision = 0, correct = 0, keypoints = 0, ms = 0;
    int pairs = 0, images = 0;

    void add(const Score &s)
    {
        repeatability += s.repeatability;
        precision += s.precision;
        correct += s.correct;
        keypoints += s.keypoints;
        ms += s.ms;
        pairs += s.pairs;
        images += s.images;
    }
    void print(const std::string &scene, const std::string &detector) const
    {
        int p = std::max(pairs, 1), i = std::max(images, 1);
        std::printf("%-10s %-10s %9.0f %14.2f %10.2f %9.1f %9.2f\n", scene.c_str(), detector.c_str(), keypoints / i,
                    100 * repeatability / p, 100 * precision / p, correct / p, ms / i);
    }
};

cv::Point2d apply(const cv::Matx33d &h, cv::Point2f p)
{
    cv::Vec3d q = h * cv::Vec3d(p.x, p.y, 1);
    return {q[0] / q[2], q[1] / q[2]};
}

bool inside(const cv::Mat &image, cv::Point2d p)
{
    return p.x >= 0 && p.y >= 0 && p.x <= image.cols - 1 && p.y <= image.rows - 1;
}

double repeatability(const Keypoints &first, const Keypoints &second, const cv::Mat &image2, const cv::Matx33d &h)
{
    size_t common = 0, repeated = 0;
    for (const cv::KeyPoint &k : first) {
        cv::Point2d p = apply(h, k.pt);
        if (!inside(image2, p)) continue;
        common++;
        for (const cv::KeyPoint &other : second) {
            if (std::hypot(other.pt.x - p.x, other.pt.y - p.y) > tolerance) continue;
            repeated++;
            break;
        }
    }
    return common ? (double)repeated / (double)common : 0;
}

struct Described {
    Keypoints keypoints;
    cv::Mat rows;
};

Described describe(cv::Feature2D &descriptor, const cv::Mat &image, Keypoints keypoints)
{
    Described d;
    d.keypoints = std::move(keypoints);
    descriptor.compute(image, d.keypoints, d.rows);
    return d;
}

/* Mutual matches within the tolerance, and all of them. */
std::pair<size_t, size_t> count_matches(const Described &first, const Described &second, const cv::Matx33d &h, int norm)
{
    std::vector<cv::DMatch> matches;
    if (!first.rows.empty() && !second.rows.empty())
        cv::BFMatcher(norm, true).match(first.rows, second.rows, matches);
    size_t good = 0;
    for (const cv::DMatch &m : matches) {
        cv::Point2d p = apply(h, first.keypoints[(size_t)m.queryIdx].pt);
        cv::Point2f q = second.keypoints[(size_t)m.trainIdx].pt;
        good += std::hypot(q.x - p.x, q.y - p.y) <= tolerance;
    }
    return {good, matches.size()};
}

double cpu_ms()
{
    timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

Keypoints timed(const Detector &detect, const cv::Mat &image, int runs, double &ms)
{
    Keypoints found;
    double best = 1e30;
    for (int i = 0; i < runs; i++) {
        double start = cpu_ms();
        found = detect(image);
        best = std::min(best, cpu_ms() - start);
    }
    ms += best;
    return found;
}

Score measure(const Scene &scene, const Detector &detect, cv::Feature2D &descriptor, int runs)
{
    Score score;
    std::vector<Keypoints> found;
    std::vector<Described> described;
    for (const cv::Mat &image : scene.images) {
        found.push_back(timed(detect, image, runs, score.ms));
        described.push_back(describe(descriptor, image, found.back()));
        score.keypoints += (double)found.back().size();
        score.images++;
    }
    for (const Pair &pair : scene.pairs) {
        size_t k = (size_t)pair.second - 1;
        score.repeatability += repeatability(found[0], found[k], scene.images[k], pair.h);
        auto [good, all] = count_matches(described[0], described[k], pair.h, descriptor.defaultNorm());
        score.precision += all ? (double)good / (double)all : 0;
        score.correct += (double)good;
        score.pairs++;
    }
    return score;
}

bool read_homography(const std::string &path, cv::Matx33d &h)
{
    cv::FileStorage file(path, cv::FileStorage::READ);
    if (!file.isOpened()) return false;
    cv::Mat m;
    file.getFirstTopLevelNode() >> m;
    if (m.rows != 3 || m.cols != 3) return false;
    m.convertTo(m, CV_64F);
    h = cv::Matx33d(m);
    return true;
}

std::vector<Scene> read_scenes(const std::string &folder)
{
    std::vector<Scene> scenes;
    std::vector<std::string> names;
    for (const auto &entry : std::filesystem::directory_iterator(folder))
        if (entry.is_directory()) names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    for (const std::string &name : names) {
        Scene scene{name, {}, {}};
        for (int i = 1; i <= 6; i++) {
            std::string base = folder + "/" + name + "/";
            cv::Mat image = cv::imread(base + "img" + std::to_string(i) + ".png", cv::IMREAD_GRAYSCALE);
            cv::Matx33d h;
            if (image.empty() || (i > 1 && !read_homography(base + "H1to" + std::to_string(i) + "p.xml", h))) break;
            scene.images.push_back(image);
            if (i > 1) scene.pairs.push_back({i, h});
        }
        if (!scene.pairs.empty()) scenes.push_back(scene);
    }
    return scenes;
}

/* Our detector behind the same face as OpenCV's; keypoints have the same layout. */
Detector ours(kb_detector which, int n, kb_workspace *workspace)
{
    return [=](const cv::Mat &image) {
        static_assert(sizeof(cv::KeyPoint) == sizeof(kb_keypoint), "the same seven fields");
        kb_image view = {image.data, image.cols, image.rows, (ptrdiff_t)image.step, KB_FORMAT_GRAY8, 0};
        kb_detect_options options;
        KB_INIT(options);
        options.detector = which;
        options.max_keypoints = n;
        Keypoints found((size_t)n);
        size_t count = 0;
        auto *keypoints = reinterpret_cast<kb_keypoint *>(found.data());
        kb_status status = detect_keypoints(&view, &options, workspace, keypoints, found.size(), &count, nullptr);
        if (status != KB_OK) std::fprintf(stderr, "kb_detect: %s\n", kb_status_string(status));
        found.resize(count);
        return found;
    };
}

Detector theirs(cv::Ptr<cv::Feature2D> detector)
{
    return [detector](const cv::Mat &image) {
        Keypoints found;
        detector->detect(image, found);
        return found;
    };
}

} // namespace

int main(int argc, char **argv)
{
    if (argc < 2 || argc > 4) {
        std::fprintf(stderr, "usage: quality_detect FOLDER [KEYPOINTS = 2000] [RUNS = 3]\n");
        return 2;
    }
    int n = argc > 2 ? std::atoi(argv[2]) : 2000, runs = argc > 3 ? std::atoi(argv[3]) : 3;
    if (n < 1 || n > 1000000 || runs < 1) {
        std::fprintf(stderr, "quality_detect: KEYPOINTS must be 1 to 1000000 and RUNS 1 or more\n");
        return 2;
    }
    if (!std::filesystem::is_directory(argv[1])) {
        std::fprintf(stderr, "quality_detect: no folder %s\n", argv[1]);
        return 1;
    }
    std::vector<Scene> scenes = read_scenes(argv[1]);
    if (scenes.empty()) {
        std::fprintf(stderr, "quality_detect: no scenes with img1.png and H1to2p.xml in %s\n", argv[1]);
        return 1;
    }
    cv::setNumThreads(1);
    kb_workspace *workspace = nullptr;
    if (kb_workspace_create(NULL, &workspace) != KB_OK) return 1;
    cv::Ptr<cv::Feature2D> orb = cv::ORB::create(n), sift = cv::SIFT::create(n);
    struct Row {
        const char *name;
        Detector detect;
        cv::Ptr<cv::Feature2D> descriptor;
        Score total;
    } rows[] = {{"hessian", ours(KB_DETECTOR_HESSIAN, n, workspace), orb, {}},
                {"orb", ours(KB_DETECTOR_ORB, n, workspace), orb, {}},
                {"cv::ORB", theirs(orb), orb, {}},
                {"sift", ours(KB_DETECTOR_SIFT, n, workspace), sift, {}},
                {"cv::SIFT", theirs(sift), sift, {}}};

    std::printf("%-10s %-10s %9s %14s %10s %9s %9s\n", "scene", "detector", "keypoints", "repeatability", "precision",
                "correct", "ms");
    for (const Scene &scene : scenes)
        for (Row &row : rows) {
            Score score = measure(scene, row.detect, *row.descriptor, runs);
            score.print(scene.name, row.name);
            row.total.add(score);
        }
    for (Row &row : rows) row.total.print("all", row.name);
    std::printf("time: hessian / cv::ORB %.3f, orb / cv::ORB %.3f, sift / cv::SIFT %.3f\n",
                rows[0].total.ms / rows[2].total.ms, rows[1].total.ms / rows[2].total.ms,
                rows[3].total.ms / rows[4].total.ms);
    kb_workspace_free(workspace);
    return 0;
}
