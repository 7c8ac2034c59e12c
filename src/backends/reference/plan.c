/* backends/reference/plan.c - plans of the reference backend: copies of the ops, run one after
 * another. */
#include "backends/reference/plan.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "tensor/convert.h"
#include "tensor/quantize.h"
#include "tensor/shape.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_OPERANDS = 16 };

typedef struct step {
    const tsri_reference_row *row;
    tsr_op op; /* points into the members below */
    tsr_tensor operands[MAX_OPERANDS];
    const tsr_tensor *in[MAX_OPERANDS], *out[MAX_OPERANDS];
    void *attrs;
    char *label;
    char name[48]; /* "reference/linear" */
    uint64_t launches, nanoseconds;
} step;

struct tsr_plan {
    size_t n;
    step *steps;
    double *scratch;
    tsr_bounds bounds;
    bool profile;
};

struct tsr_event {
    int unused;
};

tsr_event *tsri_reference_done(void) {
    static tsr_event done;
    return &done;
}

/* Why these operands can't be read; NULL where they can. */
static const char *refusal(const tsr_op *op) {
    for (uint32_t i = 0; i < op->n_in + op->n_out; i++) {
        const tsr_tensor *tensor = i < op->n_in ? op->in[i] : op->out[i - op->n_in];
        if (!tensor)
            continue;
        const tsri_tensor_dtype *dtype = tsri_tensor_dtype_info((tsr_dtype)tensor->dtype);
        if (!dtype || (dtype->block != 1 && !tsri_tensor_is_kept_blocks((tsr_dtype)tensor->dtype)))
            return "an operand has a block type that no weight is kept in";
        if (tensor->layout != 0)
            return "a weight is not stored as plain rows";
    }
    return NULL;
}

static void visit_row(const char *name, const char *why, bool chosen, tsr_variant_visitor visit,
                      void *data) {
    const tsr_variant variant = {.struct_size = sizeof variant,
                                 .fits = !why,
                                 .chosen = chosen,
                                 .score = 1,
                                 .name = name,
                                 .why = why ? why : "",
                                 .tunables = ""};
    visit(data, &variant);
}

tsr_status tsri_reference_op_variants(tsr_dev *dev, const tsr_op *op, tsr_variant_visitor visit,
                                      void *data) {
    (void)dev;
    const tsri_reference_row *row = tsri_reference_find(op->id);
    if (!row)
        return TSR_OK;
    char name[48];
    snprintf(name, sizeof name, "reference/%s", row->name);
    visit_row(name, refusal(op), false, visit, data);
    return TSR_OK;
}

/* "op=variant,op=variant": an entry for this op must name this variant ("reference",
 * "reference/linear" or "linear/reference"). */
static tsr_status check_forced(const char *kernels, const tsri_reference_row *row) {
    const size_t n = strlen(row->name);
    for (const char *at = kernels; at && *at;) {
        const size_t entry = strcspn(at, ",");
        if (entry > n && at[n] == '=' && strncmp(at, row->name, n) == 0) {
            char want[64], full[64], turned[64];
            snprintf(want, sizeof want, "%.*s", (int)(entry - n - 1), at + n + 1);
            snprintf(full, sizeof full, "reference/%s", row->name);
            snprintf(turned, sizeof turned, "%s/reference", row->name);
            if (strcmp(want, "reference") && strcmp(want, full) && strcmp(want, turned))
                return tsri_base_fail(
                    TSR_E_ARGUMENT,
                    "%s=%s: on the reference device %s has one kernel variant, reference",
                    row->name, want, row->name);
        }
        at += entry + (at[entry] == ',');
    }
    return TSR_OK;
}

static tsr_status check_operand(const step *s, const tsr_tensor *tensor, const tsr_bounds *bounds) {
    if (!tensor)
        return TSR_OK;
    const uint64_t extent = tsri_tensor_extent(tensor, bounds->highest);
    if (!tensor->buf || tensor->origin > tensor->buf->bytes ||
        extent > tensor->buf->bytes - tensor->origin)
        return tsri_base_fail(TSR_E_ARGUMENT, "%s: an operand of %llu bytes leaves its buffer",
                              s->op.label ? s->op.label : s->name, (unsigned long long)extent);
    return TSR_OK;
}

static tsr_status copy_step(const tsr_op *op, const tsr_plan_spec *spec, step *s) {
    s->row = tsri_reference_find(op->id);
    if (!s->row)
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "op number %u is not known to the reference backend", op->id);
    snprintf(s->name, sizeof s->name, "reference/%s", s->row->name);
    TRY(check_forced(spec->kernels, s->row));
    if (op->n_in + op->n_out > MAX_OPERANDS)
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "%s has %u operands; the reference backend takes at most %d",
                              s->row->name, op->n_in + op->n_out, MAX_OPERANDS);
    if (refusal(op))
        return tsri_base_fail(TSR_E_UNSUPPORTED, "%s: %s", s->name, refusal(op));
    s->op = *op;
    s->op.in = s->in;
    s->op.out = s->out;
    s->op.bounds = NULL;
    if (op->label && !(s->op.label = s->label = tsri_base_copy_text(op->label, strlen(op->label))))
        return TSR_E_HOST_MEMORY;
    for (uint32_t i = 0; i < op->n_in + op->n_out; i++) {
        const tsr_tensor *tensor = i < op->n_in ? op->in[i] : op->out[i - op->n_in];
        TRY(check_operand(s, tensor, spec->bounds));
        if (tensor)
            s->operands[i] = *tensor;
        *(i < op->n_in ? &s->in[i] : &s->out[i - op->n_in]) = tensor ? &s->operands[i] : NULL;
    }
    if (op->attrs) {
        uint32_t size;
        memcpy(&size, op->attrs, sizeof size);
        TRY(tsri_base_new(1, size, &s->attrs));
        memcpy(s->attrs, op->attrs, size);
        s->op.attrs = s->attrs;
    }
    return TSR_OK;
}

tsr_status tsri_reference_plan_create(tsr_dev *dev, const tsr_plan_spec *spec, tsr_plan **out) {
    tsr_plan *plan = NULL;
    TRY(tsri_base_new(1, sizeof *plan, &plan));
    tsr_status status = tsri_base_new(spec->n_ops, sizeof *plan->steps, &plan->steps);
    plan->bounds = *spec->bounds;
    plan->profile = dev->profile;
    int64_t scratch = 0;
    for (; status == TSR_OK && plan->n < spec->n_ops; plan->n++) {
        step *s = &plan->steps[plan->n];
        status = copy_step(spec->ops[plan->n], spec, s);
        if (status == TSR_OK) {
            const int64_t needed = tsri_reference_scratch(&s->op, spec->bounds->highest);
            scratch = needed > scratch ? needed : scratch;
        }
    }
    if (status == TSR_OK)
        status = tsri_base_new((size_t)scratch, sizeof *plan->scratch, &plan->scratch);
    if (status != TSR_OK) {
        tsri_reference_plan_destroy(plan);
        return status;
    }
    *out = plan;
    return TSR_OK;
}

void tsri_reference_plan_destroy(tsr_plan *plan) {
    if (!plan)
        return;
    for (size_t i = 0; i < plan->n; i++) {
        free(plan->steps[i].attrs);
        free(plan->steps[i].label);
    }
    free(plan->steps);
    free(plan->scratch);
    free(plan);
}

tsr_status tsri_reference_plan_run(tsr_plan *plan, const tsr_run *run, const tsr_waits *waits,
                                   tsr_event **done) {
    (void)waits; /* everything that was enqueued is done */
    for (int i = 0; i < TSR_SYMBOLS; i++)
        if (run->sizes[i] < 0 || run->sizes[i] > plan->bounds.highest[i])
            return tsri_base_fail(TSR_E_ARGUMENT, "a run has %c = %lld; the plan serves 0 to %lld",
                                  "BTSUN"[i], (long long)run -> sizes[i],
                                  (long long)plan -> bounds.highest[i]);
    for (size_t i = 0; i < plan->n; i++) {
        step *s = &plan->steps[i];
        const tsri_reference_call call = {
            .op = &s->op, .sizes = run->sizes, .scratch = plan->scratch};
        const uint64_t began = plan->profile ? tsri_base_now_ns() : 0;
        TRY(s->row->run(&call));
        if (plan->profile) {
            s->nanoseconds += tsri_base_now_ns() - began;
            s->launches++;
        }
    }
    if (done)
        *done = tsri_reference_done();
    return TSR_OK;
}

tsr_status tsri_reference_plan_explain(tsr_plan *plan, size_t op, tsr_variant_visitor visit,
                                       void *data) {
    if (op >= plan->n)
        return tsri_base_fail(TSR_E_ARGUMENT, "op %zu was asked for; the plan has %zu ops", op,
                              plan->n);
    visit_row(plan->steps[op].name, NULL, true, visit, data);
    return TSR_OK;
}

tsr_status tsri_reference_plan_profile(tsr_plan *plan, tsr_profile_visitor visit, void *data) {
    for (size_t i = 0; plan->profile && i < plan->n; i++) {
        const tsr_profile_entry entry = {.struct_size = sizeof entry,
                                         .op = (uint32_t)i,
                                         .kernel = plan->steps[i].name,
                                         .launches = plan->steps[i].launches,
                                         .nanoseconds = plan->steps[i].nanoseconds};
        visit(data, &entry);
    }
    return TSR_OK;
}
