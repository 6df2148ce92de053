/* SPDX-License-Identifier: Apache-2.0 */
/* Models from a file, from tables, and back into a file. The library itself reads and writes no files: a model is a
 * block of bytes in memory, which may as well come out of an archive or over a network.
 *
 *     load_model [model.kbm [copy.kbm]]
 */
#include "keybits/advanced.h"
#include "picture.h"

static void *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END) != 0) {
        fprintf(stderr, "%s: cannot be read\n", path);
        exit(1);
    }
    *size = (size_t)ftell(file);
    rewind(file);
    void *data = malloc(*size + 1);
    if (!data || fread(data, 1, *size, file) != *size) exit(1);
    fclose(file);
    return data;
}

/* Sixteen bits out of a table: a model that compares the left and the right of a patch, row by row. */
static kb_model *from_table(void)
{
    kb_box_pair boxes[16];
    kb_model_spec spec;
    kb_model *model;
    kb_error error;
    for (int i = 0; i < 16; i++) boxes[i] = (kb_box_pair){0, 8, (uint8_t)(2 * i), 0, 0, 23, (uint8_t)(2 * i), 0, 0.5f};
    KB_INIT(spec);
    spec.kind = KB_KIND_BAD;
    spec.sampler = KB_SAMPLER_PATCH;
    spec.bits = 16;
    spec.name = "left or right";
    spec.boxes = boxes;
    if (kb_model_create(&spec, NULL, &model, &error) == KB_OK) return model; /* the tables were copied */
    fprintf(stderr, "table: %s\n", error.text);
    exit(1);
}

static void show(const kb_model *model)
{
    kb_model_info info;
    KB_INIT(info);
    check(kb_model_get_info(model, &info), "kb_model_get_info");
    printf("%s: %s, %d bits, %s sampler, rows of %d bytes, id %016llx\n", info.spec->name,
           kb_name(KB_NAMES_KIND, info.spec->kind), (int)info.spec->bits, kb_name(KB_NAMES_SAMPLER, info.spec->sampler),
           (int)info.row_bytes, (unsigned long long)info.id);
}

int main(int argc, char **argv)
{
    kb_model *model;
    kb_error error; /* says more than the status: which row, which value */
    if (argc > 1) {
        size_t size;
        void *data = read_file(argv[1], &size);
        kb_status status = kb_model_load(data, size, NULL, &model, &error);
        free(data); /* not needed any more */
        if (status != KB_OK) {
            fprintf(stderr, "%s: %s\n", argv[1], error.text);
            return 1;
        }
    } else {
        model = from_table();
    }
    show(model);

    /* Into memory: the first call tells the size. */
    size_t size;
    check(kb_model_save(model, NULL, 0, &size), "kb_model_save");
    void *bytes = malloc(size);
    if (!bytes) return 1;
    check(kb_model_save(model, bytes, size, &size), "kb_model_save");
    kb_model *again;
    check(kb_model_load(bytes, size, NULL, &again, &error), "kb_model_load");
    show(again); /* the same id: the same bits */
    if (argc > 2) {
        FILE *file = fopen(argv[2], "wb");
        if (!file || fwrite(bytes, 1, size, file) != size || fclose(file) != 0) return 1;
    }
    free(bytes);
    kb_model_free(again);
    kb_model_free(model);
    return 0;
}
