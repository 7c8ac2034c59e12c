/* tune/trial.c - makes up operands for an op, runs it and times it. */
#include "tune/trial.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/system/system.h"
#include "graph/ops.h"
#include "run/timing.h"
#include "tensor/convert.h"
#include "tensor/sample.h"
#include "tensor/shape.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SMALL = 7 };

/* --- operands --- */

static tsr_status fill_input(const tsri_tune_case *c, const tsr_op *op, uint32_t i,
                             const int64_t sizes[TSR_SYMBOLS]) {
    const tsr_tensor *tensor = op->in[i];
    const size_t n = (size_t)tsri_tensor_value(tsri_tensor_count(tensor), sizes);
    return tsri_tensor_sample(op, sizes, i, true, 0, n, (tsr_dtype)tensor->dtype, c->in[i]);
}

static tsr_status make_input(tsri_tune_case *c, const tsr_op *op, uint32_t i) {
    c->in_bytes[i] = (size_t)tsri_tensor_extent(op->in[i], c->sizes);
    TRY(tsri_base_new_aligned(c->in_bytes[i] + 1, &c->in[i]));
    return fill_input(c, op, i, c->sizes);
}

/* --- the case --- */

const tsr_op *tsri_tune_case_op(const tsri_tune_case *c, tsri_graph_op_store *store) {
    tsri_graph_as_op(c->graph, tsri_graph_node_at(c->graph, 0), store);
    store->op.bounds = &c->bounds;
    return &store->op;
}

static tsr_status build_graph(const tsr_op *op, tsri_graph *graph) {
    static const char *const names[TSRI_GRAPH_MAX_OPERANDS] = {
        "in0", "in1", "in2", "in3", "in4", "in5", "in6", "in7", "in8", "in9", "in10"};
    tsri_value in[TSRI_GRAPH_MAX_OPERANDS], out[TSRI_GRAPH_MAX_OPERANDS];
    uint32_t want = 0;
    for (uint32_t i = 0; i < op->n_in; i++) {
        const tsr_tensor *tensor = op->in[i];
        const tsr_kind kind =
            tensor && tensor->kind == TSR_KIND_WEIGHT ? TSR_KIND_WEIGHT : TSR_KIND_INPUT;
        in[i] = tensor ? tsri_graph_leaf(graph, kind, i, names[i], (tsr_dtype)tensor->dtype,
                                         tensor->rank, tensor->dim)
                       : TSRI_GRAPH_NONE;
    }
    for (uint32_t i = 0; i < TSRI_GRAPH_MAX_OPERANDS; i++)
        out[i] = TSRI_GRAPH_NONE;
    for (uint32_t i = 0; i < op->n_out; i++)
        want |=
            op->out[i] && tsri_tensor_result_is(op->id, i, TSRI_TENSOR_ON_REQUEST) ? 1u << i : 0;
    tsri_graph_op(graph, (tsr_op_id)op->id, op->attrs, in, op->n_in, want, out);
    for (uint32_t i = 0; i < op->n_out; i++)
        if (out[i] != TSRI_GRAPH_NONE)
            tsri_graph_output(graph, i, names[i], out[i]);
    return tsri_graph_status(graph);
}

tsr_status tsri_tune_case_make(const tsr_op *op, double count, tsri_tune_case *out) {
    const tsri_graph_op_row *row = tsri_graph_op_find((tsr_op_id)op->id);
    tsri_graph_op_store store;
    *out = (tsri_tune_case){.bounds = *op->bounds};
    if (!row || tsri_tensor_op_writes(op->id) || op->n_in > TSRI_GRAPH_MAX_OPERANDS)
        return tsri_base_fail(TSR_E_UNSUPPORTED, "%s can't be tried alone", row ? row->name : "?");
    for (int i = 0; i < TSR_SYMBOLS; i++) {
        out->sizes[i] = out->bounds.highest[i];
        out->small[i] = out->sizes[i] < SMALL ? out->sizes[i] : SMALL;
        if (out->small[i] < out->bounds.lowest[i])
            out->small[i] = out->bounds.lowest[i];
    }
    tsr_status status = tsri_graph_create(&out->graph);
    if (status == TSR_OK)
        status = build_graph(op, out->graph);
    if (status == TSR_OK) {
        const tsr_op *own = tsri_tune_case_op(out, &store);
        out->work = count * (row->cost ? row->cost(own, out->sizes).flops : 1);
        for (uint32_t i = 0; i < own->n_in && status == TSR_OK; i++)
            if (own->in[i] && own->in[i]->kind == TSR_KIND_INPUT)
                status = make_input(out, own, i);
    }
    if (status != TSR_OK)
        tsri_tune_case_clear(out);
    return status;
}

void tsri_tune_case_clear(tsri_tune_case *c) {
    for (int i = 0; i < TSRI_GRAPH_MAX_OPERANDS; i++) {
        tsri_system_free_aligned(c->in[i]);
        c->in[i] = NULL;
    }
    if (c->graph)
        tsri_graph_destroy(&c->graph);
}

static bool same_operands(const tsr_tensor *const *a, const tsr_tensor *const *b, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        if (!a[i] != !b[i])
            return false;
        if (!a[i])
            continue;
        if (a[i]->dtype != b[i]->dtype || a[i]->rank != b[i]->rank || a[i]->kind != b[i]->kind)
            return false;
        for (uint32_t d = 0; d < a[i]->rank; d++)
            if (!tsri_tensor_same_dim(a[i]->dim[d], b[i]->dim[d]))
                return false;
    }
    return true;
}

bool tsri_tune_case_same(const tsri_tune_case *a, const tsri_tune_case *b) {
    tsri_graph_op_store x, y;
    const tsr_op *p = tsri_tune_case_op(a, &x), *q = tsri_tune_case_op(b, &y);
    const uint32_t attrs = tsri_graph_op_find((tsr_op_id)p->id)->attrs_size;
    return p->id == q->id && p->n_in == q->n_in && p->n_out == q->n_out &&
           !memcmp(a->sizes, b->sizes, sizeof a->sizes) &&
           (!attrs || !memcmp(p->attrs, q->attrs, attrs)) && same_operands(p->in, q->in, p->n_in) &&
           same_operands(p->out, q->out, p->n_out);
}

/* --- the trial --- */

static tsr_status give_rows(void *data, uint32_t id, int64_t first, int64_t count, tsr_dtype dtype,
                            void *out) {
    const tsri_tune_case *c = data;
    tsri_graph_op_store store;
    const tsr_op *op = tsri_tune_case_op(c, &store);
    const size_t columns = (size_t)tsri_tensor_value(tsri_tensor_columns(op->in[id]), c->sizes);
    return tsri_tensor_sample(op, c->sizes, id, true, (size_t)first * columns,
                              (size_t)count * columns, dtype, out);
}

static tsr_status make_outputs(tsri_tune_trial *trial) {
    const tsri_tune_case *c = trial->c;
    for (size_t i = 0; i < tsri_graph_output_count(c->graph); i++) {
        const tsri_graph_output_mark *mark = tsri_graph_output_at(c->graph, i);
        const tsr_tensor *tensor = &tsri_graph_value_at(c->graph, mark->value)->tensor;
        trial->dtype[i] = (tsr_dtype)tensor->dtype;
        TRY(tsri_base_new_aligned((size_t)tsri_tensor_extent(tensor, c->sizes) + 1,
                                  &trial->out[i]));
        trial->n_out = i + 1;
    }
    return TSR_OK;
}

tsr_status tsri_tune_trial_open(const tsri_tune_case *c, const tsri_run_options *options,
                                tsri_tune_trial *out) {
    const tsri_run_source source = {.data = (void *)c, .rows = give_rows};
    *out = (tsri_tune_trial){.c = c};
    tsri_run_options own = *options;
    own.kernels = out->kernels = tsri_base_copy_text(options->kernels, strlen(options->kernels));
    tsr_status status = out->kernels ? tsri_run_create(&own, &out->context) : TSR_E_HOST_MEMORY;
    if (status == TSR_OK)
        status = tsri_run_load(out->context, c->graph, &c->bounds, &source);
    if (status == TSR_OK)
        status = tsri_run_prepare(out->context, c->graph, &c->bounds, &out->plan);
    if (status == TSR_OK)
        status = make_outputs(out);
    if (status != TSR_OK)
        tsri_tune_trial_close(out);
    return status;
}

void tsri_tune_trial_close(tsri_tune_trial *trial) {
    for (size_t i = 0; i < trial->n_out; i++)
        tsri_system_free_aligned(trial->out[i]);
    tsri_run_destroy(&trial->context);
    free(trial->kernels);
    *trial = (tsri_tune_trial){0};
}

/* Whole numbers count what these sizes have: a length of other sizes would lead past the keys. */
static tsr_status bind_inputs(const tsri_tune_trial *trial, const int64_t sizes[TSR_SYMBOLS],
                              tsri_run_binding in[TSRI_GRAPH_MAX_OPERANDS], size_t *n) {
    tsri_graph_op_store store;
    const tsr_op *op = tsri_tune_case_op(trial->c, &store);
    *n = 0;
    for (uint32_t i = 0; i < op->n_in; i++) {
        if (!trial->c->in[i])
            continue;
        if (op->in[i]->dtype == TSR_I32)
            TRY(fill_input(trial->c, op, i, sizes));
        in[(*n)++] = (tsri_run_binding){.id = i,
                                        .data = trial->c->in[i],
                                        .bytes = (size_t)tsri_tensor_extent(op->in[i], sizes)};
    }
    return TSR_OK;
}

tsr_status tsri_tune_trial_results(tsri_tune_trial *trial, const int64_t sizes[TSR_SYMBOLS]) {
    tsri_run_binding in[TSRI_GRAPH_MAX_OPERANDS], out[TSRI_GRAPH_MAX_OPERANDS];
    const tsri_graph *graph = trial->c->graph;
    for (size_t i = 0; i < trial->n_out; i++) {
        const tsri_graph_output_mark *mark = tsri_graph_output_at(graph, i);
        trial->out_bytes[i] =
            (size_t)tsri_tensor_extent(&tsri_graph_value_at(graph, mark->value)->tensor, sizes);
        memset(trial->out[i], 0xff, trial->out_bytes[i]);
        out[i] =
            (tsri_run_binding){.id = mark->id, .data = trial->out[i], .bytes = trial->out_bytes[i]};
    }
    size_t n;
    TRY(bind_inputs(trial, sizes, in, &n));
    return tsri_run_execute(trial->plan, sizes, in, n, out, trial->n_out);
}

tsr_status tsri_tune_trial_time(tsri_tune_trial *trial, uint64_t *nanoseconds) {
    tsri_run_binding in[TSRI_GRAPH_MAX_OPERANDS];
    tsri_run_timed timed = {.context = trial->context,
                            .plan = trial->plan,
                            .sizes = trial->c->sizes,
                            .in = in,
                            .measured = trial->measured};
    TRY(bind_inputs(trial, trial->c->sizes, in, &timed.n_in));
    const tsr_status status = tsri_run_time(&timed, nanoseconds);
    trial->measured = timed.measured;
    return status;
}

bool tsri_tune_trial_same(const tsri_tune_trial *a, const tsri_tune_trial *b) {
    for (size_t i = 0; i < a->n_out; i++)
        if (a->out_bytes[i] != b->out_bytes[i] ||
            memcmp(a->out[i], b->out[i], a->out_bytes[i]) != 0)
            return false;
    return true;
}

/* Whether two results differ at most by another order of sums of some thousand terms and by the
 * rounding of the dtype. */
static bool near(tsr_dtype dtype, const void *x, const void *y, size_t n, double allowed) {
    double *a = NULL, *b = NULL, largest = 0;
    bool same = tsri_base_new(n + 1, sizeof *a, &a) == TSR_OK &&
                tsri_base_new(n + 1, sizeof *b, &b) == TSR_OK &&
                tsri_tensor_convert(TSR_F64, a, dtype, x, n) == TSR_OK &&
                tsri_tensor_convert(TSR_F64, b, dtype, y, n) == TSR_OK;
    for (size_t i = 0; same && i < n; i++)
        largest = fmax(largest, fabs(b[i]));
    for (size_t i = 0; same && i < n; i++)
        same = fabs(a[i] - b[i]) <= allowed * fmax(largest, 1);
    free(a);
    free(b);
    return same;
}

bool tsri_tune_trial_near(const tsri_tune_trial *a, const tsri_tune_trial *b) {
    for (size_t i = 0; i < a->n_out; i++) {
        const size_t size = (size_t)tsri_tensor_dtype_info(a->dtype[i])->bytes;
        if (a->out_bytes[i] != b->out_bytes[i])
            return false;
        if (a->dtype[i] == TSR_I32 || !size) {
            if (memcmp(a->out[i], b->out[i], a->out_bytes[i]) != 0)
                return false;
        } else if (!near(a->dtype[i], a->out[i], b->out[i], a->out_bytes[i] / size,
                         a->dtype[i] == TSR_F32 ? 1e-4 : 1e-2))
            return false;
    }
    return true;
}
