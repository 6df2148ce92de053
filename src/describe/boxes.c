/* BAD and BAG on a patch: one engine over channels (docs/bad.md, docs/bag.md).
 *
 * A plane at a time: its integral image, then all boxes on it; at the end every bit is a difference of two box means
 * against a threshold. Sums are kept modulo 2^16: a box of at most 15 x 15 bytes sums to at most 57375, so it comes out
 * exact. Means are in 1/128 gray level, truncated: 255 * 128 fits 15 bits, and so a difference fits 16. */
#include "describe/describe.h"

#define SIDE KB_PATCH_SIDE

/* mean = (sum << shift) * factor >> 16 with factor = 128 * 65536 / (area << shift), rounded up, so that a box of 255s
 * has the mean 32640 whatever its size; shift makes both fit 16 bits. */
const kbi_mean_rule kbi_mean_rules[KB_MAX_RADIUS + 1] = {{8, 32768}, {4, 58255}, {3, 41944}, {2, 42800},
                                                       {1, 51782}, {1, 34664}, {0, 49637}, {0, 37283}};

uint32_t kbi_box_mean(uint32_t sum, int32_t radius)
{
    return (sum << kbi_mean_rules[radius].shift) * kbi_mean_rules[radius].factor >> 16;
}

static void integral_of(const uint8_t *plane, uint16_t sums[(SIDE + 1) * (SIDE + 1)])
{
    memset(sums, 0, (SIDE + 1) * sizeof *sums);
    for (int y = 0; y < SIDE; y++) {
        const uint16_t *above = sums + y * (SIDE + 1);
        uint16_t *to = sums + (y + 1) * (SIDE + 1), run = 0;
        to[0] = 0;
        for (int x = 0; x < SIDE; x++) {
            run = (uint16_t)(run + plane[y * SIDE + x]);
            to[x + 1] = (uint16_t)(above[x + 1] + run);
        }
    }
}

static void measure_boxes(const kb_model *model, int32_t channel, const uint8_t *plane, uint16_t *means)
{
    uint16_t sums[(SIDE + 1) * (SIDE + 1)];
    integral_of(plane, sums);
    for (int32_t i = model->channel_start[channel]; i < model->channel_start[channel + 1]; i++) {
        kbi_box box = model->boxes[i];
        int32_t r = box.radius;
        const uint16_t *top = sums + (box.y - r) * (SIDE + 1), *bottom = sums + (box.y + r + 1) * (SIDE + 1);
        uint16_t sum = (uint16_t)(bottom[box.x + r + 1] - bottom[box.x - r] - top[box.x + r + 1] + top[box.x - r]);
        means[i] = (uint16_t)kbi_box_mean(sum, r);
    }
}

void kbi_boxes_describe(const kb_model *model, const uint8_t *patch, uint8_t *row)
{
    uint16_t means[2 * KB_MAX_BITS];
    if (model->channels & 1) measure_boxes(model, 0, patch, means);
    if (!KB_BAD_ONLY && model->channels >> 1) {
        kbi_gradients gradients;
        uint8_t plane[KBI_PATCH_BYTES];
        kbi_gradients_of(patch, &gradients);
        for (int32_t c = 1; c < KB_CHANNELS; c++) {
            if (!(model->channels >> c & 1)) continue;
            kbi_plane_of(&gradients, c, plane);
            measure_boxes(model, c, plane, means);
        }
    }
    for (int32_t i = 0; i < model->spec.bits; i += 8) {
        uint32_t byte = 0;
        for (int32_t k = 0; k < 8; k++) {
            const kbi_box_bit *bit = &model->bits[i + k];
            byte = byte << 1 | (means[bit->box1] - means[bit->box2] <= bit->threshold);
        }
        row[i / 8] = (uint8_t)byte;
    }
}
