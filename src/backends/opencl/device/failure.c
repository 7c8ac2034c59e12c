/* backends/opencl/device/failure.c - what a driver's error code means to the caller, and what
 * happens to the device: its work is waited for, and it is poisoned where it can't be trusted
 * afterwards. */
#include "backends/opencl/device/failure.h"
#include "backends/opencl/device/rest.h"
#include "backends/opencl/driver/host.h"
#include "base/error.h"

#include <stdio.h>

const char *tsri_opencl_code_name(cl_int code) {
    static const struct {
        cl_int code;
        const char *name;
    } names[] = {
        {-1, "CL_DEVICE_NOT_FOUND"},
        {-2, "CL_DEVICE_NOT_AVAILABLE"},
        {-3, "CL_COMPILER_NOT_AVAILABLE"},
        {-4, "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
        {-5, "CL_OUT_OF_RESOURCES"},
        {-6, "CL_OUT_OF_HOST_MEMORY"},
        {-11, "CL_BUILD_PROGRAM_FAILURE"},
        {-13, "CL_MISALIGNED_SUB_BUFFER_OFFSET"},
        {-14, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"},
        {-18, "CL_DEVICE_PARTITION_FAILED"},
        {-30, "CL_INVALID_VALUE"},
        {-33, "CL_INVALID_DEVICE"},
        {-34, "CL_INVALID_CONTEXT"},
        {-36, "CL_INVALID_COMMAND_QUEUE"},
        {-38, "CL_INVALID_MEM_OBJECT"},
        {-42, "CL_INVALID_BINARY"},
        {-44, "CL_INVALID_PROGRAM"},
        {-45, "CL_INVALID_PROGRAM_EXECUTABLE"},
        {-46, "CL_INVALID_KERNEL_NAME"},
        {-48, "CL_INVALID_KERNEL"},
        {-49, "CL_INVALID_ARG_INDEX"},
        {-51, "CL_INVALID_ARG_SIZE"},
        {-52, "CL_INVALID_KERNEL_ARGS"},
        {-54, "CL_INVALID_WORK_GROUP_SIZE"},
        {-55, "CL_INVALID_WORK_ITEM_SIZE"},
        {-59, "CL_INVALID_OPERATION"},
        {-61, "CL_INVALID_BUFFER_SIZE"},
        {-9999, "an illegal memory access, as the driver reports it"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].code == code)
            return names[i].name;
    return "error";
}

static tsr_status status_of(cl_int code) {
    switch (code) {
    case CL_MEM_OBJECT_ALLOCATION_FAILURE:
    case CL_INVALID_BUFFER_SIZE:
        return TSR_E_DEVICE_MEMORY;
    case CL_OUT_OF_HOST_MEMORY:
        return TSR_E_HOST_MEMORY;
    default:
        return TSR_E_DEVICE;
    }
}

bool tsri_opencl_releasable(const tsr_dev *dev) {
    return !dev->stuck && !tsri_opencl_forked();
}

void tsri_opencl_come_to_rest(tsr_dev *dev) {
    if (!dev->busy || !dev->queue || !tsri_opencl_releasable(dev))
        return;
    switch (tsri_opencl_finish_within(dev->queue, dev->state->rest_ns)) {
    case TSRI_OPENCL_RESTS:
        dev->busy = false;
        break;
    case TSRI_OPENCL_UNKNOWN:
        dev->busy = false;
        dev->uncertain = true;
        break;
    case TSRI_OPENCL_STUCK:
        dev->stuck = dev->poisoned = true;
        break;
    }
}

/* Whether something was too little for what was asked. */
static bool exhausts(cl_int code) {
    return code == CL_MEM_OBJECT_ALLOCATION_FAILURE || code == CL_OUT_OF_RESOURCES ||
           code == CL_OUT_OF_HOST_MEMORY;
}

/* Whether nothing that this process asks of the device can be trusted after such a code. */
static bool poisons(cl_int code) {
    return exhausts(code) || code == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST ||
           code == CL_INVALID_COMMAND_QUEUE || code == CL_DEVICE_NOT_AVAILABLE ||
           code == CL_INVALID_CONTEXT || code < -9000;
}

static tsr_status fail(tsr_dev *dev, cl_int code, const char *call, bool lost) {
    char stuck[96] = "";
    tsri_opencl_come_to_rest(dev);
    if (dev->stuck)
        snprintf(stuck, sizeof stuck,
                 "; its work did not end within %.1f s, so its memory is not released",
                 (double)dev->state->rest_ns * 1e-9);
    snprintf(dev->lost, sizeof dev->lost, "%s: %s (%d)%s", call, tsri_opencl_code_name(code), code,
             stuck);
    return tsri_base_fail(status_of(code), "%s: %s (%d) on %s/%s%s%s", call,
                          tsri_opencl_code_name(code), code, dev->facts.common.platform,
                          dev->facts.common.name, stuck,
                          lost && status_of(code) == TSR_E_DEVICE
                              ? "; the device was lost: open it again, or run the command again "
                                "(the system's log may say why)"
                              : "");
}

tsr_status tsri_opencl_fail_create(tsr_dev *dev, cl_int code, const char *call) {
    return fail(dev, code, call, false);
}

tsr_status tsri_opencl_fail(tsr_dev *dev, cl_int code, const char *call) {
    const tsr_status status = fail(dev, code, call, poisons(code));
    dev->poisoned |= poisons(code);
    return status;
}

tsr_status tsri_opencl_fail_launch(tsr_dev *dev, cl_int code, const char *call) {
    if (!dev->trial || !exhausts(code))
        return tsri_opencl_fail(dev, code, call);
    const tsr_status status = tsri_opencl_fail_create(dev, code, call);
    dev->poisoned |= dev->uncertain;
    return status;
}

tsr_status tsri_opencl_check(const tsr_dev *dev) {
    TRY(tsri_opencl_check_process());
    if (!dev->poisoned)
        return TSR_OK;
    return tsri_base_fail(TSR_E_DEVICE, "%s/%s was lost (%s): close the device and open it again",
                          dev->facts.common.platform, dev->facts.common.name, dev->lost);
}

tsr_status tsri_opencl_check_waits(const tsr_dev *dev, const tsr_waits *waits) {
    for (uint32_t i = 0; waits && i < waits->count; i++)
        if (!waits->events || !waits->events[i] || waits->events[i]->dev != dev)
            return tsri_base_fail(
                TSR_E_ARGUMENT,
                "event %u to wait for belongs to another device: wait for it on the host", i);
    return TSR_OK;
}

tsr_status tsri_opencl_drain(tsr_dev *dev) {
    if (!dev->busy || !dev->queue || !tsri_opencl_releasable(dev))
        return TSR_OK;
    const cl_int code = clFinish(dev->queue);
    if (code != CL_SUCCESS)
        return tsri_opencl_fail(dev, code, "clFinish");
    dev->busy = false;
    return TSR_OK;
}
