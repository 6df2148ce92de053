/* SPDX-License-Identifier: Apache-2.0 */
/* Long runs, in which what leaks or slows down shows itself (docs/reliability.md). Both tell memory and time of every
 * tenth, and end with code 1 when memory grows or results are wrong.
 *
 *     soak track PROGRAM N [WIDTH HEIGHT]   N rendered frames (160x120) for PROGRAM track: a picture that turns and
 *                                           wanders, and that is not in every hundredth
 *     soak index N [LIVE]                   adds N images to an index and removes each after LIVE others (1000); the
 *                                           index is saved, which drops the removed ones, after every tenth. Its file
 *                                           must be that of an index to which only the last LIVE were added */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/bytes.h"
#include "common/common.h"
#include "keybits/index.h"

static void must(kb_status status, const char *what)
{
    if (status == KB_OK) return;
    fprintf(stderr, "soak: %s: %s\n", what, kb_status_string(status));
    exit(1);
}

/* --------------------------------------------------------------------------------------------------------- frames */

/* Gray at a place of the picture: squares of random gray, finer ones over coarse ones. */
static int picture_at(int32_t x, int32_t y)
{
    int value = 0;
    for (int32_t side = 5; side <= 20; side *= 2) {
        uint64_t state = (uint64_t)(uint32_t)(x / side) << 32 | (uint32_t)(y / side * 64 + side);
        value += (int)kbi_random_below(&state, 256);
    }
    return value / 3;
}

/* The picture turned by `angle` degrees about its centre and moved, on gray. */
static void render_frame(uint8_t *out, const uint8_t *picture, int32_t width, int32_t height, double angle, double dx,
                         double dy)
{
    double sine, cosine, cx = 0.5 * width, cy = 0.5 * height;
    kbi_sincos_degrees(angle, &sine, &cosine);
    for (int32_t y = 0; y < height; y++) {
        for (int32_t x = 0; x < width; x++) {
            double u = x - cx - dx, v = y - cy - dy;
            int32_t px = (int32_t)(cosine * u + sine * v + cx + 0.5), py = (int32_t)(cosine * v - sine * u + cy + 0.5);
            bool inside = px >= 0 && px < width && py >= 0 && py < height;
            out[y * width + x] = inside ? picture[py * width + px] : 128;
        }
    }
}

/* Memory and processor time of a process so far. */
static double memory_mb(pid_t process)
{
    char name[64];
    long pages = 0;
    snprintf(name, sizeof name, "/proc/%ld/statm", (long)process);
    FILE *file = fopen(name, "r");
    if (file && fscanf(file, "%*d %ld", &pages) != 1) pages = 0;
    if (file) fclose(file);
    return (double)pages * (double)sysconf(_SC_PAGESIZE) / 1e6;
}

static double processor_seconds(pid_t process)
{
    char name[64];
    unsigned long user = 0, system = 0;
    snprintf(name, sizeof name, "/proc/%ld/stat", (long)process);
    FILE *file = fopen(name, "r");
    if (file && fscanf(file, "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system) != 2)
        user = system = 0;
    if (file) fclose(file);
    return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

/* Memory after each tenth; after the second it may not grow by more than what an allocator keeps back. */
static bool steady(const double mb[10])
{
    for (int i = 2; i < 10; i++) {
        if (mb[i] <= 1.2 * mb[1] + 4) continue;
        printf("memory grows: %.1f MB after tenth %d, %.1f MB after the second\n", mb[i], i + 1, mb[1]);
        return false;
    }
    return true;
}

typedef struct video {
    int32_t width, height;
    uint8_t *picture, *frame;
    uint64_t state;
} video;

static void video_create(video *v, int32_t width, int32_t height)
{
    size_t pixels = (size_t)width * (size_t)height;
    *v = (video){width, height, malloc(pixels), malloc(pixels), 1};
    if (!v->picture || !v->frame) must(KB_E_MEMORY, "frames");
    for (int32_t i = 0; i < width * height; i++) v->picture[i] = (uint8_t)picture_at(i % width, i / width);
}

static void video_frame(video *v, long number, FILE *out)
{
    double angle = kbi_random_below(&v->state, 360), dx = kbi_random_below(&v->state, 41) - 20.0;
    double dy = kbi_random_below(&v->state, 41) - 20.0;
    render_frame(v->frame, v->picture, v->width, v->height, angle, number % 100 == 99 ? 4 * v->width : dx, dy);
    fputs("FRAME\n", out);
    fwrite(v->frame, 1, (size_t)v->width * (size_t)v->height, out);
}

/* The program with our end of its standard input. */
static pid_t program_start(const char *program, const char *template, const char *rows, FILE **input)
{
    int ends[2];
    if (pipe(ends) != 0) must(KB_E_MEMORY, "pipe");
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[0], STDIN_FILENO);
        close(ends[0]);
        close(ends[1]);
        execl(program, program, "track", template, "-", "-o", rows, "--threads", "1", "--quiet", (char *)NULL);
        _exit(127);
    }
    close(ends[0]);
    *input = fdopen(ends[1], "wb");
    if (child < 0 || !*input) must(KB_E_MEMORY, "program");
    return child;
}

/* How many rows say found. */
static long count_found(const char *name)
{
    char line[1024];
    long found = 0;
    FILE *file = fopen(name, "r");
    while (file && fgets(line, sizeof line, file)) found += strchr(line, ',') && strncmp(strchr(line, ','), ",1,", 3) == 0;
    if (file) fclose(file);
    return found;
}

static void write_template(const video *v, const char *name)
{
    FILE *file = fopen(name, "wb");
    if (!file) must(KB_E_MEMORY, name);
    fprintf(file, "P5 %d %d 255\n", (int)v->width, (int)v->height);
    fwrite(v->picture, 1, (size_t)v->width * (size_t)v->height, file);
    fclose(file);
}

static bool feed_frames(video *v, long count, pid_t child, FILE *input)
{
    double mb[10], before = 0;
    fprintf(input, "YUV4MPEG2 W%d H%d F25:1 Ip A1:1 Cmono\n", (int)v->width, (int)v->height);
    for (long i = 0, tenth = 0; i < count; i++) {
        video_frame(v, i, input);
        if (i + 1 < (tenth + 1) * count / 10) continue;
        fflush(input);
        double seconds = processor_seconds(child);
        mb[tenth] = memory_mb(child);
        printf("%9ld frames: %6.1f MB, %7.2f s of the processor for this tenth\n", i + 1, mb[tenth], seconds - before);
        before = seconds;
        tenth++;
    }
    return steady(mb);
}

static int soak_track(const char *program, long count, int32_t width, int32_t height)
{
    char folder[] = "/tmp/keybits-soak-XXXXXX", template[64], rows[64];
    video v;
    FILE *input;
    int code = 0;
    if (!mkdtemp(folder)) must(KB_E_MEMORY, folder);
    snprintf(template, sizeof template, "%s/template.pgm", folder);
    snprintf(rows, sizeof rows, "%s/rows.csv", folder);
    signal(SIGPIPE, SIG_IGN); /* a program that ends early is seen by its exit code */
    video_create(&v, width, height);
    write_template(&v, template);
    pid_t child = program_start(program, template, rows, &input);
    bool good = feed_frames(&v, count, child, input);
    fclose(input);
    waitpid(child, &code, 0);
    long shown = count - count / 100, found = count_found(rows);
    printf("the picture was found in %ld of the %ld frames that show it\n", found, shown);
    good = good && code == 0 && found >= shown - shown / 50;
    unlink(template);
    unlink(rows);
    rmdir(folder);
    free(v.picture);
    free(v.frame);
    return good ? 0 : 1;
}

/* ---------------------------------------------------------------------------------------------------------- index */

enum { ROWS = 12, BYTES = 32 };

typedef struct byte_sum {
    uint64_t sum, bytes;
} byte_sum;

static kb_status sum_bytes(void *self, const void *data, size_t size)
{
    byte_sum *s = self;
    s->sum = kbi_sum_bytes(s->sum, data, size);
    s->bytes += size;
    return KB_OK;
}

static byte_sum file_of(kb_index *index)
{
    byte_sum s = {KBI_SUM_START, 0};
    must(kb_index_save(index, sum_bytes, &s), "save");
    return s;
}

static kb_features image_at(uint64_t number, uint8_t rows[ROWS * BYTES])
{
    uint64_t state = number;
    for (size_t i = 0; i < ROWS * BYTES; i++) rows[i] = (uint8_t)kbi_random_next(&state);
    return (kb_features){.struct_size = sizeof(kb_features), .rows = rows, .n = ROWS, .row_bytes = BYTES};
}

static kb_vocabulary *train_words(void)
{
    enum { N = 20000 };
    uint64_t state = 7;
    uint8_t *rows = malloc(N * BYTES);
    kb_vocabulary *vocabulary = NULL;
    kb_vocabulary_options o;
    KB_INIT(o);
    o.levels = 3;
    if (!rows) must(KB_E_MEMORY, "vocabulary");
    for (size_t i = 0; i < N * BYTES; i++) rows[i] = (uint8_t)kbi_random_next(&state);
    must(kb_vocabulary_train(rows, N, BYTES, &o, NULL, &vocabulary, NULL), "vocabulary");
    free(rows);
    return vocabulary;
}

/* The image that was just added must be the first result. */
static void expect_found(const kb_index *index, const kb_features *f, uint64_t id)
{
    kb_index_result result;
    size_t count;
    must(kb_index_query(index, f, NULL, NULL, &result, 1, &count, NULL), "query");
    if (count == 1 && result.id == id) return;
    fprintf(stderr, "soak: image %llu is not found\n", (unsigned long long)id);
    exit(1);
}

/* Adds and removes; tells whether memory was steady. */
static bool turn_over(kb_index *index, long count, long live)
{
    uint8_t rows[ROWS * BYTES];
    double mb[10], before = processor_seconds(getpid());
    for (long i = 0, tenth = 0; i < count; i++) {
        kb_features f = image_at((uint64_t)i, rows);
        must(kb_index_add(index, &f, (uint64_t)i, "", NULL, NULL), "add");
        if (i >= live) must(kb_index_remove(index, (uint64_t)(i - live), NULL), "remove");
        if (i % 1000 == 0) expect_found(index, &f, (uint64_t)i);
        if (i + 1 < (tenth + 1) * count / 10) continue;
        mb[tenth] = memory_mb(getpid());
        file_of(index);
        double seconds = processor_seconds(getpid());
        kb_index_info info;
        KB_INIT(info);
        must(kb_index_get_info(index, &info), "info");
        printf("%9ld images: %zu live, %.1f MB of index, %.1f MB of process, %.2f s of the processor for this tenth\n",
               i + 1, info.images, (double)info.bytes / 1e6, mb[tenth], seconds - before);
        before = seconds;
        tenth++;
    }
    return steady(mb);
}

static int soak_index(long count, long live)
{
    kb_vocabulary *vocabulary = train_words();
    kb_index *index, *fresh;
    uint8_t rows[ROWS * BYTES];
    must(kb_index_create(vocabulary, NULL, NULL, &index, NULL), "index");
    bool good = turn_over(index, count, live);
    must(kb_index_create(vocabulary, NULL, NULL, &fresh, NULL), "index");
    for (long i = count > live ? count - live : 0; i < count; i++) {
        kb_features f = image_at((uint64_t)i, rows);
        must(kb_index_add(fresh, &f, (uint64_t)i, "", NULL, NULL), "add");
    }
    byte_sum a = file_of(index), b = file_of(fresh);
    bool same = a.sum == b.sum && a.bytes == b.bytes;
    printf("its file, %llu bytes, is %s that of an index of the last %ld alone\n", (unsigned long long)a.bytes,
           same ? "the same as" : "NOT", live);
    kb_index_free(fresh);
    kb_index_free(index);
    kb_vocabulary_free(vocabulary);
    return good && same ? 0 : 1;
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc > 3 && strcmp(argv[1], "track") == 0 && atol(argv[3]) >= 10)
        return soak_track(argv[2], atol(argv[3]), argc > 5 ? atoi(argv[4]) : 160, argc > 5 ? atoi(argv[5]) : 120);
    if (argc > 2 && strcmp(argv[1], "index") == 0 && atol(argv[2]) >= 10)
        return soak_index(atol(argv[2]), argc > 3 ? atol(argv[3]) : 1000);
    fputs("usage: soak track PROGRAM N [WIDTH HEIGHT] | soak index N [LIVE]; N is 10 or more\n", stderr);
    return 2;
}
