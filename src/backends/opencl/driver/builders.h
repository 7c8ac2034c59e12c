/* backends/opencl/driver/builders.h - helpers (helper.h) that build programs of chains for a driver
 * whose cache they share with this process, which then finds them there.
 *
 * A driver compiles on one core, and its compiler needs half a second to start and 150 MiB. So the
 * compiler runs in up to two builders, side by side, and each builds one program after the other. One
 * that has had nothing to do for some seconds ends by itself. Where a new driver is tried
 * (drivers.h), a builder starts its compiler meanwhile.
 *
 * One thread at a time uses a set of builders. */
#ifndef TSRI_OPENCL_DRIVER_BUILDERS_H
#define TSRI_OPENCL_DRIVER_BUILDERS_H

#include "backends/opencl/driver/state.h"
#include "base/bytes.h"

typedef enum tsri_opencl_order_state {
    TSRI_OPENCL_ORDER_NONE, /* not given to the builders, or withdrawn */
    TSRI_OPENCL_ORDER_WAITS,
    TSRI_OPENCL_ORDER_RUNS,
    TSRI_OPENCL_ORDER_OVER /* built; or it could not be, and building it here tells why */
} tsri_opencl_order_state;

/* A program that is to be built. Its texts are borrowed until the order is over or withdrawn. */
typedef struct tsri_opencl_order {
    tsri_opencl_order_state state;
    const char *platform, *device, *options;
    const tsri_bytes *source;
    struct tsri_opencl_order *next;
} tsri_opencl_order;

/* Whether builders are worth their start: a second core, and a cache that all processes share. */
bool tsri_opencl_builds_ahead(void);
/* Builders, none of which runs; NULL where the helper is missing. They borrow the state. */
tsri_opencl_builders *tsri_opencl_builders_new(const tsr_state *state);
/* Starts one more builder, which starts the compiler of the driver of a vendor file before it is
 * given anything. icd NULL: whatever driver it will need. */
void tsri_opencl_builders_warm(tsri_opencl_builders *builders, const char *icd);
/* Gives an order to a builder, or keeps it until one is free. */
void tsri_opencl_builders_give(tsri_opencl_builders *builders, tsri_opencl_order *order);
/* Hands waiting orders to builders that are free by now. */
void tsri_opencl_builders_tend(tsri_opencl_builders *builders);
/* Waits until the order is over. A builder that computes without end, or hangs, is ended. Fails with
 * TSR_E_CANCELLED where the host asks to stop. */
tsr_status tsri_opencl_builders_wait(tsri_opencl_builders *builders, const tsri_opencl_order *order,
                                     const tsr_state *state);
/* The order's texts are not used any more. */
void tsri_opencl_builders_withdraw(tsri_opencl_builders *builders, tsri_opencl_order *order);
void tsri_opencl_builders_free(tsri_opencl_builders **builders);

#endif
