/* backends/opencl/launch/launch.h - a kernel with its arguments set and its grid stated, run at the
 * sizes of each run. */
#ifndef TSRI_OPENCL_LAUNCH_LAUNCH_H
#define TSRI_OPENCL_LAUNCH_LAUNCH_H

#include "backends/opencl/bind/arguments.h"
#include "backends/opencl/program/instance.h"

/* Creates the kernels and lets the variant bind them; scratch arguments are bound later, by
 * bind_scratch. Release the launch also after a failure. */
tsr_status tsri_opencl_launch_create(tsr_dev *dev, tsri_opencl_instance *instance, const tsr_op *op,
                                     cl_mem dims, tsri_opencl_launch *launch);
/* The same without a kernel object: the arguments are kept in launch->trace, those of its stage in
 * launch->before->trace. */
tsr_status tsri_opencl_launch_trace(tsr_dev *dev, tsri_opencl_instance *instance, const tsr_op *op,
                                    cl_mem dims, tsri_opencl_launch *launch);
tsr_status tsri_opencl_launch_bind_scratch(tsri_opencl_launch *launch);
void tsri_opencl_launch_release(tsri_opencl_launch *launch);

/* The work-groups of a launch along each axis; all 0 where it has nothing to do. */
typedef struct tsri_opencl_groups {
    size_t n[3];
} tsri_opencl_groups;

/* Reads the grid at the sizes of a run, and returns its multiply-adds. */
uint64_t tsri_opencl_launch_groups(const tsri_opencl_launch *launch,
                                   const int64_t sizes[TSR_SYMBOLS], tsri_opencl_groups *groups);

/* The axis along which there are more work-groups than a launch may have: drivers over CUDA (pocl's)
 * refuse more than 65,535 along axis 1 or 2. -1: no axis has as many. */
int tsri_opencl_launch_long_axis(const size_t groups[3]);

/* Enqueues the launch, in pieces where it is long. `each` (where not NULL) is called with the event
 * of every piece, its stage's included, which it then owns; otherwise *last (where not NULL) gets the event of the last
 * piece, and stays NULL where nothing was enqueued. */
typedef void tsri_opencl_piece(void *data, const tsri_opencl_launch *launch, cl_event event,
                               uint64_t enqueue_ns);
tsr_status tsri_opencl_launch_run(tsri_opencl_launch *launch, const int64_t sizes[TSR_SYMBOLS],
                                  tsri_opencl_piece *each, void *data, cl_event *last);

#endif
