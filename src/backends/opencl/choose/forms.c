/* backends/opencl/choose/forms.c - finds and tests the forms that ops take in a model's other plans. */
#include "backends/opencl/choose/forms.h"
#include "backends/opencl/choose/select.h"
#include "backends/opencl/choose/selftest.h"
#include "backends/opencl/program/program.h"
#include "base/error.h"
#include "base/memory.h"
#include "tensor/operands.h"

#include <stdlib.h>
#include <string.h>

enum { S = 2, TWO_CHUNKS = 300 }; /* keys of attention: cl/attention/order.clh */

static bool is_alike(const tsri_opencl_step *a, const tsri_opencl_step *b) {
    int64_t one[TSRI_OPENCL_AXES], other[TSRI_OPENCL_AXES];
    if (a->instance != b->instance)
        return false;
    tsri_opencl_trial_reach(&a->operation.op, one);
    tsri_opencl_trial_reach(&b->operation.op, other);
    return !memcmp(one, other, sizeof one);
}

static bool seen_before(const tsr_plan *plan, uint32_t step) {
    for (uint32_t i = 0; i < step; i++)
        if (is_alike(&plan->steps[i], &plan->steps[step]))
            return true;
    return false;
}

static void free_form(tsri_opencl_step *form) {
    if (form)
        tsri_opencl_operation_clear(&form->operation);
    free(form);
}

static tsr_status list_form(tsri_opencl_forms *forms, tsri_opencl_step *form, bool *listed) {
    for (size_t i = 0; i < forms->n; i++)
        if (is_alike(forms->steps[i], form))
            return TSR_OK;
    TRY(tsri_base_grow(&forms->steps, &forms->capacity, forms->n + 1, sizeof *forms->steps));
    forms->steps[forms->n++] = form;
    *listed = true;
    return TSR_OK;
}

/* A cache of keys is made anew where it gets too small. */
static void lengthen(tsri_opencl_operation *operation) {
    for (uint32_t i = 0; i < operation->op.n_in; i++) {
        const int at = tsri_tensor_axis(&operation->op, i, "S");
        tsr_dim *dim = at >= 0 ? &operation->in[i]->dim[at] : NULL;
        if (dim && !dim->symbols && dim->factor < TWO_CHUNKS)
            dim->factor = TWO_CHUNKS;
    }
    if (operation->bounds.highest[S] < TWO_CHUNKS)
        operation->bounds.highest[S] = TWO_CHUNKS;
}

/* Lists what the step's op takes at these bounds, if that is a form of the same group. */
static tsr_status add_form(tsr_dev *dev, const tsri_opencl_step *step, const tsr_bounds *bounds,
                           bool longer, tsri_opencl_forms *forms) {
    tsri_opencl_step *form = NULL;
    bool listed = false;
    TRY(tsri_base_new(1, sizeof *form, &form));
    tsr_status status = tsri_opencl_operation_copy(&step->operation.op, &form->operation);
    const tsr_op *op = &form->operation.op;
    if (status == TSR_OK) {
        form->forced = step->forced;
        form->operation.bounds = *bounds;
        if (longer)
            lengthen(&form->operation);
        const tsri_opencl_variant *variant = tsri_opencl_best(dev, op, &form->forced);
        if (variant && tsri_opencl_alike(variant, step->instance->variant))
            status =
                tsri_opencl_instance_of(dev, variant, op, &form->forced, NULL, &form->instance);
    }
    if (status == TSR_OK && form->instance)
        status = list_form(forms, form, &listed);
    if (!listed)
        free_form(form);
    return status;
}

tsr_status tsri_opencl_forms_of(tsr_dev *dev, const tsr_plan *plan, tsri_opencl_forms *forms) {
    tsri_opencl_forms_clear(forms);
    for (uint32_t i = 0; i < plan->n_ops; i++) {
        const tsri_opencl_step *step = &plan->steps[i];
        tsr_bounds buckets[TSRI_OPENCL_BUCKETS];
        if (!step->instance->variant->forms || step->instance->bundled || seen_before(plan, i))
            continue;
        tsri_opencl_buckets(&step->operation.bounds, buckets);
        for (int b = 0; b < TSRI_OPENCL_BUCKETS; b++) {
            TRY(add_form(dev, step, &buckets[b], false, forms));
            if (step->operation.op.id == TSR_OP_ATTENTION)
                TRY(add_form(dev, step, &buckets[b], true, forms));
        }
    }
    return TSR_OK;
}

void tsri_opencl_forms_clear(tsri_opencl_forms *forms) {
    for (size_t i = 0; i < forms->n; i++)
        free_form(forms->steps[i]);
    free(forms->steps);
    *forms = (tsri_opencl_forms){0};
}

tsr_status tsri_opencl_forms_test(tsr_plan *plan, const tsri_opencl_forms *forms, bool *again) {
    for (size_t i = 0; i < forms->n && !*again; i++) {
        tsr_plan one = {
            .dev = plan->dev, .n_ops = 1, .steps = forms->steps[i], .chain = plan->chain};
        TRY(tsri_opencl_self_test(&one, again));
        plan->chain = one.chain;
    }
    return TSR_OK;
}
