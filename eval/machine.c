/* SPDX-License-Identifier: Apache-2.0 */
#include "eval/machine.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "eval/peers.h"

#if defined(__clang__)
#  define COMPILER "clang " __clang_version__
#elif defined(__GNUC__)
#  define COMPILER "gcc " __VERSION__
#else
#  define COMPILER "unknown"
#endif

/* The first "model name : ..." of /proc/cpuinfo; ARM kernels do not give one. */
static void find_processor(char *out, size_t size, const char *fallback)
{
    char line[512];
    FILE *file = fopen("/proc/cpuinfo", "r");
    snprintf(out, size, "%s", fallback);
    while (file && fgets(line, sizeof line, file)) {
        char *value = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !value) continue;
        value += 1 + strspn(value + 1, " \t");
        value[strcspn(value, "\n")] = '\0';
        snprintf(out, size, "%.*s", (int)size - 1, value);
        break;
    }
    if (file) fclose(file);
}

void ev_machine_find(ev_machine *machine, bool peers)
{
    struct utsname name;
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE), cores = sysconf(_SC_NPROCESSORS_ONLN);
    memset(machine, 0, sizeof *machine);
    bool known = uname(&name) == 0;
    find_processor(machine->processor, sizeof machine->processor, known ? name.machine : "unknown");
    if (known)
        snprintf(machine->system, sizeof machine->system, "%.40s %.60s %.20s", name.sysname, name.release,
                 name.machine);
    machine->cores = cores > 0 ? (int32_t)cores : 1;
    machine->memory_gib = pages > 0 && page > 0 ? (double)pages * (double)page / (1 << 30) : 0;
    machine->features = kb_cpu_features(NULL);
    machine->compiler = COMPILER;
    machine->library = kb_version();
    machine->peers = peers ? ev_peers_version() : "none";
}
