/* SPDX-License-Identifier: Apache-2.0 */
/* Files that are whole or not there, names, lists, and drawing. */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "io/draw.h"
#include "io/file.h"
#include "io/temporary.h"

static char folder[] = "/tmp/keybits-test-XXXXXX";

static int enter_folder(void **state)
{
    (void)state;
    /* Before the first writer takes the signals over: a shell may have started this with SIGINT ignored. */
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    signal(SIGHUP, SIG_DFL);
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int leave_folder(void **state)
{
    (void)state;
    char command[160];
    snprintf(command, sizeof command, "cd / && rm -r '%s'", folder);
    return system(command);
}

static void write_text(const char *path, const char *text)
{
    io_error error;
    assert_true(io_file_write(path, text, strlen(text), &error));
}

static void expect_text(const char *path, const char *text)
{
    io_error error;
    io_bytes bytes;
    assert_true(io_file_read(path, &bytes, &error));
    assert_string_equal((char *)bytes.data, text);
    assert_int_equal(bytes.size, strlen(text));
    io_bytes_free(&bytes);
}

static int files_here(void)
{
    FILE *list = popen("ls -A | wc -l", "r");
    int count = -1;
    assert_int_equal(fscanf(list, "%d", &count), 1);
    pclose(list);
    return count;
}

/* ----------------------------------------------------------------------------------------------------------- writer */

static void a_target_is_old_or_new_never_half(void **state)
{
    (void)state;
    io_error error;
    write_text("target", "old");
    io_writer *writer = io_writer_open("target", &error);
    fputs("new content", io_writer_file(writer));
    fflush(io_writer_file(writer));
    expect_text("target", "old");
    assert_true(io_path_exists(io_writer_temporary(writer)));
    io_writer_abandon(writer);
    expect_text("target", "old");
    assert_int_equal(files_here(), 1);

    writer = io_writer_open("target", &error);
    fputs("new content", io_writer_file(writer));
    assert_true(io_writer_commit(writer, &error));
    expect_text("target", "new content");
    assert_int_equal(files_here(), 1);
    unlink("target");
}

static void an_interrupt_leaves_nothing(void **state)
{
    (void)state;
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU};
    setenv("TMPDIR", ".", 1);
    for (int i = 0; i < 5; i++) {
        pid_t child = fork();
        if (child == 0) {
            io_error error;
            io_temporary entry;
            struct rlimit none = {0, 0};
            setrlimit(RLIMIT_CORE, &none);
            char *work = io_temporary_folder("work", &entry), *inside = io_path_join(work, "file");
            write_text(inside, "half");
            io_writer *a = io_writer_open("a", &error), *b = io_writer_open("b", &error);
            fputs("half", io_writer_file(a));
            fputs("half", io_writer_file(b));
            raise(signals[i]);
            _exit(0);
        }
        int status;
        waitpid(child, &status, 0);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == signals[i]);
        assert_int_equal(files_here(), 0);
    }
    unsetenv("TMPDIR");
}

/* Handlers of exit() run last to first: this one is there before that of the temporary files, so it runs after it. */
static bool interrupt_at_exit;
static void interrupt_late(void)
{
    if (interrupt_at_exit) raise(SIGINT);
}

static void an_interrupt_at_the_end_does_not_hang(void **state)
{
    (void)state;
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        interrupt_at_exit = true;
        exit(0);
    }
    for (int i = 0; i < 6000 && waitpid(child, &status, WNOHANG) == 0; i++) usleep(10000);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    assert_int_equal(status, 0);
}

/* The order in which files (f) and folders (d) are synchronised and renamed (r); the fail_at-th letter fails. */
static char order[16];
static size_t fail_at;
static int fail_with;
static bool noted(char what)
{
    size_t n = strlen(order);
    if (n + 1 == sizeof order) return false; /* of another test, which does not look at it */
    order[n] = what;
    order[n + 1] = 0;
    errno = fail_with;
    return n + 1 == fail_at;
}

int fsync(int descriptor)
{
    struct stat status;
    static int (*real)(int);
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "fsync");
    assert_int_equal(fstat(descriptor, &status), 0);
    return noted(S_ISDIR(status.st_mode) ? 'd' : 'f') ? -1 : real(descriptor);
}

int rename(const char *from, const char *to)
{
    static int (*real)(const char *, const char *);
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "rename");
    return noted('r') ? -1 : real(from, to);
}

static bool write_failing_at(const char *path, size_t at, int with, io_error *error)
{
    order[0] = 0;
    fail_at = at;
    fail_with = with;
    bool ok = io_file_write(path, "new", 3, error);
    fail_at = 0;
    return ok;
}

/* On the disc before it takes the place of another, and its name before anyone is told. */
static void outputs_survive_a_power_failure(void **state)
{
    (void)state;
    io_error error;
    static const char *const orders[] = {"frd", "f", "fr", "frd"};
    assert_int_equal(mkdir("deep", 0777), 0);
    static const char *const targets[] = {"target", "deep/target"};
    for (size_t t = 0; t < 2; t++) {
        for (size_t at = 0; at <= 3; at++) {
            write_text(targets[t], "old");
            assert_int_equal(write_failing_at(targets[t], at, EIO, &error), at == 0);
            assert_string_equal(order, orders[at]);
            if (at > 0) assert_non_null(strstr(error.text, "target: cannot be written: Input/output error"));
            expect_text(targets[t], at == 1 || at == 2 ? "old" : "new");
            unlink(targets[t]);
        }
        /* A file system that cannot synchronise is no failure. */
        assert_true(write_failing_at(targets[t], 1, EINVAL, &error));
        assert_true(write_failing_at(targets[t], 3, ENOTSUP, &error));
        unlink(targets[t]);
    }
    assert_int_equal(rmdir("deep"), 0);
    order[0] = 0;
    assert_true(io_file_write_work("target", "quick", 5, &error));
    assert_string_equal(order, "r");
    unlink("target");
    assert_int_equal(files_here(), 0);
}

/* A limit of the size of files is a failed write with a reason, not the end of the program. */
static void a_file_too_large_is_a_failure(void **state)
{
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        io_error error = {""};
        const struct rlimit limit = {100000, 100000};
        static const char zeros[300000];
        io_writer *writer = io_writer_open("large", &error);
        setrlimit(RLIMIT_FSIZE, &limit);
        fwrite(zeros, 1, sizeof zeros, io_writer_file(writer));
        bool written = io_writer_commit(writer, &error);
        _exit(!written && strstr(error.text, "large: cannot be written: File too large") ? 0 : 1);
    }
    int status;
    waitpid(child, &status, 0);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_int_equal(files_here(), 0);
}

static bool no_streams;
FILE *fdopen(int descriptor, const char *mode)
{
    static FILE *(*real)(int, const char *);
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "fdopen");
    if (!no_streams) return real(descriptor, mode);
    errno = ENOMEM;
    return NULL;
}

static void no_memory_for_a_stream_is_told(void **state)
{
    (void)state;
    io_error error;
    no_streams = true;
    assert_null(io_writer_open("target", &error));
    no_streams = false;
    assert_non_null(strstr(error.text, "target: cannot be written"));
    assert_int_equal(files_here(), 0);
}

static int umask_calls; /* it belongs to all threads of the program, whose other files it would open to everybody */
mode_t umask(mode_t mask)
{
    static mode_t (*real)(mode_t);
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "umask");
    umask_calls++;
    return real(mask);
}

static void modes_and_links_are_kept(void **state)
{
    (void)state;
    struct stat status;
    write_text("real", "1");
    chmod("real", 0640);
    assert_int_equal(symlink("real", "link"), 0);
    write_text("link", "2");
    expect_text("real", "2");
    assert_true(lstat("link", &status) == 0 && S_ISLNK(status.st_mode));
    assert_true(stat("real", &status) == 0 && (status.st_mode & 0777) == 0640);
    mode_t before = umask(027);
    umask_calls = 0;
    write_text("fresh", "3");
    assert_int_equal(umask_calls, 0);
    umask(before);
    assert_true(stat("fresh", &status) == 0 && (status.st_mode & 0777) == 0640);
    unlink("real");
    unlink("link");
    unlink("fresh");

    /* Links to what is not there yet, one through another, and from another folder. */
    mkdir("sub", 0777);
    assert_int_equal(symlink("sub/second", "first"), 0);
    assert_int_equal(symlink("../made", "sub/second"), 0);
    write_text("first", "4");
    expect_text("made", "4");
    assert_true(lstat("first", &status) == 0 && S_ISLNK(status.st_mode));
    assert_true(lstat("sub/second", &status) == 0 && S_ISLNK(status.st_mode));
    unlink("first");
    unlink("made");
    unlink("sub/second");
    rmdir("sub");
    io_error error;
    assert_int_equal(symlink("loop", "loop"), 0);
    assert_null(io_writer_open("loop", &error));
    unlink("loop");
}

/* Links that others leave where everybody may write, and links in place of work files and folders. */
static void planted_links_are_not_followed(void **state)
{
    (void)state;
    io_error error;
    struct stat status;
    write_text("precious", "1");
    assert_int_equal(symlink("precious", "work"), 0);
    assert_true(io_file_write_work("work", "2", 1, &error));
    expect_text("precious", "1");
    assert_true(lstat("work", &status) == 0 && S_ISREG(status.st_mode));
    unlink("work");

    assert_int_equal(mkdir("real", 0777), 0);
    assert_int_equal(symlink("real", "work"), 0);
    assert_true(io_folder_make("work", &error));
    assert_false(io_folder_make_work("work", &error));
    assert_non_null(strstr(error.text, "work: a link stands in place of the folder"));
    assert_true(io_folder_make_work("real", &error));
    unlink("work");
    rmdir("real");

    assert_int_equal(mkdir("shared", 0777), 0);
    assert_int_equal(chmod("shared", 01777), 0);
    assert_int_equal(symlink("../precious", "shared/link"), 0);
    write_text("shared/link", "3"); /* our own */
    expect_text("precious", "3");
    if (geteuid() == 0) {
        assert_int_equal(lchown("shared/link", 12345, 12345), 0);
        assert_null(io_writer_open("shared/link", &error));
        assert_non_null(strstr(error.text, "shared/link: cannot be written: "));
        expect_text("precious", "3");
        assert_int_equal(chmod("shared", 0777), 0); /* not sticky: its users trust each other */
        write_text("shared/link", "4");
        expect_text("precious", "4");
    }
    unlink("shared/link");
    rmdir("shared");
    unlink("precious");
    assert_int_equal(files_here(), 0);
}

static void what_cannot_be_written_says_so(void **state)
{
    (void)state;
    io_error error;
    assert_null(io_writer_open("no/such/folder/file", &error));
    assert_non_null(strstr(error.text, "no/such/folder/file"));
    assert_int_equal(mkdir("sub", 0777), 0);
    assert_null(io_writer_open("sub", &error));
    rmdir("sub");
    write_text("/dev/null", "gone");
    assert_true(io_path_exists("/dev/null"));
    if (io_path_exists("/dev/full")) {
        io_writer *writer = io_writer_open("/dev/full", &error);
        fputs("does not fit", io_writer_file(writer));
        assert_false(io_writer_commit(writer, &error));
        assert_non_null(strstr(error.text, "/dev/full"));
    }
    assert_int_equal(files_here(), 0);
}

static void reading_says_what_is_wrong(void **state)
{
    (void)state;
    io_error error;
    io_bytes bytes;
    assert_false(io_file_read("nothing", &bytes, &error));
    assert_non_null(strstr(error.text, "nothing"));
    assert_null(bytes.data);
    assert_false(io_file_read(".", &bytes, &error));
    write_text("empty", "");
    expect_text("empty", "");
    unlink("empty");
}

/* ------------------------------------------------------------------------------------------------------------ names */

static void expect_and_free(char *text, const char *expected)
{
    assert_string_equal(text, expected);
    free(text);
}

static void parts_of_paths(void **state)
{
    (void)state;
    assert_string_equal(io_path_base("a/b.c"), "b.c");
    assert_string_equal(io_path_base("b.c"), "b.c");
    assert_string_equal(io_path_suffix("a.d/b"), "");
    assert_string_equal(io_path_suffix("a/b.tar.gz"), ".gz");
    assert_string_equal(io_path_suffix(".hidden"), "");
    assert_true(io_path_has_suffix("x.PNG", ".png"));
    expect_and_free(io_path_stem("a/b.tar.gz"), "b.tar");
    expect_and_free(io_path_stem("a/b"), "b");
    expect_and_free(io_path_join("a", "b"), "a/b");
    expect_and_free(io_path_with_suffix("a.b/c.db", ".pairs.txt"), "a.b/c.pairs.txt");
    expect_and_free(io_path_with_suffix("a.b/c", ".csv"), "a.b/c.csv");
    expect_and_free(io_path_join("a/", "b"), "a/b");
    expect_and_free(io_path_join("", "b"), "b");
    expect_and_free(io_path_pattern("out/{}-{}.npy", "in/img1.png"), "out/img1-img1.npy");
    expect_and_free(io_path_pattern("plain", "in/img1.png"), "plain");
}

static void expect_names(io_names *names, size_t count, const char *const *expected)
{
    assert_int_equal(names->count, count);
    for (size_t i = 0; i < count; i++) assert_string_equal(names->items[i], expected[i]);
    io_names_free(names);
}

static void folders_and_lists_expand(void **state)
{
    (void)state;
    io_names names = {0};
    io_error error;
    assert_int_equal(mkdir("pics", 0777), 0);
    assert_int_equal(mkdir("pics/c.png", 0777), 0); /* a folder, whatever its name */
    write_text("pics/b.png", "");
    write_text("pics/a.JPG", "");
    write_text("pics/notes.txt", "");
    write_text("pics/.hidden.png", "");
    write_text("list.txt", "# names\r\n\r\n  one.png \r\npics\nlast one.png");
    char *arguments[] = {"pics", "x.png", "@list.txt"};
    assert_true(io_names_images(&names, 3, arguments, &error));
    expect_names(&names, 7,
                 (const char *const[]){"pics/a.JPG", "pics/b.png", "x.png", "one.png", "pics/a.JPG", "pics/b.png",
                                       "last one.png"});
    char *missing[] = {"@none.txt"};
    assert_false(io_names_images(&names, 1, missing, &error));
    assert_non_null(strstr(error.text, "none.txt"));
    write_text("list.txt", "# nothing\n\n");
    char *hollow[] = {"@list.txt"};
    assert_false(io_names_images(&names, 1, hollow, &error));
    assert_non_null(strstr(error.text, "list.txt: the list names no images"));
    char *empty[] = {"pics/c.png"};
    assert_false(io_names_images(&names, 1, empty, &error));
    io_names_free(&names);
    assert_int_equal(system("rm -r pics list.txt"), 0);
}

static void outputs_follow_inputs(void **state)
{
    (void)state;
    io_names in = {0}, out = {0};
    io_error error;
    io_names_add(&in, "p/a.png");
    assert_true(io_names_outputs(&out, &in, "one.npy", ".npy", &error));
    expect_names(&out, 1, (const char *const[]){"one.npy"});
    io_names_add(&in, "q/b.png");
    assert_false(io_names_outputs(&out, &in, "one.npy", ".npy", &error));
    assert_true(io_names_outputs(&out, &in, "{}.hex", ".npy", &error));
    expect_names(&out, 2, (const char *const[]){"a.hex", "b.hex"});
    assert_true(io_names_outputs(&out, &in, "new/", ".csv", &error));
    assert_false(io_path_is_folder("new"));
    expect_names(&out, 2, (const char *const[]){"new/a.csv", "new/b.csv"});
    io_names_free(&in);
    io_names_free(&out);
}

/* ---------------------------------------------------------------------------------------------------------- drawing */

static const io_colour black = {0, 0, 0}, white = {255, 255, 255};

static int red_at(const io_canvas *canvas, int x, int y) { return canvas->rgb[3 * (y * canvas->width + x)]; }

static void strokes_cover_what_they_should(void **state)
{
    (void)state;
    io_canvas canvas;
    io_error error;
    assert_true(io_canvas_create(&canvas, 40, 30, black, &error));
    io_draw_line(&canvas, 5, 10, 30, 10, 1, white);
    assert_int_equal(red_at(&canvas, 15, 10), 255);
    assert_int_equal(red_at(&canvas, 15, 12), 0);
    assert_int_equal(red_at(&canvas, 33, 10), 0);
    io_draw_line(&canvas, 3, 2, 3, 25, 3, white);
    for (int x = 2; x <= 4; x++) assert_int_equal(red_at(&canvas, x, 20), 255);
    assert_int_equal(red_at(&canvas, 6, 20), 0);
    io_draw_circle(&canvas, 25, 20, 6, 1, white);
    assert_int_equal(red_at(&canvas, 31, 20), 255);
    assert_int_equal(red_at(&canvas, 25, 14), 255);
    assert_int_equal(red_at(&canvas, 25, 20), 0);
    io_canvas_free(&canvas);
}

static void drawing_is_clipped(void **state)
{
    (void)state;
    io_canvas canvas;
    io_error error;
    const double wild[] = {-1e30, -1e9, -5, 3, 1e9, 1e30, (double)INFINITY, (double)NAN};
    assert_true(io_canvas_create(&canvas, 9, 7, black, &error));
    for (int i = 0; i < 8 * 8 * 8; i++) {
        double a = wild[i % 8], b = wild[i / 8 % 8], c = wild[i / 64];
        io_draw_line(&canvas, a, b, c, a, 2, white);
        io_draw_circle(&canvas, a, b, c, 1, white);
    }
    io_draw_text(&canvas, -10, -3, 2, white, "Hello \xc3\xa4");
    io_draw_rectangle(&canvas, INT32_MAX - 3, 2, 100, 100, white);
    io_canvas_free(&canvas);
    assert_false(io_canvas_create(&canvas, 0, 7, black, &error));
    assert_false(io_canvas_create(&canvas, 70000, 7, black, &error));
}

static void text_has_its_size(void **state)
{
    (void)state;
    io_canvas canvas;
    io_error error;
    assert_int_equal(io_text_width(2, "abc"), 34);
    assert_int_equal(io_text_width(2, ""), 0);
    assert_true(io_canvas_create(&canvas, 8, 9, black, &error));
    io_draw_text(&canvas, 1, 1, 1, white, "L");
    for (int y = 1; y <= 7; y++) assert_int_equal(red_at(&canvas, 1, y), 255);
    for (int x = 1; x <= 5; x++) assert_int_equal(red_at(&canvas, x, 7), 255);
    assert_int_equal(red_at(&canvas, 3, 3), 0);
    io_canvas_free(&canvas);
}

static void pictures_stand_side_by_side(void **state)
{
    (void)state;
    uint8_t gray[6] = {1, 2, 3, 4, 5, 6};
    uint16_t deep[2] = {65535, 0};
    io_image a = {.width = 3, .height = 2, .layout = IO_GRAY8, .pixels = gray},
             b = {.width = 1, .height = 2, .layout = IO_GRAY16, .pixels = (uint8_t *)deep};
    io_canvas canvas;
    io_error error;
    int32_t x;
    assert_true(io_canvas_side_by_side(&canvas, &a, &b, &x, &error));
    assert_int_equal(canvas.width, 4);
    assert_int_equal(x, 3);
    assert_int_equal(red_at(&canvas, 2, 1), 6);
    assert_int_equal(red_at(&canvas, 3, 0), 255);
    assert_int_equal(red_at(&canvas, 3, 1), 0);
    io_canvas_free(&canvas);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_target_is_old_or_new_never_half),
        cmocka_unit_test(outputs_survive_a_power_failure),
        cmocka_unit_test(an_interrupt_leaves_nothing),
        cmocka_unit_test(an_interrupt_at_the_end_does_not_hang),
        cmocka_unit_test(a_file_too_large_is_a_failure),
        cmocka_unit_test(no_memory_for_a_stream_is_told),
        cmocka_unit_test(modes_and_links_are_kept), cmocka_unit_test(planted_links_are_not_followed),
        cmocka_unit_test(what_cannot_be_written_says_so),
        cmocka_unit_test(reading_says_what_is_wrong),
        cmocka_unit_test(parts_of_paths),
        cmocka_unit_test(folders_and_lists_expand),
        cmocka_unit_test(outputs_follow_inputs),
        cmocka_unit_test(strokes_cover_what_they_should),
        cmocka_unit_test(drawing_is_clipped),
        cmocka_unit_test(text_has_its_size),
        cmocka_unit_test(pictures_stand_side_by_side),
    };
    atexit(interrupt_late);
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
