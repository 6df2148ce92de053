/* BAD and BAG on a grid of samples: one engine over channels (docs/bad.md, docs/bag.md).
 *
 * A channel at a time: its integral image, then all boxes on it; at the end every bit is a difference of two box means
 * against a threshold. Sums are kept modulo 2^16: a box of at most 15 x 15 bytes sums to at most 57375, one of 8 x 8
 * cells of gradient to at most 65280, so both come out exact. Means are truncated: in 1/128 gray level for BAD, 255 * 128 fits 15
 * bits, in 1/64 for BAG, where the root of 2 of diagonal channels fits in too. So a difference fits 16 bits. */
#include "describe/describe.h"

/* Factors are rounded up, so that a box of 255s has the mean 32640 on gray whatever its size; of BAG 16320 and, with
 * the root, 23081 at most. */
const kbi_mean_rule kbi_mean_rules[KBI_MEAN_RULES] = {
    {8, 32768}, {4, 58255}, {3, 41944}, {2, 42800}, {1, 51782}, {1, 34664}, {0, 49637}, {0, 37283},
    {8, 32768}, {6, 32768}, {4, 58255}, {4, 32768}, {3, 41944}, {2, 58255}, {2, 42800}, {2, 32768},
    {6, 16384}, {4, 16384}, {2, 29128}, {2, 16384}, {1, 20972}, {0, 29128}, {0, 21400}, {0, 16384},
    {6, 23171}, {4, 23171}, {2, 41192}, {2, 23171}, {1, 29659}, {0, 41192}, {0, 30264}, {0, 23171}};

/* Mean of a box on an integral image whose rows have `width` sums. */
static inline uint16_t box_mean(const uint16_t *sums, int32_t width, kbi_box box, bool cells)
{
    kbi_box_span span = kbi_box_span_of(box, cells);
    const uint16_t *top = sums + span.top * width, *bottom = sums + span.bottom * width;
    uint16_t sum = (uint16_t)(bottom[span.right] - bottom[span.left] - top[span.right] + top[span.left]);
    const kbi_mean_rule *rule = &kbi_mean_rules[kbi_mean_rule_of(box, cells)];
    return (uint16_t)(((uint32_t)sum << rule->shift) * rule->factor >> 16);
}

static void measure_gray(const kbi_box_table *table, const uint8_t *grid, uint16_t *means)
{
    uint16_t sums[KBI_SUMS_WIDTH * KBI_SUMS_WIDTH];
    int side = table->side, width = side + 1;
    memset(sums, 0, (size_t)(width + 1) * sizeof *sums);
    for (int y = 0; y < side; y++) {
        uint16_t *to = sums + (y + 1) * width + 1, run = 0;
        for (int x = 0; x < side; x++) {
            run = (uint16_t)(run + *grid++);
            to[x] = (uint16_t)(to[x - width] + run);
        }
        to[-1] = 0;
    }
    for (int32_t i = 0; i < table->box_count; i++) {
        kbi_box box = table->boxes[i];
        box.channel = 0; /* as it is, which the compiler may know */
        means[i] = box_mean(sums, width, box, table->cells);
    }
}

static void measure_channel(const kbi_box_table *table, int32_t channel, const uint16_t *cells, uint16_t *means)
{
    enum { SIDE = KBI_OCTAVE_CELLS_SIDE, WIDTH = KBI_OCTAVE_SUMS_WIDTH };
    uint16_t sums[WIDTH * WIDTH];
    memset(sums, 0, (WIDTH + 1) * sizeof *sums);
    for (int y = 0; y < SIDE; y++) {
        uint16_t *to = sums + (y + 1) * WIDTH + 1, run = 0;
        for (int x = 0; x < SIDE; x++) {
            run = (uint16_t)(run + *cells++);
            to[x] = (uint16_t)(to[x - WIDTH] + run);
        }
        to[-1] = 0;
    }
    for (int32_t i = table->channel_start[channel]; i < table->channel_start[channel + 1]; i++)
        means[i] = box_mean(sums, WIDTH, table->boxes[i], true);
}

/* Means of all boxes; returns the contrast that thresholds are multiples of, 0 for BAD, whose are not. */
static int32_t measure_boxes(const kbi_box_table *table, const uint8_t *grid, uint16_t *means)
{
    if (KB_BAD_ONLY || !table->gradient) {
        measure_gray(table, grid, means);
        return 0;
    }
    kbi_channels channels;
    kbi_channels_of(grid, &channels);
    for (int32_t c = 1; c < KB_CHANNELS; c++) measure_channel(table, c, channels.cells[c - 1], means);
    return channels.contrast;
}

void kbi_boxes_describe(const kbi_box_table *table, const uint8_t *grid, uint8_t *row)
{
    uint16_t means[2 * KB_MAX_BITS];
    int32_t contrast = measure_boxes(table, grid, means);
    for (int32_t i = 0; i < table->bit_count; i += 8) {
        uint32_t byte = 0;
        for (int32_t k = 0; k < 8; k++) {
            const kbi_box_bit *bit = &table->bits[i + k];
            int32_t threshold = contrast ? kbi_threshold_at(bit->threshold, contrast) : bit->threshold;
            byte = byte << 1 | (means[bit->box1] - means[bit->box2] <= threshold);
        }
        row[i / 8] = (uint8_t)byte;
    }
}
