/* SPDX-License-Identifier: Apache-2.0 */
/* Drives a target without libFuzzer: replays files, then tries changes of its seeds, the same ones every time.
 *
 *     fuzz_<name> ROUNDS [FILE...]     replays the files, then makes ROUNDS changes
 *     fuzz_<name> --seeds FOLDER       writes the seeds, for libFuzzer to begin with
 *
 * A round that crashes leaves its input in $KEYBITS_FUZZ_LAST, when that is set. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

#define ROOM 65536

static uint64_t state = 1;

/* splitmix64, below n */
static size_t draw(size_t n)
{
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return n ? (size_t)((z ^ z >> 31) % n) : 0;
}

/* Values at which arithmetic breaks. */
static void put_extreme(uint8_t *to, size_t width)
{
    static const uint32_t values[] = {0,      1,      0x7f,       0x80,       0xff,      0x7fff,
                                      0x8000, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff};
    uint32_t value = values[draw(sizeof values / sizeof *values)];
    size_t flip = draw(2) ? width - 1 : 0; /* either order of bytes */
    for (size_t i = 0; i < width; i++) to[i ^ flip] = (uint8_t)(value >> 8 * (i & 3));
}

static size_t change_once(uint8_t *data, size_t size)
{
    static const char *const words[] = {"nan", "inf", "-1", "1e999", "99999999999", "\n", ",", "\"", "[", "0x"};
    size_t at = draw(size), length;
    if (size == 0) return size;
    switch (draw(7)) {
    case 0: data[at] ^= (uint8_t)(1u << draw(8)); return size;
    case 1: data[at] = (uint8_t)draw(256); return size;
    case 2: put_extreme(data + at, size - at < 4 ? 1 : (size_t)1 << draw(3)); return size;
    case 3: return at; /* cut off */
    case 4: /* taken out */
        length = 1 + draw(size - at < 16 ? size - at : 16);
        memmove(data + at, data + at + length, size - at - length);
        return size - length;
    case 5: /* written twice */
        length = 1 + draw(size - at < 64 ? size - at : 64);
        if (size + length > ROOM) return size;
        memmove(data + at + length, data + at, size - at);
        return size + length;
    default: { /* a word over what was there */
        const char *word = words[draw(sizeof words / sizeof *words)];
        length = strlen(word) < size - at ? strlen(word) : size - at;
        memcpy(data + at, word, length);
        return size;
    }
    }
}

static void try(const uint8_t *data, size_t size)
{
    /* A block of exactly this size, so that a sanitizer sees the first byte read behind it. */
    uint8_t *exact = malloc(size ? size : 1);
    const char *keep = getenv("KEYBITS_FUZZ_LAST");
    FILE *file = keep ? fopen(keep, "wb") : NULL;
    if (file) {
        fwrite(data, 1, size, file);
        fclose(file);
    }
    memcpy(exact, data, size);
    LLVMFuzzerTestOneInput(exact, size);
    free(exact);
}

static void replay(const char *name)
{
    static uint8_t data[1 << 20];
    FILE *file = fopen(name, "rb");
    if (!file) {
        fprintf(stderr, "%s: cannot be opened\n", name);
        exit(1);
    }
    size_t size = fread(data, 1, sizeof data, file);
    fclose(file);
    try(data, size);
}

static int write_seeds(const char *folder)
{
    static uint8_t data[ROOM];
    size_t size;
    for (int i = 0; (size = fuzz_seed(i, data, ROOM)) > 0; i++) {
        char name[512];
        snprintf(name, sizeof name, "%s/seed-%d", folder, i);
        FILE *file = fopen(name, "wb");
        if (!file || fwrite(data, 1, size, file) != size || fclose(file) != 0) {
            fprintf(stderr, "%s: cannot be written\n", name);
            return 1;
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    static uint8_t data[ROOM];
    int seeds = 0;
    if (argc == 3 && strcmp(argv[1], "--seeds") == 0) return write_seeds(argv[2]);
    long rounds = argc > 1 ? strtol(argv[1], NULL, 10) : 1000;
    for (int i = 2; i < argc; i++) replay(argv[i]);
    for (size_t size; (size = fuzz_seed(seeds, data, ROOM)) > 0; seeds++) try(data, size);
    for (long round = 0; round < rounds; round++) {
        size_t size = fuzz_seed((int)draw((size_t)seeds), data, ROOM);
        for (size_t changes = 1 + draw(6); changes > 0; changes--) size = change_once(data, size);
        try(data, size);
    }
    printf("%d files, %d seeds, %ld changes\n", argc > 2 ? argc - 2 : 0, seeds, rounds);
    return 0;
}
