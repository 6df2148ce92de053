/* keybits eval speed: options in, the paper's table of times or JSON out; how it is measured is in eval/speed.h. */
#include <stdlib.h>
#include <string.h>

#include "eval/peers.h"
#include "eval_machine.h"

const char eval_speed_help[] =
    "usage: keybits eval speed IMAGES... [options]\n"
    "Times every step on all IMAGES (files, folders or @lists), ours and the peers' in one run:\n"
    "detection, description with each descriptor (keypoints given), mutual matching of every image and\n"
    "the next, and the fit of a homography to the matches. A pass over all images warms up, then come the\n"
    "repeats; passes of all rows take turns. Prints milliseconds an image or pair: median, quartiles and\n"
    "best of the repeats, and the processor time.\n"
    "\n"
    "  -m, --model LIST   descriptors, separated by commas (default: all built-in ones and all peers)\n"
    "  --repeats N        1 to 1000 (default 5)\n"
    "  --support S        0.1 to 10, instead of the models' own support\n"
    "\n"
    EVAL_KEYPOINT_HELP
    "\n"
    CLI_COMMON_HELP
    "With peers, --threads counts for them too; the default here is 1.\n";

enum { OPTION_REPEATS = EVAL_OPTION_OWN };

static const struct option longs[] = {
    {"model", required_argument, NULL, 'm'},
    {"support", required_argument, NULL, EVAL_OPTION_SUPPORT},
    EVAL_KEYPOINT_OPTIONS,
    {"repeats", required_argument, NULL, OPTION_REPEATS},
    CLI_COMMON_OPTIONS,
    {NULL, 0, NULL, 0},
};

/* ---- which rows ---- */

typedef struct rows {
    ev_speed_task **tasks;
    ev_speed_row *items;
    size_t count;
} rows;

static bool add(rows *list, ev_speed_set *set, ev_step step, const ev_method *method, kb_detector detector, bool peer,
                io_error *error)
{
    list->tasks = io_grow(list->tasks, list->count + 1, sizeof *list->tasks);
    if (!ev_speed_task_create(set, step, method, detector, peer, &list->tasks[list->count], error)) return false;
    list->count++;
    return true;
}

static bool add_all(rows *list, ev_speed_set *set, const eval_methods *methods, io_error *error)
{
    bool peers = ev_peer_name(0) != NULL, good = true, fitted[2] = {false, false};
    for (int d = KB_DETECTOR_ORB; d <= KB_DETECTOR_SIFT && good; d++) {
        good = add(list, set, EV_STEP_DETECT, NULL, (kb_detector)d, false, error);
        if (peers && good) good = add(list, set, EV_STEP_DETECT, NULL, (kb_detector)d, true, error);
    }
    for (size_t m = 0; m < methods->count && good; m++)
        good = add(list, set, EV_STEP_DESCRIBE, &methods->items[m], KB_DETECTOR_ORB, false, error);
    for (size_t m = 0; m < methods->count && good && ev_speed_images(set) > 1; m++)
        good = add(list, set, EV_STEP_MATCH, &methods->items[m], KB_DETECTOR_ORB, false, error);
    for (size_t m = 0; m < methods->count && good && ev_speed_images(set) > 1; m++) {
        bool peer = methods->items[m].peer != NULL;
        if (!fitted[peer]) good = add(list, set, EV_STEP_FIT, &methods->items[m], KB_DETECTOR_ORB, false, error);
        fitted[peer] = true;
    }
    return good;
}

static void rows_free(rows *list)
{
    for (size_t i = 0; i < list->count; i++) ev_speed_task_free(list->tasks[i]);
    free(list->tasks);
    free(list->items);
}

/* ---- output ---- */

/* What a row is compared with: the peer's same detector, cv:orb's description, the first peer's matching and fit. */
static const ev_speed_row *reference(const rows *list, const ev_speed_row *row)
{
    for (size_t i = 0; i < list->count; i++) {
        const ev_speed_row *r = &list->items[i];
        if (!r->peer || r->step != row->step) continue;
        if (row->step == EV_STEP_DETECT && strcmp(r->name, row->name) != 0) continue;
        if (row->step == EV_STEP_DESCRIBE && strcmp(r->name, "cv:orb") != 0) continue;
        return r;
    }
    return NULL;
}

static void print_table(const rows *list)
{
    ev_step step = (ev_step)-1;
    printf("%-10s %-28s %9s %9s %17s %9s %9s %7s\n", "step", "", "keypoints", "ms", "quartiles", "best", "CPU ms",
           "ratio");
    for (size_t i = 0; i < list->count; i++) {
        const ev_speed_row *r = &list->items[i], *other = reference(list, r);
        char name[64], ratio[16] = "-";
        snprintf(name, sizeof name, "%s%s", r->step == EV_STEP_DETECT && r->peer ? "cv:" : "", r->name);
        if (other && other != r) snprintf(ratio, sizeof ratio, "%.3f", r->ms.median / other->ms.median);
        printf("%-10s %-28s %9.0f %9.3f %8.3f-%8.3f %9.3f %9.3f %7s\n", r->step == step ? "" : ev_step_name(r->step),
               name, r->keypoints, r->ms.median, r->ms.low, r->ms.high, r->ms.smallest, r->cpu_ms, ratio);
        step = r->step;
    }
}

static void print_json(const rows *list, const ev_speed_set *set, const ev_speed_options *options)
{
    io_json json;
    io_json_begin(&json, stdout);
    io_json_object(&json, NULL);
    io_json_string(&json, "benchmark", "speed");
    io_json_integer(&json, "images", (int64_t)ev_speed_images(set));
    io_json_number(&json, "keypoints", ev_speed_keypoints(set));
    io_json_integer(&json, "threads", options->threads);
    io_json_integer(&json, "repeats", options->repeats);
    eval_machine_json(&json);
    io_json_array(&json, "rows");
    for (size_t i = 0; i < list->count; i++) {
        const ev_speed_row *r = &list->items[i], *other = reference(list, r);
        io_json_object(&json, NULL);
        io_json_string(&json, "step", ev_step_name(r->step));
        io_json_string(&json, "name", r->name);
        io_json_bool(&json, "peer", r->peer);
        io_json_number(&json, "keypoints", r->keypoints);
        io_json_number(&json, "ms", r->ms.median);
        io_json_number(&json, "ms_low", r->ms.low);
        io_json_number(&json, "ms_high", r->ms.high);
        io_json_number(&json, "ms_best", r->ms.smallest);
        io_json_number(&json, "cpu_ms", r->cpu_ms);
        if (other && other != r) io_json_number(&json, "ratio", r->ms.median / other->ms.median);
        io_json_end(&json);
    }
    io_json_end(&json);
    io_json_end(&json);
}

/* ---- the run ---- */

static int measure(void *job, const cli_common *common, const io_names *images, const eval_methods *methods,
                   const ev_speed_options *options)
{
    (void)job;
    io_error error;
    ev_speed_set *set;
    rows list = {NULL, NULL, 0};
    int code = CLI_DONE;
    if (!ev_speed_open(images, options, &set, &error)) return cli_error("%s", error.text);
    bool good = add_all(&list, set, methods, &error);
    if (good) {
        list.items = io_alloc(list.count, sizeof *list.items);
        good = ev_speed_measure(list.tasks, list.count, options, list.items, &error);
    }
    if (!good) code = cli_error("%s", error.text);
    else if (common->json) print_json(&list, set, options);
    else print_table(&list);
    rows_free(&list);
    ev_speed_close(set);
    return code;
}

static bool take(void *job, eval_options *own, cli_common *common, int option)
{
    ev_speed_options *options = job;
    int64_t value;
    if (option != OPTION_REPEATS) return eval_option(own, common, option);
    if (!cli_integer(common, "--repeats", optarg, 1, 1000, &value)) return false;
    options->repeats = (int32_t)value;
    return true;
}

static int run(void *job, eval_options *own, cli_common *common, int count, char **arguments)
{
    return eval_measure(own, common, count, arguments, job, NULL, measure);
}

int eval_speed(int argc, char **argv)
{
    static const eval_frame frame = {
        .help = eval_speed_help, .shorts = "m:n:", .longs = longs, .threads = 1, .take = take, .run = run};
    ev_speed_options options = {.repeats = 5};
    return eval_run(&frame, &options, argc, argv);
}
