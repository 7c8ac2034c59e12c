/* backends/opencl/bind/defines.h - the build constants of a kernel variant, or of its stage, while
 * they are collected. */
#ifndef TSRI_OPENCL_BIND_DEFINES_H
#define TSRI_OPENCL_BIND_DEFINES_H

#include "backends/opencl/bind/variant.h"
#include "base/bytes.h"

typedef struct tsri_opencl_values {
    int value[TSRI_OPENCL_TUNABLES];
    const char *from[TSRI_OPENCL_TUNABLES]; /* "default", "table cl/tuned/x.tsv:7", "tuned here" */
    bool line[TSRI_OPENCL_TUNABLES];        /* it comes from a line of a table, or was tuned here */
    /* Where lines name values that this device does not take, so that the defaults are in force:
     * those values, and why. "" otherwise */
    char unfit[320];
} tsri_opencl_values;

struct tsri_opencl_defines {
    tsri_bytes define, undefine; /* "#define M 6\n", "#undef M\n" */
    tsri_bytes name;             /* "M=6," */
    tsri_opencl_values values;   /* of the variant's tunables */
    const tsri_opencl_variant *variant;
    tsr_status status;
};

void tsri_opencl_defines_clear(tsri_opencl_defines *defines);
/* The index of a tunable of the variant; -1 where it has none of that name. */
int tsri_opencl_find_tunable(const tsri_opencl_variant *variant, const char *name);

#endif
