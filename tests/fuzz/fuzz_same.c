/* SPDX-License-Identifier: Apache-2.0 */
/* The same bits whatever the threads, low_memory and instruction set: of pictures rendered as tests/hard.h has them, or
 * of pixels that the input gives, with tasks that it chooses. */
#include "fuzz.h"
#include "source.h"
#include "../hard.h"

enum { SEEDS = 12 };

/* Pixels of the input, repeated; without them the pattern of the number. */
static kb_image make_image(source *s, uint64_t number)
{
    hard h = hard_number(number);
    if (h.width > 80) h.width = 80; /* an input should take milliseconds, and takes seconds with libFuzzer's counters */
    if (h.height > 80) h.height = 80;
    if (s->size - s->at < 16) return hard_render(h);
    h.width = 1 + take_byte(s) % 80;
    h.height = 1 + take_byte(s) % 80;
    kb_image image = hard_render(h);
    uint8_t *pixels = (uint8_t *)(uintptr_t)image.data;
    for (size_t i = 0; i < (size_t)image.stride * (size_t)h.height; i++)
        pixels[i] = (uint8_t)(pixels[i] ^ s->data[s->at + i % (s->size - s->at)]);
    return image;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static hard_pools pools;
    source s = {data, size, 0};
    uint64_t number, seed;
    char sentence[512];
    size_t keypoints;
    if (!pools.of[2]) hard_pools_create(&pools);
    take(&s, &number, 4);
    number &= 0xffffffff;
    take(&s, &seed, sizeof seed);
    hard_task task = hard_task_draw(&seed);
    kb_image image = make_image(&s, number);
    bool same = hard_check(&image, &task, number, &pools, &keypoints, sentence);
    if (!same) fprintf(stderr, "%s\n", sentence);
    fuzz_expect(same);
    free((void *)(uintptr_t)image.data);
    return 0;
}

size_t fuzz_seed(int index, uint8_t *buffer, size_t capacity)
{
    size_t size = index % 2 ? 12 : 12 + 200;
    if (index >= SEEDS || capacity < size) return 0;
    for (size_t i = 0; i < size; i++) buffer[i] = (uint8_t)(i * i * 37 / 5 + 11 * (size_t)index);
    return size;
}
