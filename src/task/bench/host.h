/* task/bench/host.h - what the machine is that a benchmark ran on. */
#ifndef TSRI_TASK_BENCH_HOST_H
#define TSRI_TASK_BENCH_HOST_H

#include "task/bench/conditions.h"

#include <stddef.h>

/* Texts are "", numbers 0, where the system does not say. cpu: the name, and the numbers that tell
 * processors of one name apart: "AMD EPYC (family 26, model 2, stepping 1)". */
typedef struct tsri_task_host {
    char os[128], kernel[256], cpu[256], governor[32];
    uint32_t cores;
    uint64_t memory; /* bytes */
} tsri_task_host;

/* `root`: where proc, sys and etc are; "" on a real machine. */
void tsri_task_read_host(const char *root, tsri_task_host *out);

#endif
