/* backends/opencl/plan.h - ops bound to kernels, ready to be enqueued. */
#ifndef TSRI_OPENCL_PLAN_H
#define TSRI_OPENCL_PLAN_H

#include "backends/opencl/launch.h"
#include "backends/opencl/operation.h"
#include "backends/opencl/program.h"
#include "backends/opencl/select.h"

/* A launch in flight that is measured. */
typedef struct tsri_opencl_pending {
    cl_event event;
    uint32_t op;
} tsri_opencl_pending;

typedef struct tsri_opencl_step {
    tsri_opencl_operation operation;
    tsri_opencl_instance *instance;
    tsri_opencl_wish forced; /* its row is NULL: free choice */
    char *fallback; /* why the weight is read as plain rows that were made of it; NULL: it isn't */
    uint32_t stored_operand, stored_layout; /* then: which, and what it was stored as */
    tsri_opencl_launch launch;
    uint64_t launches, nanoseconds, enqueue_nanoseconds;
} tsri_opencl_step;

typedef struct tsri_opencl_link tsri_opencl_link; /* chain.h */

struct tsr_plan {
    tsr_dev *dev;
    tsr_plan *next; /* of the device */
    uint32_t n_ops;
    tsri_opencl_step *steps;
    tsr_bounds bounds;
    const tsri_opencl_chain *chain; /* the program of its links; NULL: each kernel is launched */
    tsri_opencl_link *links;        /* in order */
    uint32_t n_links;
    cl_mem dims;                  /* the table at its place in the caller's buffer */
    tsri_opencl_pending *pending; /* ring of the device's profile; NULL where it doesn't measure */
    size_t n_pending;
    uint32_t current; /* op being enqueued */
    bool ran;         /* at least once */
};

/* Entries of the backend's table. */
tsr_status tsri_opencl_plan_create(tsr_dev *dev, const tsr_plan_spec *spec, tsr_plan **out);
void tsri_opencl_plan_destroy(tsr_plan *plan);
tsr_status tsri_opencl_plan_run(tsr_plan *plan, const tsr_run *run, const tsr_waits *waits,
                                tsr_event **done);
tsr_status tsri_opencl_plan_explain(tsr_plan *plan, size_t op, tsr_row_visitor visit, void *data);
tsr_status tsri_opencl_plan_profile(tsr_plan *plan, tsr_profile_visitor visit, void *data);

/* profile.c: the piece callback of a measured plan (data: the plan); and the measured events
 * gathered into the steps. */
tsr_status tsri_opencl_profile_begin(tsr_plan *plan);
void tsri_opencl_profile_piece(void *plan, cl_event event, uint64_t enqueue_ns);
tsr_status tsri_opencl_profile_gather(tsr_plan *plan);
void tsri_opencl_profile_end(tsr_plan *plan);

/* choose.c: gives every step an instance that is built and tested. */
tsr_status tsri_opencl_choose(tsr_dev *dev, tsr_plan *plan);

#endif
