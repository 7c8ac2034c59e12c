/* backends/opencl/device/device.h - an open device: context, queue, buffers, events. */
#ifndef TSRI_OPENCL_DEVICE_DEVICE_H
#define TSRI_OPENCL_DEVICE_DEVICE_H

#include "backends/opencl/driver/state.h"

typedef struct tsri_opencl_programs tsri_opencl_programs; /* program/program.h */
typedef struct tsri_opencl_tuning tsri_opencl_tuning;     /* tuning/tuning.h */
typedef struct tsri_opencl_bundle tsri_opencl_bundle;     /* program/bundle.h */
typedef struct tsri_opencl_probes tsri_opencl_probes;     /* program/probe.h */
typedef struct tsri_opencl_pages tsri_opencl_pages;       /* pages.h */
typedef struct tsri_opencl_chain tsri_opencl_chain;       /* launch/chain.h */

struct tsr_dev {
    tsr_state *state;
    const tsri_opencl_found *found;
    tsri_opencl_facts facts;
    cl_device_id id;  /* the whole device, or a part of it with fewer threads */
    bool partitioned; /* id is ours to release */
    cl_context context;
    cl_command_queue queue; /* in order */
    bool profile, no_self_test;
    bool record;        /* kernels are recorded for a bundle: nothing is built or runs */
    bool first_run;     /* of a plan is in flight: some drivers compile then */
    bool busy;          /* something was enqueued since the last clFinish */
    bool provider_used; /* CLBlast keeps programs for this context */
    bool poisoned;      /* the driver failed: it is only asked to release */
    bool uncertain;     /* and may still write to memory that it was given */
    bool stuck;         /* what it was doing does not end: nothing of it is released */
    char lost[256];
    tsr_event *spare_events;
    cl_mem scratch; /* shared by the launches of all plans; contents live within a launch */
    uint64_t scratch_bytes;
    uint32_t kept_twice[TSR_OP_COUNT]; /* bit i: the user was told of its weights of layout i */
    cl_mem *kept;                      /* what Oclgrind may not release: see tsri_opencl_release */
    size_t n_kept, kept_capacity;
    struct tsri_opencl_marker *marker; /* a plan is built and not run yet; NULL: all ran */
    tsri_opencl_pages *pages;          /* mappings that buffers lie in */
    tsr_plan *plans;
    tsri_opencl_programs *programs;
    tsri_opencl_tuning *tuning;
    tsri_opencl_probes *probes;
    tsri_opencl_chain *chain;   /* programs of many kernels in one, the newest first */
    cl_mem chain_state;         /* what their work-items share; NULL: none was run */
    tsri_opencl_bundle *bundle; /* the only kernels there are; NULL: they are built */
    tsr_buf *left;              /* buffers that were destroyed and may not be released */
    tsr_dev *next;              /* open devices of the process, for draining at exit */
};

struct tsr_buf {
    tsr_dev *dev;
    cl_mem mem;
    uint64_t bytes;
    tsri_opencl_pages *pages; /* where its memory is from; NULL: the driver's own */
    tsr_buf *
        plain; /* of a weight: its rows once more, where no row for its layout can be used; owned */
    tsr_buf *next; /* of dev->left */
};

struct tsr_event {
    tsr_dev *dev;
    cl_event event; /* NULL: complete */
    tsr_event *next;
};

#endif
