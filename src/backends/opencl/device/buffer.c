/* backends/opencl/device/buffer.c - device memory, transfers and events. */
#include "backends/opencl/device/buffer.h"
#include "backends/opencl/device/failure.h"
#include "backends/opencl/device/pages.h"
#include "backends/opencl/driver/host.h"
#include "backends/opencl/driver/marker.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { FILL_BLOCK = 16384, FIRST_NAP_NS = 20000, LONGEST_NAP_NS = 1000000 };

static bool watches_memory(const tsr_dev *dev) {
    return dev->found->effects & TSRI_OPENCL_WATCHES_MEMORY;
}

/* After a write from the host, Oclgrind 21.10 treats what kernels store next to it as uninitialised:
 * see fill_by_writes. */
tsr_status tsri_opencl_touch(tsr_dev *dev, cl_mem mem, uint64_t bytes, const char *what) {
    const cl_uint zero = 0;
    if (watches_memory(dev))
        return TSR_OK;
    dev->busy = true;
    const cl_int code = clEnqueueWriteBuffer(dev->queue, mem, CL_TRUE, 0,
                                             bytes < sizeof zero ? (size_t)bytes : sizeof zero,
                                             &zero, 0, NULL, NULL);
    return code == CL_SUCCESS                         ? TSR_OK
           : code == CL_MEM_OBJECT_ALLOCATION_FAILURE ? tsri_opencl_fail_create(dev, code, what)
                                                      : tsri_opencl_fail(dev, code, what);
}

/* Of memory that the driver gives. Memory in pages of ours is there, and zeroed. */
static tsr_status begin_contents(tsr_dev *dev, const tsr_buffer_spec *spec, tsr_buf *buf) {
    const tsr_transfer fill = {
        .struct_size = sizeof fill, .kind = TSR_TRANSFER_FILL, .dst = buf, .bytes = spec->bytes};
    TRY(tsri_opencl_touch(dev, buf->mem, spec->bytes, "the first use of a buffer"));
    return spec->zeroed ? tsri_opencl_transfer(dev, &fill, NULL, NULL) : TSR_OK;
}

tsr_status tsri_opencl_buffer_create(tsr_dev *dev, const tsr_buffer_spec *spec, tsr_buf **out) {
    const tsr_facts *facts = &dev->facts.common;
    tsr_buf *buf = NULL;
    cl_int code = CL_SUCCESS;
    TRY(tsri_opencl_check(dev));
    if (!spec->bytes)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "a buffer of 0 bytes was asked for; it needs at least 1");
    if (spec->bytes > facts->max_allocation)
        return tsri_base_fail(
            TSR_E_DEVICE_MEMORY,
            "a buffer of %llu bytes was asked for; %s/%s allows %llu bytes in one buffer",
            (unsigned long long)spec->bytes, facts->platform, facts->name,
            (unsigned long long)facts->max_allocation);
    TRY(tsri_base_new(1, sizeof *buf, &buf));
    buf->dev = dev;
    buf->bytes = spec->bytes;
    void *memory = buf->memory = tsri_opencl_pages_take(dev, spec, &buf->pages);
    buf->mem = clCreateBuffer(dev->context, CL_MEM_READ_WRITE | (memory ? CL_MEM_USE_HOST_PTR : 0),
                              (size_t)spec->bytes, memory, &code);
    if (!buf->mem) {
        tsri_opencl_pages_give(dev, buf->pages, memory, buf->bytes);
        free(buf);
        return tsri_opencl_fail_create(dev, code, "clCreateBuffer");
    }
    const tsr_status status = memory ? TSR_OK : begin_contents(dev, spec, buf);
    if (status == TSR_OK)
        *out = buf;
    else
        tsri_opencl_buffer_destroy(buf);
    return status;
}

void tsri_opencl_buffer_destroy(tsr_buf *buf) {
    if (!buf)
        return;
    (void)!tsri_opencl_drain(buf->dev);
    if (!tsri_opencl_releasable(buf->dev)) {
        buf->next = buf->dev->left;
        buf->dev->left = buf;
        return;
    }
    tsri_opencl_buffer_destroy(buf->plain);
    tsri_opencl_release(buf->dev, buf->mem);
    tsri_opencl_pages_give(buf->dev, buf->pages, buf->memory, buf->bytes);
    free(buf);
}

void tsri_opencl_release(tsr_dev *dev, cl_mem mem) {
    if (watches_memory(dev) && tsri_base_grow(&dev->kept, &dev->kept_capacity, dev->n_kept + 1,
                                              sizeof *dev->kept) == TSR_OK)
        dev->kept[dev->n_kept++] = mem;
    else
        clReleaseMemObject(mem);
}

tsr_status tsri_opencl_events_reserve(tsr_dev *dev, size_t n) {
    size_t have = 0;
    for (const tsr_event *event = dev->spare_events; event; event = event->next)
        have++;
    for (; have < n; have++) {
        tsr_event *event = NULL;
        TRY(tsri_base_new(1, sizeof *event, &event));
        event->next = dev->spare_events;
        dev->spare_events = event;
    }
    return TSR_OK;
}

tsr_status tsri_opencl_event_new(tsr_dev *dev, cl_event event, tsr_event **out) {
    const tsr_status status = dev->spare_events ? TSR_OK : tsri_opencl_events_reserve(dev, 1);
    if (status != TSR_OK) {
        if (event)
            clReleaseEvent(event);
        return status;
    }
    tsr_event *record = dev->spare_events;
    dev->spare_events = record->next;
    *record = (tsr_event){.dev = dev, .event = event};
    *out = record;
    return TSR_OK;
}

void tsri_opencl_event_destroy(tsr_event *event) {
    if (!event)
        return;
    if (event->event && tsri_opencl_releasable(event->dev))
        clReleaseEvent(event->event);
    event->event = NULL;
    event->next = event->dev->spare_events;
    event->dev->spare_events = event;
}

/* Polls with naps that grow, because a driver's own wait has no time limit. */
static tsr_status poll(tsr_event *event, uint64_t timeout_ns, cl_int *state) {
    const uint64_t begin = tsri_base_now_ns();
    cl_int code = clFlush(event->dev->queue);
    for (long nap = FIRST_NAP_NS; code == CL_SUCCESS;
         nap = nap < LONGEST_NAP_NS / 2 ? nap * 2 : LONGEST_NAP_NS) {
        code = clGetEventInfo(event->event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof *state, state,
                              NULL);
        if (code != CL_SUCCESS)
            break;
        if (*state <= CL_COMPLETE)
            return TSR_OK;
        if (tsri_base_now_ns() - begin >= timeout_ns)
            return tsri_base_fail(TSR_E_STATE, "the work is not complete after %.3f s",
                                  (double)timeout_ns * 1e-9);
        nanosleep(&(struct timespec){.tv_nsec = nap}, NULL);
    }
    return tsri_opencl_fail(event->dev, code, "clGetEventInfo");
}

static tsr_status wait_for(tsr_event *event, uint64_t timeout_ns) {
    tsr_dev *dev = event->dev;
    cl_int state = CL_COMPLETE;
    if (timeout_ns == UINT64_MAX) {
        const cl_int code = clWaitForEvents(1, &event->event);
        if (code == CL_SUCCESS)
            return TSR_OK;
        /* The event's own status is more precise. */
        if (clGetEventInfo(event->event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state,
                           NULL) != CL_SUCCESS ||
            state >= 0)
            return tsri_opencl_fail(dev, code, "clWaitForEvents");
    } else
        TRY(poll(event, timeout_ns, &state));
    return state < 0 ? tsri_opencl_fail(dev, state, "a command") : TSR_OK;
}

tsr_status tsri_opencl_event_wait(tsr_event *event, uint64_t timeout_ns) {
    tsr_dev *dev = event->dev;
    if (!event->event)
        return TSR_OK;
    TRY(tsri_opencl_check(dev));
    if (!dev->first_run)
        return wait_for(event, timeout_ns);
    /* Work in flight can't be taken back; a request to stop takes effect at the next call. */
    (void)tsri_opencl_tell(dev->state, "starting kernels", 0, 1);
    const tsr_status status = wait_for(event, timeout_ns);
    dev->first_run = status != TSR_OK;
    if (status == TSR_OK)
        tsri_opencl_unmark(&dev->marker);
    (void)tsri_opencl_tell(dev->state, "starting kernels", 1, 1);
    return status;
}

static tsr_status check_range(const tsr_dev *dev, const char *what, const tsr_buf *buf,
                              uint64_t offset, uint64_t bytes) {
    if (!buf || buf->dev != dev)
        return tsri_base_fail(TSR_E_ARGUMENT, "the %s of a transfer is not a buffer of this device",
                              what);
    if (offset > buf->bytes || bytes > buf->bytes - offset)
        return tsri_base_fail(
            TSR_E_ARGUMENT,
            "the %s of a transfer, %llu bytes at %llu, leaves its buffer of %llu bytes", what,
            (unsigned long long)bytes, (unsigned long long)offset, (unsigned long long)buf->bytes);
    return TSR_OK;
}

static tsr_status check_transfer(const tsr_dev *dev, const tsr_transfer *t) {
    const bool dst = t->kind != TSR_TRANSFER_READ,
               src = t->kind == TSR_TRANSFER_READ || t->kind == TSR_TRANSFER_COPY;
    if (t->kind < TSR_TRANSFER_WRITE || t->kind > TSR_TRANSFER_FILL)
        return tsri_base_fail(TSR_E_UNSUPPORTED, "transfer kind %u is not known to this backend",
                              t->kind);
    if (dst)
        TRY(check_range(dev, "destination", t->dst, t->dst_offset, t->bytes));
    if (src)
        TRY(check_range(dev, "source", t->src, t->src_offset, t->bytes));
    if (!t->host && t->bytes && (t->kind == TSR_TRANSFER_WRITE || t->kind == TSR_TRANSFER_READ))
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "a transfer of %llu bytes needs host memory; its pointer is NULL",
                              (unsigned long long)t->bytes);
    if (t->kind == TSR_TRANSFER_FILL && (t->bytes % 4 || t->dst_offset % 4))
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "a fill of %llu bytes at offset %llu: both must be multiples of 4",
                              (unsigned long long)t->bytes, (unsigned long long)t->dst_offset);
    if (t->kind == TSR_TRANSFER_COPY && t->src == t->dst &&
        t->src_offset < t->dst_offset + t->bytes && t->dst_offset < t->src_offset + t->bytes)
        return tsri_base_fail(
            TSR_E_ARGUMENT,
            "a copy of %llu bytes within one buffer: its source and destination overlap",
            (unsigned long long)t->bytes);
    return TSR_OK;
}

/* OpenCL 1.1 has no fill, so blocks are written from the host. Oclgrind 21.10 has a fill that marks
 * only the first element as initialised. It also forgets what kernels store behind the bytes of the
 * last write to a buffer, so there the whole fill is one write. */
static cl_int fill_by_writes(tsr_dev *dev, const tsr_transfer *t, cl_event *event) {
    const uint64_t most = t->bytes < FILL_BLOCK || watches_memory(dev) ? t->bytes : FILL_BLOCK;
    uint32_t *block = NULL;
    cl_int code = tsri_base_new((size_t)most / 4, sizeof *block, &block) == TSR_OK
                      ? CL_SUCCESS
                      : CL_OUT_OF_HOST_MEMORY;
    for (uint64_t i = 0; code == CL_SUCCESS && i < most / 4; i++)
        block[i] = t->pattern;
    for (uint64_t at = 0; at < t->bytes && code == CL_SUCCESS; at += most) {
        const uint64_t left = t->bytes - at;
        const bool last = left <= most;
        code =
            clEnqueueWriteBuffer(dev->queue, t->dst->mem, CL_TRUE, (size_t)(t->dst_offset + at),
                                 (size_t)(last ? left : most), block, 0, NULL, last ? event : NULL);
    }
    free(block);
    return code;
}

static cl_int enqueue(tsr_dev *dev, const tsr_transfer *t, cl_event *event) {
    const size_t to = (size_t)t->dst_offset, from = (size_t)t->src_offset, n = (size_t)t->bytes;
    switch (t->kind) {
    case TSR_TRANSFER_WRITE:
        return clEnqueueWriteBuffer(dev->queue, t->dst->mem, CL_FALSE, to, n, t->host, 0, NULL,
                                    event);
    case TSR_TRANSFER_READ:
        return clEnqueueReadBuffer(dev->queue, t->src->mem, CL_FALSE, from, n, t->host, 0, NULL,
                                   event);
    case TSR_TRANSFER_COPY:
        return clEnqueueCopyBuffer(dev->queue, t->src->mem, t->dst->mem, from, to, n, 0, NULL,
                                   event);
    default:
        if (dev->found->version < 102 || watches_memory(dev))
            return fill_by_writes(dev, t, event);
        return clEnqueueFillBuffer(dev->queue, t->dst->mem, &t->pattern, sizeof t->pattern, to, n,
                                   0, NULL, event);
    }
}

tsr_status tsri_opencl_transfer(tsr_dev *dev, const tsr_transfer *transfer, const tsr_waits *waits,
                                tsr_event **done) {
    cl_event event = NULL;
    TRY(tsri_opencl_check(dev));
    TRY(check_transfer(dev, transfer));
    TRY(tsri_opencl_check_waits(dev, waits));
    if (transfer->bytes) {
        dev->busy = true;
        const cl_int code = enqueue(dev, transfer, done ? &event : NULL);
        if (code != CL_SUCCESS)
            return tsri_opencl_fail(dev, code, "a transfer");
    }
    return done ? tsri_opencl_event_new(dev, event, done) : TSR_OK;
}
