/* backends/opencl/launch/commands.c - records the launches of a run in a command buffer. */
#include "backends/opencl/launch/commands.h"
#include "backends/opencl/device/failure.h"
#include "backends/opencl/driver/host.h"
#include "backends/opencl/launch/steps.h"
#include "base/error.h"
#include "base/memory.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NS = 50 * 1000 * 1000 }; /* as long as a launch may be: launch.c */

/* They are the same from version 0.9.0 of the extension on: later versions changed parameters of
 * other functions. */
static const struct {
    const char *name;
    size_t at; /* in tsri_opencl_commands */
} functions[] = {
    {"clCreateCommandBufferKHR", offsetof(tsri_opencl_commands, create)},
    {"clCommandNDRangeKernelKHR", offsetof(tsri_opencl_commands, add)},
    {"clFinalizeCommandBufferKHR", offsetof(tsri_opencl_commands, finalize)},
    {"clEnqueueCommandBufferKHR", offsetof(tsri_opencl_commands, enqueue)},
    {"clReleaseCommandBufferKHR", offsetof(tsri_opencl_commands, release)},
};

void tsri_opencl_commands_open(tsr_dev *dev) {
    tsri_opencl_commands *own = &dev->commands;
    cl_command_queue_properties required = 0;
    cl_bitfield can = 0;
    const uint32_t wish = dev->state->commands;
    if (!wish || dev->found->version < 102 || dev->record ||
        (wish == TSRI_OPENCL_COMMANDS_ON_GPUS && dev->facts.common.type != TSR_DEVICE_GPU) ||
        !tsri_opencl_listed(dev->found->extensions, "cl_khr_command_buffer"))
        return;
    /* Queues here are in order and have no other property that a device might ask for. */
    if (clGetDeviceInfo(dev->id, CL_DEVICE_COMMAND_BUFFER_REQUIRED_QUEUE_PROPERTIES_KHR,
                        sizeof required, &required, NULL) != CL_SUCCESS ||
        required)
        return;
    if (clGetDeviceInfo(dev->id, CL_DEVICE_COMMAND_BUFFER_CAPABILITIES_KHR, sizeof can, &can,
                        NULL) == CL_SUCCESS)
        own->simultaneous = (can & CL_COMMAND_BUFFER_CAPABILITY_SIMULTANEOUS_USE_KHR) != 0;
    own->usable = true;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        const void *found =
            clGetExtensionFunctionAddressForPlatform(dev->found->platform, functions[i].name);
        own->usable = own->usable && found;
        memcpy((char *)own + functions[i].at, &found, sizeof found);
    }
}

tsr_status tsri_opencl_commands_begin(tsr_plan *plan) {
    uint32_t launches = 0;
    if (!plan->dev->commands.usable || plan->links || plan->pending)
        return TSR_OK;
    for (uint32_t i = 0; i < plan->n_ops; i++) {
        if (plan->steps[i].instance->variant->enqueue) /* a provider enqueues what it likes */
            return TSR_OK;
        launches += plan->steps[i].launch.before ? 2 : 1;
    }
    plan->recording.n = launches;
    return tsri_base_new(2 * (size_t)launches, sizeof *plan->recording.groups,
                         &plan->recording.groups);
}

/* The launches of a plan in order: the stage of a step, if it has one, and the step's own. */
static tsri_opencl_launch *next(tsr_plan *plan, uint32_t *step, bool *own) {
    tsri_opencl_launch *launch = &plan->steps[*step].launch;
    if (!*own && launch->before) {
        *own = true;
        return launch->before;
    }
    *own = false;
    ++*step;
    return launch;
}

/* Reads the work-groups of this run. False where a launch would run in pieces. */
static bool read_groups(tsr_plan *plan, const int64_t sizes[TSR_SYMBOLS],
                        tsri_opencl_groups *groups) {
    bool whole = true, own = false;
    for (uint32_t i = 0, step = 0; i < plan->recording.n; i++) {
        const tsri_opencl_launch *launch = next(plan, &step, &own);
        const uint64_t limit = launch->pace ? *launch->pace : launch->limit;
        whole = tsri_opencl_launch_groups(launch, sizes, &groups[i]) <= limit &&
                tsri_opencl_launch_long_axis(groups[i].n) < 0 && whole;
    }
    return whole;
}

static tsr_status record(tsr_plan *plan, const tsri_opencl_groups *groups,
                         cl_command_buffer_khr *out) {
    tsr_dev *dev = plan->dev;
    const tsri_opencl_commands *calls = &dev->commands;
    const cl_command_buffer_properties_khr often[] = {CL_COMMAND_BUFFER_FLAGS_KHR,
                                                      CL_COMMAND_BUFFER_SIMULTANEOUS_USE_KHR, 0};
    cl_int code = CL_SUCCESS;
    bool own = false;
    cl_command_buffer_khr buffer =
        calls->create(1, &dev->queue, calls->simultaneous ? often : NULL, &code);
    for (uint32_t i = 0, step = 0; buffer && code == CL_SUCCESS && i < plan->recording.n; i++) {
        const tsri_opencl_launch *launch = next(plan, &step, &own);
        size_t global[3];
        for (int axis = 0; axis < 3; axis++)
            global[axis] = groups[i].n[axis] * launch->group[axis];
        if (global[0] && global[1] && global[2])
            code = calls->add(buffer, NULL, NULL, launch->kernel, 3, NULL, global, launch->group, 0,
                              NULL, NULL, NULL);
    }
    if (buffer && code == CL_SUCCESS)
        code = calls->finalize(buffer);
    if (buffer && code == CL_SUCCESS) {
        *out = buffer;
        return TSR_OK;
    }
    if (buffer)
        calls->release(buffer);
    return tsri_opencl_fail_create(dev, code, "recording a command buffer");
}

void tsri_opencl_commands_forget(tsr_plan *plan) {
    for (int i = 0; i < TSRI_OPENCL_RECORDINGS; i++) {
        if (plan->recording.buffers[i])
            plan->dev->commands.release(plan->recording.buffers[i]);
        plan->recording.buffers[i] = NULL;
    }
}

void tsri_opencl_commands_end(tsr_plan *plan) {
    tsri_opencl_commands_forget(plan);
    free(plan->recording.groups);
    plan->recording.groups = NULL;
}

/* Says why recording failed; what follows is enqueued launch by launch, unless the device was lost. */
static tsr_status give_up(tsr_plan *plan) {
    tsr_dev *dev = plan->dev;
    tsri_opencl_log(dev->state, TSR_LOG_INFO, "%s/%s: %s; each kernel is enqueued by itself",
                    dev->facts.common.platform, dev->facts.common.name, tsri_base_reported());
    dev->commands.usable = false;
    tsri_opencl_commands_end(plan);
    return tsri_opencl_check(dev);
}

tsr_status tsri_opencl_commands_choose(tsr_plan *plan, const int64_t sizes[TSR_SYMBOLS],
                                       tsri_opencl_way *way) {
    tsri_opencl_recording *own = &plan->recording;
    *way = TSRI_OPENCL_BY_LAUNCHES;
    if (!own->groups)
        return TSR_OK;
    tsri_opencl_groups *before = own->groups, *now = own->groups + own->n;
    const bool whole = read_groups(plan, sizes, now);
    if (!whole || !own->known || memcmp(before, now, own->n * sizeof *now) != 0) {
        tsri_opencl_commands_forget(plan);
        memcpy(before, now, own->n * sizeof *now);
        own->known = whole;
        own->ns = own->rest = own->pause = 0;
        return TSR_OK;
    }
    if (own->rest) {
        own->rest--;
        return TSR_OK;
    }
    if (!own->ns || own->ns > MOST_NS) {
        *way = TSRI_OPENCL_TIMED;
        return TSR_OK;
    }
    if (!own->buffers[0] && record(plan, now, &own->buffers[0]) != TSR_OK)
        return give_up(plan);
    *way = TSRI_OPENCL_RECORDED;
    return TSR_OK;
}

void tsri_opencl_commands_took(tsr_plan *plan, uint64_t ns) {
    tsri_opencl_recording *own = &plan->recording;
    own->ns = ns ? ns : 1;
    if (ns > MOST_NS) /* timing keeps the caller waiting, so it is done ever more rarely */
        own->rest = own->pause = 2 * own->pause + 1;
}

tsr_status tsri_opencl_commands_enqueue(tsr_plan *plan, cl_event *last, bool *ran) {
    tsr_dev *dev = plan->dev;
    tsri_opencl_recording *own = &plan->recording;
    cl_int code = CL_INVALID_OPERATION;
    int at = own->buffers[1] ? !own->last : own->last;
    *ran = false;
    for (int i = 0; i < TSRI_OPENCL_RECORDINGS && !*ran; i++, at = !at) {
        if (!own->buffers[at] && record(plan, own->groups, &own->buffers[at]) != TSR_OK)
            return give_up(plan);
        code = dev->commands.enqueue(0, NULL, own->buffers[at], 0, NULL, last);
        *ran = code != CL_INVALID_OPERATION || dev->commands.simultaneous;
        own->last = at;
    }
    if (!*ran)
        return TSR_OK;
    dev->busy = true;
    return code == CL_SUCCESS ? TSR_OK : tsri_opencl_fail(dev, code, "a command buffer");
}
