/* SPDX-License-Identifier: Apache-2.0 */
/* retrieval [-o] [-n IMAGES] VOCABULARY.kbv PHOTOGRAPH...: words and queries, ours and (without -o) others', on one
 * thread.
 *
 * The rows of the photographs are the pool. An image of the index has 1000 rows: half of them of one photograph, half
 * of any, with bits turned over as a change of view does. A query has 1000 rows, of which 200 are of the image that it
 * looks for, with more bits turned over. Peers see the same rows: a tree and inverted lists as DBoW2 has them, written
 * plainly in C++, and faiss's IndexBinaryIVF (where the build has found faiss) with our words as its lists, whose
 * nearest rows vote for their images. Times are of the processor: per query the least
 * of several rounds, and their mean. */
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>

#ifdef KB_HAVE_FAISS
#    include <faiss/IndexBinaryFlat.h>
#    include <faiss/IndexBinaryIVF.h>
#    include <omp.h>
#endif

#include "keybits/index.h"
#include "../tests/arrays.h"

namespace {

const size_t ROWS = 1000, MATCHED = 100, QUERIES = 100, FEW = 20, POOL_PHOTOS = 64, POOL_ROWS = 4000;
const double IMAGE_NOISE = 0.06, QUERY_NOISE = 0.12; /* of bits that are turned over */

typedef std::vector<uint8_t> Rows;

/* Milliseconds of the processor on this thread, so that other programs on the machine matter little. */
double now()
{
    timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

[[noreturn]] void give_up(const char *what, const char *why)
{
    std::fprintf(stderr, "retrieval: %s: %s\n", what, why);
    std::exit(1);
}

/* splitmix64 */
struct Random {
    uint64_t state;
    uint64_t next()
    {
        uint64_t z = state += 0x9e3779b97f4a7c15u;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
        z = (z ^ z >> 27) * 0x94d049bb133111ebu;
        return z ^ z >> 31;
    }
    size_t below(size_t n) { return (size_t)(next() % n); }
    double unit() { return (double)(next() >> 11) / 9007199254740992.0; }
};

kb_features view_of(const Rows &rows, size_t row_bytes)
{
    kb_features f;
    KB_INIT(f);
    f.rows = const_cast<uint8_t *>(rows.data());
    f.n = rows.size() / row_bytes;
    f.row_bytes = row_bytes;
    return f;
}

/* ---- the rows ---- */

Rows describe_photo(const char *path, const kb_model *model, size_t row_bytes)
{
    cv::Mat gray = cv::imread(path, cv::IMREAD_GRAYSCALE);
    if (gray.empty()) give_up(path, "cannot be read");
    kb_image image{};
    image.data = gray.data;
    image.width = gray.cols;
    image.height = gray.rows;
    image.stride = (ptrdiff_t)gray.step;
    image.format = KB_FORMAT_GRAY8;
    kb_detect_options options;
    KB_INIT(options);
    options.detector = KB_DETECTOR_ORB;
    options.max_keypoints = (int32_t)POOL_ROWS;
    std::vector<kb_keypoint> keypoints(POOL_ROWS);
    size_t n = 0;
    if (detect_keypoints(&image, &options, nullptr, keypoints.data(), POOL_ROWS, &n, nullptr) != KB_OK)
        give_up(path, "kb_detect");
    Rows rows(n * row_bytes);
    if (n > 0 && describe_keypoints(model, &image, keypoints.data(), n, nullptr, nullptr, rows.data(), nullptr) != KB_OK)
        give_up(path, "kb_describe");
    return rows;
}

struct World {
    size_t row_bytes;
    std::vector<Rows> pool;
    Random random{1};

    void add(Rows &to, const Rows &from, double noise)
    {
        size_t at = random.below(from.size() / row_bytes) * row_bytes;
        to.insert(to.end(), from.begin() + (ptrdiff_t)at, from.begin() + (ptrdiff_t)(at + row_bytes));
        flip(to, noise);
    }
    void flip(Rows &rows, double noise)
    {
        /* how many bits differs from row to row as it does between views */
        size_t bits = (size_t)(noise * 2 * random.unit() * (double)(8 * row_bytes)), at = rows.size() - row_bytes;
        for (size_t i = 0; i < bits; i++) {
            size_t bit = random.below(8 * row_bytes);
            rows[at + bit / 8] ^= (uint8_t)(1 << bit % 8);
        }
    }
    Rows image(size_t number)
    {
        Rows rows;
        for (size_t i = 0; i < ROWS; i++)
            add(rows, pool[i % 2 ? random.below(pool.size()) : number % pool.size()], IMAGE_NOISE);
        return rows;
    }
    Rows query(const Rows &image)
    {
        Rows rows;
        for (size_t i = 0; i < MATCHED; i++) add(rows, image, QUERY_NOISE);
        for (size_t i = MATCHED; i < ROWS; i++) add(rows, pool[random.below(pool.size())], IMAGE_NOISE);
        return rows;
    }
};

/* ---- a tree and a database as DBoW2 has them ---- */

struct PlainTree {
    struct Node {
        std::vector<uint32_t> children;
        std::vector<uint8_t> row;
        double weight = 0;
        uint32_t word = 0;
    };
    std::vector<Node> nodes;
    size_t row_bytes = 0;
    std::vector<std::vector<std::pair<uint32_t, double>>> lists;

    explicit PlainTree(const kb_vocabulary *v)
    {
        kb_vocabulary_info info;
        KB_INIT(info);
        kb_vocabulary_get_info(v, &info);
        row_bytes = (size_t)info.row_bytes;
        lists.resize(info.words);
        for (uint32_t i = 0; i < info.nodes; i++) {
            kb_vocabulary_node from;
            kb_vocabulary_get_node(v, i, &from);
            Node node;
            for (uint32_t k = 0; k < from.children; k++) node.children.push_back(from.first_child + k);
            node.row.assign(from.row, from.row + row_bytes);
            node.weight = from.weight;
            node.word = from.word;
            nodes.push_back(node);
        }
    }
    int distance(const uint8_t *a, const uint8_t *b) const
    {
        int sum = 0;
        for (size_t i = 0; i < row_bytes; i += 8) {
            uint64_t x, y;
            std::memcpy(&x, a + i, 8);
            std::memcpy(&y, b + i, 8);
            sum += __builtin_popcountll(x ^ y);
        }
        return sum;
    }
    const Node &descend(const uint8_t *row) const
    {
        const Node *node = &nodes[0];
        while (!node->children.empty()) {
            const Node *best = nullptr;
            int least = 0;
            for (uint32_t child : node->children) {
                int d = distance(row, nodes[child].row.data());
                if (best && d >= least) continue;
                best = &nodes[child];
                least = d;
            }
            node = best;
        }
        return *node;
    }
    std::map<uint32_t, double> bag(const Rows &rows) const
    {
        std::map<uint32_t, double> words;
        double sum = 0;
        for (size_t i = 0; i < rows.size(); i += row_bytes) {
            const Node &leaf = descend(rows.data() + i);
            words[leaf.word] += leaf.weight;
            sum += leaf.weight;
        }
        for (auto &w : words) w.second /= sum;
        return words;
    }
    void add(uint32_t image, const Rows &rows)
    {
        for (const auto &w : bag(rows)) lists[w.first].push_back({image, w.second});
    }
    uint32_t best(const Rows &rows, double *score) const
    {
        std::map<uint32_t, double> sums;
        for (const auto &w : bag(rows))
            for (const auto &entry : lists[w.first])
                sums[entry.first] += std::fabs(w.second) + std::fabs(entry.second) - std::fabs(w.second - entry.second);
        uint32_t found = UINT32_MAX;
        *score = 0;
        for (const auto &s : sums)
            if (s.second / 2 > *score) {
                *score = s.second / 2;
                found = s.first;
            }
        return found;
    }
};

/* ---- the rows of the table ---- */

struct Bench {
    kb_vocabulary *vocabulary;
    kb_vocabulary_info info;
    World world;
    size_t images;
    std::vector<Rows> queries;
    std::vector<size_t> truth;
    std::vector<uint8_t> all; /* rows of all images */
};

void print(const char *what, double ms, double recall, const char *note)
{
    if (recall >= 0) std::printf("%-44s %9.3f ms  recall@1 %5.1f %%  %s\n", what, ms, 100 * recall, note);
    else std::printf("%-44s %9.3f ms  %s\n", what, ms, note);
    std::fflush(stdout);
}

void bench_words(const Bench &b, const PlainTree &plain)
{
    std::vector<uint32_t> words(ROWS);
    double ours = 1e30, theirs = 1e30;
    size_t same = 0, n = 0;
    for (int round = 0; round < 10; round++)
        for (size_t i = 0; i < 10; i++) {
            kb_features f = view_of(b.queries[i], b.world.row_bytes);
            double start = now();
            kb_vocabulary_words(b.vocabulary, &f, nullptr, words.data(), nullptr, nullptr);
            double middle = now();
            uint32_t sum = 0;
            for (size_t k = 0; k < ROWS; k++) {
                uint32_t word = plain.descend(b.queries[i].data() + k * b.world.row_bytes).word;
                sum += word;
                same += word == words[k];
                n++;
            }
            double end = now();
            if (sum == UINT32_MAX) std::puts("");
            ours = std::min(ours, middle - start);
            theirs = std::min(theirs, end - middle);
        }
    print("words of 1000 rows, ours", ours, -1, "");
    print("words of 1000 rows, plain tree", theirs, -1, same == n ? "the same words" : "OTHER WORDS");
}

double bench_ours(const Bench &b, const kb_index *index, kb_scoring scoring, int32_t probes, const char *name)
{
    kb_index_query_options o;
    KB_INIT(o);
    o.scoring = scoring;
    o.probes = probes;
    kb_workspace *ws = nullptr;
    kb_workspace_create(NULL, &ws);
    size_t right = 0;
    double sum = 0;
    for (size_t i = 0; i < QUERIES; i++) {
        kb_features f = view_of(b.queries[i], b.world.row_bytes);
        kb_index_result results[10];
        size_t count = 0;
        double best = 1e30;
        for (int round = 0; round < 10; round++) {
            double start = now();
            if (kb_index_query(index, &f, &o, ws, results, 10, &count, nullptr) != KB_OK) give_up("query", "failed");
            best = std::min(best, now() - start);
        }
        right += count > 0 && results[0].id == b.truth[i];
        sum += best;
    }
    kb_workspace_free(ws);
    double recall = (double)right / (double)QUERIES;
    print(name, sum / (double)QUERIES, recall, "");
    return recall;
}

void bench_plain(const Bench &b, const PlainTree &plain)
{
    size_t right = 0;
    double score, start = now();
    for (size_t i = 0; i < FEW; i++) right += plain.best(b.queries[i], &score) == b.truth[i];
    print("query, plain tree and lists (tf-idf)", (now() - start) / (double)FEW, (double)right / (double)FEW, "");
}

#ifdef KB_HAVE_FAISS
typedef faiss::IndexBinary::idx_t idx_t;

size_t faiss_vote(const std::vector<idx_t> &labels, const std::vector<int32_t> &distances, size_t k,
                  std::vector<uint32_t> &votes, size_t bits)
{
    std::fill(votes.begin(), votes.end(), 0);
    for (size_t i = 0; i < ROWS * k; i++)
        if (labels[i] >= 0 && distances[i] < (int32_t)bits / 4) votes[(size_t)labels[i] / ROWS]++;
    return (size_t)(std::max_element(votes.begin(), votes.end()) - votes.begin());
}

void bench_faiss(const Bench &b, double wanted)
{
    omp_set_num_threads(1);
    int bits = (int)(8 * b.world.row_bytes);
    Rows words;
    for (uint32_t i = 0; i < b.info.nodes; i++) {
        kb_vocabulary_node node;
        kb_vocabulary_get_node(b.vocabulary, i, &node);
        if (node.children == 0) words.insert(words.end(), node.row, node.row + b.world.row_bytes);
    }
    faiss::IndexBinaryFlat quantizer(bits);
    quantizer.add((idx_t)b.info.words, words.data());
    faiss::IndexBinaryIVF index(&quantizer, (size_t)bits, b.info.words);
    index.is_trained = true;
    size_t n = b.all.size() / b.world.row_bytes;
    std::vector<uint32_t> found(n);
    kb_features f = view_of(b.all, b.world.row_bytes);
    kb_vocabulary_words(b.vocabulary, &f, nullptr, found.data(), nullptr, nullptr);
    std::vector<idx_t> lists(found.begin(), found.end());
    index.add_core((idx_t)n, b.all.data(), nullptr, lists.data());
    const size_t k = 4;
    std::vector<int32_t> distances(ROWS * k);
    std::vector<idx_t> labels(ROWS * k);
    std::vector<uint32_t> votes(b.images);
    for (size_t probes = 1; probes <= 64; probes *= 2) {
        index.nprobe = probes;
        size_t right = 0;
        double start = now();
        for (size_t i = 0; i < FEW; i++) {
            index.search((idx_t)ROWS, b.queries[i].data(), (idx_t)k, distances.data(), labels.data());
            right += faiss_vote(labels, distances, k, votes, (size_t)bits) == b.truth[i];
        }
        double recall = (double)right / (double)FEW;
        std::string name = "query, faiss IndexBinaryIVF, probes " + std::to_string(probes);
        print(name.c_str(), (now() - start) / (double)FEW, recall, "");
        if (recall >= wanted) break;
    }
}
#endif

void build(Bench &b, kb_index *index, PlainTree &plain, bool with_peers)
{
    kb_workspace *ws = nullptr;
    kb_workspace_create(NULL, &ws);
    double adding = 0;
    for (size_t i = 0; i < b.images; i++) {
        Rows rows = b.world.image(i);
        kb_features f = view_of(rows, b.world.row_bytes);
        double start = now();
        if (kb_index_add(index, &f, i, nullptr, ws, nullptr) != KB_OK) give_up("index", "cannot add");
        adding += now() - start;
        if (with_peers) plain.add((uint32_t)i, rows);
        b.all.insert(b.all.end(), rows.begin(), rows.end());
        if (b.queries.size() < QUERIES && i % (b.images / QUERIES) == 0) {
            b.queries.push_back(b.world.query(rows));
            b.truth.push_back(i);
        }
    }
    kb_workspace_free(ws);
    kb_index_info info;
    KB_INIT(info);
    kb_index_get_info(index, &info);
    print("adding an image of 1000 rows", adding / (double)b.images, -1, "");
    std::printf("%zu images, %.0f words and %.0f bytes per image\n", b.images,
                (double)info.entries / (double)b.images, (double)info.bytes / (double)b.images);
}

void read_input(Bench &b, int argc, char **argv, std::vector<char> &file)
{
    std::ifstream in(argv[1], std::ios::binary);
    file.assign(std::istreambuf_iterator<char>(in), {});
    kb_error error;
    if (kb_vocabulary_load(file.data(), file.size(), NULL, &b.vocabulary, &error) != KB_OK)
        give_up(argv[1], error.text);
    KB_INIT(b.info);
    kb_vocabulary_get_info(b.vocabulary, &b.info);
    b.world.row_bytes = (size_t)b.info.row_bytes;
    kb_model *model = nullptr;
    if (kb_model_builtin(b.info.model_name, NULL, &model) != KB_OK) give_up(argv[1], "its model is not built in");
    size_t count = std::min((size_t)argc - 2, POOL_PHOTOS);
    for (size_t i = 0; i < count; i++) {
        Rows rows = describe_photo(argv[2 + i], model, b.world.row_bytes);
        if (rows.size() >= 500 * b.world.row_bytes) b.world.pool.push_back(rows);
    }
    kb_model_free(model);
    if (b.world.pool.empty()) give_up("photographs", "none has 500 keypoints");
    std::printf("%u words, %zu photographs\n", b.info.words, b.world.pool.size());
}

} // namespace

int main(int argc, char **argv)
{
    Bench b{};
    b.images = 10000;
    bool with_peers = !(argc > 1 && std::strcmp(argv[1], "-o") == 0);
    if (!with_peers) {
        argc--;
        argv++;
    }
    if (argc > 2 && std::strcmp(argv[1], "-n") == 0) {
        b.images = (size_t)std::max(100L, std::strtol(argv[2], nullptr, 10));
        argc -= 2;
        argv += 2;
    }
    if (argc < 3) {
        std::fputs("usage: retrieval [-o] [-n IMAGES] VOCABULARY.kbv PHOTOGRAPH...\n", stderr);
        return 2;
    }
    std::vector<char> file;
    read_input(b, argc, argv, file);
    PlainTree plain(b.vocabulary);
    kb_index *index = nullptr;
    if (kb_index_create(b.vocabulary, nullptr, NULL, &index, nullptr) != KB_OK) give_up("index", "out of memory");
    build(b, index, plain, with_peers);
    bench_words(b, plain);
    bench_ours(b, index, KB_SCORING_BINARY, 0, "query, ours, while images come in");
    if (kb_index_compact(index) != KB_OK) give_up("index", "out of memory"); /* now as from a file */
    double recall = bench_ours(b, index, KB_SCORING_BINARY, 0, "query, ours, as from a file");
    bench_ours(b, index, KB_SCORING_BINARY, 1, "query, ours, one probe");
    bench_ours(b, index, KB_SCORING_TF_IDF, 0, "query, ours, tf-idf");
    if (with_peers) bench_plain(b, plain);
#ifdef KB_HAVE_FAISS
    if (with_peers) bench_faiss(b, recall);
#else
    std::printf("built without faiss; ours found %.0f %%\n", 100 * recall);
#endif
    kb_index_free(index);
    kb_vocabulary_free(b.vocabulary);
    return 0;
}
