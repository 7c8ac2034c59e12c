/* backends/opencl/plan.c - creates, runs and explains a plan. */
#include "backends/opencl/plan.h"
#include "backends/opencl/choose/choose.h"
#include "backends/opencl/choose/select.h"
#include "backends/opencl/choose/selftest.h"
#include "backends/opencl/device/buffer.h"
#include "backends/opencl/device/failure.h"
#include "backends/opencl/driver/marker.h"
#include "backends/opencl/launch/chain.h"
#include "backends/opencl/launch/commands.h"
#include "backends/opencl/launch/profile.h"
#include "backends/opencl/launch/scratch.h"
#include "backends/opencl/program/constants.h"
#include "backends/opencl/program/program.h"
#include "backends/opencl/variants/variants.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Kernel arguments are whole buffers, so a table in the middle of one becomes a sub-buffer. */
static tsr_status place_dims(tsr_dev *dev, const tsr_plan_spec *spec, cl_mem *out) {
    const size_t bytes = TSR_SYMBOL_SETS * sizeof(int32_t);
    const tsr_buf *buf = spec->dims;
    if (!buf || buf->dev != dev || spec->dims_offset > buf->bytes ||
        buf->bytes - spec->dims_offset < bytes)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "a plan's table of sizes, %zu bytes at %" PRIu64
                              ", is not inside a buffer of this device",
                              bytes, spec->dims_offset);
    if (!spec->dims_offset) {
        const cl_int code = clRetainMemObject(buf->mem);
        if (code != CL_SUCCESS)
            return tsri_opencl_fail_create(dev, code, "clRetainMemObject");
        *out = buf->mem;
        return TSR_OK;
    }
    if (spec->dims_offset % dev->facts.common.base_alignment)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "a plan's table of sizes is at byte %" PRIu64
                              ", which is not a multiple of the device's alignment %u",
                              spec->dims_offset, dev->facts.common.base_alignment);
    cl_int code = CL_SUCCESS;
    const cl_buffer_region region = {(size_t)spec->dims_offset, bytes};
    *out =
        clCreateSubBuffer(buf->mem, CL_MEM_READ_ONLY, CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
    return *out ? TSR_OK : tsri_opencl_fail_create(dev, code, "clCreateSubBuffer");
}

static tsr_status copy_ops(tsr_plan *plan, const tsr_plan_spec *spec) {
    tsri_opencl_forced forced;
    TRY(tsri_opencl_force(spec->kernels, &forced));
    for (uint32_t i = 0; i < spec->n_ops; i++) {
        tsri_opencl_step *step = &plan->steps[i];
        const tsr_op *op = spec->ops[i];
        if (!op || !tsri_opencl_op_name((tsr_op_id)op->id))
            return tsri_base_fail(TSR_E_UNSUPPORTED,
                                  "op %u of the plan has id %u, which this backend does not know",
                                  i, op ? op->id : 0);
        TRY(tsri_opencl_operation_copy(op, &step->operation));
        /* All ops of a plan have the plan's bounds. */
        step->operation.bounds = plan->bounds;
        step->forced = tsri_opencl_forced_variant(&forced, (tsr_op_id)op->id);
    }
    return TSR_OK;
}

/* Sizes reach the kernels as 32-bit integers. */
static tsr_status check_bounds(const tsr_bounds *bounds) {
    for (uint32_t set = 0; set < TSR_SYMBOL_SETS; set++) {
        int64_t product = 1;
        for (int i = 0; i < TSR_SYMBOLS; i++) {
            if (bounds->lowest[i] < 0 || bounds->highest[i] < bounds->lowest[i])
                return tsri_base_fail(TSR_E_ARGUMENT,
                                      "bounds %" PRId64 " to %" PRId64
                                      " of a size: they must rise, from 0 or more",
                                      bounds->lowest[i], bounds->highest[i]);
            if ((set >> i & 1) && (bounds->highest[i] > INT32_MAX ||
                                   !tsri_base_mul_i64(product, bounds->highest[i], &product)))
                return tsri_base_fail(TSR_E_UNSUPPORTED,
                                      "a size of %" PRId64
                                      " is too large: sizes must fit 31 bits, their products 63",
                                      bounds->highest[i]);
        }
    }
    return TSR_OK;
}

/* A kernel whose values come from lines of tuning may be too much for the device: its defaults stand in
 * their place. *again: a variant is to be chosen anew. */
static tsr_status give_way(const tsr_plan *plan, const tsri_opencl_step *step, bool *again) {
    const tsri_opencl_instance *instance = step->instance;
    *again = tsri_opencl_gives_way(plan->dev, instance->variant, &step->operation.op, &step->forced,
                                   &instance->values);
    return *again ? tsri_opencl_refuse_step(plan->dev, step, tsri_base_reported()) : TSR_OK;
}

static tsr_status bind(tsr_plan *plan, bool *again) {
    uint64_t scratch = 0;
    *again = false;
    for (uint32_t i = 0; i < plan->n_ops; i++) {
        tsri_opencl_step *step = &plan->steps[i];
        const tsr_status status = (tsri_opencl_chain_has(plan, step) ? tsri_opencl_launch_trace
                                                                     : tsri_opencl_launch_create)(
            plan->dev, step->instance, &step->operation.op, plan->dims, &step->launch);
        if (status == TSR_E_UNSUPPORTED)
            TRY(give_way(plan, step, again));
        if (*again)
            return TSR_OK;
        if (status != TSR_OK)
            return tsri_base_fail_within(status, "op %u, %s", i, step->instance->name);
        if (step->launch.scratch_bytes > scratch)
            scratch = step->launch.scratch_bytes;
    }
    TRY(tsri_opencl_scratch_grow(plan->dev, scratch));
    for (uint32_t i = 0; i < plan->n_ops; i++)
        TRY(tsri_opencl_launch_bind_scratch(&plan->steps[i].launch));
    return tsri_opencl_chain_bind(plan);
}

static void unbind(tsr_plan *plan) {
    for (uint32_t i = 0; i < plan->n_ops; i++)
        tsri_opencl_launch_release(&plan->steps[i].launch);
}

static tsr_status choose_and_bind(tsr_plan *plan) {
    for (bool again = true; again;) {
        TRY(tsri_opencl_choose(plan->dev, plan));
        TRY(bind(plan, &again));
        if (again)
            unbind(plan);
    }
    return TSR_OK;
}

/* From here until a plan has run once, the driver may crash on what it builds or finds in its
 * cache. */
static void mark(tsr_dev *dev) {
    char what[256];
    if (dev->marker || dev->record)
        return;
    snprintf(what, sizeof what, "building kernels for %s/%s, or their first run",
             dev->facts.common.platform, dev->facts.common.name);
    dev->marker = tsri_opencl_mark(dev->state, what);
}

/* Copies what the plan is made of. */
static tsr_status take(tsr_plan *plan, const tsr_plan_spec *spec) {
    TRY(tsri_opencl_take(spec->bounds, sizeof plan->bounds, &plan->bounds, "bounds"));
    TRY(check_bounds(&plan->bounds));
    TRY(tsri_base_new(spec->n_ops ? spec->n_ops : 1, sizeof *plan->steps, &plan->steps));
    plan->n_ops = spec->n_ops;
    TRY(copy_ops(plan, spec));
    return place_dims(plan->dev, spec, &plan->dims);
}

tsr_status tsri_opencl_plan_announce(tsr_dev *dev, const tsr_plan_spec *spec) {
    tsr_plan *plan = NULL;
    TRY(tsri_opencl_check(dev));
    TRY(tsri_base_new(1, sizeof *plan, &plan));
    plan->dev = dev;
    tsr_status status = take(plan, spec);
    if (status == TSR_OK)
        status = tsri_opencl_choose_ahead(dev, plan);
    tsri_opencl_plan_destroy(plan);
    return status;
}

tsr_status tsri_opencl_plan_create(tsr_dev *dev, const tsr_plan_spec *spec, tsr_plan **out) {
    tsr_plan *plan = NULL;
    TRY(tsri_opencl_check(dev));
    TRY(tsri_base_new(1, sizeof *plan, &plan));
    plan->dev = dev;
    mark(dev);
    tsr_status status = take(plan, spec);
    if (status == TSR_OK)
        status = choose_and_bind(plan);
    if (status == TSR_OK && dev->profile)
        status = tsri_opencl_profile_begin(plan);
    if (status == TSR_OK)
        status = tsri_opencl_commands_begin(plan);
    if (status == TSR_OK)
        status = tsri_opencl_events_reserve(dev, 8);
    if (status != TSR_OK) {
        tsri_opencl_plan_destroy(plan);
        return status;
    }
    plan->next = dev->plans;
    dev->plans = plan;
    *out = plan;
    return TSR_OK;
}

void tsri_opencl_plan_destroy(tsr_plan *plan) {
    if (!plan)
        return;
    (void)!tsri_opencl_drain(plan->dev);
    if (!tsri_opencl_releasable(plan->dev))
        return;
    for (tsr_plan **at = &plan->dev->plans; *at; at = &(*at)->next)
        if (*at == plan) {
            *at = plan->next;
            break;
        }
    tsri_opencl_profile_end(plan);
    tsri_opencl_chain_release(plan);
    tsri_opencl_commands_end(plan);
    unbind(plan);
    for (uint32_t i = 0; i < plan->n_ops; i++) {
        tsri_opencl_operation_clear(&plan->steps[i].operation);
        free(plan->steps[i].fallback);
    }
    if (plan->dims)
        clReleaseMemObject(plan->dims);
    free(plan->steps);
    free(plan);
}

static tsr_status check_sizes(const tsr_plan *plan, const int64_t sizes[TSR_SYMBOLS]) {
    static const char letters[] = "BTSUN";
    for (int i = 0; i < TSR_SYMBOLS; i++)
        if (sizes[i] < 0 || sizes[i] > plan->bounds.highest[i])
            return tsri_base_fail(TSR_E_ARGUMENT,
                                  "a run has %c = %" PRId64 "; the plan serves 0 to %" PRId64,
                                  letters[i], sizes[i], plan->bounds.highest[i]);
    return TSR_OK;
}

/* An event behind everything that was enqueued, for a plan whose last op had nothing to do. */
static cl_int enqueue_marker(const tsr_dev *dev, cl_event *event) {
    if (dev->found->version >= 102)
        return clEnqueueMarkerWithWaitList(dev->queue, 0, NULL, event);
    return clEnqueueMarker(dev->queue, event);
}

static tsr_status enqueue_launches(tsr_plan *plan, const int64_t sizes[TSR_SYMBOLS],
                                   cl_event *last) {
    const tsri_opencl_link *link = plan->links, *end = link + plan->n_links;
    for (uint32_t i = 0; i < plan->n_ops; i++) {
        tsri_opencl_step *step = &plan->steps[i];
        plan->current = i;
        if (link != end && link->first == i) {
            TRY(tsri_opencl_chain_run(plan, link, link->end == plan->n_ops ? last : NULL));
            i = link++->end - 1;
            continue;
        }
        const tsr_status status = tsri_opencl_launch_run(
            &step->launch, sizes, plan->pending ? tsri_opencl_profile_piece : NULL, plan,
            last && i + 1 == plan->n_ops ? last : NULL);
        if (status != TSR_OK)
            return tsri_base_fail_within(status, "op %u, %s", i, step->instance->name);
    }
    return TSR_OK;
}

static tsr_status enqueue_all(tsr_plan *plan, const int64_t sizes[TSR_SYMBOLS], cl_event *last) {
    tsri_opencl_way way;
    bool ran = false;
    TRY(tsri_opencl_commands_choose(plan, sizes, &way));
    if (way == TSRI_OPENCL_RECORDED)
        TRY(tsri_opencl_commands_enqueue(plan, last, &ran));
    if (ran)
        return TSR_OK;
    if (way == TSRI_OPENCL_TIMED)
        TRY(tsri_opencl_drain(plan->dev));
    const uint64_t begin = tsri_base_now_ns();
    TRY(enqueue_launches(plan, sizes, last));
    if (way == TSRI_OPENCL_TIMED) {
        TRY(tsri_opencl_drain(plan->dev));
        tsri_opencl_commands_took(plan, tsri_base_now_ns() - begin);
    }
    return TSR_OK;
}

tsr_status tsri_opencl_plan_run(tsr_plan *plan, const tsr_run *run, const tsr_waits *waits,
                                tsr_event **done) {
    tsr_dev *dev = plan->dev;
    cl_event last = NULL;
    TRY(tsri_opencl_check(dev));
    TRY(check_sizes(plan, run->sizes));
    TRY(tsri_opencl_check_waits(dev, waits));
    dev->first_run |= !plan->ran;
    plan->ran = true;
    /* Kernels that are recorded give no results; a caller that records looks at none. */
    tsr_status status = dev->record ? TSR_OK : enqueue_all(plan, run->sizes, done ? &last : NULL);
    if (status == TSR_OK && done && !last) {
        const cl_int code = enqueue_marker(dev, &last);
        dev->busy = true;
        if (code != CL_SUCCESS)
            status = tsri_opencl_fail(dev, code, "enqueueing a marker");
    }
    if (status == TSR_OK) {
        const cl_int code = clFlush(dev->queue);
        if (code != CL_SUCCESS)
            status = tsri_opencl_fail(dev, code, "clFlush");
    }
    if (status != TSR_OK) {
        if (last)
            clReleaseEvent(last);
        return status;
    }
    return done ? tsri_opencl_event_new(dev, last, done) : TSR_OK;
}

/* What explain says of a variant. */
static const char *reason(const tsri_opencl_step *step, const tsri_opencl_variant *variant,
                          const tsri_opencl_instance *instance, const char *why) {
    if (*why)
        return why;
    if (instance && instance->state == TSRI_OPENCL_REFUSED)
        return instance->why;
    if (step->fallback && variant == step->instance->variant)
        return step->fallback;
    if (step->forced.variant == variant)
        return "forced";
    if (step->forced.variant)
        return "another variant is forced";
    return variant == step->instance->variant ? "the best score of those that fit"
                                              : "fits; a better one is chosen";
}

/* A variant for the layout that the step fell back from is shown as it was when it was refused. */
static bool fits_as_stored(const tsr_dev *dev, tsri_opencl_step *step,
                           const tsri_opencl_variant *variant, const char **why) {
    const bool stored =
        step->fallback && variant->layout && variant->layout->id == step->stored_layout;
    tsr_tensor *weight = stored ? step->operation.in[step->stored_operand] : NULL;
    if (stored)
        weight->layout = step->stored_layout;
    const bool fits = tsri_opencl_fits(dev, variant, &step->operation.op, &step->forced, true, why);
    if (stored)
        weight->layout = 0;
    return fits;
}

/* A chain is the launch of its first step. */
static uint32_t launches_of(const tsr_plan *plan, uint32_t step) {
    for (uint32_t i = 0; i < plan->n_links; i++)
        if (step >= plan->links[i].first && step < plan->links[i].end)
            return step == plan->links[i].first;
    return plan->steps[step].launch.before ? 2 : 1;
}

tsr_status tsri_opencl_plan_explain(tsr_plan *plan, size_t op, tsr_variant_visitor visit,
                                    void *data) {
    const tsri_opencl_variant *variants[TSRI_OPENCL_MAX_VARIANTS];
    if (op >= plan->n_ops)
        return tsri_base_fail(TSR_E_ARGUMENT, "op %zu was asked for; the plan has %u ops", op,
                              plan->n_ops);
    tsri_opencl_step *step = &plan->steps[op];
    const tsr_op *own = &step->operation.op;
    const size_t n = tsri_opencl_candidates(plan->dev, own, variants);
    for (size_t i = 0; i < n; i++) {
        const char *why = "";
        char short_name[128];
        tsri_opencl_instance *instance = NULL;
        tsri_opencl_values values;
        tsri_bytes tunables = {0};
        const bool fits = fits_as_stored(plan->dev, step, variants[i], &why);
        if (fits) {
            TRY(tsri_opencl_instance_of(plan->dev, variants[i], own, &step->forced, &values,
                                        &instance));
            if (tsri_opencl_describe_values(variants[i], &values, &tunables) != TSR_OK) {
                tsri_base_bytes_clear(&tunables);
                return TSR_E_HOST_MEMORY;
            }
        }
        snprintf(short_name, sizeof short_name, "%s/%s", tsri_opencl_op_name((tsr_op_id)own->id),
                 variants[i]->name);
        const char *said = reason(step, variants[i], instance, why);
        const bool chosen = variants[i] == step->instance->variant;
        visit(data, &(tsr_variant){.struct_size = sizeof(tsr_variant),
                                   .fits = fits && instance->state != TSRI_OPENCL_REFUSED,
                                   .chosen = chosen,
                                   .launches = chosen ? launches_of(plan, (uint32_t)op) : 0,
                                   .score = tsri_opencl_score_of(plan->dev, variants[i], own),
                                   .name = instance ? instance->name : short_name,
                                   .why = said,
                                   .tunables = tunables.data ? tunables.data : "",
                                   .batch_variant = variants[i]->batch_variant});
        tsri_base_bytes_clear(&tunables);
    }
    return TSR_OK;
}
