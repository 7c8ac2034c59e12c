/* task/bench/conditions.c - reads Linux's files about clocks, temperatures, energy and load. */
#include "task/bench/conditions.h"

#include "base/clock.h"
#include "base/numbers.h"

#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PATH = 512,
    TICKS = 100 /* of a second, by which Linux counts processor time in its files */
};
#define LEAST_SHARE 0.1    /* of a core: what others use below it is not told */
#define LEAST_SECONDS 0.05 /* five ticks */

static bool read_line(const char *path, char *out, size_t room) {
    FILE *file = fopen(path, "re");
    const bool read = file && fgets(out, (int)room, file);
    if (file)
        fclose(file);
    if (read)
        out[strcspn(out, "\n")] = 0;
    return read;
}

static double read_number(const char *path) {
    char line[64], *end;
    if (!read_line(path, line, sizeof line))
        return NAN;
    const double value = strtod(line, &end);
    return end == line ? NAN : value;
}

static double most(double a, double b) {
    return isnan(a) || b > a ? b : a;
}

static double sum(double a, double b) {
    return isnan(a) ? b : isnan(b) ? a : a + b;
}

/* Joins the numbers of all files whose path matches; NaN where there is none. */
static double join(const char *root, const char *pattern, double (*two)(double, double)) {
    char path[PATH];
    glob_t found;
    double all = NAN;
    snprintf(path, sizeof path, "%s%s", root, pattern);
    if (glob(path, 0, NULL, &found) != 0)
        return NAN;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        const double value = read_number(found.gl_pathv[i]);
        all = isnan(value) ? all : two(all, value);
    }
    globfree(&found);
    return all;
}

/* ---- the host's processor ---- */

/* A virtual machine has no cpufreq, but may show the clock of its cores in cpuinfo. */
static double clock_of_cpuinfo(const char *root) {
    char path[PATH], line[256];
    double mhz = NAN;
    snprintf(path, sizeof path, "%s/proc/cpuinfo", root);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file)) {
        int at = 0;
        sscanf(line, "cpu MHz : %n", &at);
        if (at)
            mhz = most(mhz, tsri_base_read_number(line + at, NULL));
    }
    if (file)
        fclose(file);
    return mhz * 1e6;
}

/* Sensors of processors and boards are found by their driver's name; others are disks and cards. */
static double processor_temperature(const char *root) {
    static const char *const drivers[] = {"coretemp", "k10temp", "zenpower", "cpu_thermal"};
    char path[PATH], name[64];
    glob_t found;
    double hottest = NAN;
    snprintf(path, sizeof path, "%s/sys/class/hwmon/hwmon*", root);
    if (glob(path, 0, NULL, &found) != 0)
        return join(root, "/sys/class/thermal/thermal_zone*/temp", most) / 1000;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        snprintf(path, sizeof path, "%s/name", found.gl_pathv[i]);
        if (!read_line(path, name, sizeof name))
            continue;
        for (size_t d = 0; d < sizeof drivers / sizeof *drivers; d++)
            if (!strcmp(name, drivers[d])) {
                snprintf(path, sizeof path, "%s/temp*_input", found.gl_pathv[i]);
                hottest = most(hottest, join("", path, most) / 1000);
            }
    }
    globfree(&found);
    return hottest;
}

/* The counters of all packages. Beside them, "psys" counts the whole board, packages included. */
static void read_packages(const char *root, tsri_task_reading *out) {
    char path[PATH], name[64];
    glob_t found;
    snprintf(path, sizeof path, "%s/sys/class/powercap/intel-rapl:[0-9]", root);
    if (glob(path, 0, NULL, &found) != 0)
        return;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        const char *zone = found.gl_pathv[i];
        snprintf(path, sizeof path, "%s/name", zone);
        if (read_line(path, name, sizeof name) && !strcmp(name, "psys"))
            continue;
        out->energy = sum(out->energy, join(zone, "/energy_uj", sum) * 1e-6);
        out->energy_wrap = most(out->energy_wrap, join(zone, "/max_energy_range_uj", most) * 1e-6);
    }
    globfree(&found);
}

static void read_processor(const char *root, tsri_task_reading *out) {
    out->clock =
        join(root, "/sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_cur_freq", most) * 1e3;
    if (isnan(out->clock))
        out->clock = clock_of_cpuinfo(root);
    out->temperature = processor_temperature(root);
    read_packages(root, out);
}

/* ---- a card ---- */

/* The clock of a card whose driver tells it in MHz, apart from hwmon: i915, older i915, xe. A
 * graphics part of an Intel processor has no hwmon at all. */
static double driver_clock(const char *card) {
    static const char *const files[] = {"/gt/gt*/rps_act_freq_mhz", "/gt_act_freq_mhz",
                                        "/device/tile*/gt*/freq0/act_freq"};
    double mhz = NAN;
    for (size_t i = 0; i < sizeof files / sizeof *files && isnan(mhz); i++)
        mhz = join(card, files[i], most);
    return mhz * 1e6;
}

/* Sets what one card's sensors say. Returns false if it has none. */
static bool read_sensors(const char *card, tsri_task_reading *out) {
    out->clock = join(card, "/device/hwmon/hwmon*/freq1_input", most);
    if (isnan(out->clock))
        out->clock = driver_clock(card);
    out->temperature = join(card, "/device/hwmon/hwmon*/temp*_input", most) / 1000;
    out->energy = join(card, "/device/hwmon/hwmon*/energy1_input", sum) * 1e-6;
    out->power = join(card, "/device/hwmon/hwmon*/power1_average", sum) * 1e-6;
    if (isnan(out->power))
        out->power = join(card, "/device/hwmon/hwmon*/power1_input", sum) * 1e-6;
    const bool any =
        !isnan(out->clock) || !isnan(out->temperature) || !isnan(out->energy) || !isnan(out->power);
    if (out->clock <= 0) /* it is asleep: this says nothing about its speed */
        out->clock = NAN;
    return any;
}

/* Whether a card is of this vendor; 0: that is not known of the device. */
static bool is_of(const char *card, uint32_t vendor) {
    char path[PATH], text[64];
    if (!vendor)
        return true;
    snprintf(path, sizeof path, "%s/device/vendor", card);
    return read_line(path, text, sizeof text) && strtoul(text, NULL, 16) == vendor;
}

/* Only where one card alone of the device's vendor has sensors is it known whose they are. A
 * processor's graphics have some, a card beside them by NVIDIA's driver has none. */
static void read_card(const char *root, uint32_t vendor, tsri_task_reading *out) {
    char path[PATH];
    glob_t found;
    size_t n = 0;
    snprintf(path, sizeof path, "%s/sys/class/drm/card[0-9]", root);
    if (glob(path, 0, NULL, &found) != 0)
        return;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        tsri_task_reading one = *out;
        if (!is_of(found.gl_pathv[i], vendor) || !read_sensors(found.gl_pathv[i], &one))
            continue;
        *out = n++ ? *out : one;
    }
    globfree(&found);
    if (n > 1)
        out->clock = out->temperature = out->energy = out->power = NAN;
}

/* ---- load ---- */

typedef struct process {
    int number, parent;
    double seconds; /* that it and its children that have ended used, of all their threads */
} process;

/* Reads a file /proc/N/stat. */
static bool read_process(const char *path, process *out) {
    char line[512];
    double ticks[4];
    const char *name_end = read_line(path, line, sizeof line) ? strrchr(line, ')') : NULL;
    if (!name_end || sscanf(line, "%d", &out->number) != 1 ||
        sscanf(name_end + 1, " %*s %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %lf %lf %lf %lf",
               &out->parent, &ticks[0], &ticks[1], &ticks[2], &ticks[3]) != 5)
        return false;
    out->seconds = (ticks[0] + ticks[1] + ticks[2] + ticks[3]) / TICKS;
    return true;
}

/* Of this process and its children, such as those that build kernels. */
static double own_seconds(const char *root) {
    char path[PATH];
    glob_t found = {0};
    process self, other;
    snprintf(path, sizeof path, "%s/proc/self/stat", root);
    if (!read_process(path, &self))
        return NAN;
    snprintf(path, sizeof path, "%s/proc/[0-9]*/stat", root);
    if (glob(path, 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc; i++)
            if (read_process(found.gl_pathv[i], &other) && other.parent == self.number)
                self.seconds += other.seconds;
    globfree(&found);
    return self.seconds;
}

static void read_load(const char *root, tsri_task_reading *out) {
    char path[PATH], line[512];
    double ticks[8];
    int runnable;
    snprintf(path, sizeof path, "%s/proc/loadavg", root);
    if (read_line(path, line, sizeof line) && sscanf(line, "%*s %*s %*s %d/", &runnable) == 1) {
        out->load_minute = tsri_base_read_number(line, NULL);
        out->load = runnable > 0 ? runnable - 1 : 0;
    }
    snprintf(path, sizeof path, "%s/proc/stat", root);
    if (!read_line(path, line, sizeof line) ||
        sscanf(line, "cpu %lf %lf %lf %lf %lf %lf %lf %lf", &ticks[0], &ticks[1], &ticks[2],
               &ticks[3], &ticks[4], &ticks[5], &ticks[6], &ticks[7]) != 8)
        return;
    out->stolen = ticks[7];
    out->busy = (ticks[0] + ticks[1] + ticks[2]) / TICKS;
    out->all = 0;
    for (int i = 0; i < 8; i++)
        out->all += ticks[i];
}

tsri_task_reading tsri_task_read_conditions(const char *root, bool cpu, uint32_t vendor) {
    tsri_task_reading r = {.clock = NAN,
                           .temperature = NAN,
                           .load = NAN,
                           .load_minute = NAN,
                           .stolen = NAN,
                           .all = NAN,
                           .busy = NAN,
                           .own = own_seconds(root),
                           .energy = NAN,
                           .energy_wrap = NAN,
                           .power = NAN,
                           .seconds = (double)tsri_base_now_ns() * 1e-9};
    read_load(root, &r);
    if (cpu)
        read_processor(root, &r);
    else
        read_card(root, vendor, &r);
    return r;
}

/* The counter's difference; without a counter, the power at the end times the time between. */
static double joules_between(const tsri_task_reading *before, const tsri_task_reading *after) {
    double joules = after->energy - before->energy;
    if (joules < 0) /* the counter began anew */
        joules += after->energy_wrap;
    if (isnan(joules))
        joules = after->power * (after->seconds - before->seconds);
    return joules >= 0 ? joules : NAN;
}

tsr_bench_conditions tsri_task_conditions_between(const tsri_task_reading *before,
                                                  const tsri_task_reading *after) {
    /* After a move to another host, Xen may count less than before. */
    const double ticks = after->all - before->all, stolen = fmax(0, after->stolen - before->stolen);
    return (tsr_bench_conditions){.clock = {before->clock, after->clock},
                                  .temperature = {before->temperature, after->temperature},
                                  .load = {before->load, after->load},
                                  .steal = ticks > 0      ? stolen / ticks
                                           : isnan(ticks) ? NAN
                                                          : 0,
                                  .energy = joules_between(before, after)};
}

double tsri_task_others_between(const tsri_task_reading *before, const tsri_task_reading *after) {
    const double seconds = after->seconds - before->seconds,
                 others = (after->busy - before->busy) - (after->own - before->own);
    return others >= LEAST_SECONDS && others >= LEAST_SHARE * seconds && seconds > 0
               ? others / seconds
               : 0;
}

void tsri_task_read_governor(const char *root, char *out, size_t room) {
    char path[PATH];
    snprintf(path, sizeof path, "%s/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", root);
    if (!read_line(path, out, room))
        *out = 0;
}
