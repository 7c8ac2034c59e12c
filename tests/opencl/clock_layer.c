/* An OpenCL layer whose events run by a wrong clock.
 *
 * TSR_CLOCK   percent of the time that passes (100) */
#include "layer.h"

#include <stdlib.h>

static cl_int CL_API_CALL my_clGetEventProfilingInfo(cl_event event, cl_profiling_info what,
                                                     size_t room, void *value, size_t *size) {
    const char *text = getenv("TSR_CLOCK");
    const cl_ulong percent = text ? strtoull(text, NULL, 10) : 100;
    const cl_int code = next->clGetEventProfilingInfo(event, what, room, value, size);
    if (code == CL_SUCCESS && value) /* of times since some day, so that products do not overflow */
        *(cl_ulong *)value = *(cl_ulong *)value / 100 * percent;
    return code;
}

static void layer_begin(void) {
    mine.clGetEventProfilingInfo = my_clGetEventProfilingInfo;
}
