/* SPDX-License-Identifier: Apache-2.0 */
/* kb_fit side by side with OpenCV's findHomography on the same matches of image sets with known homographies
 * (Oxford's layout: SCENE/img1.png to img6.png, SCENE/H1to2p.xml to H1to6p.xml). One thread on both sides.
 *
 * Keypoints are ours, or cv::ORB's with --cv; descriptors are those of a built-in model, of a model file, or of a
 * published table of boxes ("x1 y1 x2 y2 r threshold" a line). Mutual nearest neighbours go to every estimator, best
 * first.
 *
 * < 3, < 5 px  the share of the pairs whose corners of image 1 land less than this from their true places, on average
 * ms           an estimate, mean over the pairs of the best of some runs / */
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include <opencv2/calib3d.hpp>
#include <opencv2/core.hpp>
#include <opencv2/features2d.hpp>
#include <opencv2/imgcodecs.hpp>

#include "keybits/advanced.h"
#include "../tests/arrays.h"

namespace {

const double threshold = 3;

/* Matches of one pair of images, best first. */
struct Matches {
    std::vector<kb_point_pair> pairs;
    std::vector<float> quality;
    std::vector<cv::Point2f> first, second; // the same points for OpenCV
};

using Estimate = std::function<bool(const Matches &, cv::Matx33d &)>;

struct Estimator {
    const char *name;
    Estimate estimate;
    int below3 = 0, below5 = 0, none = 0;
    double ms = 0;
};

kb_model *read_table(const std::string &path, kb_sampler sampler)
{
    std::vector<kb_box_pair> boxes;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        std::istringstream in(line);
        int x1, y1, x2, y2, r;
        float t;
        if (!(in >> x1 >> y1 >> x2 >> y2 >> r >> t)) return nullptr;
        boxes.push_back({0, (uint8_t)x1, (uint8_t)y1, (uint8_t)r, 0, (uint8_t)x2, (uint8_t)y2, (uint8_t)r, t});
    }
    kb_model_spec spec;
    KB_INIT(spec);
    spec.kind = KB_KIND_BAD;
    spec.sampler = sampler;
    spec.bits = (int32_t)boxes.size();
    spec.name = "table";
    spec.boxes = boxes.data();
    kb_model *model = nullptr;
    return kb_model_create(&spec, NULL, &model, nullptr) == KB_OK ? model : nullptr;
}

kb_model *open_model(const std::string &name, kb_sampler sampler)
{
    kb_model *model = nullptr;
    if (name.size() > 4 && name.substr(name.size() - 4) == ".txt") return read_table(name, sampler);
    if (kb_model_builtin(name.c_str(), NULL, &model) == KB_OK) return model;
    std::ifstream file(name, std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    return kb_model_load(bytes.data(), bytes.size(), NULL, &model, nullptr) == KB_OK ? model : nullptr;
}

struct Described {
    std::vector<kb_keypoint> keypoints;
    std::vector<uint8_t> rows;
};

std::vector<kb_keypoint> detect(const cv::Mat &image, const kb_image &view, bool opencv)
{
    std::vector<kb_keypoint> found(2000);
    size_t count = 0;
    if (opencv) {
        std::vector<cv::KeyPoint> theirs;
        cv::ORB::create(2000)->detect(image, theirs);
        found.resize(theirs.size());
        std::memcpy(static_cast<void *>(found.data()), theirs.data(), theirs.size() * sizeof(kb_keypoint));
        return found;
    }
    kb_detect_options options;
    KB_INIT(options);
    options.detector = KB_DETECTOR_ORB;
    detect_keypoints(&view, &options, nullptr, found.data(), found.size(), &count, nullptr);
    found.resize(count);
    return found;
}

Described describe(const kb_model *model, const cv::Mat &image, bool opencv)
{
    kb_model_info info;
    KB_INIT(info);
    kb_model_get_info(model, &info);
    kb_image view = {image.data, image.cols, image.rows, (ptrdiff_t)image.step, KB_FORMAT_GRAY8, 0};
    Described d;
    d.keypoints = detect(image, view, opencv);
    d.rows.resize(d.keypoints.size() * (size_t)info.row_bytes + 1);
    describe_keypoints(model, &view, d.keypoints.data(), d.keypoints.size(), nullptr, nullptr, d.rows.data(), nullptr);
    return d;
}

Matches match(const Described &a, const Described &b)
{
    Matches m;
    std::vector<kb_match> found(a.keypoints.size() + 1);
    size_t count = 0, bytes = a.keypoints.empty() ? 1 : a.rows.size() / a.keypoints.size();
    match_rows(a.rows.data(), a.keypoints.size(), b.rows.data(), b.keypoints.size(), bytes, nullptr, nullptr,
                     found.data(), &count);
    found.resize(count);
    std::stable_sort(found.begin(), found.end(),
                     [](const kb_match &x, const kb_match &y) { return x.distance < y.distance; });
    for (const kb_match &f : found) {
        const kb_keypoint &p = a.keypoints[(size_t)f.a], &q = b.keypoints[(size_t)f.b];
        m.pairs.push_back({p.x, p.y, q.x, q.y});
        m.quality.push_back(f.distance);
        m.first.emplace_back(p.x, p.y);
        m.second.emplace_back(q.x, q.y);
    }
    return m;
}

Estimate ours(kb_workspace *workspace, bool plain)
{
    return [=](const Matches &m, cv::Matx33d &h) {
        kb_fit_options options;
        kb_fit_report report;
        KB_INIT(options);
        KB_INIT(report);
        options.threshold = threshold;
        options.quality = m.quality.data();
        options.plain_ransac = plain;
        kb_fit(m.pairs.data(), m.pairs.size(), &options, workspace, nullptr, &report, NULL);
        if (report.result != KB_FIT_FOUND) return false;
        h = cv::Matx33d(report.model);
        return true;
    };
}

Estimate theirs(int method)
{
    return [=](const Matches &m, cv::Matx33d &h) {
        cv::Mat mask;
        if (m.first.size() < 4) return false;
        cv::Mat found = cv::findHomography(m.first, m.second, method, threshold, mask);
        if (found.empty()) return false;
        h = cv::Matx33d(found);
        return true;
    };
}

double corner_error(const cv::Matx33d &a, const cv::Matx33d &b, cv::Size size)
{
    double sum = 0;
    for (int i = 0; i < 4; i++) {
        cv::Vec3d corner(i & 1 ? size.width - 1 : 0, i & 2 ? size.height - 1 : 0, 1), p = a * corner, q = b * corner;
        sum += std::hypot(p[0] / p[2] - q[0] / q[2], p[1] / p[2] - q[1] / q[2]) / 4;
    }
    return sum;
}

double measure(Estimator &e, const Matches &m, const cv::Matx33d &truth, cv::Size size, int runs)
{
    cv::Matx33d h;
    bool found = false;
    double best = 1e30;
    for (int i = 0; i < runs; i++) {
        auto start = std::chrono::steady_clock::now();
        found = e.estimate(m, h);
        best =
            std::min(best, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
    }
    double error = found ? corner_error(h, truth, size) : INFINITY;
    e.below3 += error < 3;
    e.below5 += error < 5;
    e.none += !found;
    e.ms += best;
    return error;
}

cv::Matx33d read_homography(const std::string &path)
{
    cv::FileStorage file(path, cv::FileStorage::READ);
    cv::Mat m;
    if (file.isOpened()) file.getFirstTopLevelNode() >> m;
    if (m.rows != 3 || m.cols != 3) return cv::Matx33d::zeros();
    m.convertTo(m, CV_64F);
    return cv::Matx33d(m);
}

int measure_scene(const std::string &base, const std::string &name, const kb_model *model, bool opencv, int runs,
                  std::vector<Estimator> &estimators)
{
    cv::Mat image = cv::imread(base + "/img1.png", cv::IMREAD_GRAYSCALE);
    if (image.empty()) return 0;
    Described first = describe(model, image, opencv);
    int pairs = 0;
    for (int k = 2; k <= 6; k++) {
        cv::Mat other = cv::imread(base + "/img" + std::to_string(k) + ".png", cv::IMREAD_GRAYSCALE);
        cv::Matx33d truth = read_homography(base + "/H1to" + std::to_string(k) + "p.xml");
        if (other.empty() || truth(2, 2) == 0) continue;
        Matches m = match(first, describe(model, other, opencv));
        std::printf("%-8s 1-%d %6zu", name.c_str(), k, m.pairs.size());
        for (Estimator &e : estimators) {
            double error = measure(e, m, truth, image.size(), runs);
            if (error < 10000) std::printf(" %13.2f", error);
            else std::printf(" %13s", "-");
        }
        std::printf("\n");
        pairs++;
    }
    return pairs;
}

} // namespace

int main(int argc, char **argv)
{
    bool opencv = false;
    kb_sampler sampler = KB_SAMPLER_PATCH;
    std::vector<std::string> arguments;
    for (int i = 1; i < argc; i++) {
        if (std::strcmp(argv[i], "--cv") == 0) opencv = true;
        else if (std::strcmp(argv[i], "--in-image") == 0) sampler = KB_SAMPLER_IMAGE;
        else arguments.push_back(argv[i]);
    }
    if (arguments.size() < 2 || arguments.size() > 3) {
        std::fprintf(stderr, "usage: quality_fit FOLDER MODEL|TABLE.txt [RUNS = 3] [--cv] [--in-image]\n");
        return 2;
    }
    int runs = arguments.size() > 2 ? std::max(1, std::atoi(arguments[2].c_str())) : 3;
    kb_model *model = open_model(arguments[1], sampler);
    kb_workspace *workspace = nullptr;
    if (!model || kb_workspace_create(NULL, &workspace) != KB_OK || !std::filesystem::is_directory(arguments[0])) {
        std::fprintf(stderr, "quality_fit: cannot open %s\n", model ? arguments[0].c_str() : arguments[1].c_str());
        return 1;
    }
    cv::setNumThreads(1);
    std::vector<Estimator> estimators = {{"prosac", ours(workspace, false)},
                                         {"ransac", ours(workspace, true)},
                                         {"USAC_PROSAC", theirs(cv::USAC_PROSAC)},
                                         {"USAC_MAGSAC", theirs(cv::USAC_MAGSAC)},
                                         {"cv::RANSAC", theirs(cv::RANSAC)}};
    std::vector<std::string> names;
    for (const auto &entry : std::filesystem::directory_iterator(arguments[0]))
        if (entry.is_directory()) names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());

    std::printf("corner errors, px\n%-8s     %6s", "pair", "pairs");
    for (const Estimator &e : estimators) std::printf(" %13s", e.name);
    std::printf("\n");
    int pairs = 0;
    for (const std::string &name : names)
        pairs += measure_scene(arguments[0] + "/" + name, name, model, opencv, runs, estimators);
    std::printf("\n%-12s %8s %8s %10s %9s\n", "of all pairs", "< 3 px", "< 5 px", "not found", "ms");
    for (const Estimator &e : estimators)
        std::printf("%-12s %7.1f%% %7.1f%% %10d %9.4f\n", e.name, 100.0 * e.below3 / std::max(pairs, 1),
                    100.0 * e.below5 / std::max(pairs, 1), e.none, e.ms / std::max(pairs, 1));
    kb_workspace_free(workspace);
    kb_model_free(model);
    return 0;
}
