/* backends/opencl/choose/choose.c - the first kernel variant of each op that fits, builds and
 * passes its self-test. */
#include "backends/opencl/choose/choose.h"
#include "backends/opencl/choose/fallback.h"
#include "backends/opencl/choose/forms.h"
#include "backends/opencl/choose/select.h"
#include "backends/opencl/choose/selftest.h"
#include "backends/opencl/driver/host.h"
#include "backends/opencl/launch/chain.h"
#include "backends/opencl/program/program.h"
#include "backends/opencl/variants/variants.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/memory.h"
#include "tensor/operands.h"

#include <stdlib.h>
#include <string.h>

/* Instances that may be needed, each with the step that its self-test is for. */
typedef struct need_list {
    size_t n, capacity;
    tsri_opencl_need *items;
} need_list;

static tsr_status add(need_list *list, tsri_opencl_instance *instance, tsri_opencl_step *step,
                      unsigned plans) {
    for (size_t i = 0; i < list->n; i++)
        if (list->items[i].instance == instance) {
            list->items[i].plans |= plans;
            return TSR_OK;
        }
    TRY(tsri_base_grow(&list->items, &list->capacity, list->n + 1, sizeof *list->items));
    list->items[list->n++] = (tsri_opencl_need){instance, step, step->operation.bounds, plans};
    return TSR_OK;
}

/* Whether the instance is to be built as a kernel of its own. In a chain it is a function of the
 * chain's program, which is enough; except for one of a later plan, which is tested now. */
static bool stands_alone(const tsri_opencl_need *need, bool chained) {
    return need->instance->state == TSRI_OPENCL_NEW &&
           !(chained && tsri_opencl_variant_chains(need->instance->variant) &&
             (need->plans & TSRI_OPENCL_THIS_PLAN || !(need->plans & TSRI_OPENCL_LATER_PLAN)));
}

static tsr_status build(tsr_dev *dev, const need_list *list, bool chained) {
    tsri_opencl_instance **instances = NULL;
    size_t n = 0;
    TRY(tsri_base_new(list->n ? list->n : 1, sizeof *instances, &instances));
    for (size_t i = 0; i < list->n; i++)
        if (stands_alone(&list->items[i], chained))
            instances[n++] = list->items[i].instance;
    tsr_status status = n ? tsri_opencl_progress(dev->state, "building kernels", 0, n) : TSR_OK;
    if (status == TSR_OK)
        status = tsri_opencl_build(dev, instances, n);
    if (status == TSR_OK && n)
        status = tsri_opencl_progress(dev->state, "building kernels", n, n);
    free(instances);
    return status;
}

static bool passes_over(const tsri_opencl_instance *instance) {
    return instance->state == TSRI_OPENCL_REFUSED;
}

/* Says why each variant of an op can't be used: TSR_E_ARGUMENT where one was forced,
 * TSR_E_UNSUPPORTED where none fits, TSR_E_BUILD where none builds. */
static tsr_status fail_no_variant(tsr_dev *dev, const tsri_opencl_step *step, uint32_t index) {
    const tsr_op *op = &step->operation.op;
    const tsri_opencl_variant *variants[TSRI_OPENCL_MAX_VARIANTS];
    const size_t n = tsri_opencl_candidates(dev, op, variants);
    tsri_bytes list = {0};
    bool refused = false;
    for (size_t i = 0; i < n; i++) {
        const char *why = "";
        tsri_opencl_instance *instance = NULL;
        if (step->forced.variant && variants[i] != step->forced.variant)
            continue;
        if (tsri_opencl_fits(dev, variants[i], op, &step->forced, true, &why) &&
            tsri_opencl_instance_of(dev, variants[i], op, &step->forced, NULL, &instance) ==
                TSR_OK &&
            instance->why) {
            why = instance->why;
            refused = true;
        }
        (void)!tsri_base_bytes_printf(&list, "%s%s: %s", list.size ? "; " : "", variants[i]->name,
                                      why);
    }
    const tsr_status code = step->forced.variant ? TSR_E_ARGUMENT
                            : refused            ? TSR_E_BUILD
                                                 : TSR_E_UNSUPPORTED;
    const tsr_status status =
        tsri_base_fail(code, "op %u, %s: %s (%s)", index, tsri_opencl_op_name((tsr_op_id)op->id),
                       step->forced.variant ? "the forced kernel variant can't be used"
                                            : "no kernel variant serves it",
                       list.size ? list.data : "it has no variants");
    tsri_base_bytes_clear(&list);
    return status;
}

/* The best variant of a step that is not refused yet; the instance is NULL where there is none. */
static tsr_status pick_placed(tsr_dev *dev, tsri_opencl_step *step) {
    const tsr_op *op = &step->operation.op;
    const tsri_opencl_variant *variants[TSRI_OPENCL_MAX_VARIANTS];
    const size_t n = tsri_opencl_candidates(dev, op, variants);
    const char *why;
    for (size_t i = 0; i < n; i++) {
        if ((step->forced.variant && variants[i] != step->forced.variant) ||
            !tsri_opencl_fits(dev, variants[i], op, &step->forced, true, &why))
            continue;
        TRY(tsri_opencl_instance_of(dev, variants[i], op, &step->forced, NULL, &step->instance));
        if (!passes_over(step->instance))
            return TSR_OK;
    }
    step->instance = NULL;
    return TSR_OK;
}

/* The same; where no variant reads the weight in its layout, the weight is unpacked to plain
 * rows. */
static tsr_status pick(tsr_dev *dev, tsri_opencl_step *step, uint32_t index) {
    bool moved = false;
    TRY(pick_placed(dev, step));
    if (!step->instance && !step->forced.variant)
        TRY(tsri_opencl_fall_back(dev, step, &moved));
    if (moved)
        TRY(pick_placed(dev, step));
    return step->instance ? TSR_OK : fail_no_variant(dev, step, index);
}

/* Whether sequences of the plan get a next token. */
static bool decodes(const tsr_plan *plan) {
    TSRI_OPERANDS(attention);
    for (uint32_t i = 0; i < plan->n_ops; i++) {
        const tsr_op *op = &plan->steps[i].operation.op;
        if (op->id == TSR_OP_ATTENTION && op->n_in > PAST && op->in[PAST])
            return true;
    }
    return false;
}

/* Adds what the same op would run for the next token, so that prefill and decode share one build, or
 * their chains are built side by side; for a bundle, what it would run in any bucket of M. (Not for
 * `tessera verify`, which opens devices without self-test: it makes no further plans.) */
static tsr_status add_relatives(tsr_dev *dev, tsri_opencl_step *step, need_list *list) {
    tsri_opencl_operation *operation = &step->operation;
    const tsr_bounds own = operation->bounds;
    tsr_bounds buckets[TSRI_OPENCL_BUCKETS];
    tsri_opencl_instance *instance;
    tsr_status status = TSR_OK;
    const int next = tsri_opencl_next_bucket(&own);
    tsri_opencl_buckets(&own, buckets);
    for (int i = 0; i < TSRI_OPENCL_BUCKETS && status == TSR_OK; i++) {
        if (i != next && !dev->record)
            continue;
        operation->bounds = buckets[i];
        const tsri_opencl_variant *variant = tsri_opencl_best(dev, &operation->op, &step->forced);
        if (!variant)
            continue;
        status =
            tsri_opencl_instance_of(dev, variant, &operation->op, &step->forced, NULL, &instance);
        if (status == TSR_OK && !passes_over(instance))
            status = add(list, instance, step, TSRI_OPENCL_NEXT_PLAN);
    }
    operation->bounds = own;
    return status;
}

/* Whether a program is to be built for the plan. */
static bool builds(const tsr_plan *plan, const need_list *list) {
    const bool joins = tsri_opencl_joins(plan);
    for (size_t i = 0; i < list->n; i++)
        if (stands_alone(&list->items[i], joins))
            return true;
    return joins && !tsri_opencl_chain_for(plan);
}

/* Records how many arguments each kernel has, by binding it without a kernel object. */
static tsr_status record(tsr_dev *dev, const tsr_plan *plan, const need_list *list) {
    tsr_status status = TSR_OK;
    for (size_t i = 0; i < list->n && status == TSR_OK; i++) {
        const tsri_opencl_need *item = &list->items[i];
        tsri_opencl_operation *operation = &item->step->operation;
        tsri_opencl_launch launch;
        const tsr_bounds own = operation->bounds;
        operation->bounds = item->bounds;
        status =
            tsri_opencl_launch_create(dev, item->instance, &operation->op, plan->dims, &launch);
        operation->bounds = own;
        item->instance->n_args = launch.n_args;
        if (launch.before)
            item->instance->before->n_args = launch.before->n_args;
        tsri_opencl_launch_release(&launch);
    }
    return status;
}

/* Chooses the chain program that serves the plan. */
static tsr_status choose_chain(tsr_plan *plan, const need_list *list) {
    TRY(tsri_opencl_progress(plan->dev->state, "building kernels", 0, list->n));
    TRY(tsri_opencl_chain_choose(plan, list->items, list->n));
    return tsri_opencl_progress(plan->dev->state, "building kernels", list->n, list->n);
}

/* Picks an instance for every step, and lists them. */
static tsr_status pick_all(tsr_dev *dev, tsr_plan *plan, need_list *list) {
    list->n = 0;
    for (uint32_t i = 0; i < plan->n_ops; i++) {
        TRY(pick(dev, &plan->steps[i], i));
        TRY(add(list, plan->steps[i].instance, &plan->steps[i], TSRI_OPENCL_THIS_PLAN));
    }
    return TSR_OK;
}

/* Lists the forms that must be right before the plan may use one of them. */
static tsr_status add_forms(tsr_dev *dev, tsr_plan *plan, need_list *list,
                            tsri_opencl_forms *forms) {
    if (dev->record || dev->no_self_test)
        return TSR_OK;
    TRY(tsri_opencl_forms_of(dev, plan, forms));
    for (size_t i = 0; i < forms->n; i++)
        TRY(add(list, forms->steps[i]->instance, forms->steps[i], TSRI_OPENCL_LATER_PLAN));
    return TSR_OK;
}

tsr_status tsri_opencl_choose_ahead(tsr_dev *dev, tsr_plan *plan) {
    need_list list = {0};
    if (!tsri_opencl_joins(plan))
        return TSR_OK;
    tsr_status status = pick_all(dev, plan, &list);
    if (status == TSR_OK)
        status = tsri_opencl_chain_begin(plan, list.items, list.n);
    free(list.items);
    return status;
}

tsr_status tsri_opencl_choose(tsr_dev *dev, tsr_plan *plan) {
    need_list list = {0};
    tsri_opencl_forms forms = {0};
    tsr_status status = TSR_OK;
    for (bool first = true, again = true; again && status == TSR_OK; first = false) {
        status = pick_all(dev, plan, &list);
        /* Naming the relatives takes longer than everything else, so it is done only where
         * something is to be built. */
        const bool more = status == TSR_OK && first && !dev->no_self_test &&
                          (dev->record || decodes(plan)) && builds(plan, &list);
        for (uint32_t i = 0; i < plan->n_ops && more && status == TSR_OK; i++)
            status = add_relatives(dev, &plan->steps[i], &list);
        if (status == TSR_OK)
            status = add_forms(dev, plan, &list, &forms);
        plan->chain = NULL;
        if (status == TSR_OK && tsri_opencl_joins(plan))
            status = choose_chain(plan, &list);
        if (status == TSR_OK)
            status = build(dev, &list, plan->chain);
        if (status == TSR_OK && dev->record)
            status = record(dev, plan, &list);
        for (uint32_t i = again = 0; i < plan->n_ops && status == TSR_OK; i++)
            again |= passes_over(plan->steps[i].instance);
        for (size_t i = 0; i < forms.n && status == TSR_OK; i++)
            again |= passes_over(forms.steps[i]->instance);
        if (status == TSR_OK && !again && !dev->record && !dev->no_self_test)
            status = tsri_opencl_self_test(plan, &again);
        if (status == TSR_OK && !again)
            status = tsri_opencl_forms_test(plan, &forms, &again);
    }
    tsri_opencl_forms_clear(&forms);
    free(list.items);
    return status;
}
