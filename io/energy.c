/* SPDX-License-Identifier: Apache-2.0 */
/* Energy counters of Linux. */
#include "io/energy.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "io/progress.h"

static const char *sysfs(void)
{
    const char *root = getenv("KEYBITS_SYSFS");
    return root && *root ? root : "/sys";
}

/* The first line of folder/name. False with errno set when it cannot be read. */
static bool energy_read_line(const char *folder, const char *name, char *text, size_t capacity)
{
    char path[1200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "r");
    if (!file) return false;
    bool ok = fgets(text, (int)capacity, file) != NULL;
    fclose(file);
    if (ok) text[strcspn(text, "\n")] = 0;
    return ok;
}

static bool read_number(const char *folder, const char *name, uint64_t *value)
{
    char text[64], *end;
    if (!energy_read_line(folder, name, text, sizeof text)) return false;
    *value = strtoull(text, &end, 10);
    return end != text;
}

static double cpu_seconds(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

/* --------------------------------------------------------------------------------------------------------- powercap */

/* Packages and memory add up; cores and graphics are parts of a package, and psys contains the packages. */
static bool zone_counts(const char *folder)
{
    char name[64];
    return energy_read_line(folder, "name", name, sizeof name) &&
           (strncmp(name, "package", 7) == 0 || strcmp(name, "dram") == 0);
}

static void add_zone(energy_meter *meter, const char *folder)
{
    energy_zone zone = {0};
    if (meter->zone_count == ENERGY_MAX_ZONES || strlen(folder) >= sizeof zone.path || !zone_counts(folder)) return;
    errno = 0;
    if (!read_number(folder, "energy_uj", &zone.before)) {
        meter->locked |= errno == EACCES || errno == EPERM;
        return;
    }
    read_number(folder, "max_energy_range_uj", &zone.range);
    strcpy(zone.path, folder);
    meter->zones[meter->zone_count++] = zone;
}

static void find_zones(energy_meter *meter)
{
    char base[512], folder[1024];
    snprintf(base, sizeof base, "%s/class/powercap", sysfs());
    DIR *list = opendir(base);
    if (!list) return;
    for (struct dirent *entry; (entry = readdir(list));) {
        if (strncmp(entry->d_name, "intel-rapl:", 11) != 0)
            continue; /* intel-rapl-mmio: shows the same packages again */
        snprintf(folder, sizeof folder, "%s/%s", base, entry->d_name);
        add_zone(meter, folder);
    }
    closedir(list);
}

/* ---------------------------------------------------------------------------------------------------------- battery */

static double watts_of(const char *folder)
{
    char text[64];
    uint64_t microwatts, microamperes, microvolts;
    if (!energy_read_line(folder, "type", text, sizeof text) || strcmp(text, "Battery") != 0) return -1;
    if (!energy_read_line(folder, "status", text, sizeof text) || strcmp(text, "Discharging") != 0) return -1;
    if (read_number(folder, "power_now", &microwatts)) return 1e-6 * (double)microwatts;
    if (!read_number(folder, "current_now", &microamperes) || !read_number(folder, "voltage_now", &microvolts))
        return -1;
    return 1e-12 * (double)microamperes * (double)microvolts;
}

/* What all discharging batteries give together; negative when there is none. */
static double battery_watts(void)
{
    char base[512], folder[1024];
    double sum = -1;
    snprintf(base, sizeof base, "%s/class/power_supply", sysfs());
    DIR *list = opendir(base);
    if (!list) return -1;
    for (struct dirent *entry; (entry = readdir(list));) {
        if (entry->d_name[0] == '.') continue;
        snprintf(folder, sizeof folder, "%s/%s", base, entry->d_name);
        double watts = watts_of(folder);
        if (watts >= 0) sum = sum < 0 ? watts : sum + watts;
    }
    closedir(list);
    return sum;
}

/* ------------------------------------------------------------------------------------------------------------ meter */

void energy_start(energy_meter *meter)
{
    memset(meter, 0, sizeof *meter);
    find_zones(meter);
    meter->battery_watts = meter->zone_count ? -1 : battery_watts();
    meter->cpu = cpu_seconds();
    meter->wall = io_clock_seconds();
}

/* The sum of the zones; negative when one cannot be read any more. */
static double zone_joules(const energy_meter *meter)
{
    double joules = 0;
    for (int i = 0; i < meter->zone_count; i++) {
        const energy_zone *zone = &meter->zones[i];
        uint64_t now;
        if (!read_number(zone->path, "energy_uj", &now)) return -1;
        if (now < zone->before) now += zone->range;
        if (now < zone->before) return -1;
        joules += 1e-6 * (double)(now - zone->before);
    }
    return joules;
}

void energy_stop(const energy_meter *meter, energy_cost *cost)
{
    *cost = (energy_cost){io_clock_seconds() - meter->wall, cpu_seconds() - meter->cpu, -1,
                          "not measurable here: no energy counters"};
    double watts = meter->battery_watts >= 0 ? battery_watts() : -1;
    if (meter->zone_count) {
        cost->joules = zone_joules(meter);
        cost->source = cost->joules >= 0 ? "powercap" : "not measurable here: a counter went away";
    } else if (watts >= 0) {
        cost->joules = (meter->battery_watts + watts) / 2 * cost->wall;
        cost->source = "battery";
    } else if (meter->locked) {
        cost->source = "not measurable here: the counters may be read by root only";
    }
}
