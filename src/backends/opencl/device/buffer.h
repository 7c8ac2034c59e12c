/* backends/opencl/device/buffer.h - buffers and events of a device. */
#ifndef TSRI_OPENCL_DEVICE_BUFFER_H
#define TSRI_OPENCL_DEVICE_BUFFER_H

#include "backends/opencl/device/device.h"

/* Entries of the backend's table. */
tsr_status tsri_opencl_buffer_create(tsr_dev *dev, const tsr_buffer_spec *spec, tsr_buf **out);
void tsri_opencl_buffer_destroy(tsr_buf *buf);
tsr_status tsri_opencl_transfer(tsr_dev *dev, const tsr_transfer *transfer, const tsr_waits *waits,
                                tsr_event **done);
tsr_status tsri_opencl_event_wait(tsr_event *event, uint64_t timeout_ns);
void tsri_opencl_event_destroy(tsr_event *event);

/* Writes to a new buffer: drivers that allocate at first use would otherwise fail in the middle of a
 * run. `what` names the call in the message of a failure; too little memory does not lose the device. */
tsr_status tsri_opencl_touch(tsr_dev *dev, cl_mem mem, uint64_t bytes, const char *what);

/* Releases a buffer. Under Oclgrind it is released only when the device closes: its check for
 * uninitialised memory assumes that the next buffer of the same number is as long as this one, and
 * loses what is stored beyond that. */
void tsri_opencl_release(tsr_dev *dev, cl_mem mem);

/* Makes an event record for `event`, which it then owns (NULL: complete). It takes the record from
 * the pool: nothing is allocated while one is spare. */
tsr_status tsri_opencl_event_new(tsr_dev *dev, cl_event event, tsr_event **out);
/* Makes sure that the pool has at least n spare records. */
tsr_status tsri_opencl_events_reserve(tsr_dev *dev, size_t n);

#endif
