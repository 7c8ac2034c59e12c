/* Counts what the test program itself and the OpenCL plugin allocate: calls of malloc and its kin
 * by their code, not those of drivers and the C library. */
#ifndef TEST_OPENCL_ALLOCATIONS_H
#define TEST_OPENCL_ALLOCATIONS_H

#include <stdbool.h>

/* From now on; the plugin must be loaded. false: this build counts none (a sanitizer has malloc).
 */
bool allocations_begin(void);
long allocations_end(void); /* since begin */

#endif
