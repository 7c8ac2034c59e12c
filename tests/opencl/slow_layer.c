/* An OpenCL layer that makes every device a slow GPU with memory of its own: a launch takes as long as
 * its work-items ask for.
 *
 * TSR_SLOW_NS   nanoseconds of a work-item, beside what the driver takes (0) */
#include "layer.h"

#include <stdint.h>
#include <stdlib.h>
#include <time.h>

enum { UNIFIED_MEMORY = 0x1035 }; /* of OpenCL 1.1; newer headers do not define it */

static uint64_t longest;                /* nanoseconds */
static long launches, waits, writes[2]; /* writes that are not waited for, and that are */

__attribute__((visibility("default"))) void slow_reset(void);
__attribute__((visibility("default"))) uint64_t slow_longest(void);
__attribute__((visibility("default"))) long slow_launches(void);
__attribute__((visibility("default"))) long slow_waits(void);
__attribute__((visibility("default"))) long slow_writes(int waited);

void slow_reset(void) {
    longest = 0;
    launches = waits = writes[0] = writes[1] = 0;
}

uint64_t slow_longest(void) {
    return longest;
}

long slow_launches(void) {
    return launches;
}

long slow_waits(void) {
    return waits;
}

long slow_writes(int waited) {
    return writes[waited];
}

static cl_int CL_API_CALL my_clGetDeviceInfo(cl_device_id device, cl_device_info what, size_t room,
                                             void *value, size_t *size) {
    const cl_int code = next->clGetDeviceInfo(device, what, room, value, size);
    if (what == CL_DEVICE_TYPE && value && code == CL_SUCCESS)
        *(cl_device_type *)value = CL_DEVICE_TYPE_GPU;
    if (what == UNIFIED_MEMORY && value && code == CL_SUCCESS)
        *(cl_bool *)value = CL_FALSE;
    return code;
}

static cl_int CL_API_CALL my_clEnqueueWriteBuffer(cl_command_queue queue, cl_mem buffer,
                                                  cl_bool wait, size_t offset, size_t size,
                                                  const void *data, cl_uint n,
                                                  const cl_event *before, cl_event *event) {
    writes[wait != CL_FALSE]++;
    return next->clEnqueueWriteBuffer(queue, buffer, wait, offset, size, data, n, before, event);
}

static cl_int CL_API_CALL my_clFinish(cl_command_queue queue) {
    waits++;
    return next->clFinish(queue);
}

static cl_int CL_API_CALL my_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel,
                                                    cl_uint dimensions, const size_t *offset,
                                                    const size_t *global, const size_t *local,
                                                    cl_uint n, const cl_event *before,
                                                    cl_event *event) {
    const char *text = getenv("TSR_SLOW_NS");
    uint64_t ns = text ? strtoull(text, NULL, 10) : 0;
    const cl_int code = next->clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global,
                                                     local, n, before, event);
    for (cl_uint i = 0; i < dimensions; i++)
        ns *= global[i];
    launches++;
    longest = ns > longest ? ns : longest;
    if (ns && code == CL_SUCCESS) {
        next->clFinish(queue);
        nanosleep(&(struct timespec){(time_t)(ns / 1000000000), (long)(ns % 1000000000)}, NULL);
    }
    return code;
}

static void layer_begin(void) {
    mine.clGetDeviceInfo = my_clGetDeviceInfo;
    mine.clEnqueueWriteBuffer = my_clEnqueueWriteBuffer;
    mine.clFinish = my_clFinish;
    mine.clEnqueueNDRangeKernel = my_clEnqueueNDRangeKernel;
}
