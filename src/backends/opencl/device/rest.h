/* backends/opencl/device/rest.h - waits for a queue whose work may never end. */
#ifndef TSRI_OPENCL_DEVICE_REST_H
#define TSRI_OPENCL_DEVICE_REST_H

#include "backends/opencl/driver/cl.h"

#include <stdint.h>

typedef enum tsri_opencl_rest {
    TSRI_OPENCL_RESTS,   /* all that was enqueued has ended */
    TSRI_OPENCL_UNKNOWN, /* clFinish failed, so it is not known */
    TSRI_OPENCL_STUCK    /* not within the time; a thread still waits in the driver */
} tsri_opencl_rest;

/* clFinish with a time limit. */
tsri_opencl_rest tsri_opencl_finish_within(cl_command_queue queue, uint64_t limit_ns);

#endif
