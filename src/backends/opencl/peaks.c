/* backends/opencl/peaks.c - measures the limits of a device, with the kernels of cl/peak. */
#include "backends/opencl/peaks.h"
#include "backends/opencl/device/failure.h"
#include "backends/opencl/driver/host.h"
#include "backends/opencl/peak_kernel.h"
#include "backends/opencl/program/probe.h"
#include "base/error.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_WIDTHS = 2, LAUNCHES = 500 /* launches in one batch */ };

/* ---- arithmetic ---- */

static tsr_status multiply_add_of(tsri_opencl_peak_kernel *p, bool half, int lanes,
                                  uint32_t repeats, double *values) {
    char defines[160];
    const char *type = half ? "half" : "float", *hole = half ? "-DHALF " : "";
    if (lanes > 1)
        snprintf(defines, sizeof defines, "%s-DT=%s%d -DS=%s -DFIRST(v)=(v).s0", hole, type, lanes,
                 type);
    else
        snprintf(defines, sizeof defines, "%s-DT=%s -DS=%s -DFIRST(v)=(v)", hole, type, type);
    const cl_float x = 0.999f, y = 0.001f;
    TRY(tsri_opencl_peak_build(p, "peak/fma.cl", "peak_fma", defines));
    p->items = tsri_opencl_peak_items(p->dev);
    TRY(tsri_opencl_peak_buffer(p, p->items * sizeof(cl_float), TSR_KIND_ACTIVATION, &p->out));
    TRY(tsri_opencl_peak_set(p, 0, sizeof(cl_mem), &p->out->mem));
    TRY(tsri_opencl_peak_set(p, 1, sizeof x, &x));
    TRY(tsri_opencl_peak_set(p, 2, sizeof y, &y));
    TRY(tsri_opencl_peak_calibrate(p, 3));
    return tsri_opencl_peak_rates(p, 20.0 * lanes, repeats, values);
}

/* A device does not tell the width of its registers, so each width is tried and the fastest
 * counts. */
static tsr_status multiply_add(tsr_dev *dev, bool half, uint32_t repeats, double *values) {
    static const int cpu[MAX_WIDTHS] = {16, 8}, other[MAX_WIDTHS] = {1, 4};
    const int *widths = dev->facts.cpu ? cpu : other;
    double *tried = NULL;
    TRY(tsri_base_new(repeats, sizeof *tried, &tried));
    tsr_status status = TSR_OK;
    for (int i = 0; i < MAX_WIDTHS && status == TSR_OK; i++) {
        tsri_opencl_peak_kernel p = {.dev = dev};
        status = multiply_add_of(&p, half, widths[i], repeats, i ? tried : values);
        tsri_opencl_peak_clear(&p);
        if (i && status == TSR_OK && tried[0] > values[0])
            memcpy(values, tried, repeats * sizeof *values);
    }
    free(tried);
    return status;
}

static tsr_status portable_dot(tsri_opencl_peak_kernel *p, uint32_t repeats, double *values) {
    const cl_uint w = 0x01020304;
    const cl_int start = 1;
    TRY(tsri_opencl_peak_build(p, "peak/dot.cl", "peak_dot", ""));
    p->items = tsri_opencl_peak_items(p->dev) * (p->dev->facts.cpu ? 64 : 1);
    p->group = 0;
    TRY(tsri_opencl_peak_buffer(p, p->items * sizeof(cl_int), TSR_KIND_ACTIVATION, &p->out));
    TRY(tsri_opencl_peak_set(p, 0, sizeof(cl_mem), &p->out->mem));
    TRY(tsri_opencl_peak_set(p, 1, sizeof w, &w));
    TRY(tsri_opencl_peak_set(p, 2, sizeof start, &start));
    TRY(tsri_opencl_peak_calibrate(p, 3));
    return tsri_opencl_peak_rates(p, 64, repeats, values);
}

/* Measures a kernel (out, rounds), of `work` operations in each round of a work-item. */
static tsr_status of_rounds(tsri_opencl_peak_kernel *p, double work, uint32_t repeats,
                            double *values) {
    p->items = tsri_opencl_peak_items(p->dev);
    TRY(tsri_opencl_peak_buffer(p, p->items * 16 * sizeof(cl_int), TSR_KIND_ACTIVATION, &p->out));
    TRY(tsri_opencl_peak_set(p, 0, sizeof(cl_mem), &p->out->mem));
    TRY(tsri_opencl_peak_calibrate(p, 1));
    return tsri_opencl_peak_rates(p, work, repeats, values);
}

static tsr_status vnni_dot(tsri_opencl_peak_kernel *p, uint32_t repeats, double *values) {
    TRY(tsri_opencl_peak_build(p, "peak/vnni.cl", "peak_vnni", ""));
    return of_rounds(p, 24 * 64 * 2, repeats, values);
}

/* Measures int8 products as the kernel variants form them: on CPUs with vpdpbusd where the probe
 * has shown that it works, elsewhere as matmul/dot.clh does. */
static tsr_status dot(tsr_dev *dev, uint32_t repeats, double *values) {
    tsri_opencl_peak_kernel p = {.dev = dev};
    const char *why = "";
    const bool vnni = dev->facts.cpu && tsri_opencl_probe_passed(dev, TSRI_OPENCL_PROBE_VNNI, &why);
    if (!vnni && !tsri_opencl_probe_passed(dev, TSRI_OPENCL_PROBE_DOT, &why))
        return tsri_base_fail(TSR_E_UNSUPPORTED, "%s has no dot products of bytes: %s",
                              dev->facts.common.name, why);
    const tsr_status status =
        vnni ? vnni_dot(&p, repeats, values) : portable_dot(&p, repeats, values);
    tsri_opencl_peak_clear(&p);
    return status;
}

/* Measures products of bf16 as a CPU's kernel variants form them: by tiles, else by vdpbf16ps. */
static tsr_status multiply_add_bf16(tsr_dev *dev, uint32_t repeats, double *values) {
    tsri_opencl_peak_kernel p = {.dev = dev};
    const char *why = "";
    const bool tiles = tsri_opencl_probe_passed(dev, TSRI_OPENCL_PROBE_AMX, &why);
    if (!tiles && !tsri_opencl_probe_passed(dev, TSRI_OPENCL_PROBE_BF16, &why))
        return tsri_base_fail(TSR_E_UNSUPPORTED, "%s: no products of bf16 on it were measured: %s",
                              dev->facts.common.name, why);
    tsr_status status =
        tsri_opencl_peak_build(&p, "peak/bf16.cl", "peak_bf16", tiles ? "-DTILES" : "");
    if (status == TSR_OK)
        status = of_rounds(&p, 2.0 * (tiles ? 4 * 8192 : 24 * 32), repeats, values);
    tsri_opencl_peak_clear(&p);
    return status;
}

/* ---- launches ---- */

static tsr_status launching(tsri_opencl_peak_kernel *p, uint32_t peak, uint32_t repeats,
                            double *values) {
    const int launches = peak == TSR_PEAK_LAUNCH ? 1 : LAUNCHES;
    uint64_t enqueue_ns, ns;
    TRY(tsri_opencl_peak_build(p, "peak/nothing.cl", "peak_nothing", ""));
    TRY(tsri_opencl_peak_buffer(p, sizeof(cl_int), TSR_KIND_ACTIVATION, &p->out));
    TRY(tsri_opencl_peak_set(p, 0, sizeof(cl_mem), &p->out->mem));
    p->items = 1;
    TRY(tsri_opencl_peak_run(p, 10, &enqueue_ns, &ns));
    for (uint32_t i = 0; i < repeats; i++) {
        TRY(tsri_opencl_peak_run(p, launches, &enqueue_ns, &ns));
        values[i] = (double)(peak == TSR_PEAK_ENQUEUE ? enqueue_ns : ns) * 1e-9 / launches;
    }
    return TSR_OK;
}

tsr_status tsri_opencl_peak(tsr_dev *dev, uint32_t peak, uint32_t repeats, double *values) {
    tsri_opencl_peak_kernel p = {.dev = dev};
    tsr_status status;
    tsri_opencl_enter(dev->state);
    TRY(tsri_opencl_check(dev));
    if (!repeats)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "a peak can't be measured 0 times; ask for at least 1");
    const uint32_t base = peak < TSR_PEAK_WRITE_AGAIN ? TSR_PEAK_READ_AGAIN : TSR_PEAK_WRITE_AGAIN;
    if (peak > base && peak < base + 40)
        return tsri_opencl_peak_again(dev, UINT64_C(1) << (peak - base),
                                      base == TSR_PEAK_WRITE_AGAIN, repeats, values);
    switch (peak) {
    case TSR_PEAK_FMA_F32:
        return multiply_add(dev, false, repeats, values);
    case TSR_PEAK_FMA_F16:
        if (!dev->facts.common.fp16)
            return tsri_base_fail(TSR_E_UNSUPPORTED, "%s has no half precision arithmetic",
                                  dev->facts.common.name);
        return multiply_add(dev, true, repeats, values);
    case TSR_PEAK_FMA_BF16:
        return multiply_add_bf16(dev, repeats, values);
    case TSR_PEAK_MATRIX_F16:
    case TSR_PEAK_MATRIX_BF16:
    case TSR_PEAK_MATRIX_INT8:
        return tsri_opencl_peak_units(dev, peak, repeats, values);
    case TSR_PEAK_DOT_INT8:
        return dot(dev, repeats, values);
    case TSR_PEAK_READ:
        return tsri_opencl_peak_read(dev, repeats, values);
    case TSR_PEAK_WRITE:
        return tsri_opencl_peak_write(dev, repeats, values);
    case TSR_PEAK_LOCAL:
        return tsri_opencl_peak_local(dev, repeats, values);
    case TSR_PEAK_COMPILE:
        return tsri_opencl_peak_compile(dev, repeats, values);
    case TSR_PEAK_CLOCK:
        return tsri_opencl_peak_clock(dev, repeats, values);
    case TSR_PEAK_LAUNCH:
    case TSR_PEAK_LAUNCH_BATCHED:
    case TSR_PEAK_ENQUEUE:
        status = launching(&p, peak, repeats, values);
        break;
    default:
        return tsri_base_fail(TSR_E_UNSUPPORTED, "peak %u is not known to this backend", peak);
    }
    tsri_opencl_peak_clear(&p);
    return status;
}
