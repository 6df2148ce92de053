/* SPDX-License-Identifier: Apache-2.0 */
/* What a job costs: time, processor time, and energy from the machine's own counters where it has any.
 *
 *     energy_meter meter;
 *     energy_cost cost;
 *     energy_start(&meter);
 *     ... work ...
 *     energy_stop(&meter, &cost);
 *
 * Counters measure the whole machine, idle power included: compare runs on a machine that does nothing else. In order
 * of trust: the powercap counters of the processor packages and memory (RAPL), then the power that a discharging
 * battery reports, as the mean of the readings at the start and at the end. */
#ifndef IO_ENERGY_H
#define IO_ENERGY_H

#include <stdbool.h>
#include <stdint.h>

#define ENERGY_MAX_ZONES 32

typedef struct energy_zone {
    char path[256];  /* of the counter */
    uint64_t before; /* microjoules */
    uint64_t range;  /* where the counter starts again; 0: unknown */
} energy_zone;

typedef struct energy_meter {
    energy_zone zones[ENERGY_MAX_ZONES];
    int zone_count;
    bool locked;          /* there are counters, but they may not be read */
    double battery_watts; /* at the start; negative: no battery is being used */
    double wall, cpu;     /* seconds, at the start */
} energy_meter;

typedef struct energy_cost {
    double wall, cpu;   /* seconds */
    double joules;      /* negative: not measurable */
    const char *source; /* "powercap", "battery", or why not, in words */
} energy_cost;

/* Looks below /sys, or below the folder that the environment's KEYBITS_SYSFS names (for tests). */
void energy_start(energy_meter *meter);
void energy_stop(const energy_meter *meter, energy_cost *cost);

#endif
