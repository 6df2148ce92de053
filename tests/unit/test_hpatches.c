/* SPDX-License-Identifier: Apache-2.0 */
/* HPatches: the random numbers of the task files against NumPy's, and all three tasks on a set so small that every
 * number can be worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "eval/hpatches.h"
#include "eval/hpatches_splits.h"
#include "eval/numpy_random.h"
#include "eval_files.h"

#define assert_near(value, expected) assert_true(fabs((value) - (expected)) < 1e-9)

/* numpy.random.seed(42): choice(arange(40), 10), three choices of two, randint(77), randint(1), randint(1000000). */
static void draws_are_numpys(void **state)
{
    static const uint32_t ten[] = {38, 28, 14, 7, 20, 38, 18, 22, 10, 10};
    static const uint32_t sizes[] = {600, 5, 1000}, twos[][2] = {{81, 218}, {4, 2}, {30, 856}};
    uint32_t scratch_numbers[1000], two[2];
    ev_numpy random;
    (void)state;
    ev_numpy_seed(&random, 42);
    for (int i = 0; i < 10; i++) assert_int_equal(ev_numpy_below(&random, 40), ten[i]);
    for (int i = 0; i < 3; i++) {
        ev_numpy_two_of(&random, sizes[i], scratch_numbers, two);
        assert_int_equal(two[0], twos[i][0]);
        assert_int_equal(two[1], twos[i][1]);
    }
    assert_int_equal(ev_numpy_below(&random, 77), 39);
    assert_int_equal(ev_numpy_below(&random, 1), 0);
    assert_int_equal(ev_numpy_below(&random, 1000000), 402732);
}

static void check_pair(const ev_patch_pair *pair, const unsigned expected[6])
{
    assert_int_equal(pair->a.sequence, expected[0]);
    assert_int_equal(pair->a.image, expected[1]);
    assert_int_equal(pair->a.index, expected[2]);
    assert_int_equal(pair->b.sequence, expected[3]);
    assert_int_equal(pair->b.image, expected[4]);
    assert_int_equal(pair->b.index, expected[5]);
}

/* What the benchmark's generator writes for sequences of 7, 5 and 9 patches and four pairs. */
static void verification_is_drawn_as_the_benchmark_does(void **state)
{
    static const unsigned positive[4][6] = {
        {2, 0, 5, 2, 4, 5}, {0, 0, 6, 0, 1, 6}, {2, 1, 4, 2, 3, 4}, {2, 3, 1, 2, 1, 1}};
    static const unsigned intra[4][6] = {
        {2, 0, 5, 2, 4, 0}, {0, 0, 6, 0, 1, 5}, {2, 1, 4, 2, 3, 2}, {2, 3, 1, 2, 1, 7}};
    static const unsigned inter[4][6] = {
        {2, 0, 5, 0, 4, 0}, {0, 0, 6, 1, 1, 1}, {2, 1, 4, 1, 3, 4}, {2, 3, 1, 1, 1, 1}};
    ev_sequence_facts sequences[] = {{"p", 7, NULL}, {"q", 5, NULL}, {"r", 9, NULL}};
    ev_split_facts split = {"full", sequences, 3};
    ev_verification_task task;
    io_error error;
    (void)state;
    assert_true(ev_verification_task_open(NULL, &split, 4, &task, &error));
    assert_true(task.drawn);
    for (int i = 0; i < 4; i++) {
        check_pair(&task.positive.items[i], positive[i]);
        check_pair(&task.intra.items[i], intra[i]);
        check_pair(&task.inter.items[i], inter[i]);
    }
    ev_verification_task_free(&task);
    sequences[1].patches = 1;
    assert_false(ev_verification_task_open(NULL, &split, 4, &task, &error));
    assert_non_null(strstr(error.text, "q"));
}

/* Every textured patch is drawn once; what became a query is no distractor. */
static void retrieval_takes_textured_patches_once(void **state)
{
    uint8_t textured[300];
    for (int i = 0; i < 300; i++) textured[i] = i % 3 != 0;
    ev_sequence_facts sequences[] = {{"p", 300, textured}};
    ev_split_facts split = {"full", sequences, 1};
    ev_retrieval_task task;
    io_error error;
    (void)state;
    assert_true(ev_retrieval_task_open(NULL, &split, &task, &error));
    assert_int_equal(task.queries.count, 200);
    assert_int_equal(task.distractors.count, 0);
    for (size_t i = 0; i < 200; i++) assert_true(textured[task.queries.items[i].index]);
    ev_retrieval_task_free(&task);
}

static void splits_have_the_known_sizes(void **state)
{
    static const size_t sizes[] = {40, 40, 40, 116, 57, 59};
    io_error error;
    (void)state;
    for (int i = 0; ev_hpatches_split_names[i]; i++) {
        io_names names;
        assert_true(ev_hpatches_split(NULL, ev_hpatches_split_names[i], &names, &error));
        assert_int_equal(names.count, sizes[i]);
        for (size_t a = 0; a < names.count; a++)
            for (size_t b = 0; b < a; b++) assert_string_not_equal(names.items[a], names.items[b]);
        io_names_free(&names);
    }
    io_names names;
    assert_false(ev_hpatches_split(NULL, "d", &names, &error));
}

/* ---- a set of two sequences of two patches, with rows of eight bits ---- */

static const char *const types[] = {"ref", "e1", "e2", "e3", "e4", "e5", "h1", "h2",
                                    "h3",  "h4", "h5", "t1", "t2", "t3", "t4", "t5"};
static const uint8_t x_rows[16][2] = {
    {0x00, 0xff}, {0x00, 0xff}, {0x00, 0xff}, {0x00, 0xff}, {0x00, 0xff}, {0x00, 0xff}, /* easy: the same */
    {0xff, 0xfe}, {0x00, 0x00}, {0x01, 0xff}, {0x01, 0xff}, {0x01, 0xff},
    {0xff, 0x00}, {0xff, 0x00}, {0xff, 0x00}, {0xff, 0x00}, {0xff, 0x00},               /* tough: swapped */
};

static void write_set(void)
{
    uint8_t rows[64];
    make_folder("set");
    for (int s = 0; s < 2; s++) {
        char name[64];
        make_folder(s == 0 ? "set/x" : "set/y");
        for (int t = 0; t < 16; t++) {
            snprintf(name, sizeof name, "set/%s/%s.png", s == 0 ? "x" : "y", types[t]);
            write_noise(name, 65, 130, (unsigned)(s * 16 + t));
            rows[s * 32 + t * 2] = s == 0 ? x_rows[t][0] : 0x0f;
            rows[s * 32 + t * 2 + 1] = s == 0 ? x_rows[t][1] : 0xf0;
        }
    }
    for (int i = 0; i < 64; i++) rows[i] ^= 0x80; /* the same distances, and no row is all zero */
    write_rows("rows.npy", rows, 64);
}

static void write_tasks(void)
{
    make_folder("tasks");
    write_text("tasks/verif_pos_split-full.csv", "s1,t1,idx1,s2,t2,idx2\nx,0,0,x,1,0\nx,0,1,x,1,1\nx,0,1,x,1,1\n"
                                                 "x,0,1,x,1,1\nx,0,1,x,1,1\n");
    write_text("tasks/verif_neg_intra_split-full.csv", "s1,t1,idx1,s2,t2,idx2\nx,0,0,x,1,1\nx,0,1,x,1,0\n");
    /* The last row names a sequence that is not there. */
    write_text("tasks/verif_neg_inter_split-full.csv",
               "s1,t1,idx1,s2,t2,idx2\nx,0,0,y,1,0\nx,0,1,y,2,1\nx,0,1,z,2,1\n");
    write_text("tasks/retr_queries_split-full.csv", "s,idx\nx,0\n");
    write_text("tasks/retr_distractors_split-full.csv", "s,idx\ny,0\nx,1\ny,1\n");
}

static void all_tasks_by_hand(void **state)
{
    io_error error;
    ev_method method;
    ev_hpatches_result r;
    ev_hpatches_facts facts;
    ev_hpatches_options options = {.split = "full", .quiet = true,
                                   .wanted = EV_VERIFICATION | EV_MATCHING | EV_RETRIEVAL};
    (void)state;
    write_set();
    write_tasks();
    options.tasks = in_scratch("tasks");
    assert_true(ev_method_of_file(&method, in_scratch("rows.npy"), &error));
    assert_true(ev_hpatches_run(in_scratch("set"), &method, 1, &options, &facts, &r, &error));
    ev_method_free(&method);
    assert_int_equal(facts.sequences, 2);
    assert_int_equal(facts.skipped, 1);

    /* y matches everywhere; of x, h1 is all wrong and h2 half right (one answer, at precision 1), tough is all wrong.
     */
    assert_near(r.matching_map[0], 1);
    assert_near(r.matching_map[1], (1 + (0 + 0.5 + 1 + 1 + 1) / 5) / 2);
    assert_near(r.matching_map[2], 0.5);

    /* Hard, intra: negatives at 7 and 0, positives at 8 (the first) and 1. */
    assert_near(r.verification_ap[0][0], 1);
    assert_near(r.verification_auc[0][1], 1);
    assert_near(r.verification_auc[1][1], 0.4);
    assert_near(r.verification_ap[1][1], 1.0 / 6);
    assert_near(r.verification_auc[1][0], 0.8); /* inter: negatives at 4 and 4 */
    assert_near(r.verification_auc[2][0], 0);
    assert_near(r.verification, (2 + 4.0 / 6) / 6);

    /* Distractors at 4 and 4 (the one of x does not count). Hard copies at 0 1 1 1 8, tough ones all at 8. */
    assert_near(r.retrieval_map[0][0], 1);
    assert_near(r.retrieval_map[1][6], (4 + (4.0 / 6 + 5.0 / 7) / 2) / 5);
    assert_near(r.retrieval_map[2][6], (1.0 / 6 + 5.0 / 12 + 0.55 + 19.0 / 30 + (4.0 / 6 + 5.0 / 7) / 2) / 5);
}

static void wrong_sets_are_refused(void **state)
{
    io_error error;
    ev_hpatches_facts facts;
    ev_hpatches_result result;
    ev_method method;
    ev_hpatches_options options = {.split = "full", .wanted = EV_MATCHING, .quiet = true};
    (void)state;
    make_folder("empty");
    assert_true(ev_method_of_file(&method, in_scratch("rows.npy"), &error));
    assert_false(ev_hpatches_run(in_scratch("empty"), &method, 1, &options, &facts, &result, &error));
    assert_non_null(strstr(error.text, "no sequence"));

    /* One row too many for the patches of one sequence. */
    assert_false(ev_hpatches_run(in_scratch("set/x"), &method, 1, &options, &facts, &result, &error));
    assert_non_null(strstr(error.text, "64 rows"));
    ev_method_free(&method);

    write_text("tasks/verif_pos_split-full.csv", "s1,t1,idx1,s2,t2,idx2\nx,0,0,x,1,0\nx,0,0,x,one,0\n");
    options.tasks = in_scratch("tasks");
    options.wanted = EV_VERIFICATION;
    assert_true(ev_method_of_file(&method, in_scratch("rows.npy"), &error));
    assert_false(ev_hpatches_run(in_scratch("set"), &method, 1, &options, &facts, &result, &error));
    assert_non_null(strstr(error.text, "verif_pos_split-full.csv:3"));
    ev_method_free(&method);

    write_noise("set/x/h3.png", 65, 65, 1);
    options.tasks = NULL;
    assert_true(ev_method_of_file(&method, in_scratch("rows.npy"), &error));
    assert_false(ev_hpatches_run(in_scratch("set"), &method, 1, &options, &facts, &result, &error));
    assert_non_null(strstr(error.text, "h3.png holds 1 patches"));
    write_noise("set/x/h3.png", 64, 130, 1);
    method.file_at = 0;
    assert_false(ev_hpatches_run(in_scratch("set"), &method, 1, &options, &facts, &result, &error));
    assert_non_null(strstr(error.text, "64 x 130"));
    ev_method_free(&method);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(draws_are_numpys),
        cmocka_unit_test(verification_is_drawn_as_the_benchmark_does),
        cmocka_unit_test(retrieval_takes_textured_patches_once),
        cmocka_unit_test(splits_have_the_known_sizes),
        cmocka_unit_test(all_tasks_by_hand),
        cmocka_unit_test(wrong_sets_are_refused),
    };
    return cmocka_run_group_tests_name("hpatches", tests, make_scratch, remove_scratch);
}
