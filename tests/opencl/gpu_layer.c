/* An OpenCL layer that makes every device a small GPU: the least local memory and work-group that
 * GPUs report, and no extensions. So a GPU's kernels can be built and run where there is no GPU.
 *
 * TSR_GPU_LOCAL         bytes of local memory (32768)
 * TSR_GPU_GROUP         largest work-group (64)
 * TSR_GPU_KERNEL_GROUP  largest work-group of a compiled kernel (0: what the driver says)
 * TSR_GPU_EXTENSIONS    1: the driver's own extensions */
#include "layer.h"

#include <stdlib.h>
#include <string.h>

static unsigned long setting(const char *name, unsigned long otherwise) {
    const char *text = getenv(name);
    return text && *text ? strtoul(text, NULL, 10) : otherwise;
}

static cl_int give(const void *data, size_t size, size_t room, void *value, size_t *out) {
    if (value && room < size)
        return CL_INVALID_VALUE;
    if (value)
        memcpy(value, data, size);
    if (out)
        *out = size;
    return CL_SUCCESS;
}

static cl_int CL_API_CALL my_clGetDeviceInfo(cl_device_id device, cl_device_info what, size_t room,
                                             void *value, size_t *size) {
    static const char extensions[] = "cl_khr_byte_addressable_store";
    const cl_device_type type = CL_DEVICE_TYPE_GPU;
    const cl_ulong local = setting("TSR_GPU_LOCAL", 32768);
    const size_t group = setting("TSR_GPU_GROUP", 64);
    switch (what) {
    case CL_DEVICE_TYPE:
        return give(&type, sizeof type, room, value, size);
    case CL_DEVICE_LOCAL_MEM_SIZE:
        return give(&local, sizeof local, room, value, size);
    case CL_DEVICE_MAX_WORK_GROUP_SIZE:
        return give(&group, sizeof group, room, value, size);
    case CL_DEVICE_EXTENSIONS:
        if (!setting("TSR_GPU_EXTENSIONS", 0))
            return give(extensions, sizeof extensions, room, value, size);
        break;
    default:
        break;
    }
    return next->clGetDeviceInfo(device, what, room, value, size);
}

static cl_int CL_API_CALL my_clGetKernelWorkGroupInfo(cl_kernel kernel, cl_device_id device,
                                                      cl_kernel_work_group_info what, size_t room,
                                                      void *value, size_t *size) {
    const size_t group = setting("TSR_GPU_KERNEL_GROUP", 0);
    if (group && what == CL_KERNEL_WORK_GROUP_SIZE)
        return give(&group, sizeof group, room, value, size);
    return next->clGetKernelWorkGroupInfo(kernel, device, what, room, value, size);
}

static void layer_begin(void) {
    mine.clGetDeviceInfo = my_clGetDeviceInfo;
    mine.clGetKernelWorkGroupInfo = my_clGetKernelWorkGroupInfo;
}
