/* SPDX-License-Identifier: Apache-2.0 */
/* -Os: runs once per image, file or model. */
/* The table of descriptor kinds: what a model of each may be, and how it stands in a file. */
#include "model/model.h"

#define SAMPLER_IS(sampler) (1u << KB_SAMPLER_##sampler)

static const kbi_kind kind_table[] = {
    [KB_KIND_BAD] = {"bad", true, SAMPLER_IS(PATCH) | SAMPLER_IS(IMAGE) | SAMPLER_IS(CELLS), KBI_BOX_ROW, {0}},
    [KB_KIND_BAG] = {"bag", true, SAMPLER_IS(OCTAVES), KBI_BOX_ROW, {0}},
    [KB_KIND_HASHSIFT] = {"hashsift", true, SAMPLER_IS(PATCH), KBI_PROJECTION_ROW, {0}},
    [KB_KIND_SIFT] = {"sift", false, SAMPLER_IS(PATCH), 0, {0}},
    [KB_KIND_ROOTSIFT] = {"rootsift", false, SAMPLER_IS(PATCH), 0, {0}},
};

const kbi_kind *kbi_kind_of(kb_kind kind)
{
    return kind > 0 && (size_t)kind < KBI_COUNT(kind_table) ? &kind_table[kind] : NULL;
}

const char *kbi_kind_name(kb_kind kind)
{
    const kbi_kind *row = kbi_kind_of(kind);
    return row ? row->name : "?";
}

const char *kbi_sampler_name(kb_sampler sampler)
{
    static const char *const names[KBI_SAMPLERS] = {[KB_SAMPLER_PATCH] = "patch", [KB_SAMPLER_IMAGE] = "image",
                                                    [KB_SAMPLER_OCTAVES] = "octaves", [KB_SAMPLER_CELLS] = "cells"};
    return (uint32_t)sampler < KBI_COUNT(names) ? names[sampler] : "?";
}
