/* An OpenCL layer whose buffers are small: it reports TSR_SMALL_ALLOC bytes as the largest
 * allocation, and refuses larger ones, with a line on stderr, as a driver does. */
#include "layer.h"

#include <stdio.h>
#include <stdlib.h>

static cl_ulong most(void) {
    const char *text = getenv("TSR_SMALL_ALLOC");
    return text && *text ? strtoull(text, NULL, 10) : 0;
}

static cl_int CL_API_CALL my_clGetDeviceInfo(cl_device_id device, cl_device_info what, size_t room,
                                             void *value, size_t *size) {
    const cl_int code = next->clGetDeviceInfo(device, what, room, value, size);
    if (what == CL_DEVICE_MAX_MEM_ALLOC_SIZE && value && code == CL_SUCCESS && most())
        *(cl_ulong *)value = most();
    return code;
}

static cl_mem CL_API_CALL my_clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size,
                                            void *host, cl_int *code) {
    if (!most() || size <= most())
        return next->clCreateBuffer(context, flags, size, host, code);
    fprintf(stderr, "small_layer: a buffer of %zu bytes was asked for\n", size);
    if (code)
        *code = CL_INVALID_BUFFER_SIZE;
    return NULL;
}

static void layer_begin(void) {
    mine.clGetDeviceInfo = my_clGetDeviceInfo;
    mine.clCreateBuffer = my_clCreateBuffer;
}
