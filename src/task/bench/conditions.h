/* task/bench/conditions.h - the machine beside a measurement: clocks, temperatures, energy, load, and
 * time that a hypervisor took. */
#ifndef TSRI_TASK_BENCH_CONDITIONS_H
#define TSRI_TASK_BENCH_CONDITIONS_H

#include "tessera/bench.h"

#include <stdbool.h>

/* What Linux's files say at one time; NaN: nothing. */
typedef struct tsri_task_reading {
    double clock;       /* Hz, of the fastest core or of the card */
    double temperature; /* degrees Celsius, the hottest */
    double load;        /* runnable threads but this one */
    double load_minute; /* the mean number of them in the last minute */
    double stolen, all; /* processor time, in ticks */
    double busy;        /* seconds of processor time of all programs */
    double own;         /* the same of this process and its children */
    double energy;      /* joules so far */
    double energy_wrap; /* joules after which the counter begins anew */
    double power;       /* watts, of a card; at the end of work, read it before the card rests */
    double seconds;     /* of the monotonic clock */
} tsri_task_reading;

/* `root`: where proc and sys are, "" on a real machine. `cpu`: the device is the host's processor;
 * else clock, temperature and energy are those of the one card of this vendor that has sensors (its
 * PCI number; 0: of all cards). */
tsri_task_reading tsri_task_read_conditions(const char *root, bool cpu, uint32_t vendor);
tsr_bench_conditions tsri_task_conditions_between(const tsri_task_reading *before,
                                                  const tsri_task_reading *after);
/* How many cores other programs used between two readings, in the mean; 0: less than a tenth of
 * one or 50 ms, which the ticks of Linux's count don't show. */
double tsri_task_others_between(const tsri_task_reading *before, const tsri_task_reading *after);
/* "performance", "schedutil"; "" where the system does not say. */
void tsri_task_read_governor(const char *root, char *out, size_t room);

#endif
