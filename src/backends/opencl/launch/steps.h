/* backends/opencl/launch/steps.h - the steps of a plan: each an op, the kernel chosen for it and
 * its launch. */
#ifndef TSRI_OPENCL_LAUNCH_STEPS_H
#define TSRI_OPENCL_LAUNCH_STEPS_H

#include "backends/opencl/bind/operation.h"
#include "backends/opencl/launch/launch.h"
#include "backends/opencl/tuning/tuning.h"

/* A launch in flight whose time is measured. */
typedef struct tsri_opencl_pending {
    cl_event event;
    struct tsri_opencl_measured *of;
} tsri_opencl_pending;

/* What a profile measured of a kernel. */
typedef struct tsri_opencl_measured {
    uint64_t launches, nanoseconds, enqueue_nanoseconds;
} tsri_opencl_measured;

typedef struct tsri_opencl_step {
    tsri_opencl_operation operation;
    tsri_opencl_instance *instance;
    tsri_opencl_wish forced; /* its variant is NULL where the choice is free */
    char *fallback;          /* why the weight was unpacked to plain rows; NULL: it was not */
    uint32_t stored_operand, stored_layout; /* of that weight: its operand, its layout before */
    tsri_opencl_launch launch;
    tsri_opencl_measured measured, measured_before; /* the variant's kernel; its stage */
} tsri_opencl_step;

typedef struct tsri_opencl_link tsri_opencl_link; /* chain.h */

enum { TSRI_OPENCL_RECORDINGS = 2 };
/* The last run of a plan: launch/commands.h. */
typedef struct tsri_opencl_recording {
    uint32_t n;                 /* launches, those of stages included */
    tsri_opencl_groups *groups; /* of the run before and of this one; NULL: nothing is recorded */
    bool known;                 /* there was a run before, and it had no launch in pieces */
    uint64_t ns;                /* how long a run with these groups took; 0: not measured */
    uint32_t rest, pause; /* runs until the next one is timed; as they were after the last one */
    /* NULL: not recorded. The second is recorded where a run starts while the first is under way, and the
     * device allows each only once */
    cl_command_buffer_khr buffers[TSRI_OPENCL_RECORDINGS];
    int last; /* the one that was enqueued last */
} tsri_opencl_recording;

struct tsr_plan {
    tsr_dev *dev;
    tsr_plan *next; /* in the device's list */
    uint32_t n_ops;
    tsri_opencl_step *steps;
    tsr_bounds bounds;
    const tsri_opencl_chain *chain; /* the program of its links; NULL: each kernel is launched */
    tsri_opencl_link *links;        /* in order */
    uint32_t n_links;
    tsri_opencl_recording recording;
    cl_mem dims;                  /* the table of sizes, inside the caller's buffer */
    tsri_opencl_pending *pending; /* ring of launches to measure; NULL: nothing is measured */
    size_t n_pending;
    uint32_t current; /* the op being enqueued */
    bool ran;         /* it has run at least once */
};

#endif
