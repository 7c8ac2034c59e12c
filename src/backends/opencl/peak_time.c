/* backends/opencl/peak_time.c - measures how long a device's driver builds a kernel, and whether the
 * times that it claims for launches are those that pass. */
#include "backends/opencl/peak_kernel.h"

#include "backends/opencl/device/failure.h"
#include "base/clock.h"
#include "base/error.h"

#include <math.h>
#include <stdio.h>

typedef tsri_opencl_peak_kernel kernel;

tsr_status tsri_opencl_peak_compile(tsr_dev *dev, uint32_t repeats, double *values) {
    char defines[160];
    for (uint32_t i = 0; i < repeats; i++) {
        kernel p = {.dev = dev};
        const uint64_t begun = tsri_base_now_ns();
        /* the number makes the text new for all caches */
        snprintf(defines, sizeof defines, "-DT=float4 -DS=float -DFIRST(v)=(v).s0 -DNUMBER=%llu",
                 (unsigned long long)begun);
        const tsr_status status = tsri_opencl_peak_build(&p, "peak/fma.cl", "peak_fma", defines);
        values[i] = (double)(tsri_base_now_ns() - begun) * 1e-9;
        tsri_opencl_peak_clear(&p);
        TRY(status);
    }
    return TSR_OK;
}

/* ---- the clock ---- */

/* Between the host's two looks at its clock, the device's threads and then the host have to wake.
 * Beside other programs that takes milliseconds: of launches of 20 ms, events claimed 0.66 to 0.83
 * of the host's time on a busy machine. So launches are longer than those of other peaks, and a
 * value is the largest share of several: beside 6 busy threads on 2 cores it is 0.99 or more. */
enum { LONGER = 3, TRIES = 4 };

/* A launch of which the host knows when it began and ended, with the driver's own times. */
static tsr_status timed(kernel *p, cl_command_queue queue, double *share) {
    cl_event event = NULL;
    cl_ulong begun = 0, ended = 0;
    const uint64_t before = tsri_base_now_ns();
    cl_int code = clEnqueueNDRangeKernel(queue, p->kernel, 1, NULL, &p->items,
                                         p->group ? &p->group : NULL, 0, NULL, &event);
    if (code == CL_SUCCESS)
        code = clFinish(queue);
    const uint64_t ns = tsri_base_now_ns() - before;
    if (code == CL_SUCCESS)
        code =
            clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof begun, &begun, NULL);
    if (code == CL_SUCCESS)
        code = clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof ended, &ended, NULL);
    if (event)
        clReleaseEvent(event);
    *share = (double)(ended - begun) / (double)(ns ? ns : 1);
    return code == CL_SUCCESS ? TSR_OK : tsri_opencl_fail(p->dev, code, "a profiled launch");
}

static tsr_status clock_of(kernel *p, uint32_t repeats, double *values) {
    const cl_float x = 0.999f, y = 0.001f;
    cl_int code = CL_SUCCESS;
    double share;
    p->items = tsri_opencl_peak_items(p->dev);
    TRY(tsri_opencl_peak_build(p, "peak/fma.cl", "peak_fma",
                               "-DT=float4 -DS=float -DFIRST(v)=(v).s0"));
    TRY(tsri_opencl_peak_buffer(p, p->items * sizeof(cl_float), TSR_KIND_ACTIVATION, &p->out));
    TRY(tsri_opencl_peak_set(p, 0, sizeof(cl_mem), &p->out->mem));
    TRY(tsri_opencl_peak_set(p, 1, sizeof x, &x));
    TRY(tsri_opencl_peak_set(p, 2, sizeof y, &y));
    TRY(tsri_opencl_peak_calibrate(p, 3));
    TRY(tsri_opencl_peak_set_rounds(p, 3, p->rounds * LONGER));
    cl_command_queue queue =
        clCreateCommandQueue(p->dev->context, p->dev->id, CL_QUEUE_PROFILING_ENABLE, &code);
    if (!queue)
        return tsri_opencl_fail(p->dev, code, "clCreateCommandQueue");
    tsr_status status = timed(p, queue, &share);
    for (uint32_t i = 0; i < repeats * TRIES && status == TSR_OK; i++) {
        status = timed(p, queue, &share);
        values[i / TRIES] = i % TRIES ? fmax(values[i / TRIES], share) : share;
    }
    clReleaseCommandQueue(queue);
    return status;
}

tsr_status tsri_opencl_peak_clock(tsr_dev *dev, uint32_t repeats, double *values) {
    kernel p = {.dev = dev};
    const tsr_status status = clock_of(&p, repeats, values);
    tsri_opencl_peak_clear(&p);
    return status;
}
