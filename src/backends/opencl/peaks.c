/* backends/opencl/peaks.c - measures the limits of a device, with the kernels of cl/peak. */
#include "backends/opencl/peaks.h"
#include "backends/opencl/device/buffer.h"
#include "backends/opencl/device/failure.h"
#include "backends/opencl/driver/host.h"
#include "backends/opencl/program/probe.h"
#include "backends/opencl/source/source.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_WIDTHS = 2,
    LAUNCHES = 500,             /* launches in one batch */
    READ_BYTES = 256 << 20,     /* more than the caches hold */
    LEAST_NS = 20 * 1000 * 1000 /* the least time of one measurement of arithmetic */
};

/* A kernel of cl/peak with its arguments, ready to be enqueued. */
typedef struct probe {
    tsr_dev *dev;
    cl_program program;
    cl_kernel kernel;
    tsr_buf *out, *data;
    size_t items, group; /* group 0: the driver chooses */
    int rounds;
} probe;

static void clear(probe *p) {
    if (p->kernel)
        clReleaseKernel(p->kernel);
    if (p->program)
        clReleaseProgram(p->program);
    tsri_opencl_buffer_destroy(p->out);
    tsri_opencl_buffer_destroy(p->data);
    *p = (probe){.dev = p->dev};
}

static tsr_status build(probe *p, const char *file, const char *name, const char *defines) {
    tsr_dev *dev = p->dev;
    tsri_bytes source = {0};
    char options[256];
    cl_int code = CL_SUCCESS;
    const int version = dev->found->version;
    snprintf(options, sizeof options, "%s %s%s",
             version >= 300   ? "-cl-std=CL3.0"
             : version >= 102 ? "-cl-std=CL1.2"
                              : "",
             dev->facts.cpu ? "-DSPANS -DGROUP=__attribute__((reqd_work_group_size(1,1,1))) "
                            : "-DGROUP= ",
             defines);
    p->group = dev->facts.cpu ? 1 : 0;
    TRY(tsri_opencl_source_file(NULL, file, &source));
    const char *text = source.data;
    p->program = clCreateProgramWithSource(dev->context, 1, &text, &source.size, &code);
    if (p->program)
        code = clBuildProgram(p->program, 1, &dev->id, options, NULL, NULL);
    if (code == CL_SUCCESS)
        p->kernel = clCreateKernel(p->program, name, &code);
    tsri_base_bytes_clear(&source);
    if (code == CL_BUILD_PROGRAM_FAILURE || code == CL_INVALID_BUILD_OPTIONS)
        return tsri_base_fail(TSR_E_UNSUPPORTED, "cl/%s does not build for %s with options %s (%s)",
                              file, dev->facts.common.name, options, tsri_opencl_code_name(code));
    return code == CL_SUCCESS ? TSR_OK : tsri_opencl_fail(dev, code, file);
}

static tsr_status buffer(probe *p, uint64_t bytes, uint32_t kind, tsr_buf **out) {
    const tsr_buffer_spec spec = {.struct_size = sizeof spec, .kind = kind, .bytes = bytes};
    const tsr_transfer fill = {
        .struct_size = sizeof fill, .kind = TSR_TRANSFER_FILL, .bytes = bytes, .pattern = 1};
    tsr_transfer whole = fill;
    TRY(tsri_opencl_buffer_create(p->dev, &spec, out));
    whole.dst = *out;
    TRY(tsri_opencl_transfer(p->dev, &whole, NULL, NULL));
    return tsri_opencl_drain(p->dev);
}

static tsr_status set(probe *p, cl_uint index, size_t size, const void *value) {
    const cl_int code = clSetKernelArg(p->kernel, index, size, value);
    return code == CL_SUCCESS ? TSR_OK : tsri_opencl_fail(p->dev, code, "clSetKernelArg");
}

static tsr_status enqueue(probe *p) {
    const cl_int code = clEnqueueNDRangeKernel(p->dev->queue, p->kernel, 1, NULL, &p->items,
                                               p->group ? &p->group : NULL, 0, NULL, NULL);
    p->dev->busy = true;
    return code == CL_SUCCESS ? TSR_OK : tsri_opencl_fail(p->dev, code, "clEnqueueNDRangeKernel");
}

/* Enqueues it `launches` times and waits for the last. */
static tsr_status run(probe *p, int launches, uint64_t *enqueue_ns, uint64_t *ns) {
    const uint64_t begun = tsri_base_now_ns();
    for (int i = 0; i < launches; i++)
        TRY(enqueue(p));
    *enqueue_ns = tsri_base_now_ns() - begun;
    TRY(tsri_opencl_drain(p->dev));
    *ns = tsri_base_now_ns() - begun;
    return TSR_OK;
}

/* ---- arithmetic ---- */

static tsr_status set_rounds(probe *p, cl_uint index, int rounds) {
    p->rounds = rounds;
    return set(p, index, sizeof(cl_int), &(cl_int){rounds});
}

/* Doubles the rounds until a run takes long enough for the clock. A run that took long enough is
 * repeated: it may have waited for a compiler. */
static tsr_status calibrate(probe *p, cl_uint index) {
    uint64_t ns = 0, again, unused;
    for (int rounds = 64; rounds <= 1 << 24 && ns < LEAST_NS; rounds *= 2) {
        TRY(set_rounds(p, index, rounds));
        TRY(run(p, 1, &unused, &ns));
        for (int i = 0; i < 2 && ns >= LEAST_NS; i++) {
            TRY(run(p, 1, &unused, &again));
            ns = again < ns ? again : ns;
        }
    }
    return TSR_OK;
}

static tsr_status rates(probe *p, double operations, uint32_t repeats, double *values) {
    uint64_t ns, unused;
    for (uint32_t i = 0; i < repeats; i++) {
        TRY(run(p, 1, &unused, &ns));
        values[i] = operations * p->rounds * (double)p->items / ((double)ns * 1e-9);
    }
    return TSR_OK;
}

static size_t many_items(const tsr_dev *dev) {
    const size_t units = dev->facts.common.compute_units ? dev->facts.common.compute_units : 1;
    return dev->facts.cpu ? units * 8 : units * 2048;
}

static tsr_status multiply_add_of(probe *p, bool half, int lanes, uint32_t repeats,
                                  double *values) {
    char defines[160];
    const char *type = half ? "half" : "float", *hole = half ? "-DHALF " : "";
    if (lanes > 1)
        snprintf(defines, sizeof defines, "%s-DT=%s%d -DS=%s -DFIRST(v)=(v).s0", hole, type, lanes,
                 type);
    else
        snprintf(defines, sizeof defines, "%s-DT=%s -DS=%s -DFIRST(v)=(v)", hole, type, type);
    const cl_float x = 0.999f, y = 0.001f;
    TRY(build(p, "peak/fma.cl", "peak_fma", defines));
    p->items = many_items(p->dev);
    TRY(buffer(p, p->items * sizeof(cl_float), TSR_KIND_ACTIVATION, &p->out));
    TRY(set(p, 0, sizeof(cl_mem), &p->out->mem));
    TRY(set(p, 1, sizeof x, &x));
    TRY(set(p, 2, sizeof y, &y));
    TRY(calibrate(p, 3));
    return rates(p, 20.0 * lanes, repeats, values);
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
        probe p = {.dev = dev};
        status = multiply_add_of(&p, half, widths[i], repeats, i ? tried : values);
        clear(&p);
        if (i && status == TSR_OK && tried[0] > values[0])
            memcpy(values, tried, repeats * sizeof *values);
    }
    free(tried);
    return status;
}

static tsr_status portable_dot(probe *p, uint32_t repeats, double *values) {
    const cl_uint w = 0x01020304;
    const cl_int start = 1;
    TRY(build(p, "peak/dot.cl", "peak_dot", ""));
    p->items = many_items(p->dev) * (p->dev->facts.cpu ? 64 : 1);
    p->group = 0;
    TRY(buffer(p, p->items * sizeof(cl_int), TSR_KIND_ACTIVATION, &p->out));
    TRY(set(p, 0, sizeof(cl_mem), &p->out->mem));
    TRY(set(p, 1, sizeof w, &w));
    TRY(set(p, 2, sizeof start, &start));
    TRY(calibrate(p, 3));
    return rates(p, 64, repeats, values);
}

static tsr_status vnni_dot(probe *p, uint32_t repeats, double *values) {
    TRY(build(p, "peak/vnni.cl", "peak_vnni", ""));
    p->items = many_items(p->dev);
    TRY(buffer(p, p->items * 16 * sizeof(cl_int), TSR_KIND_ACTIVATION, &p->out));
    TRY(set(p, 0, sizeof(cl_mem), &p->out->mem));
    TRY(calibrate(p, 1));
    return rates(p, 24 * 64 * 2, repeats, values);
}

/* Measures int8 products as the kernel variants form them: on CPUs with vpdpbusd where the probe
 * has shown that it works, elsewhere as matmul/dot.clh does. */
static tsr_status dot(tsr_dev *dev, uint32_t repeats, double *values) {
    probe p = {.dev = dev};
    const char *why = "";
    const bool vnni = dev->facts.cpu && tsri_opencl_probe_passed(dev, TSRI_OPENCL_PROBE_VNNI, &why);
    if (!vnni && !tsri_opencl_probe_passed(dev, TSRI_OPENCL_PROBE_DOT, &why))
        return tsri_base_fail(TSR_E_UNSUPPORTED, "%s has no dot products of bytes: %s",
                              dev->facts.common.name, why);
    const tsr_status status =
        vnni ? vnni_dot(&p, repeats, values) : portable_dot(&p, repeats, values);
    clear(&p);
    return status;
}

/* ---- memory and launches ---- */

static tsr_status reading(probe *p, uint32_t repeats, double *values) {
    const tsr_facts *facts = &p->dev->facts.common;
    const size_t vector = p->dev->facts.cpu ? 64 : 16;
    uint64_t bytes = READ_BYTES, unused, ns;
    while (bytes > 1 << 20 && (bytes > facts->max_allocation || bytes > facts->memory / 4))
        bytes /= 2;
    TRY(build(p, "peak/read.cl", "peak_read", vector == 64 ? "-DT=uint16" : "-DT=uint4"));
    p->items = many_items(p->dev) * (p->dev->facts.cpu ? 8 : 1);
    const cl_int count = (cl_int)(bytes / vector / p->items);
    if (!count)
        return tsri_base_fail(TSR_E_UNSUPPORTED, "%s has too little memory to measure this peak",
                              facts->name);
    TRY(buffer(p, bytes, TSR_KIND_WEIGHT, &p->data)); /* the memory that weights are in */
    TRY(buffer(p, p->items * sizeof(cl_uint), TSR_KIND_ACTIVATION, &p->out));
    TRY(set(p, 0, sizeof(cl_mem), &p->data->mem));
    TRY(set(p, 1, sizeof(cl_mem), &p->out->mem));
    TRY(set(p, 2, sizeof count, &count));
    TRY(run(p, 1, &unused, &ns));
    for (uint32_t i = 0; i < repeats; i++) {
        TRY(run(p, 1, &unused, &ns));
        values[i] = (double)count * (double)vector * (double)p->items / ((double)ns * 1e-9);
    }
    return TSR_OK;
}

static tsr_status launching(probe *p, uint32_t peak, uint32_t repeats, double *values) {
    const int launches = peak == TSR_PEAK_LAUNCH ? 1 : LAUNCHES;
    uint64_t enqueue_ns, ns;
    TRY(build(p, "peak/nothing.cl", "peak_nothing", ""));
    TRY(buffer(p, sizeof(cl_int), TSR_KIND_ACTIVATION, &p->out));
    TRY(set(p, 0, sizeof(cl_mem), &p->out->mem));
    p->items = 1;
    TRY(run(p, 10, &enqueue_ns, &ns));
    for (uint32_t i = 0; i < repeats; i++) {
        TRY(run(p, launches, &enqueue_ns, &ns));
        values[i] = (double)(peak == TSR_PEAK_ENQUEUE ? enqueue_ns : ns) * 1e-9 / launches;
    }
    return TSR_OK;
}

tsr_status tsri_opencl_peak(tsr_dev *dev, uint32_t peak, uint32_t repeats, double *values) {
    probe p = {.dev = dev};
    tsr_status status;
    tsri_opencl_enter(dev->state);
    TRY(tsri_opencl_check(dev));
    if (!repeats)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "a peak can't be measured 0 times; ask for at least 1");
    switch (peak) {
    case TSR_PEAK_FMA_F32:
        return multiply_add(dev, false, repeats, values);
    case TSR_PEAK_FMA_F16:
        if (!dev->facts.common.fp16)
            return tsri_base_fail(TSR_E_UNSUPPORTED, "%s has no half precision arithmetic",
                                  dev->facts.common.name);
        return multiply_add(dev, true, repeats, values);
    case TSR_PEAK_DOT_INT8:
        return dot(dev, repeats, values);
    case TSR_PEAK_READ:
        status = reading(&p, repeats, values);
        break;
    case TSR_PEAK_LAUNCH:
    case TSR_PEAK_LAUNCH_BATCHED:
    case TSR_PEAK_ENQUEUE:
        status = launching(&p, peak, repeats, values);
        break;
    default:
        return tsri_base_fail(TSR_E_UNSUPPORTED, "peak %u is not known to this backend", peak);
    }
    clear(&p);
    return status;
}
