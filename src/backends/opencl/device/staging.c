/* backends/opencl/device/staging.c - two halves of pinned memory in turn: one is filled while the
 * device reads the other.
 *
 * Memory of CL_MEM_ALLOC_HOST_PTR is what drivers of discrete devices read without a copy of their
 * own. Where there is none, and on devices that share the host's memory, a write is waited for. */
#include "backends/opencl/device/staging.h"
#include "backends/opencl/device/failure.h"
#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { HALF = 4 << 20 };

struct tsri_opencl_staging {
    cl_mem mem;
    unsigned char *halves; /* mapped; NULL: this device has no such memory */
    cl_event pending[2];   /* of the writes that read them */
    int next;
};

/* The device's staging memory, made at the first upload. */
static tsr_status staging_of(tsr_dev *dev, tsri_opencl_staging **out) {
    cl_int code = CL_SUCCESS;
    *out = dev->staging;
    if (*out)
        return TSR_OK;
    TRY(tsri_base_new(1, sizeof **out, out));
    tsri_opencl_staging *s = dev->staging = *out;
    if (dev->facts.common.max_allocation < 2 * HALF)
        return TSR_OK;
    s->mem = clCreateBuffer(dev->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, 2 * HALF, NULL,
                            &code);
    if (s->mem)
        s->halves = clEnqueueMapBuffer(dev->queue, s->mem, CL_TRUE, CL_MAP_WRITE, 0, 2 * HALF, 0,
                                       NULL, NULL, &code);
    return TSR_OK;
}

/* Waits until the device has read a half. */
static tsr_status wait_for(tsr_dev *dev, cl_event *event) {
    if (!*event)
        return TSR_OK;
    const cl_int code = clWaitForEvents(1, event);
    clReleaseEvent(*event);
    *event = NULL;
    return code == CL_SUCCESS ? TSR_OK : tsri_opencl_fail(dev, code, "writing a weight");
}

static tsr_status write(tsr_dev *dev, cl_mem mem, bool wait, size_t offset, size_t bytes,
                        const void *data, cl_event *event) {
    dev->busy = true;
    cl_int code = clEnqueueWriteBuffer(dev->queue, mem, wait, offset, bytes, data, 0, NULL, event);
    if (code == CL_SUCCESS && !wait)
        code = clFlush(dev->queue);
    return code == CL_SUCCESS ? TSR_OK : tsri_opencl_fail(dev, code, "writing a weight");
}

tsr_status tsri_opencl_upload(tsr_dev *dev, cl_mem mem, size_t offset, size_t bytes,
                              const void *data) {
    tsri_opencl_staging *s = NULL;
    if (!dev->facts.common.unified_memory)
        TRY(staging_of(dev, &s));
    if (!s || !s->halves)
        return write(dev, mem, true, offset, bytes, data, NULL);
    for (size_t at = 0; at < bytes; at += HALF) {
        const size_t n = bytes - at < HALF ? bytes - at : HALF;
        unsigned char *half = s->halves + (size_t)s->next * HALF;
        cl_event *event = &s->pending[s->next];
        TRY(wait_for(dev, event));
        memcpy(half, (const unsigned char *)data + at, n);
        TRY(write(dev, mem, false, offset + at, n, half, event));
        s->next = !s->next;
    }
    return TSR_OK;
}

void tsri_opencl_staging_free(tsr_dev *dev) {
    tsri_opencl_staging *s = dev->staging;
    if (!s)
        return;
    for (int i = 0; i < 2; i++)
        if (s->pending[i])
            clReleaseEvent(s->pending[i]);
    if (s->halves && !dev->poisoned &&
        clEnqueueUnmapMemObject(dev->queue, s->mem, s->halves, 0, NULL, NULL) == CL_SUCCESS)
        clFinish(dev->queue);
    if (s->mem)
        clReleaseMemObject(s->mem);
    free(s);
    dev->staging = NULL;
}
