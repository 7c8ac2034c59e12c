/* The example backend, which takes time to start and ends the process when another thread starts it
 * meanwhile: as a driver may. */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

static void *alone(size_t n) {
    static atomic_int inside;
    if (atomic_fetch_add(&inside, 1) != 0)
        abort();
    usleep(5000);
    void *memory = malloc(n);
    atomic_fetch_sub(&inside, 1);
    return memory;
}

#define malloc alone /* its start begins by that */
#include "../../../examples/backend_minimal/minimal.c"
