/* An OpenCL layer that tells apart devices of one name: those of a platform end with A, B, .. */
#include "layer.h"

enum { MOST = 8 };

static cl_int CL_API_CALL my_clGetDeviceInfo(cl_device_id device, cl_device_info what, size_t room,
                                             void *value, size_t *size) {
    const cl_int code = next->clGetDeviceInfo(device, what, room, value, size);
    cl_platform_id platform;
    cl_device_id all[MOST];
    cl_uint n = 0;
    if (what != CL_DEVICE_NAME || !value || code != CL_SUCCESS || !*(char *)value ||
        next->clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL) ||
        next->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, MOST, all, &n))
        return code;
    for (cl_uint i = 0; i < n && i < MOST; i++)
        if (all[i] == device)
            ((char *)value)[strlen(value) - 1] = (char)('A' + i);
    return code;
}

static void layer_begin(void) {
    mine.clGetDeviceInfo = my_clGetDeviceInfo;
}
