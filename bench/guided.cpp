/* SPDX-License-Identifier: Apache-2.0 */
/* Guided matching against a plain loop of the kind that SLAM systems have: keypoints in the cells of a grid, a list of
 * the candidates of an area, distances word by word with shifts and masks. Both give the same matches, which is checked.
 * Processor time of one thread, the best of many runs.
 *
 *     build/bench/guided */
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <limits>
#include <vector>

#include "keybits/advanced.h"
#include "../tests/arrays.h"

namespace {

enum { WIDTH = 640, HEIGHT = 480, COLUMNS = 64, ROWS = 48, BYTES = 32, LEVELS = 8, BINS = 30, REPEATS = 11 };
const float RATIO = 0.9f, FARTHEST = 80;

struct Frame {
    std::vector<kb_keypoint> keypoints;
    std::vector<uint8_t> rows;
};

uint64_t state = 1;
uint32_t noise()
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<uint32_t>(state >> 32);
}
float uniform(float low, float high) { return low + (high - low) * static_cast<float>(noise() >> 8) / 16777216.0f; }

/* b is a, moved by 6 px or less and turned by 10 degrees, in another order, with an eighth of the bits changed. */
void make_frames(int n, float radius, Frame &a, Frame &b, std::vector<kb_guide> &guides)
{
    a.keypoints.resize(static_cast<std::size_t>(n));
    a.rows.resize(static_cast<std::size_t>(n) * BYTES);
    guides.resize(static_cast<std::size_t>(n));
    b = a;
    for (int i = 0; i < n; i++) {
        std::size_t j = static_cast<std::size_t>((i * 7 + 3) % n), s = static_cast<std::size_t>(i);
        int level = static_cast<int>(noise() % LEVELS);
        kb_keypoint k = {uniform(20, 620), uniform(20, 460), 31, uniform(0, 340), 1, level, -1};
        a.keypoints[s] = k;
        guides[s] = {k.x, k.y, radius, k.angle, level - 1, level + 1, 0, 0, {0, 0}};
        k.x += uniform(-6, 6);
        k.y += uniform(-6, 6);
        k.angle += uniform(8, 12);
        b.keypoints[j] = k;
        for (std::size_t byte = 0; byte < BYTES; byte++) {
            uint8_t value = static_cast<uint8_t>(noise());
            a.rows[s * BYTES + byte] = value;
            b.rows[j * BYTES + byte] = static_cast<uint8_t>(value ^ (noise() & noise() & noise()));
        }
    }
}

/* ---- the plain loop ---- */

int word_distance(const uint8_t *a, const uint8_t *b)
{
    int distance = 0;
    for (int i = 0; i < BYTES / 4; i++) {
        uint32_t x, y;
        std::memcpy(&x, a + 4 * i, 4);
        std::memcpy(&y, b + 4 * i, 4);
        uint32_t v = x ^ y;
        v = v - ((v >> 1) & 0x55555555u);
        v = (v & 0x33333333u) + ((v >> 2) & 0x33333333u);
        distance += static_cast<int>((((v + (v >> 4)) & 0x0f0f0f0fu) * 0x01010101u) >> 24);
    }
    return distance;
}

struct Grid {
    std::vector<std::size_t> cell[COLUMNS][ROWS];
};

int cell_of(float place, int size, int cells)
{
    int cell = static_cast<int>(std::floor(place * static_cast<float>(cells) / static_cast<float>(size)));
    return cell < 0 ? 0 : cell >= cells ? cells - 1 : cell;
}

void fill_grid(const Frame &frame, Grid &grid)
{
    for (auto &column : grid.cell)
        for (auto &cell : column) cell.clear();
    for (std::size_t i = 0; i < frame.keypoints.size(); i++)
        grid.cell[cell_of(frame.keypoints[i].x, WIDTH, COLUMNS)][cell_of(frame.keypoints[i].y, HEIGHT, ROWS)].push_back(i);
}

std::vector<std::size_t> features_in_area(const Frame &frame, const Grid &grid, const kb_guide &g)
{
    std::vector<std::size_t> found;
    found.reserve(frame.keypoints.size());
    for (int x = cell_of(g.x - g.radius, WIDTH, COLUMNS); x <= cell_of(g.x + g.radius, WIDTH, COLUMNS); x++)
        for (int y = cell_of(g.y - g.radius, HEIGHT, ROWS); y <= cell_of(g.y + g.radius, HEIGHT, ROWS); y++)
            for (std::size_t i : grid.cell[x][y]) {
                const kb_keypoint &k = frame.keypoints[i];
                float dx = k.x - g.x, dy = k.y - g.y;
                if (k.octave < g.min_level || k.octave > g.max_level) continue;
                if (dx * dx + dy * dy <= g.radius * g.radius) found.push_back(i);
            }
    return found;
}

struct Choice {
    int index, distance, second;
};

Choice choose(const Frame &a, const Frame &b, const Grid &grid, const kb_guide &guide, std::size_t query)
{
    Choice c = {-1, std::numeric_limits<int>::max(), std::numeric_limits<int>::max()};
    for (std::size_t i : features_in_area(b, grid, guide)) {
        int distance = word_distance(&a.rows[query * BYTES], &b.rows[i * BYTES]);
        bool tie = distance == c.distance && static_cast<int>(i) < c.index;
        if (distance < c.distance || tie) {
            c.second = c.distance;
            c.distance = distance;
            c.index = static_cast<int>(i);
        } else if (distance < c.second) {
            c.second = distance;
        }
    }
    bool lone = c.second == std::numeric_limits<int>::max();
    bool good = c.index >= 0 && static_cast<float>(c.distance) <= FARTHEST &&
                (lone || static_cast<float>(c.distance) < RATIO * static_cast<float>(c.second));
    if (!good) c.index = -1;
    return c;
}

void keep_three_bins(const std::vector<int> (&bins)[BINS], std::vector<int> &match_of)
{
    bool good[BINS] = {};
    std::size_t most = 0;
    for (int k = 0; k < 3; k++) {
        int best = -1;
        for (int i = 0; i < BINS; i++)
            if (!good[i] && (best < 0 || bins[i].size() > bins[best].size())) best = i;
        if (k == 0) most = bins[best].size();
        if (10 * bins[best].size() >= most) good[best] = true;
    }
    for (int i = 0; i < BINS; i++)
        if (!good[i])
            for (int query : bins[i]) match_of[static_cast<std::size_t>(query)] = -1;
}

std::vector<int> plain_match(const Frame &a, const Frame &b, const std::vector<kb_guide> &guides)
{
    static Grid grid;
    std::vector<int> match_of(a.keypoints.size(), -1), distance(a.keypoints.size()), owner(b.keypoints.size(), -1);
    std::vector<int> bins[BINS];
    fill_grid(b, grid);
    for (std::size_t i = 0; i < guides.size(); i++) {
        Choice c = choose(a, b, grid, guides[i], i);
        if (c.index < 0) continue;
        int &before = owner[static_cast<std::size_t>(c.index)];
        if (before >= 0 && distance[static_cast<std::size_t>(before)] <= c.distance) continue;
        if (before >= 0) match_of[static_cast<std::size_t>(before)] = -1;
        before = static_cast<int>(i);
        match_of[i] = c.index;
        distance[i] = c.distance;
    }
    for (std::size_t i = 0; i < guides.size(); i++) {
        if (match_of[i] < 0) continue;
        float turn = b.keypoints[static_cast<std::size_t>(match_of[i])].angle - guides[i].angle;
        if (turn < 0) turn += 360;
        bins[static_cast<int>(turn * (BINS / 360.0f) + 0.5f) % BINS].push_back(static_cast<int>(i));
    }
    keep_three_bins(bins, match_of);
    return match_of;
}

/* ---- the library ---- */

std::vector<int> library_match(const Frame &a, const Frame &b, const std::vector<kb_guide> &guides,
                               kb_workspace *workspace)
{
    static std::vector<kb_match> matches;
    std::vector<int> match_of(a.keypoints.size(), -1);
    kb_guided_options options;
    std::size_t count = 0;
    matches.resize(a.keypoints.size());
    KB_INIT(options);
    options.max_ratio = RATIO;
    options.max_distance = FARTHEST;
    if (match_guided(a.rows.data(), guides.data(), guides.size(), b.rows.data(), b.keypoints.data(),
                        b.keypoints.size(), BYTES, &options, workspace, matches.data(), &count) != KB_OK)
        std::exit(1);
    for (std::size_t m = 0; m < count; m++) match_of[static_cast<std::size_t>(matches[m].a)] = matches[m].b;
    return match_of;
}

template <class Body> double best_microseconds(Body body)
{
    double best = 1e30;
    for (int i = 0; i < REPEATS; i++) {
        std::timespec from, to;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
        body();
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
        double took = static_cast<double>(to.tv_sec - from.tv_sec) * 1e6 + static_cast<double>(to.tv_nsec - from.tv_nsec) / 1e3;
        if (took < best) best = took;
    }
    return best;
}

} // namespace

int main()
{
    const int counts[] = {1000, 2000, 2000, 4000, 8000};
    const float radii[] = {15, 15, 40, 40, 100};
    kb_workspace *workspace;
    if (kb_workspace_create(NULL, &workspace) != KB_OK) return 1;
    std::printf("keypoints  radius  candidates  matches  plain us  keybits us  ratio\n");
    for (int c = 0; c < 5; c++) {
        Frame a, b;
        std::vector<kb_guide> guides;
        std::vector<int> plain, ours;
        make_frames(counts[c], radii[c], a, b, guides);
        double plain_time = best_microseconds([&] { plain = plain_match(a, b, guides); });
        double our_time = best_microseconds([&] { ours = library_match(a, b, guides, workspace); });
        if (plain != ours) {
            std::fprintf(stderr, "the matches differ\n");
            return 1;
        }
        Grid grid;
        std::size_t candidates = 0, matched = 0;
        fill_grid(b, grid);
        for (const kb_guide &g : guides) candidates += features_in_area(b, grid, g).size();
        for (int m : ours) matched += m >= 0;
        std::printf("%9d  %6g  %10.1f  %7d  %8.0f  %10.0f  %5.1f\n", counts[c], static_cast<double>(radii[c]),
                    static_cast<double>(candidates) / counts[c], static_cast<int>(matched), plain_time, our_time,
                    plain_time / our_time);
    }
    kb_workspace_free(workspace);
    return 0;
}
