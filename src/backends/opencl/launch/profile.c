/* backends/opencl/launch/profile.c - collects the device times of launches from their events. */
#include "backends/opencl/launch/profile.h"
#include "backends/opencl/device/failure.h"
#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>

enum { RING = 1024 };

tsr_status tsri_opencl_profile_begin(tsr_plan *plan) {
    return tsri_base_new(RING, sizeof *plan->pending, &plan->pending);
}

/* Adds an event's time to its kernel's. */
static void harvest(const tsri_opencl_pending *pending) {
    cl_ulong begin = 0, end = 0;
    if (clGetEventProfilingInfo(pending->event, CL_PROFILING_COMMAND_START, sizeof begin, &begin,
                                NULL) == CL_SUCCESS &&
        clGetEventProfilingInfo(pending->event, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL) ==
            CL_SUCCESS &&
        end > begin)
        pending->of->nanoseconds += end - begin;
    clReleaseEvent(pending->event);
}

tsr_status tsri_opencl_profile_gather(tsr_plan *plan) {
    if (!plan->n_pending)
        return TSR_OK;
    TRY(tsri_opencl_check(plan->dev));
    const cl_int code = clFinish(plan->dev->queue);
    if (code != CL_SUCCESS)
        return tsri_opencl_fail(plan->dev, code, "clFinish");
    for (size_t i = 0; i < plan->n_pending; i++)
        harvest(&plan->pending[i]);
    plan->n_pending = 0;
    return TSR_OK;
}

void tsri_opencl_profile_piece(void *data, const tsri_opencl_launch *launch, cl_event event,
                               uint64_t enqueue_ns) {
    tsr_plan *plan = data;
    tsri_opencl_step *step = &plan->steps[plan->current];
    tsri_opencl_measured *of = launch == &step->launch ? &step->measured : &step->measured_before;
    of->launches++;
    of->enqueue_nanoseconds += enqueue_ns;
    if (!event)
        return;
    /* The ring is full, so wait for what is in flight. A failure shows at the next call; this
     * event's time is lost with it. */
    if (plan->n_pending == RING && tsri_opencl_profile_gather(plan) != TSR_OK) {
        clReleaseEvent(event);
        return;
    }
    plan->pending[plan->n_pending++] = (tsri_opencl_pending){event, of};
}

void tsri_opencl_profile_end(tsr_plan *plan) {
    for (size_t i = 0; i < plan->n_pending; i++)
        clReleaseEvent(plan->pending[i].event);
    free(plan->pending);
    plan->pending = NULL;
    plan->n_pending = 0;
}

static void tell(tsr_profile_visitor visit, void *data, uint32_t op,
                 const tsri_opencl_instance *instance, const tsri_opencl_measured *measured) {
    visit(data, &(tsr_profile_entry){.struct_size = sizeof(tsr_profile_entry),
                                     .op = op,
                                     .kernel = instance->name,
                                     .launches = measured->launches,
                                     .nanoseconds = measured->nanoseconds,
                                     .enqueue_nanoseconds = measured->enqueue_nanoseconds});
}

tsr_status tsri_opencl_plan_profile(tsr_plan *plan, tsr_profile_visitor visit, void *data) {
    if (!plan->pending)
        return TSR_OK;
    TRY(tsri_opencl_profile_gather(plan));
    for (uint32_t i = 0; i < plan->n_ops; i++) {
        const tsri_opencl_step *step = &plan->steps[i];
        if (step->instance->before)
            tell(visit, data, i, step->instance->before, &step->measured_before);
        tell(visit, data, i, step->instance, &step->measured);
    }
    return TSR_OK;
}
