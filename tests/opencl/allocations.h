/* Counts the allocations of the test program itself and of the OpenCL plugin: calls of malloc and
 * the like from their code, not from drivers or the C library. */
#ifndef TEST_OPENCL_ALLOCATIONS_H
#define TEST_OPENCL_ALLOCATIONS_H

#include <stdbool.h>

/* Counts from now on; the plugin must be loaded. False where this build can't count (a sanitizer
 * defines malloc). */
bool allocations_begin(void);
long allocations_end(void); /* the number since allocations_begin */

#endif
