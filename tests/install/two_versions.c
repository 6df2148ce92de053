/* SPDX-License-Identifier: Apache-2.0 */
/* Two versions of the library in one process, as two plug-ins of a program may bring them: each answers for itself, and
 * both describe at the same time.     two_versions FIRST.so SECOND.so */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <keybits/advanced.h>

enum { SIDE = 256, MOST = 400, ROUNDS = 20, BYTES = 32 };

typedef struct version {
    const char *(*name)(void);
    const char *(*cpu_features)(const char *);
    kb_status (*builtin)(const char *, const kb_allocator *, kb_model **);
    void (*model_free)(kb_model *);
    kb_status (*both)(const kb_model *, const kb_image *, const kb_detect_options *, const kb_describe_options *,
                      kb_workspace *, kb_features *, kb_error *);
    kb_keypoint keypoints[MOST];
    uint8_t rows[MOST * BYTES];
    size_t count;
} version;

static uint8_t pixels[SIDE * SIDE];

static void fail(const char *what)
{
    fprintf(stderr, "FAILED: %s\n", what);
    exit(1);
}

static void *symbol(void *library, const char *name)
{
    void *found = dlsym(library, name);
    if (!found) fail(name);
    return found;
}

static void version_open(version *v, const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) fail(dlerror());
    *(void **)&v->name = symbol(library, "kb_version");
    *(void **)&v->cpu_features = symbol(library, "kb_cpu_features");
    *(void **)&v->builtin = symbol(library, "kb_model_builtin");
    *(void **)&v->model_free = symbol(library, "kb_model_free");
    *(void **)&v->both = symbol(library, "kb_detect_and_describe");
}

static void *version_run(void *context)
{
    version *v = context;
    kb_image image = {pixels, SIDE, SIDE, SIDE, KB_FORMAT_GRAY8, 0};
    kb_model *model;
    if (v->builtin("bad256", NULL, &model) != KB_OK) fail("the model");
    kb_features f;
    KB_INIT(f);
    f.keypoints = v->keypoints;
    f.capacity = MOST;
    f.rows = v->rows;
    f.rows_size = sizeof v->rows;
    for (int i = 0; i < ROUNDS; i++)
        if (v->both(model, &image, NULL, NULL, NULL, &f, NULL) != KB_OK) fail("describing");
    v->count = f.n;
    v->model_free(model);
    return NULL;
}

int main(int argc, char **argv)
{
    static version versions[2];
    pthread_t threads[2];
    char features[256];
    uint32_t seed = 1;
    if (argc != 3) fail("usage: two_versions FIRST.so SECOND.so");
    for (int i = 0; i < SIDE * SIDE; i++) { /* blocks of 8 x 8 px with some noise: corners */
        seed = seed * 1664525u + 1013904223u;
        pixels[i] = (uint8_t)(((i / 8 * 37 ^ i / SIDE / 8 * 101) * 2654435761u >> 24) / 2 + (seed >> 27));
    }
    for (int i = 0; i < 2; i++) version_open(&versions[i], argv[1 + i]);
    if (strcmp(versions[0].name(), versions[1].name()) == 0) fail("both say the same version");

    snprintf(features, sizeof features, "%s", versions[1].cpu_features(NULL));
    if (!versions[0].cpu_features("c")) fail("kb_cpu_features");
    if (strcmp(features, versions[1].cpu_features(NULL)) != 0) fail("one version limits the other");

    for (int i = 0; i < 2; i++)
        if (pthread_create(&threads[i], NULL, version_run, &versions[i]) != 0) fail("pthread_create");
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    if (versions[0].count == 0 || versions[0].count != versions[1].count) fail("another number of keypoints");
    if (memcmp(versions[0].rows, versions[1].rows, versions[0].count * BYTES) != 0) fail("other bits");
    printf("%s and %s: the same %zu rows\n", versions[0].name(), versions[1].name(), versions[0].count);
    return 0;
}
