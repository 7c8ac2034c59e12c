/* backends/opencl/device/failure.h - what happens when a driver fails. */
#ifndef TSRI_OPENCL_DEVICE_FAILURE_H
#define TSRI_OPENCL_DEVICE_FAILURE_H

#include "backends/opencl/device/device.h"

/* Calls clFinish where something is in flight. */
tsr_status tsri_opencl_drain(tsr_dev *dev);
/* Whether objects of the device may be released. They may not where the device is stuck, or in a
 * process forked from the one that opened it, which has none of the driver's threads; they are then
 * left unreleased on purpose. */
bool tsri_opencl_releasable(const tsr_dev *dev);

/* Waits, at most state->rest_ns, for what is in flight: it reads and writes memory that the caller
 * frees after a failure. */
void tsri_opencl_come_to_rest(tsr_dev *dev);

/* TSR_OK, or the failure that lost the device earlier. */
tsr_status tsri_opencl_check(const tsr_dev *dev);
/* Checks that every event of `waits` belongs to dev. The queue is in order, so nothing else needs
 * to be done about them. */
tsr_status tsri_opencl_check_waits(const tsr_dev *dev, const tsr_waits *waits);

/* Sets the error record, "<call>: CL_OUT_OF_RESOURCES (-5) on <device>", and gives the status for a
 * driver's code. It waits, at most state->rest_ns, for what is in flight, so that the caller may
 * free the memory that it gave. A code after which a driver can't be trusted poisons the device. */
tsr_status tsri_opencl_fail(tsr_dev *dev, cl_int code, const char *call);
/* The same for creators, which may run out of memory without losing the device. */
tsr_status tsri_opencl_fail_create(tsr_dev *dev, cl_int code, const char *call);
/* The same for a launch that was not enqueued. While kernels are tried, codes by which drivers say
 * that a kernel is too much for the device do not poison it, unless clFinish fails, too. */
tsr_status tsri_opencl_fail_launch(tsr_dev *dev, cl_int code, const char *call);
const char *tsri_opencl_code_name(cl_int code);

#endif
