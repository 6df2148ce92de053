/* SPDX-License-Identifier: Apache-2.0 */
/* The same image under two names: one file by two paths or links, or a copy of it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "io/bytes.h"
#include "io/file.h"

#define SAMPLE 4096 /* bytes at the head, in the middle and at the end, which tell most files of one size apart */

typedef struct named_file {
    struct stat status;
    uint64_t sample; /* hash of a sample; 0 where no other file has the size */
    size_t index;    /* in the names */
} named_file;

static int compare_files(const void *a, const void *b)
{
    const named_file *x = a, *y = b;
    if (x->status.st_size != y->status.st_size) return x->status.st_size < y->status.st_size ? -1 : 1;
    if (x->sample != y->sample) return x->sample < y->sample ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

static bool one_file(const named_file *a, const named_file *b)
{
    return a->status.st_dev == b->status.st_dev && a->status.st_ino == b->status.st_ino;
}

static uint64_t sample_file(const char *path, const named_file *f)
{
    uint8_t bytes[SAMPLE];
    uint64_t hash = KBI_SUM_START;
    FILE *file = fopen(path, "rb");
    for (int part = 0; file && part < 3; part++) {
        off_t last = f->status.st_size > SAMPLE ? f->status.st_size - SAMPLE : 0;
        if (fseeko(file, last / 2 * part + last % 2 * (part / 2), SEEK_SET) != 0) break;
        hash = kbi_sum_bytes(hash, bytes, fread(bytes, 1, sizeof bytes, file));
    }
    if (file) fclose(file);
    return hash;
}

static bool one_content(const char *a, const char *b)
{
    uint8_t of_a[SAMPLE], of_b[SAMPLE];
    FILE *files[2] = {fopen(a, "rb"), fopen(b, "rb")};
    bool same = files[0] && files[1];
    for (size_t got = 1; same && got > 0;) {
        got = fread(of_a, 1, sizeof of_a, files[0]);
        same = fread(of_b, 1, sizeof of_b, files[1]) == got && memcmp(of_a, of_b, got) == 0 && !ferror(files[0]);
    }
    for (int i = 0; i < 2; i++)
        if (files[i]) fclose(files[i]);
    return same;
}

static bool same_image(const io_names *names, const named_file *a, const named_file *b)
{
    bool empty = a->status.st_size == 0; /* nothing that could be the same */
    return one_file(a, b) || (!empty && one_content(names->items[a->index], names->items[b->index]));
}

static void sort_files(named_file *files, size_t count)
{
    if (count > 1) qsort(files, count, sizeof *files, compare_files);
}

/* Regular files by size and sample. */
static size_t list_files(const io_names *names, named_file *files)
{
    size_t count = 0;
    for (size_t i = 0; i < names->count; i++) {
        named_file *f = &files[count];
        *f = (named_file){.index = i};
        if (strcmp(names->items[i], "-") != 0 && stat(names->items[i], &f->status) == 0 && S_ISREG(f->status.st_mode))
            count++;
    }
    sort_files(files, count);
    for (size_t i = 1; i < count; i++)
        for (size_t k = i - 1; k <= i && files[i - 1].status.st_size == files[i].status.st_size; k++)
            if (files[k].sample == 0) files[k].sample = sample_file(names->items[files[k].index], &files[k]);
    sort_files(files, count);
    return count;
}

/* same[i]: the first of the names of the image that name i leads to. */
static void find_same(const io_names *names, size_t *same)
{
    named_file *files = io_alloc(names->count + 1, sizeof *files);
    size_t count = list_files(names, files), first = 0;
    for (size_t i = 0; i < names->count; i++) same[i] = i;
    for (size_t i = 1; i < count; i++) {
        if (files[i].status.st_size != files[first].status.st_size || files[i].sample != files[first].sample) first = i;
        size_t k = first;
        while (k < i && !same_image(names, &files[k], &files[i])) k++;
        same[files[i].index] = files[k].index;
    }
    free(files);
}

void io_names_unique(io_names *names, io_take_sentence say, void *context)
{
    size_t *same = io_alloc(names->count + 1, sizeof *same), kept = 0;
    find_same(names, same);
    for (size_t i = 0; say && i < names->count; i++) {
        io_error sentence;
        const char *name = names->items[i], *first = names->items[same[i]];
        if (same[i] == i) continue;
        if (strcmp(name, first) == 0) io_fail(&sentence, "%s is named twice, and taken once", name);
        else io_fail(&sentence, "%s is the same image as %s, and left out", name, first);
        say(context, sentence.text);
    }
    for (size_t i = 0; i < names->count; i++) {
        if (same[i] != i) free(names->items[i]);
        else names->items[kept++] = names->items[i];
    }
    names->count = kept;
    free(same);
}
