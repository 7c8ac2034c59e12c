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

/* Releases a buffer, under Oclgrind when the device closes: its check for uninitialised memory
 * takes the next buffer of the same number to be as long as this one, and loses what is stored
 * beyond. */
void tsri_opencl_release(tsr_dev *dev, cl_mem mem);

/* An event record around `event` (which it then owns; NULL: complete). From the pool: no allocation
 * where one is spare. */
tsr_status tsri_opencl_event_new(tsr_dev *dev, cl_event event, tsr_event **out);
/* At least n spare records. */
tsr_status tsri_opencl_events_reserve(tsr_dev *dev, size_t n);

#endif
