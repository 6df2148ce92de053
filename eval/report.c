/* SPDX-License-Identifier: Apache-2.0 */
/* The page goes from the question everybody asks (what does accuracy cost?) to the details, benchmark by benchmark.
 * Every section is left out when there are no results for it. */
#include "eval/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eval/bench.h"
#include "eval/paper.h"
#include "io/html.h"
#include "io/plot.h"

/* ---------------------------------------------------------------------------------------------- what is there */

static double json_number(const io_json_value *object, const char *key)
{
    const io_json_value *value = io_json_get(object, key);
    return value && value->kind == IO_JSON_NUMBER ? value->number : NAN;
}

static const char *json_text(const io_json_value *object, const char *key)
{
    const io_json_value *value = io_json_get(object, key);
    return value && value->kind == IO_JSON_STRING ? value->string : "";
}

static bool is_benchmark(const io_json_value *item, const char *benchmark)
{
    return strcmp(json_text(item, "benchmark"), benchmark) == 0;
}

/* The table of an ablation is an array of rows that have the paper's number. */
static bool is_ablation(const io_json_value *value)
{
    return value->kind == IO_JSON_ARRAY && value->first && io_json_get(value->first, "paper") &&
           io_json_get(value->first, "map");
}

static void report_take(ev_report *report, const io_json_value *value, const io_json_value *record)
{
    report->items = io_grow(report->items, report->count + 1, sizeof *report->items);
    report->items[report->count++] = (ev_report_item){value, record};
}

static bool is_known(const io_json_value *item)
{
    static const char *const known[] = {"oxford", "matching", "hpatches", "brown", "sfm",
                                        "pose",   "verify",   "scale",    "bench"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (is_benchmark(item, known[i])) return true;
    return false;
}

bool ev_report_add(ev_report *report, const char *name, const io_json_value *document, io_error *error)
{
    size_t before = report->count;
    const io_json_value *record = io_json_get(document, "command") ? document : NULL;
    const io_json_value *result = record ? io_json_get(record, "result") : document;
    if (result && is_ablation(result)) report_take(report, result, record);
    for (const io_json_value *item = result && result->kind == IO_JSON_ARRAY ? result->first : result; item;
         item = item == result ? NULL : item->next)
        if (is_known(item)) report_take(report, item, record);
    if (report->count > EV_REPORT_MOST)
        return io_fail(error, "%s: a page holds up to %d results", name, EV_REPORT_MOST);
    if (report->count > before) return true;
    report->left_out++;
    return record || io_fail(error, "%s: holds no result of keybits eval, bench or train ablation", name);
}

void ev_report_free(ev_report *report)
{
    free(report->items);
    memset(report, 0, sizeof *report);
}

/* The results of a benchmark that agree with `like` in the words that tell one run from another. */
static bool same_run(const ev_report_item *a, const ev_report_item *b)
{
    static const char *const words[] = {"benchmark", "set", "keypoints", "keypoints_kind", "split"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(json_text(a->value, words[i]), json_text(b->value, words[i])) != 0) return false;
    return a->record == b->record;
}

typedef struct group {
    const io_json_value **items;
    size_t count;
    const io_json_value *record;
} group;

/* All results of the run that item `first` begins; empty when an earlier item is of that run. */
static group group_at(const ev_report *report, size_t first)
{
    group g = {io_alloc(report->count + 1, sizeof *g.items), 0, report->items[first].record};
    for (size_t i = 0; i < first; i++)
        if (same_run(&report->items[i], &report->items[first])) return g;
    for (size_t i = first; i < report->count; i++)
        if (same_run(&report->items[i], &report->items[first])) g.items[g.count++] = report->items[i].value;
    return g;
}

/* Calls write for every run of a benchmark. */
static void each_group(FILE *out, const ev_report *report, const char *benchmark,
                       void (*write)(FILE *out, const ev_report *report, const group *g))
{
    for (size_t i = 0; i < report->count; i++) {
        if (!is_benchmark(report->items[i].value, benchmark)) continue;
        group g = group_at(report, i);
        if (g.count > 0) write(out, report, &g);
        free(g.items);
    }
}

/* The command of a record, its date, commit and processor. */
static void put_origin(FILE *out, const io_json_value *record)
{
    if (!record) return;
    const char *words[] = {json_text(record, "date"), json_text(record, "commit"),
                           json_text(io_json_get(record, "machine"), "processor")};
    fputs("<p class=\"origin\"><code>", out);
    io_html_text(out, json_text(record, "command"));
    fputs("</code>", out);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (!*words[i]) continue;
        fputs(i == 1 ? ", commit " : ", ", out);
        io_html_text(out, words[i]);
    }
    fputs("</p>\n", out);
}

/* What to call a descriptor: the file's name without folder and suffix. */
static char *short_name(const char *name)
{
    return io_path_has_suffix(name, ".kbm") ? io_path_stem(name) : io_copy_string(io_path_base(name));
}

static void put_name(FILE *out, const char *name)
{
    char *shorter = short_name(name);
    io_html_text(out, shorter);
    free(shorter);
}

/* ----------------------------------------------------------------------------------------------------- tables */

typedef struct column {
    const char *head;
    const char *key; /* in the result */
    int digits;
    double factor;
    int better; /* 1: more, -1: less, 0: neither */
} column;

static double cell_value(const io_json_value *item, const column *c) { return json_number(item, c->key) * c->factor; }

static double best_of(const group *g, const column *c)
{
    double best = NAN;
    for (size_t i = 0; i < g->count; i++) {
        double v = cell_value(g->items[i], c);
        if (isfinite(v) && (!isfinite(best) || (v - best) * c->better > 0)) best = v;
    }
    return c->better ? best : NAN;
}

/* Begins a row with the name of a descriptor. */
static void begin_row(FILE *out, const char *model)
{
    fputs("<tr><th>", out);
    put_name(out, model);
    fputs("</th>", out);
}

/* The paper's numbers, in a column of their own beside the one of ours that they compare with. */
typedef struct paper_column {
    const char *head; /* NULL: the paper has none for this */
    size_t beside;
    double (*value)(const ev_paper_row *row);
    int digits;
} paper_column;

static void put_heads(FILE *out, const column *columns, size_t n, const paper_column *paper)
{
    const char *heads[16] = {"descriptor"};
    size_t count = 1;
    for (size_t i = 0; i < n; i++) {
        heads[count++] = columns[i].head;
        if (paper->head && paper->beside == i) heads[count++] = paper->head;
    }
    io_html_table_begin(out, heads);
}

/* Rows that only the paper has; `used` marks those that stand beside one of ours. */
static void put_paper_rows(FILE *out, size_t n, const paper_column *paper, const bool *used)
{
    for (int i = 0; ev_paper_at(i); i++) {
        if (used[i] || !isfinite(paper->value(ev_paper_at(i)))) continue;
        fprintf(out, "<tr class=\"paper\"><th>%s</th>", ev_paper_at(i)->name);
        for (size_t c = 0; c < n; c++) {
            fputs("<td></td>", out);
            if (c == paper->beside) io_html_cell(out, paper->value(ev_paper_at(i)), paper->digits, "paper");
        }
        io_html_row_end(out);
    }
}

/* One row per descriptor. */
static void put_results(FILE *out, const group *g, const column *columns, size_t n, const paper_column *paper)
{
    bool used[64] = {false};
    put_heads(out, columns, n, paper);
    for (size_t i = 0; i < g->count; i++) {
        const ev_paper_row *row = paper->head ? ev_paper_find(json_text(g->items[i], "model")) : NULL;
        if (row) used[row - ev_paper_at(0)] = true;
        begin_row(out, json_text(g->items[i], "model"));
        for (size_t c = 0; c < n; c++) {
            double v = cell_value(g->items[i], &columns[c]);
            io_html_cell(out, v, columns[c].digits, v == best_of(g, &columns[c]) && g->count > 1 ? "best" : NULL);
            if (paper->head && c == paper->beside)
                io_html_cell(out, row ? paper->value(row) : NAN, paper->digits, "paper");
        }
        io_html_row_end(out);
    }
    if (paper->head) put_paper_rows(out, n, paper, used);
    io_html_table_end(out);
}

static double paper_oxford(const ev_paper_row *row) { return row->oxford_map; }
static double paper_hpatches(const ev_paper_row *row) { return row->hpatches_matching; }

/* -------------------------------------------------------------------------------------- accuracy against cost */

/* Milliseconds of describing an image with that descriptor; NAN when the run of bench has none. */
static double cost_of(const io_json_value *bench, const char *model)
{
    const io_json_value *rows = io_json_get(bench, "rows");
    for (const io_json_value *row = rows ? rows->first : NULL; row; row = row->next)
        if (strcmp(json_text(row, "step"), "describe") == 0 && strcmp(json_text(row, "model"), model) == 0)
            return json_number(row, "ms");
    return NAN;
}

/* The run of bench that timed most of the group's descriptors, so that all times of a plot are of one run. */
static const io_json_value *timing_of(const ev_report *report, const group *g)
{
    const io_json_value *best = NULL;
    size_t best_count = 0;
    for (size_t i = 0; i < report->count; i++) {
        size_t count = 0;
        if (!is_benchmark(report->items[i].value, "bench")) continue;
        for (size_t k = 0; k < g->count; k++)
            count += isfinite(cost_of(report->items[i].value, json_text(g->items[k], "model")));
        if (count > best_count) best = report->items[i].value, best_count = count;
    }
    return best_count > 1 ? best : NULL;
}

static void keypoint_words(const io_json_value *item, char *out, size_t size)
{
    bool csv = strcmp(json_text(item, "keypoints"), "csv") == 0;
    snprintf(out, size, "%s, %s keypoints%s", *json_text(item, "set") ? json_text(item, "set") : "images",
             *json_text(item, "keypoints_kind") ? json_text(item, "keypoints_kind") : json_text(item, "keypoints"),
             csv ? " from files" : "");
}

static void plot_cost(FILE *out, const ev_report *report, const group *g)
{
    const io_json_value *bench = timing_of(report, g);
    if (!bench) return;
    io_plot_point *points = io_alloc(g->count, sizeof *points);
    double *x = io_alloc(g->count, sizeof *x), *y = io_alloc(g->count, sizeof *y);
    char title[200], words[160];
    size_t n = 0;
    for (size_t i = 0; i < g->count; i++) {
        const char *model = json_text(g->items[i], "model");
        double cost = cost_of(bench, model), map = json_number(g->items[i], "strict_map");
        if (!isfinite(cost) || !isfinite(map)) continue;
        x[n] = cost;
        y[n] = map;
        bool peer = strncmp(model, "cv:", 3) == 0;
        points[n++] = (io_plot_point){cost, map, short_name(model), peer ? 7 : 0, peer};
    }
    keypoint_words(g->items[0], words, sizeof words);
    snprintf(title, sizeof title, "Accuracy against cost: %s", words);
    if (n > 0)
        io_plot_points(out, title, io_axis_of("ms of description per image (logarithmic)", x, n, true),
                       io_axis_of("strict mAP, %", y, n, false), points, n);
    for (size_t i = 0; i < n; i++) free((char *)points[i].label);
    free(points);
    free(x);
    free(y);
}

static void write_cost(FILE *out, const ev_report *report)
{
    bool speed = false, oxford = false;
    for (size_t i = 0; i < report->count; i++) {
        speed = speed || is_benchmark(report->items[i].value, "bench");
        oxford = oxford || is_benchmark(report->items[i].value, "oxford");
    }
    if (!speed || !oxford) return;
    fputs("<section><h2>Accuracy against cost</h2><p>Up and to the left is better. Full circles are ours, hollow ones "
          "OpenCV's; all were timed in one run.</p><div class=\"plots\">\n", out);
    each_group(out, report, "oxford", plot_cost);
    fputs("</div></section>\n", out);
}

/* ----------------------------------------------------------------------------------------------------- oxford */

static void plot_precision_recall(FILE *out, const group *g)
{
    io_plot_curve *curves = io_alloc(g->count, sizeof *curves);
    double **values = io_alloc(g->count, sizeof *values);
    size_t n = 0;
    for (size_t i = 0; i < g->count; i++) {
        const io_json_value *list = io_json_get(g->items[i], "precision_at_recall");
        size_t count = 0;
        if (!list) continue;
        for (const io_json_value *v = list->first; v; v = v->next) count++;
        if (count < 2) continue;
        values[n] = io_alloc(count, sizeof **values);
        count = 0;
        for (const io_json_value *v = list->first; v; v = v->next) values[n][count++] = v->number;
        curves[n] = (io_plot_curve){
            .y = values[n], .n = count, .label = short_name(json_text(g->items[i], "model")), .colour = (int)n};
        n++;
    }
    if (n > 0)
        io_plot_curves(out, "Precision and recall, strict protocol, mean of the pairs",
                       (io_axis){"recall", 0, 1, .logarithmic = false},
                       (io_axis){"precision", 0, 1, .logarithmic = false}, curves, n);
    for (size_t i = 0; i < n; i++) {
        free((char *)curves[i].label);
        free(values[i]);
    }
    free(values);
    free(curves);
}

/* Strict mAP of every scene, a column each. */
static void put_scenes(FILE *out, const group *g)
{
    const io_json_value *scenes = io_json_get(g->items[0], "scenes");
    if (!scenes || !scenes->first || !scenes->first->next) return;
    fputs("<details><summary>Strict mAP scene by scene</summary>", out);
    fputs("<div class=\"scroll\"><table><thead><tr><th>descriptor</th>", out);
    for (const io_json_value *s = scenes->first; s; s = s->next) {
        fputs("<th>", out);
        io_html_text(out, json_text(s, "scene"));
        fputs("</th>", out);
    }
    fputs("</tr></thead><tbody>\n", out);
    for (size_t i = 0; i < g->count; i++) {
        const io_json_value *own = io_json_get(g->items[i], "scenes");
        begin_row(out, json_text(g->items[i], "model"));
        for (const io_json_value *s = own ? own->first : NULL; s; s = s->next)
            io_html_cell(out, json_number(s, "strict_map"), 1, NULL);
        io_html_row_end(out);
    }
    io_html_table_end(out);
    fputs("</details>\n", out);
}

static void write_oxford(FILE *out, const ev_report *report, const group *g)
{
    column columns[] = {{"strict mAP", "strict_map", 2, 1, 1},
                        {"paper-like mAP", "paperlike_map", 2, 1, 1},
                        {"within 3 px", "precision_3px", 2, 1, 1},
                        {"H &lt; 1 px", "homography_1px", 1, 1, 1},
                        {"H &lt; 3 px", "homography_3px", 1, 1, 1},
                        {"H &lt; 5 px", "homography_5px", 1, 1, 1},
                        {"matches", "matches", 0, 1, 0},
                        {"places", "places", 0, 1, 1}};
    const io_json_value *first = g->items[0];
    size_t n = sizeof columns / sizeof *columns;
    bool like = isfinite(json_number(first, "paperlike_map"));
    char words[160];
    (void)report;
    if (!like) memmove(&columns[1], &columns[2], (--n - 1) * sizeof *columns);
    /* The paper's column is for all SIFT keypoints of the Oxford set, by the protocol that is like the paper's. */
    bool oxford = strstr(json_text(first, "set"), "oxford") && strcmp(json_text(first, "keypoints_kind"), "sift") == 0 &&
                  strcmp(json_text(first, "paperlike_keypoints"), "all") == 0 && like;
    paper_column paper = {oxford ? "*mAP in the paper" : NULL, 1, paper_oxford, 2};
    keypoint_words(first, words, sizeof words);
    fputs("<section><h2>Image matching: ", out);
    io_html_text(out, words);
    fprintf(out,
            "</h2><p>%.0f pairs. All in per cent: mAP%s, the share of mutual matches within 3 px, ",
            json_number(first, "pairs"), like ? " by both protocols" : "");
    fputs("the share of homographies whose corners are right within 1, 3 and 5 px. Places are matches within 3 px, "
          "counted once where they are closer than 2 px in both images.",
          out);
    if (oxford)
        fputs(" The paper does not state its protocol in full; the paper-like one is a stand-in for it.", out);
    fputs("</p>\n", out);
    put_origin(out, g->record);
    put_results(out, g, columns, n, &paper);
    fputs("<div class=\"plots\">", out);
    plot_precision_recall(out, g);
    fputs("</div>", out);
    put_scenes(out, g);
    fputs("</section>\n", out);
}

/* --------------------------------------------------------------------------------------------------- matching */

/* Accuracies at 1, 2 ... px out of a result; returns how many. */
static size_t read_mma(const io_json_value *item, const char *key, double *out, size_t room)
{
    const io_json_value *list = io_json_get(item, key);
    size_t n = 0;
    for (const io_json_value *v = list ? list->first : NULL; v && n < room; v = v->next)
        out[n++] = v->kind == IO_JSON_NUMBER ? v->number : NAN;
    return n;
}

static void plot_mma(FILE *out, const group *g)
{
    enum { ROOM = 10 };
    static const double px[ROOM] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    double(*values)[ROOM] = io_alloc(g->count, sizeof *values);
    io_plot_curve *curves = io_alloc(g->count, sizeof *curves);
    for (size_t i = 0; i < g->count; i++)
        curves[i] = (io_plot_curve){px, values[i], read_mma(g->items[i], "mma", values[i], ROOM),
                                    short_name(json_text(g->items[i], "model")), (int)i, true};
    io_plot_curves(out, "Mean matching accuracy", (io_axis){"threshold, px", 0, 10.4, .logarithmic = false},
                   (io_axis){"MMA", 0, 1, .logarithmic = false}, curves, g->count);
    for (size_t i = 0; i < g->count; i++) free((char *)curves[i].label);
    free(curves);
    free(values);
}

static void write_matching(FILE *out, const ev_report *report, const group *g)
{
    static const char *const parts[] = {"mma", "mma_illumination", "mma_viewpoint"};
    char words[160];
    (void)report;
    keypoint_words(g->items[0], words, sizeof words);
    fputs("<section><h2>Mean matching accuracy: ", out);
    io_html_text(out, words);
    fprintf(out,
            "</h2><p>Share of mutual nearest neighbours that the homography confirms within 1, 3 and 5 px, mean of "
            "%.0f pairs; of sequences with changes of light (i) and of viewpoint (v) too.</p>\n",
            json_number(g->items[0], "pairs"));
    put_origin(out, g->record);
    io_html_table_begin(out,
                        (const char *const[]){"descriptor", "1 px", "3 px", "5 px", "i, 1 px", "i, 3 px", "i, 5 px",
                                              "v, 1 px", "v, 3 px", "v, 5 px", "matches", "places", NULL});
    for (size_t i = 0; i < g->count; i++) {
        begin_row(out, json_text(g->items[i], "model"));
        for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
            double mma[5] = {NAN, NAN, NAN, NAN, NAN};
            read_mma(g->items[i], parts[k], mma, 5);
            for (int t = 0; t < 5; t += 2) io_html_cell(out, mma[t], 3, NULL);
        }
        io_html_cell(out, json_number(g->items[i], "matches"), 0, NULL);
        io_html_cell(out, json_number(g->items[i], "places"), 0, NULL);
        io_html_row_end(out);
    }
    io_html_table_end(out);
    plot_mma(out, g);
    fputs("</section>\n", out);
}

/* ------------------------------------------------------------------------------------------- patches and points */

static void write_hpatches(FILE *out, const ev_report *report, const group *g)
{
    static const column columns[] = {{"verification", "verification", 2, 100, 1},
                                     {"matching", "matching", 2, 100, 1},
                                     {"retrieval", "retrieval", 2, 100, 1}};
    double sequences = json_number(g->items[0], "sequences");
    bool whole = sequences == 116 && strcmp(json_text(g->items[0], "split"), "full") == 0; /* as in the paper */
    (void)report;
    fputs("<section><h2>HPatches, split ", out);
    io_html_text(out, json_text(g->items[0], "split"));
    fprintf(out, "</h2><p>mAP in per cent, %.0f sequence%s.", sequences, sequences == 1 ? "" : "s");
    fputs("</p>\n", out);
    put_origin(out, g->record);
    put_results(out, g, columns, 3, &(paper_column){whole ? "*matching in the paper" : NULL, 1, paper_hpatches, 2});
    fputs("</section>\n", out);
}

static double paper_brown(const char *model, const char *set)
{
    const ev_paper_row *row = ev_paper_find(model);
    if (row && strstr(set, "notre")) return row->brown_notredame;
    if (row && strstr(set, "yosemite")) return row->brown_yosemite;
    return NAN;
}

static void write_brown(FILE *out, const ev_report *report, const group *g)
{
    (void)report;
    fputs("<section><h2>Brown: false positives at 95 % recall</h2><p>Per cent, less is better. Distances tie: "
          "&ldquo;best&rdquo; and &ldquo;worst&rdquo; are the bounds.</p>\n",
          out);
    put_origin(out, g->record);
    io_html_table_begin(out,
                        (const char *const[]){"descriptor", "set", "FPR95", "best", "worst", "*in the paper", NULL});
    for (size_t i = 0; i < g->count; i++) {
        const io_json_value *sets = io_json_get(g->items[i], "sets");
        const char *model = json_text(g->items[i], "model");
        for (const io_json_value *s = sets ? sets->first : NULL; s; s = s->next) {
            begin_row(out, model);
            fputs("<td>", out);
            io_html_text(out, json_text(s, "set"));
            fputs("</td>", out);
            io_html_cell(out, json_number(s, "fpr95"), 2, NULL);
            io_html_cell(out, json_number(s, "fpr95_best"), 2, NULL);
            io_html_cell(out, json_number(s, "fpr95_worst"), 2, NULL);
            io_html_cell(out, paper_brown(model, json_text(s, "set")), 2, "paper");
            io_html_row_end(out);
        }
    }
    io_html_table_end(out);
    fputs("</section>\n", out);
}

static void write_sfm(FILE *out, const ev_report *report, const group *g)
{
    static const column columns[] = {
        {"registered", "registered", 0, 1, 1},
        {"sparse points", "points", 0, 1, 1},
        {"observations", "observations", 0, 1, 1},
        {"track length", "track_length", 3, 1, 1},
        {"reprojection, px", "reprojection_px", 3, 1, -1},
        {"inlier matches", "verified_matches", 0, 1, 1},
    };
    (void)report;
    fputs("<section><h2>Reconstruction: ", out);
    io_html_text(out, *json_text(g->items[0], "set") ? json_text(g->items[0], "set") : "images");
    fprintf(out, "</h2><p>COLMAP on %.0f images, the same keypoints for all.</p>\n", json_number(g->items[0], "images"));
    put_origin(out, g->record);
    put_results(out, g, columns, 6, &(paper_column){NULL, 1, NULL, 0}); /* the paper has more keypoints per image */
    fputs("</section>\n", out);
}

/* --------------------------------------------------------------------------------------------------------- pose */

/* Origin and solver of a row, as far as they are told. */
static void put_solver(FILE *out, const io_json_value *row)
{
    const char *origin = json_text(row, "origin"), *solver = json_text(row, "solver");
    char *shorter = short_name(origin), name[160];
    snprintf(name, sizeof name, "%s%s%s", shorter, *origin ? ", " : "", solver);
    io_html_row_begin(out, name);
    free(shorter);
}

static void write_pose(FILE *out, const ev_report *report, const group *g)
{
    const io_json_value *first = g->items[0];
    (void)report;
    fputs("<section><h2>Relative pose: ", out);
    io_html_text(out, json_text(first, "set"));
    fputs("</h2><p>Area under the curve of the share of poses within an error, up to 5, 10 and 20 degrees, in per cent",
          out);
    if (isfinite(json_number(first, "threshold")))
        fprintf(out, "; inliers within %g px", json_number(first, "threshold"));
    fputs(". Milliseconds are processor time per problem.</p>\n", out);
    put_origin(out, g->record);
    io_html_table_begin(out, (const char *const[]){"", "problems", "AUC 5", "AUC 10", "AUC 20", "ms", NULL});
    for (size_t i = 0; i < g->count; i++) {
        const io_json_value *rows = io_json_get(g->items[i], "solvers");
        for (const io_json_value *row = rows ? rows->first : NULL; row; row = row->next) {
            put_solver(out, row);
            io_html_cell(out, json_number(row, "problems"), 0, NULL);
            io_html_cell(out, json_number(row, "auc_5"), 2, NULL);
            io_html_cell(out, json_number(row, "auc_10"), 2, NULL);
            io_html_cell(out, json_number(row, "auc_20"), 2, NULL);
            io_html_cell(out, json_number(row, "ms"), 3, NULL);
            io_html_row_end(out);
        }
    }
    io_html_table_end(out);
    fputs("</section>\n", out);
}

/* ------------------------------------------------------------------------------------- verification and scale */

static void write_verify(FILE *out, const ev_report *report, const group *g)
{
    static const char *const kinds[] = {"unrelated", "facades", "one facade", "shared"};
    (void)report;
    fputs("<section><h2>Verified pairs</h2><p>Pairs of unrelated photographs and of different facades should not be "
          "verified; two views of one facade, and photographs that share points of a reconstruction, should.</p>\n", out);
    put_origin(out, g->record);
    io_html_table_begin(out, (const char *const[]){"", "pairs", "verified", NULL});
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        const io_json_value *row = io_json_get(g->items[0], kinds[k]);
        if (!(json_number(row, "pairs") > 0)) continue;
        io_html_row_begin(out, kinds[k]);
        io_html_cell(out, json_number(row, "pairs"), 0, NULL);
        io_html_cell(out, json_number(row, "verified"), 0, NULL);
        io_html_row_end(out);
    }
    io_html_table_end(out);
    fputs("</section>\n", out);
}

static void write_scale(FILE *out, const ev_report *report, const group *g)
{
    (void)report;
    fputs("<section><h2>Keypoints under changes of scale</h2><p>Share of the keypoints of an image, brought down by a "
          "factor, that the image has too, and of these the share whose size follows; per cent.</p>\n", out);
    put_origin(out, g->record);
    io_html_table_begin(out, (const char *const[]){"detector", "factor", "keypoints", "repeated", "size follows", NULL});
    for (size_t i = 0; i < g->count; i++) {
        const io_json_value *scales = io_json_get(g->items[i], "scales");
        for (const io_json_value *row = scales ? scales->first : NULL; row; row = row->next) {
            io_html_row_begin(out, json_text(g->items[i], "detector"));
            io_html_cell(out, json_number(row, "scale"), 1, NULL);
            io_html_cell(out, json_number(row, "keypoints"), 0, NULL);
            io_html_cell(out, json_number(row, "repeated"), 1, NULL);
            io_html_cell(out, json_number(row, "sized"), 1, NULL);
            io_html_row_end(out);
        }
    }
    io_html_table_end(out);
    fputs("</section>\n", out);
}

/* -------------------------------------------------------------------------------------------- time and energy */

/* What the paper's tables have for a row of ours: its ORB detector, its matching, its fit, or the descriptor. */
static double paper_time(const char *step, const char *model)
{
    const ev_paper_row *row = ev_paper_find(model);
    if (strcmp(step, "describe") == 0) return row ? row->ms : NAN;
    if (strcmp(step, "detect-orb") == 0) return EV_PAPER_DETECT_MS;
    if (strcmp(step, "match-256") == 0) return EV_PAPER_MATCH_MS;
    return strcmp(step, "fit-homography") == 0 ? EV_PAPER_FIT_MS : NAN;
}

static void write_speed(FILE *out, const ev_report_item *from)
{
    const io_json_value *item = from->value;
    const io_json_value *rows = io_json_get(item, "rows");
    double threads = json_number(item, "threads");
    fputs("<section><h2>Time of every step</h2><p>Milliseconds per image or pair of images: ", out);
    fprintf(out, "median of %.0f repeats, mean of %.0f images, %.0f thread%s. ", json_number(item, "repeats"),
            json_number(item, "images"), threads, threads == 1 ? "" : "s");
    fputs("The ratio is to OpenCV in the same run. The paper&rsquo;s column is a Core i7 8750H with all its threads, "
          "OpenCV for steps other than description.</p>\n",
          out);
    put_origin(out, from->record);
    io_html_table_begin(
        out, (const char *const[]){"step", "ms", "ratio", "OpenCV, ms", "compared with", "&plusmn; %", "*paper", NULL});
    for (const io_json_value *row = rows ? rows->first : NULL; row; row = row->next) {
        io_html_row_begin(out, json_text(row, "name"));
        io_html_cell(out, json_number(row, "ms"), 3, NULL);
        io_html_cell(out, json_number(row, "ratio"), 3, NULL);
        io_html_cell(out, json_number(row, "peer_ms"), 3, NULL);
        io_html_cell_text(out, json_text(row, "peer"));
        io_html_cell(out, ev_spread_percent(json_number(row, "ms"), json_number(row, "spread")), 1, NULL);
        io_html_cell(out, paper_time(json_text(row, "step"), json_text(row, "model")), 2, "paper");
        io_html_row_end(out);
    }
    io_html_table_end(out);
    fputs("</section>\n", out);
}

static void write_energy(FILE *out, const io_json_value *item)
{
    const io_json_value *rows = io_json_get(item, "energy");
    if (!rows) return;
    fputs("<section><h2>Cost per frame</h2><p>Looking for the first image in the others: detection, description, "
          "matching, fit. Energy counters: ",
          out);
    io_html_text(out, json_text(item, "counters"));
    fputs(". The paper&rsquo;s columns are a Snapdragon 855 with a camera of 30 frames per second.</p>\n", out);
    io_html_table_begin(out, (const char *const[]){"descriptor", "frames/s", "CPU ms", "mJ", "*paper: frames/s",
                                                   "*paper: CPU ms", NULL});
    for (const io_json_value *row = rows->first; row; row = row->next) {
        const ev_paper_row *known = ev_paper_find(json_text(row, "name"));
        begin_row(out, json_text(row, "name"));
        io_html_cell(out, json_number(row, "fps"), 2, NULL);
        io_html_cell(out, json_number(row, "cpu_ms"), 2, NULL);
        io_html_cell(out, json_number(row, "millijoules"), 1, NULL);
        io_html_cell(out, known ? known->fps : NAN, 2, "paper");
        io_html_cell(out, known ? known->cpu_ms : NAN, 1, "paper");
        io_html_row_end(out);
    }
    io_html_table_end(out);
    fputs("</section>\n", out);
}

/* ----------------------------------------------------------------------------------------- ablation and machine */

static void write_ablation(FILE *out, const io_json_value *rows)
{
    fputs("<section><h2>What each part of the learning brings</h2><p>mAP in per cent on patches that were held "
          "back. The paper has these rows on HPatches: their order can be compared.</p>\n",
          out);
    io_html_table_begin(out, (const char *const[]){"", "mAP", NULL});
    for (const io_json_value *row = rows->first; row; row = row->next) {
        begin_row(out, json_text(row, "name"));
        io_html_cell(out, json_number(row, "map"), 2, NULL);
        io_html_row_end(out);
    }
    io_html_table_end(out);
    fputs("</section>\n", out);
}

static void write_machine(FILE *out, const ev_report *report)
{
    static const char *const lines[][2] = {{"processor", "Processor"},       {"system", "System"},
                                           {"features", "Instruction sets"}, {"compiler", "Compiler"},
                                           {"keybits", "keybits"},           {"peers", "Peers"}};
    for (size_t i = 0; i < report->count; i++) {
        const io_json_value *machine = io_json_get(report->items[i].value, "machine");
        if (!machine) continue;
        fprintf(out, "<section><h2>The machine</h2><dl>\n<dt>Cores</dt><dd>%.0f</dd><dt>Memory</dt><dd>%.1f GiB</dd>\n",
                json_number(machine, "cores"), json_number(machine, "memory_gib"));
        for (size_t k = 0; k < sizeof lines / sizeof *lines; k++) {
            fprintf(out, "<dt>%s</dt><dd>", lines[k][1]);
            io_html_text(out, json_text(machine, lines[k][0]));
            fputs("</dd>\n", out);
        }
        fputs("</dl></section>\n", out);
        return;
    }
}

void ev_report_write(const ev_report *report, const char *title, FILE *out)
{
    io_html_begin(out, title);
    write_cost(out, report);
    each_group(out, report, "oxford", write_oxford);
    each_group(out, report, "matching", write_matching);
    each_group(out, report, "hpatches", write_hpatches);
    each_group(out, report, "brown", write_brown);
    each_group(out, report, "sfm", write_sfm);
    each_group(out, report, "pose", write_pose);
    each_group(out, report, "verify", write_verify);
    each_group(out, report, "scale", write_scale);
    for (size_t i = 0; i < report->count; i++) {
        if (!is_benchmark(report->items[i].value, "bench")) continue;
        write_speed(out, &report->items[i]);
        write_energy(out, report->items[i].value);
    }
    for (size_t i = 0; i < report->count; i++)
        if (is_ablation(report->items[i].value)) write_ablation(out, report->items[i].value);
    write_machine(out, report);
    io_html_end(out);
}
