/* What every OpenCL layer has in common: the loader's two questions. A layer sets the functions of
 * `mine` that it replaces, in layer_begin, and calls those of `next`. */
#ifndef TEST_OPENCL_LAYER_H
#define TEST_OPENCL_LAYER_H

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl_layer.h>

#include <string.h>

static const struct _cl_icd_dispatch *next;
static struct _cl_icd_dispatch mine;

static void layer_begin(void);

CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info what, size_t n, void *value,
                                               size_t *size) {
    if (what != CL_LAYER_API_VERSION || (value && n < sizeof(cl_layer_api_version)))
        return CL_INVALID_VALUE;
    if (value)
        *(cl_layer_api_version *)value = CL_LAYER_API_VERSION_100;
    if (size)
        *size = sizeof(cl_layer_api_version);
    return CL_SUCCESS;
}

CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint entries, const struct _cl_icd_dispatch *target,
                                            cl_uint *out_entries,
                                            const struct _cl_icd_dispatch **out) {
    const size_t known = entries * sizeof(void *); /* the loader may be older than this header */
    if (!target || !out || !out_entries)
        return CL_INVALID_VALUE;
    memcpy(&mine, target, known < sizeof mine ? known : sizeof mine);
    next = target;
    layer_begin();
    *out_entries = entries;
    *out = &mine;
    return CL_SUCCESS;
}

#endif
