/* Prints 64-bit FNV-1a hashes over what the library computes on input that is rendered here: one line for each room, and
 * one of everything last. Every build on every machine must print the same lines; scripts/same-bits.sh compares them.
 *
 * To take in another function, write a section that feeds its results to the hash, and add it to the table below. */
#include <inttypes.h>
#include <stdio.h>

#include "common/common.h"

typedef struct hash {
    uint64_t value;
} hash;

static void add_bytes(hash *h, const void *data, size_t size)
{
    const unsigned char *p = data;
    for (size_t i = 0; i < size; i++) h->value = (h->value ^ p[i]) * 0x100000001b3u;
}

/* Numbers are added with the lowest byte first, so that the byte order of the machine plays no part. */
static void add_u64(hash *h, uint64_t v)
{
    unsigned char bytes[8];
    for (int i = 0; i < 8; i++) bytes[i] = (unsigned char)(v >> (8 * i));
    add_bytes(h, bytes, sizeof bytes);
}

static void add_double(hash *h, double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    add_u64(h, bits);
}

/* ---------------------------------------------------------------------------------------------------------- sections */

static void section_mathematics(hash *h)
{
    for (int i = -90; i < 8000; i++) {
        double sine, cosine;
        kb_sincos_degrees(i * 0.0917, &sine, &cosine);
        add_double(h, sine);
        add_double(h, cosine);
    }
    for (int y = -40; y <= 40; y++)
        for (int x = -40; x <= 40; x++) add_double(h, kb_atan2_degrees(y * 1.1, x * 0.7));
    for (int i = -7000; i <= 7000; i += 3) add_double(h, kb_exp(i * 0.1));
    for (uint64_t i = 0; i < 64; i++)
        for (uint64_t d = 0; d < 3; d++) add_u64(h, kb_isqrt(((uint64_t)1 << i) + d - 1));
}

static void section_random(hash *h)
{
    uint64_t state = 1;
    for (uint32_t i = 1; i < 2000; i++) {
        add_u64(h, kb_random_next(&state));
        add_u64(h, kb_random_below(&state, i));
    }
}

int main(void)
{
    static const struct {
        const char *name;
        void (*run)(hash *);
    } sections[] = {
        {"mathematics", section_mathematics},
        {"random", section_random},
    };
    static const hash start = {0xcbf29ce484222325u};
    hash everything = start;
    for (size_t i = 0; i < KB_COUNT(sections); i++) {
        hash h = start;
        sections[i].run(&h);
        printf("%016" PRIx64 " %s\n", h.value, sections[i].name);
        add_u64(&everything, h.value);
    }
    printf("%016" PRIx64 " everything\n", everything.value);
    return 0;
}
