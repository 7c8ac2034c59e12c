/* backends/opencl/device/device.h - an open device: context, queue, buffers, events. */
#ifndef TSRI_OPENCL_DEVICE_DEVICE_H
#define TSRI_OPENCL_DEVICE_DEVICE_H

#include "backends/opencl/driver/state.h"

typedef struct tsri_opencl_programs tsri_opencl_programs; /* program/program.h */
typedef struct tsri_opencl_tuning tsri_opencl_tuning;     /* tuning/tuning.h */
typedef struct tsri_opencl_bundle tsri_opencl_bundle;     /* program/bundle.h */
typedef struct tsri_opencl_probes tsri_opencl_probes;     /* program/probe.h */
typedef struct tsri_opencl_pages tsri_opencl_pages;       /* pages.h */
typedef struct tsri_opencl_staging tsri_opencl_staging;   /* staging.h */
typedef struct tsri_opencl_chain tsri_opencl_chain;       /* launch/chain.h */

/* The functions of cl_khr_command_buffer, where the device has them. */
typedef struct tsri_opencl_commands {
    bool usable;
    bool simultaneous; /* a command buffer may be enqueued while it is still running */
    clCreateCommandBufferKHR_fn create;
    clCommandNDRangeKernelKHR_fn add;
    clFinalizeCommandBufferKHR_fn finalize;
    clEnqueueCommandBufferKHR_fn enqueue;
    clReleaseCommandBufferKHR_fn release;
} tsri_opencl_commands;

struct tsr_dev {
    tsr_state *state;
    const tsri_opencl_found *found;
    tsri_opencl_facts facts;
    cl_device_id id;  /* the whole device, or a sub-device with fewer threads */
    bool partitioned; /* id is a sub-device, which we must release */
    cl_context context;
    cl_command_queue queue; /* in order */
    tsri_opencl_commands commands;
    bool profile, no_self_test;
    bool record;        /* kernels are recorded for a bundle; nothing is built or run */
    bool first_run;     /* a plan's first run is in flight; some drivers compile then */
    bool busy;          /* something was enqueued since the last clFinish */
    bool trial;         /* a self-test launches its kernel */
    bool provider_used; /* CLBlast keeps programs for this context */
    bool poisoned;      /* the driver failed: it may only release objects */
    bool uncertain;     /* as above, and it may still write to memory it was given */
    bool stuck;         /* its work does not end: none of its objects is released */
    char lost[256];
    tsr_event *spare_events;
    cl_mem scratch; /* shared by the launches of all plans; its contents last for one launch */
    uint64_t scratch_bytes;
    /* Bit i: the user was told that the op's weights of layout i are kept a second time. */
    uint32_t kept_twice[TSR_OP_COUNT];
    cl_mem *kept; /* buffers not released under Oclgrind: see tsri_opencl_release */
    size_t n_kept, kept_capacity;
    struct tsri_opencl_marker *marker; /* set while a built plan has not run yet */
    tsri_opencl_pages *pages;          /* memory mappings that hold buffers */
    tsri_opencl_staging *staging;      /* for uploads; NULL: there was none yet */
    tsr_plan *plans;
    tsri_opencl_programs *programs;
    tsri_opencl_tuning *tuning;
    tsri_opencl_probes *probes;
    tsri_opencl_chain *chain;       /* chain programs, the newest first */
    tsri_opencl_builders *builders; /* that build them; NULL: none was needed yet */
    cl_mem chain_state;             /* what their work-items share; NULL: no chain was run */
    tsri_opencl_bundle *bundle;     /* the only kernels of the device; NULL: kernels are built */
    tsr_buf *left;                  /* destroyed buffers that must not be released */
    tsr_dev *next;                  /* in the list of the process's open devices */
};

struct tsr_buf {
    tsr_dev *dev;
    cl_mem mem;
    uint64_t bytes;
    tsri_opencl_pages *pages; /* the mapping with its memory; NULL: the driver's memory */
    void *memory;             /* in that mapping */
    tsr_buf *plain;           /* a weight's plain rows, where no variant reads its layout; owned */
    tsr_buf *next;            /* in the list dev->left */
};

struct tsr_event {
    tsr_dev *dev;
    cl_event event; /* NULL: complete */
    tsr_event *next;
};

#endif
