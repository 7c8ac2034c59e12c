/* backends/opencl/peak_kernel.c - builds and times the kernels of cl/peak. */
#include "backends/opencl/peak_kernel.h"
#include "backends/opencl/device/buffer.h"
#include "backends/opencl/device/failure.h"
#include "backends/opencl/driver/host.h"
#include "backends/opencl/program/compile.h"
#include "backends/opencl/source/source.h"
#include "base/clock.h"
#include "base/error.h"

#include <stdio.h>

enum { LEAST_NS = 20 * 1000 * 1000 /* the least time of one measurement of a rate */ };

void tsri_opencl_peak_clear(tsri_opencl_peak_kernel *p) {
    if (p->kernel)
        clReleaseKernel(p->kernel);
    if (p->program)
        clReleaseProgram(p->program);
    tsri_opencl_buffer_destroy(p->out);
    tsri_opencl_buffer_destroy(p->data);
    *p = (tsri_opencl_peak_kernel){.dev = p->dev};
}

tsr_status tsri_opencl_peak_build(tsri_opencl_peak_kernel *p, const char *file, const char *name,
                                  const char *defines) {
    tsr_dev *dev = p->dev;
    tsri_bytes source = {0};
    char options[256];
    cl_int code = CL_SUCCESS;
    const int version = dev->found->version;
    snprintf(options, sizeof options, "%s %s%s",
             p->common        ? tsri_opencl_program_options(dev, true)
             : version >= 300 ? "-cl-std=CL3.0 -w"
             : version >= 102 ? "-cl-std=CL1.2 -w"
                              : "",
             dev->facts.cpu ? "-DSPANS -DGROUP=__attribute__((reqd_work_group_size(1,1,1))) "
                            : "-DGROUP= ",
             defines);
    p->group = dev->facts.cpu ? 1 : 0;
    if (p->common)
        TRY(tsri_opencl_source_common(NULL, &source));
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

tsr_status tsri_opencl_peak_buffer(tsri_opencl_peak_kernel *p, uint64_t bytes, uint32_t kind,
                                   tsr_buf **out) {
    const tsr_buffer_spec spec = {.struct_size = sizeof spec, .kind = kind, .bytes = bytes};
    const tsr_transfer fill = {
        .struct_size = sizeof fill, .kind = TSR_TRANSFER_FILL, .bytes = bytes, .pattern = 1};
    tsr_transfer whole = fill;
    TRY(tsri_opencl_buffer_create(p->dev, &spec, out));
    whole.dst = *out;
    TRY(tsri_opencl_transfer(p->dev, &whole, NULL, NULL));
    return tsri_opencl_drain(p->dev);
}

tsr_status tsri_opencl_peak_set(tsri_opencl_peak_kernel *p, cl_uint index, size_t size,
                                const void *value) {
    const cl_int code = clSetKernelArg(p->kernel, index, size, value);
    return code == CL_SUCCESS ? TSR_OK : tsri_opencl_fail(p->dev, code, "clSetKernelArg");
}

static tsr_status enqueue(tsri_opencl_peak_kernel *p) {
    const cl_int code = clEnqueueNDRangeKernel(p->dev->queue, p->kernel, 1, NULL, &p->items,
                                               p->group ? &p->group : NULL, 0, NULL, NULL);
    p->dev->busy = true;
    return code == CL_SUCCESS ? TSR_OK : tsri_opencl_fail(p->dev, code, "clEnqueueNDRangeKernel");
}

/* Enqueues it `launches` times and waits for the last. */
tsr_status tsri_opencl_peak_run(tsri_opencl_peak_kernel *p, int launches, uint64_t *enqueue_ns,
                                uint64_t *ns) {
    const uint64_t begun = tsri_base_now_ns();
    for (int i = 0; i < launches; i++)
        TRY(enqueue(p));
    *enqueue_ns = tsri_base_now_ns() - begun;
    TRY(tsri_opencl_drain(p->dev));
    *ns = tsri_base_now_ns() - begun;
    return TSR_OK;
}

tsr_status tsri_opencl_peak_set_rounds(tsri_opencl_peak_kernel *p, cl_uint index, int rounds) {
    p->rounds = rounds;
    return tsri_opencl_peak_set(p, index, sizeof(cl_int), &(cl_int){rounds});
}

/* Doubles the rounds until a run takes long enough for the clock. A run that took long enough is
 * repeated: it may have waited for a compiler. */
tsr_status tsri_opencl_peak_calibrate(tsri_opencl_peak_kernel *p, cl_uint index) {
    uint64_t ns = 0, again, unused;
    for (int rounds = 64; rounds <= 1 << 24 && ns < LEAST_NS; rounds *= 2) {
        TRY(tsri_opencl_peak_set_rounds(p, index, rounds));
        TRY(tsri_opencl_peak_run(p, 1, &unused, &ns));
        for (int i = 0; i < 2 && ns >= LEAST_NS; i++) {
            TRY(tsri_opencl_peak_run(p, 1, &unused, &again));
            ns = again < ns ? again : ns;
        }
    }
    return TSR_OK;
}

tsr_status tsri_opencl_peak_stream(tsri_opencl_peak_kernel *p, tsri_opencl_peak_way *way,
                                   uint64_t bytes, uint32_t repeats, double *values) {
    enum { MOST_TIMES = 1 << 12 };
    uint64_t ns, again;
    int times = 1;
    TRY(way(p, bytes, times, &ns)); /* it may wait for a compiler */
    for (;; times *= 2) {
        TRY(way(p, bytes, times, &ns));
        TRY(way(p, bytes, times, &again)); /* either may have waited for another program */
        if ((ns >= LEAST_NS && again >= LEAST_NS) || times == MOST_TIMES)
            break;
    }
    for (uint32_t i = 0; i < repeats; i++) {
        TRY(way(p, bytes, times, &ns));
        values[i] = (double)bytes * times / ((double)ns * 1e-9);
    }
    return TSR_OK;
}

tsr_status tsri_opencl_peak_rates(tsri_opencl_peak_kernel *p, double operations, uint32_t repeats,
                                  double *values) {
    uint64_t ns, unused;
    for (uint32_t i = 0; i < repeats; i++) {
        TRY(tsri_opencl_peak_run(p, 1, &unused, &ns));
        values[i] = operations * p->rounds * (double)p->items / ((double)ns * 1e-9);
    }
    return TSR_OK;
}

size_t tsri_opencl_peak_items(const tsr_dev *dev) {
    const size_t units = dev->facts.common.compute_units ? dev->facts.common.compute_units : 1;
    return dev->facts.cpu ? units * 8 : units * 2048;
}
