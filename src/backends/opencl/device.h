/* backends/opencl/device.h - an open device: context, queue, buffers, events; what happens when the
 * driver fails. */
#ifndef TSRI_OPENCL_DEVICE_H
#define TSRI_OPENCL_DEVICE_H

#include "backends/opencl/state.h"

typedef struct tsri_opencl_programs tsri_opencl_programs; /* program.h */
typedef struct tsri_opencl_tuning tsri_opencl_tuning;     /* tuning.h */
typedef struct tsri_opencl_bundle tsri_opencl_bundle;     /* bundle.h */
typedef struct tsri_opencl_probes tsri_opencl_probes;     /* probe.h */
typedef struct tsri_opencl_pages tsri_opencl_pages;       /* pages.h */
typedef struct tsri_opencl_chain tsri_opencl_chain;       /* chain.h */

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
    tsri_opencl_pages *pages; /* mappings that buffers lie in */
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

/* Entries of the backend's table. */
tsr_status tsri_opencl_device_open(tsr_state *state, uint32_t index,
                                   const tsr_device_options *options, tsr_dev **out);
void tsri_opencl_device_close(tsr_dev *dev);
tsr_status tsri_opencl_buffer_create(tsr_dev *dev, const tsr_buffer_spec *spec, tsr_buf **out);
void tsri_opencl_buffer_destroy(tsr_buf *buf);
tsr_status tsri_opencl_transfer(tsr_dev *dev, const tsr_transfer *transfer, const tsr_waits *waits,
                                tsr_event **done);
tsr_status tsri_opencl_event_wait(tsr_event *event, uint64_t timeout_ns);
void tsri_opencl_event_destroy(tsr_event *event);

/* Releases a buffer, under Oclgrind when the device closes: its check for uninitialised memory
 * takes the next buffer of the same number to be as long as this one, and loses what is stored
 * beyond. */
void tsri_opencl_release(tsr_dev *dev, cl_mem mem);

/* Finishes what is in flight on every open device; the exit handler. */
void tsri_opencl_drain_all(void);
/* clFinish where something is in flight. */
tsr_status tsri_opencl_drain(tsr_dev *dev);
/* What belongs to the device may be released: not where it is stuck, nor in a process forked from
 * the one that opened it, which has none of the driver's threads. It is then left, on purpose. */
bool tsri_opencl_releasable(const tsr_dev *dev);

/* TSR_OK, or the failure of a device that was lost before. */
tsr_status tsri_opencl_check(const tsr_dev *dev);
/* Every event of waits belongs to dev. The queue is in order, so there is nothing else to do about
 * them. */
tsr_status tsri_opencl_check_waits(const tsr_dev *dev, const tsr_waits *waits);

/* The status of a driver's code, with the sentence said: "<call>: CL_OUT_OF_RESOURCES (-5) on
 * <device>". What is in flight is waited for, state->rest_ns at most, so that the caller may free
 * the memory that it gave. A code after which a driver can't be trusted poisons the device. */
tsr_status tsri_opencl_fail(tsr_dev *dev, cl_int code, const char *call);
/* The same for creators, where being out of memory is an answer and not the end. */
tsr_status tsri_opencl_fail_create(tsr_dev *dev, cl_int code, const char *call);
const char *tsri_opencl_code_name(cl_int code);

/* An event record around `event` (which it then owns; NULL: complete). From the pool: no allocation
 * where one is spare. */
tsr_status tsri_opencl_event_new(tsr_dev *dev, cl_event event, tsr_event **out);
/* At least n spare records. */
tsr_status tsri_opencl_events_reserve(tsr_dev *dev, size_t n);

#endif
