/* tensor/parallel.h - work on many items by several threads of the host: rows that are read,
 * converted and packed. */
#ifndef TSRI_TENSOR_PARALLEL_H
#define TSRI_TENSOR_PARALLEL_H

#include "tessera/status.h"

#include <stdint.h>

enum { TSRI_TENSOR_MOST_THREADS = 16 };

/* How many threads are worth their start for rows of so many bytes: one for less than 1 MiB, else
 * the cores that this process is allowed, at most 16, and at most `units` where that is not 0 (those
 * of a CPU device that computes with fewer). */
unsigned tsri_tensor_threads(unsigned units, uint64_t bytes);

/* Calls `run` for parts of items 0 .. n - 1 that together are all of them, and waits for the calls.
 *
 * threads  the most threads at once, with the one that calls; 1: all is done here
 * unit     parts begin at multiples of it
 * run      touches nothing that another part writes. Signals are left to other threads
 * error    that of the failed part with the lowest items; other parts may have run */
tsr_status tsri_tensor_parallel(unsigned threads, int64_t n, int64_t unit,
                                tsr_status (*run)(void *data, int64_t first, int64_t end),
                                void *data);

#endif
