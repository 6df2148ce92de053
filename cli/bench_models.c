#include <stdlib.h>

#include "bench.h"

static const struct {
    const char *name;
    kb_kind kind;
    int32_t bits;
} models[BENCH_MODELS] = {{"bad256", KB_BAD, 256},           {"bad512", KB_BAD, 512},
                          {"bag256", KB_BAG, 256},           {"bag512", KB_BAG, 512},
                          {"hashsift256", KB_HASHSIFT, 256}, {"hashsift512", KB_HASHSIFT, 512}};

const char *bench_model_name(bench_model model) { return models[model].name; }

/* Time does not depend on the numbers in a table, only on its shape; any will do. */
static uint32_t below(uint64_t *state, uint32_t n)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((*state >> 33) % n);
}

static kb_box_pair random_pair(uint64_t *state, kb_kind kind)
{
    uint32_t r = 1 + below(state, KB_MAX_RADIUS), free_places = KB_PATCH_SIDE - 2 * r;
    uint32_t first = kind == KB_BAG ? 1 + below(state, KB_PLANES - 1) : 0;
    uint32_t second = kind == KB_BAG ? 1 + below(state, KB_PLANES - 1) : 0;
    return (kb_box_pair){(uint8_t)first,
                         (uint8_t)(r + below(state, free_places)),
                         (uint8_t)(r + below(state, free_places)),
                         (uint8_t)r,
                         (uint8_t)second,
                         (uint8_t)(r + below(state, free_places)),
                         (uint8_t)(r + below(state, free_places)),
                         (uint8_t)r,
                         (float)below(state, 20) - 10};
}

static kb_status random_model(bench_model which, kb_model **out)
{
    size_t bits = (size_t)models[which].bits;
    kb_box_pair *boxes = io_alloc(bits, sizeof *boxes);
    int8_t *weights = io_alloc(bits, KB_SIFT_VALUES);
    int32_t *bias = io_alloc(bits, sizeof *bias);
    uint64_t state = 1;
    for (size_t i = 0; i < bits; i++) boxes[i] = random_pair(&state, models[which].kind);
    for (size_t i = 0; i < bits * KB_SIFT_VALUES; i++) weights[i] = (int8_t)((int)below(&state, 128) - 64);
    kb_model_spec spec;
    KB_INIT(spec);
    spec.kind = models[which].kind;
    spec.bits = models[which].bits;
    spec.name = models[which].name;
    spec.boxes = boxes;
    spec.weights = weights;
    spec.bias = bias;
    kb_status status = kb_model_create(&spec, out, NULL);
    free(boxes);
    free(weights);
    free(bias);
    return status;
}

bool bench_model_open(const cli_common *common, bench_model which, kb_model **out, io_error *error)
{
    kb_status status = kb_model_builtin(models[which].name, out);
    if (status == KB_E_NO_TABLE) {
        cli_say(common, "%s: this build holds no table, so a random one of its shape is timed", models[which].name);
        status = random_model(which, out);
    }
    return status == KB_OK || io_fail(error, "%s: %s", models[which].name, kb_status_string(status));
}
