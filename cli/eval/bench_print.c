/* SPDX-License-Identifier: Apache-2.0 */
/* The result of keybits bench as a table that can be pasted into a report, and as JSON. */
#include <math.h>

#include "bench.h"
#include "io/json.h"

const char *bench_head(const bench_report *report, int index, char line[BENCH_LINE])
{
    const ev_machine *m = &report->machine;
    const ev_bench_set *set = report->set;
    if (index == 0)
        snprintf(line, BENCH_LINE, "keybits %s (%s), %s, %d cores, %s; instruction sets: %s; OpenCV: %s", m->library,
                 m->compiler, m->processor, (int)m->cores, m->system, *m->features ? m->features : "plain C",
                 report->plan->peers ? m->peers : "none");
    else
        snprintf(line, BENCH_LINE, "%zu of %zu images, at most %d keypoints per image, %d repeats, %d thread%s (%s)",
                 set->count, set->names->count, (int)set->max_keypoints, (int)report->plan->repeats,
                 (int)report->plan->threads, report->plan->threads > 1 ? "s" : "",
                 report->plan->threads > 1 ? "wall-clock time" : "processor time");
    return line;
}

void bench_print_head(const bench_report *report)
{
    char line[BENCH_LINE];
    for (int i = 0; i < BENCH_HEAD_LINES; i++) printf("%s\n", cli_shown(bench_head(report, i, line)));
    printf("\n%-22s %9s %6s", "step", "ms", "+- %");
    if (report->plan->peers) printf(" %7s %10s %6s  %s", "ratio", "OpenCV ms", "+- %", "compared with");
    printf("\n");
    fflush(stdout);
}

static void print_spread(double ms, double spread)
{
    if (isfinite(spread))
        printf(" %6.1f", ev_spread_percent(ms, spread));
    else
        printf(" %6s", "-");
}

void bench_print_row(const ev_bench_row *r)
{
    printf("%-22s %9.3f", r->task->name, r->ms);
    print_spread(r->ms, r->spread);
    if (r->peer) {
        printf(" %7.3f %10.3f", r->ms / r->peer_ms, r->peer_ms);
        print_spread(r->peer_ms, r->peer_spread);
        printf("  %s", r->peer);
    }
    if (!isnan(r->speedup)) printf("  %.2f x one thread", r->speedup);
    if (!isnan(r->instructions)) printf("  %.2f M instructions", 1e-6 * r->instructions);
    printf("\n");
    fflush(stdout);
}

static double millijoules(const ev_bench_energy *e)
{
    return e->cost.joules < 0 ? NAN : e->cost.joules * 1000 / e->frames;
}

void bench_print_energy(const bench_report *report)
{
    if (report->energy_count == 0) return;
    printf("\n%-22s %9s %9s %9s  %s\n", "frame", "frames/s", "CPU ms", "mJ", report->energy[0].cost.source);
    for (size_t i = 0; i < report->energy_count; i++) {
        const ev_bench_energy *e = &report->energy[i];
        printf("%-22s %9.2f %9.2f ", cli_shown(report->energy_methods[i].name), e->frames / e->cost.wall,
               e->cost.cpu * 1000 / e->frames);
        if (isfinite(millijoules(e))) printf("%9.2f\n", millijoules(e));
        else printf("%9s\n", "-");
    }
}

void bench_print_growth(const ev_bench_plot plots[EV_BENCH_PLOTS])
{
    printf("\n%-11s %-19s %9s %9s %9s %9s %6s %8s %8s %6s\n", "growth with", "of", "from", "to", "ms", "ms", "power",
           "MB", "MB", "power");
    for (int p = 0; p < EV_BENCH_PLOTS; p++)
        for (size_t i = 0; i < plots[p].count; i++) {
            const ev_bench_curve *c = &plots[p].curves[i];
            const size_t last = c->points - 1;
            printf("%-11s %-19s %9.5g %9.6g %9.3f %9.3f %6.2f %8.2f %8.2f %6.2f\n", plots[p].x_name, cli_shown(c->name),
                   c->x[0], c->x[last], c->ms[0], c->ms[last], ev_bench_power(c->x, c->ms, c->points), c->mb[0],
                   c->mb[last], ev_bench_power(c->x, c->mb, c->points));
        }
}

static void json_numbers(io_json *json, const char *name, const double *numbers, size_t n)
{
    io_json_array(json, name);
    for (size_t i = 0; i < n; i++) io_json_number(json, NULL, numbers[i]);
    io_json_end(json);
}

static void json_growth(io_json *json, const ev_bench_plot *plots)
{
    if (!plots) return;
    io_json_array(json, "growth");
    for (int p = 0; p < EV_BENCH_PLOTS; p++)
        for (size_t i = 0; i < plots[p].count; i++) {
            const ev_bench_curve *c = &plots[p].curves[i];
            io_json_object(json, NULL);
            io_json_string(json, "with", plots[p].x_name);
            io_json_string(json, "name", c->name);
            json_numbers(json, "x", c->x, c->points);
            json_numbers(json, "ms", c->ms, c->points);
            json_numbers(json, "mb", c->mb, c->points);
            io_json_number(json, "ms_power", ev_bench_power(c->x, c->ms, c->points));
            io_json_number(json, "mb_power", ev_bench_power(c->x, c->mb, c->points));
            io_json_end(json);
        }
    io_json_end(json);
}

static void json_row(io_json *json, const ev_bench_row *r)
{
    io_json_object(json, NULL);
    io_json_string(json, "name", r->task->name);
    io_json_string(json, "step", ev_bench_step_name(r->task));
    io_json_string(json, "model", r->task->method ? r->task->method->name : NULL);
    io_json_string(json, "per", ev_bench_of_pairs(r->task) ? "pair" : "image");
    io_json_number(json, "ms", r->ms);
    io_json_number(json, "spread", r->spread);
    io_json_string(json, "peer", r->peer);
    io_json_number(json, "peer_ms", r->peer ? r->peer_ms : NAN);
    io_json_number(json, "peer_spread", r->peer ? r->peer_spread : NAN);
    io_json_number(json, "ratio", r->peer ? r->ms / r->peer_ms : NAN);
    io_json_number(json, "speedup", r->speedup);
    io_json_number(json, "instructions", r->instructions);
    io_json_end(json);
}

static void json_energy(io_json *json, const bench_report *report)
{
    if (report->energy_count == 0) return;
    io_json_string(json, "counters", report->energy[0].cost.source);
    io_json_array(json, "energy");
    for (size_t i = 0; i < report->energy_count; i++) {
        const ev_bench_energy *e = &report->energy[i];
        io_json_object(json, NULL);
        io_json_string(json, "name", report->energy_methods[i].name);
        io_json_number(json, "frames", e->frames);
        io_json_number(json, "fps", e->frames / e->cost.wall);
        io_json_number(json, "cpu_ms", e->cost.cpu * 1000 / e->frames);
        io_json_number(json, "millijoules", millijoules(e));
        io_json_end(json);
    }
    io_json_end(json);
}

static void json_machine(io_json *json, const ev_machine *machine)
{
    io_json_object(json, "machine");
    io_json_string(json, "processor", machine->processor);
    io_json_integer(json, "cores", machine->cores);
    io_json_number(json, "memory_gib", machine->memory_gib);
    io_json_string(json, "system", machine->system);
    io_json_string(json, "features", machine->features);
    io_json_string(json, "compiler", machine->compiler);
    io_json_string(json, "keybits", machine->library);
    io_json_string(json, "peers", machine->peers);
    io_json_end(json);
}

void bench_print_json(const bench_report *report)
{
    io_json json;
    io_json_begin(&json, stdout);
    io_json_object(&json, NULL);
    io_json_string(&json, "benchmark", "bench");
    io_json_integer(&json, "images", (int64_t)report->set->count);
    io_json_integer(&json, "max_keypoints", report->set->max_keypoints);
    io_json_integer(&json, "repeats", report->plan->repeats);
    io_json_integer(&json, "threads", report->plan->threads);
    json_machine(&json, &report->machine);
    io_json_array(&json, "rows");
    for (size_t i = 0; i < report->count; i++) json_row(&json, &report->rows[i]);
    io_json_end(&json);
    json_energy(&json, report);
    json_growth(&json, report->plots);
    io_json_end(&json);
}
