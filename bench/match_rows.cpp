/* SPDX-License-Identifier: Apache-2.0 */
/* Exact matching of n x n random binary rows, as n grows: match_rows, a plain loop that counts bits, and faiss's
 * exact search (IndexBinaryFlat, where the build has found faiss; Debian's is compiled for any x86-64 and counts bits
 * without POPCNT, which the plain loop uses). Nanoseconds of processor time per pair of rows, one thread. The peers,
 * which look in one direction only, take a part of the queries. The exit code is 1 when their distances differ from
 * ours.
 *
 *     build/bench/match_rows [ROWS [BITS]]       up to ROWS, default 100000, of BITS, default 256 */
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <vector>

#include "keybits/advanced.h"
#include "../tests/arrays.h"

#ifdef KB_HAVE_FAISS
#    include <faiss/IndexBinaryFlat.h>
#    include <omp.h>
#endif

namespace {

const size_t FEW = 500; /* queries of the peers */

double now()
{
    timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

std::vector<uint8_t> random_rows(size_t bytes, uint64_t state)
{
    std::vector<uint8_t> rows(bytes);
    for (uint8_t &byte : rows) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        byte = (uint8_t)(state >> 56);
    }
    return rows;
}

#if defined(__x86_64__)
#    define WITH_POPCNT __attribute__((target("popcnt")))
#else
#    define WITH_POPCNT
#endif

/* The distance of every query to its nearest row. */
WITH_POPCNT void plain_search(const uint8_t *queries, size_t n, const uint8_t *rows, size_t count, size_t bytes,
                              int32_t *nearest)
{
    for (size_t i = 0; i < n; i++) {
        nearest[i] = INT32_MAX;
        for (size_t j = 0; j < count; j++) {
            int32_t distance = 0;
            for (size_t k = 0; k < bytes; k += 8) {
                uint64_t a, b;
                memcpy(&a, queries + i * bytes + k, 8);
                memcpy(&b, rows + j * bytes + k, 8);
                distance += __builtin_popcountll(a ^ b);
            }
            nearest[i] = std::min(nearest[i], distance);
        }
    }
}

bool same(const std::vector<kb_match> &matches, const std::vector<int32_t> &nearest, const char *peer)
{
    for (size_t i = 0; i < nearest.size(); i++)
        if ((int32_t)matches[i].distance != nearest[i]) {
            fprintf(stderr, "row %zu: %g here, %d by %s\n", i, (double)matches[i].distance, nearest[i], peer);
            return false;
        }
    return true;
}

/* One line of the table. */
bool bench_rows(size_t n, size_t bytes)
{
    std::vector<uint8_t> a = random_rows(n * bytes, 1), b = random_rows(n * bytes, 2);
    std::vector<kb_match> matches(n);
    std::vector<int32_t> nearest(std::min(n, FEW));
    kb_match_options options;
    size_t count = 0;
    KB_INIT(options);
    double pairs = (double)n * (double)n, few = (double)nearest.size() * (double)n, start = now();
    kb_status status =
        match_rows(a.data(), n, b.data(), n, bytes, &options, nullptr, matches.data(), &count);
    double mutual = now() - start;
    options.one_way = 1;
    start = now();
    if (status == KB_OK)
        status = match_rows(a.data(), n, b.data(), n, bytes, &options, nullptr, matches.data(), &count);
    double one_way = now() - start;
    if (status != KB_OK) return false;
    start = now();
    plain_search(a.data(), nearest.size(), b.data(), n, bytes, nearest.data());
    double plain = now() - start;
    printf("%8zu %10.3f %10.3f %10.3f", n, mutual / pairs, one_way / pairs, plain / few);
    bool good = same(matches, nearest, "the plain loop");
#ifdef KB_HAVE_FAISS
    omp_set_num_threads(1);
    faiss::IndexBinaryFlat index((int)(8 * bytes));
    index.add((faiss::IndexBinary::idx_t)n, b.data());
    std::vector<faiss::IndexBinary::idx_t> labels(nearest.size());
    start = now();
    index.search((faiss::IndexBinary::idx_t)nearest.size(), a.data(), 1, nearest.data(), labels.data());
    printf(" %10.3f", (now() - start) / few);
    good = same(matches, nearest, "faiss") && good;
#endif
    printf("\n");
    fflush(stdout);
    return good;
}

} // namespace

int main(int argc, char **argv)
{
    size_t most = argc > 1 ? (size_t)atol(argv[1]) : 100000, bits = argc > 2 ? (size_t)atol(argv[2]) : 256;
    if (most < 1 || bits < 64 || bits > 1024 || bits % 64) {
        fprintf(stderr, "usage: match_rows [ROWS [BITS]], BITS a multiple of 64 up to 1024\n");
        return 2;
    }
    printf("%s; %zu bits, ns per pair\n%8s %10s %10s %10s", kb_cpu_features(NULL), bits, "rows", "mutual", "one way",
           "plain loop");
#ifdef KB_HAVE_FAISS
    printf(" %10s", "faiss");
#endif
    printf("\n");
    bool good = true;
    for (size_t n = std::min(most, (size_t)1000); good; n = std::min(most, 10 * n)) {
        good = bench_rows(n, bits / 8);
        if (n == most) break;
    }
    return good ? 0 : 1;
}
