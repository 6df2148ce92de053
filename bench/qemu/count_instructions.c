/* SPDX-License-Identifier: Apache-2.0 */
/* Counts instructions: a plugin for qemu's emulation of a program (qemu-aarch64 -plugin FILE PROGRAM).
 *
 * A program marks what it wants to have counted by two system calls that do nothing: lseek on the descriptor
 * COUNT_MARK, first with the offset 0, then with the number of units. After the second one the plugin writes a tab and
 * the instructions per unit to standard output, between what the program itself writes there.
 *
 * Debian has no header for plugins, so what is used of the interface is declared here. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define COUNT_MARK (-27490) /* bench/kernels.c has it too */

typedef uint64_t plugin_id;
typedef struct qemu_plugin_tb translated_block;
typedef void (*block_callback)(plugin_id, translated_block *);
typedef void (*syscall_callback)(plugin_id, unsigned cpu, int64_t number, uint64_t, uint64_t, uint64_t, uint64_t,
                                 uint64_t, uint64_t, uint64_t, uint64_t);

void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id id, block_callback callback);
void qemu_plugin_register_vcpu_syscall_cb(plugin_id id, syscall_callback callback);
void qemu_plugin_register_vcpu_tb_exec_inline(translated_block *block, int operation, void *to, uint64_t value);
size_t qemu_plugin_tb_n_insns(const translated_block *block);

extern int qemu_plugin_version;
int qemu_plugin_version = 1;
int qemu_plugin_install(plugin_id id, const void *machine, int argc, char **argv);

static uint64_t count, begin;

/* Whenever the block runs, its instructions are added; 0 is the addition, the only operation there is. */
static void block_translated(plugin_id id, translated_block *block)
{
    (void)id;
    qemu_plugin_register_vcpu_tb_exec_inline(block, 0, &count, qemu_plugin_tb_n_insns(block));
}

static void syscall_made(plugin_id id, unsigned cpu, int64_t number, uint64_t file, uint64_t offset, uint64_t c,
                         uint64_t d, uint64_t e, uint64_t f, uint64_t g, uint64_t h)
{
    (void)id, (void)cpu, (void)number, (void)c, (void)d, (void)e, (void)f, (void)g, (void)h;
    if ((int32_t)(uint32_t)file != COUNT_MARK) return;
    if (offset == 0) {
        begin = count;
    } else {
        printf("\t%.3f", (double)(count - begin) / (double)offset);
        fflush(stdout);
    }
}

int qemu_plugin_install(plugin_id id, const void *machine, int argc, char **argv)
{
    (void)machine, (void)argc, (void)argv;
    qemu_plugin_register_vcpu_tb_trans_cb(id, block_translated);
    qemu_plugin_register_vcpu_syscall_cb(id, syscall_made);
    return 0;
}
