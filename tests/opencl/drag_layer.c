/* An OpenCL layer below which every kernel takes longer than it does, by the same share: it waits for
 * each launch, and then keeps the caller waiting in proportion.
 *
 * TSR_DRAG   percent that each launch takes longer (0) */
#include "layer.h"

#include <stdlib.h>
#include <time.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static cl_int CL_API_CALL my_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel,
                                                    cl_uint dimensions, const size_t *offset,
                                                    const size_t *global, const size_t *local,
                                                    cl_uint n, const cl_event *before,
                                                    cl_event *event) {
    const char *text = getenv("TSR_DRAG");
    next->clFinish(queue);
    const double begun = now();
    const cl_int code = next->clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global,
                                                     local, n, before, event);
    if (code == CL_SUCCESS && next->clFinish(queue) == CL_SUCCESS) {
        const double ended = now(), until = ended + (ended - begun) * (text ? atof(text) : 0) / 100;
        while (now() < until)
            ;
    }
    return code;
}

static void layer_begin(void) {
    mine.clEnqueueNDRangeKernel = my_clEnqueueNDRangeKernel;
}
