/* tensor/parallel.c - threads that each do one part of the work, and end. */
#include "tensor/parallel.h"

#include "base/error.h"
#include "base/system/system.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

typedef struct part {
    tsr_status (*run)(void *data, int64_t first, int64_t end);
    void *data;
    int64_t first, end;
    pthread_t thread;
    bool started;
    tsr_status status;
    char why[512]; /* the thread's error record ends with the thread */
} part;

unsigned tsri_tensor_threads(unsigned units, uint64_t bytes) {
    enum { LEAST_BYTES = 1 << 20 };
    const unsigned cores = bytes < LEAST_BYTES ? 0 : tsri_system_cores_allowed();
    if (!cores)
        return 1;
    const unsigned most = units && units < cores ? units : cores;
    return most > TSRI_TENSOR_MOST_THREADS ? TSRI_TENSOR_MOST_THREADS : most;
}

static void *run_part(void *data) {
    part *p = data;
    p->status = p->run(p->data, p->first, p->end);
    if (p->status != TSR_OK)
        snprintf(p->why, sizeof p->why, "%s", tsri_base_reported());
    return NULL;
}

tsr_status tsri_tensor_parallel(unsigned threads, int64_t n, int64_t unit,
                                tsr_status (*run)(void *data, int64_t first, int64_t end),
                                void *data) {
    part parts[TSRI_TENSOR_MOST_THREADS];
    const int64_t units = unit > 0 ? (n + unit - 1) / unit : 0;
    const int64_t most = threads < TSRI_TENSOR_MOST_THREADS ? threads : TSRI_TENSOR_MOST_THREADS;
    const int count = (int)(units < most ? units : most);
    if (count <= 1)
        return n > 0 ? run(data, 0, n) : TSR_OK;
    for (int i = 0; i < count; i++) {
        const int64_t first = units * i / count * unit, end = units * (i + 1) / count * unit;
        parts[i] = (part){.run = run, .data = data, .first = first, .end = end < n ? end : n};
        if (i)
            parts[i].started = tsri_system_thread(&parts[i].thread, run_part, &parts[i]) == 0;
    }
    run_part(&parts[0]);
    for (int i = 1; i < count; i++)
        if (parts[i].started)
            pthread_join(parts[i].thread, NULL);
        else
            run_part(&parts[i]);
    for (int i = 0; i < count; i++)
        if (parts[i].status != TSR_OK)
            return tsri_base_fail(parts[i].status, "%s", parts[i].why);
    return TSR_OK;
}
