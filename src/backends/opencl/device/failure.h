/* backends/opencl/device/failure.h - what happens when the driver fails. */
#ifndef TSRI_OPENCL_DEVICE_FAILURE_H
#define TSRI_OPENCL_DEVICE_FAILURE_H

#include "backends/opencl/device/device.h"

/* clFinish where something is in flight. */
tsr_status tsri_opencl_drain(tsr_dev *dev);
/* What belongs to the device may be released: not where it is stuck, nor in a process forked from
 * the one that opened it, which has none of the driver's threads. It is then left, on purpose. */
bool tsri_opencl_releasable(const tsr_dev *dev);

/* What is in flight reads and writes memory that the caller frees after a failure: it is waited
 * for, state->rest_ns at most. */
void tsri_opencl_come_to_rest(tsr_dev *dev);

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

#endif
