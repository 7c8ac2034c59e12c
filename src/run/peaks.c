/* run/peaks.c - measures a device's peaks: those that its backend measures, and copies between host
 * and device. */
#include "run/peaks.h"

#include "backend/opened.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { COPY_BYTES = 64 << 20 };

/* Makes one transfer of the whole buffer and waits for its end. */
static tsr_status copy(const tsri_backend_device *device, const tsr_transfer *transfer,
                       double *rate) {
    const tsr_backend *backend = device->backend;
    tsr_event *event = NULL;
    const uint64_t begun = tsri_base_now_ns();
    TRY(backend->transfer(device->dev, transfer, NULL, &event));
    const tsr_status status = backend->event_wait(event, UINT64_MAX);
    *rate = (double)transfer->bytes / ((double)(tsri_base_now_ns() - begun) * 1e-9);
    backend->event_destroy(event);
    return status;
}

static tsr_status copies(const tsri_backend_device *device, bool write, uint32_t repeats,
                         double *values) {
    const uint64_t most = device->facts.max_allocation ? device->facts.max_allocation : COPY_BYTES,
                   bytes = most < COPY_BYTES ? most : COPY_BYTES;
    const tsr_buffer_spec spec = {.struct_size = sizeof spec, .bytes = bytes};
    tsr_transfer t = {.struct_size = sizeof t,
                      .kind = write ? TSR_TRANSFER_WRITE : TSR_TRANSFER_READ,
                      .bytes = bytes};
    tsr_buf *buf = NULL;
    char *host = NULL;
    double unused;
    TRY(tsri_base_new((size_t)bytes, 1, &host));
    memset(host, 1, (size_t)bytes);
    tsr_status status = device->backend->buffer_create(device->dev, &spec, &buf);
    t.host = host;
    t.dst = write ? buf : NULL;
    t.src = write ? NULL : buf;
    if (status == TSR_OK) { /* the first transfer touches the pages of the buffer */
        const tsr_transfer first = {.struct_size = sizeof first,
                                    .kind = TSR_TRANSFER_WRITE,
                                    .dst = buf,
                                    .bytes = bytes,
                                    .host = host};
        status = copy(device, &first, &unused);
    }
    for (uint32_t i = 0; i < repeats && status == TSR_OK; i++)
        status = copy(device, &t, &values[i]);
    device->backend->buffer_destroy(buf);
    free(host);
    return status;
}

tsr_status tsri_run_peak(const tsr_device *opened, uint32_t peak, uint32_t repeats,
                         double *values) {
    const tsri_backend_opened_device *all = tsri_backend_opened(opened);
    const tsri_backend_device *device = all->devices[0];
    const tsr_backend *backend = device->backend;
    if (peak == TSRI_RUN_COPY_WRITE || peak == TSRI_RUN_COPY_READ)
        return copies(device, peak == TSRI_RUN_COPY_WRITE, repeats, values);
    const tsr_backend_peaks *peaks = tsri_backend_extension(all->set, device->entry, "tsr.peaks/1");
    if (!peaks)
        return tsri_base_fail(TSR_E_UNSUPPORTED, "the backend %s does not measure its peaks",
                              backend->name);
    return peaks->measure(device->dev, peak, repeats, values);
}

bool tsri_run_peak_best(const tsr_device *device, uint32_t peak, uint32_t repeats, double *best) {
    double values[TSRI_RUN_PEAK_REPEATS];
    if (tsri_run_peak(device, peak, repeats, values) != TSR_OK)
        return false;
    *best = 0;
    for (uint32_t i = 0; i < repeats; i++)
        *best = values[i] > *best ? values[i] : *best;
    return true;
}

double tsri_run_least_seconds(const tsri_run_peaks *p, const double flops[TSRI_RUN_COMPUTES],
                              double bytes) {
    const double half = p->fma_f16 > 0 ? p->fma_f16 : p->fma_f32;
    const double peak[TSRI_RUN_COMPUTES] = {
        [TSR_COMPUTE_F32] = p->fma_f32,
        [TSR_COMPUTE_F16] = half,
        [TSR_COMPUTE_INT8] = p->dot_int8 > p->fma_f32 ? p->dot_int8 : p->fma_f32,
        [TSR_COMPUTE_BF16] = p->fma_bf16 > p->fma_f32 ? p->fma_bf16 : p->fma_f32};
    double seconds = 0;
    if (p->fma_f32 <= 0 || p->read <= 0)
        return 0;
    for (int i = 0; i < TSRI_RUN_COMPUTES; i++)
        seconds += flops[i] > 0 ? flops[i] / peak[i] : 0;
    return seconds > bytes / p->read ? seconds : bytes / p->read;
}
