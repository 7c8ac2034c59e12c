/* An OpenCL layer that makes every device a small GPU: the least local memory and work-group that
 * GPUs report, and no extensions. So a GPU's kernels can be built and run where there is no GPU.
 *
 * TSR_GPU_LOCAL         bytes of local memory (32768)
 * TSR_GPU_GROUP         largest work-group (64)
 * TSR_GPU_KERNEL_GROUP  largest work-group of a compiled kernel (0: what the driver says)
 * TSR_GPU_EXTENSIONS    1: the driver's own extensions */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl_layer.h>

#include <stdlib.h>
#include <string.h>

static const struct _cl_icd_dispatch *next;
static struct _cl_icd_dispatch mine;

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

CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info what, size_t n, void *value,
                                               size_t *size) {
    const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
    return what == CL_LAYER_API_VERSION ? give(&version, sizeof version, n, value, size)
                                        : CL_INVALID_VALUE;
}

CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint entries, const struct _cl_icd_dispatch *target,
                                            cl_uint *out_entries,
                                            const struct _cl_icd_dispatch **out) {
    const size_t known = entries * sizeof(void *); /* the loader may be older than this header */
    if (!target || !out || !out_entries)
        return CL_INVALID_VALUE;
    memcpy(&mine, target, known < sizeof mine ? known : sizeof mine);
    next = target;
    mine.clGetDeviceInfo = my_clGetDeviceInfo;
    mine.clGetKernelWorkGroupInfo = my_clGetKernelWorkGroupInfo;
    *out_entries = entries;
    *out = &mine;
    return CL_SUCCESS;
}
