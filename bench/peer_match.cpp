/* SPDX-License-Identifier: Apache-2.0 */
/* Our matching against OpenCV's BFMatcher on random rows: the same pairs, and the times of both. One thread on both
 * sides. Where several rows are equally near, OpenCV may choose another; such pairs are counted, and must have the
 * same distance. The exit code is 1 when anything else differs. */
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <opencv2/core.hpp>
#include <opencv2/features2d.hpp>

#include "keybits/advanced.h"
#include "../tests/arrays.h"

namespace {

double milliseconds(std::chrono::steady_clock::time_point start)
{
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

/* Half of the rows of b are rows of a with some bits turned over (or noise added), so that there is something to
 * find. */
void fill(cv::Mat &a, cv::Mat &b, cv::RNG &random)
{
    bool floats = a.type() == CV_32F;
    random.fill(a, cv::RNG::UNIFORM, 0, floats ? 1 : 256);
    random.fill(b, cv::RNG::UNIFORM, 0, floats ? 1 : 256);
    for (int i = 0; i < std::min(a.rows, b.rows); i += 2) {
        a.row(i).copyTo(b.row(b.rows - 1 - i));
        for (int k = 0; k < a.cols / 4; k++) {
            int column = random.uniform(0, a.cols);
            if (floats) b.at<float>(b.rows - 1 - i, column) += 0.2f;
            else b.at<uchar>(b.rows - 1 - i, column) ^= (uchar)(1 << random.uniform(0, 8));
        }
    }
}

/* For each row of a the match, or b = -1. */
struct Result {
    std::vector<kb_match> of;
    double ms = 1e30;
};

Result ours(const cv::Mat &a, const cv::Mat &b, bool mutual, kb_workspace *workspace)
{
    Result r;
    std::vector<kb_match> found((size_t)a.rows);
    size_t count = 0;
    kb_match_options o;
    KB_INIT(o);
    o.one_way = !mutual;
    for (int run = 0; run < 3; run++) {
        auto start = std::chrono::steady_clock::now();
        kb_status status = a.type() == CV_32F
                               ? match_floats(a.ptr<float>(), (size_t)a.rows, b.ptr<float>(), (size_t)b.rows,
                                                (size_t)a.cols, &o, workspace, found.data(), &count)
                               : match_rows(a.ptr(), (size_t)a.rows, b.ptr(), (size_t)b.rows, (size_t)a.cols, &o,
                                                  workspace, found.data(), &count);
        r.ms = std::min(r.ms, milliseconds(start));
        if (status != KB_OK) std::exit(1);
    }
    r.of.assign((size_t)a.rows, kb_match{0, -1, 0, 0});
    for (size_t i = 0; i < count; i++) r.of[(size_t)found[i].a] = found[i];
    return r;
}

Result theirs(const cv::Mat &a, const cv::Mat &b, bool mutual)
{
    Result r;
    cv::BFMatcher matcher(a.type() == CV_32F ? cv::NORM_L2 : cv::NORM_HAMMING, mutual);
    std::vector<cv::DMatch> found;
    for (int run = 0; run < 2; run++) {
        auto start = std::chrono::steady_clock::now();
        matcher.match(a, b, found);
        r.ms = std::min(r.ms, milliseconds(start));
    }
    r.of.assign((size_t)a.rows, kb_match{0, -1, 0, 0});
    for (const cv::DMatch &m : found) r.of[(size_t)m.queryIdx] = kb_match{m.queryIdx, m.trainIdx, m.distance, 0};
    return r;
}

/* A pair that only one side has is a tie when the row is as near to several. */
bool tied(const cv::Mat &a, const cv::Mat &b, int i, int j)
{
    int norm = a.type() == CV_32F ? cv::NORM_L2 : cv::NORM_HAMMING;
    double d = cv::norm(a.row(i), b.row(j), norm);
    int near_a = 0, near_b = 0;
    for (int k = 0; k < b.rows; k++) near_a += std::fabs(cv::norm(a.row(i), b.row(k), norm) - d) < 1e-5;
    for (int k = 0; k < a.rows; k++) near_b += std::fabs(cv::norm(a.row(k), b.row(j), norm) - d) < 1e-5;
    return near_a > 1 || near_b > 1;
}

bool compare(const char *name, const cv::Mat &a, const cv::Mat &b, bool mutual, kb_workspace *workspace)
{
    Result k = ours(a, b, mutual, workspace), o = theirs(a, b, mutual);
    int same = 0, ties = 0, wrong = 0;
    for (int i = 0; i < a.rows; i++) {
        const kb_match &p = k.of[(size_t)i], &q = o.of[(size_t)i];
        if (p.b == q.b && (p.b < 0 || std::fabs(p.distance - q.distance) < 1e-4)) same += p.b >= 0;
        else if (tied(a, b, i, std::max(p.b, 0)) || tied(a, b, i, std::max(q.b, 0))) ties++;
        else wrong++;
    }
    std::printf("%-12s %-8s %5d x %-5d same %5d  ties %4d  wrong %d   %8.3f ms, BFMatcher %8.3f ms, ratio %.3f\n", name,
                mutual ? "mutual" : "one way", a.rows, b.rows, same, ties, wrong, k.ms, o.ms, k.ms / o.ms);
    return wrong == 0;
}

} // namespace

int main()
{
    cv::setNumThreads(1);
    cv::RNG random(1);
    kb_workspace *workspace = nullptr;
    if (kb_workspace_create(NULL, &workspace) != KB_OK) return 1;
    bool ok = true;
    const int sizes[][2] = {{1, 1}, {7, 300}, {300, 7}, {500, 451}, {2000, 2000}};
    for (const auto &size : sizes) {
        for (int columns : {32, 64, 20}) {
            cv::Mat a(size[0], columns, CV_8U), b(size[1], columns, CV_8U);
            fill(a, b, random);
            std::string name = std::to_string(8 * columns) + " bits";
            for (bool mutual : {true, false}) ok &= compare(name.c_str(), a, b, mutual, workspace);
        }
        if (size[0] > 1000) continue;
        cv::Mat a(size[0], 128, CV_32F), b(size[1], 128, CV_32F);
        fill(a, b, random);
        for (bool mutual : {true, false}) ok &= compare("128 floats", a, b, mutual, workspace);
    }
    kb_workspace_free(workspace);
    if (!ok) std::fprintf(stderr, "peer_match: pairs differ from OpenCV's\n");
    return ok ? 0 : 1;
}
