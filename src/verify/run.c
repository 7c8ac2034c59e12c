/* verify/run.c - a case on a device: its run, and the comparison with the oracle. */
#include "verify/verify.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/system/system.h"
#include "tensor/convert.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the run ---- */

typedef struct weights {
    const tsri_case *c;
    const tsri_case_values *values;
} weights;

static tsr_status give_rows(void *data, uint32_t id, int64_t first, int64_t count, tsr_dtype dtype,
                            void *out) {
    const weights *w = data;
    const tsri_case_operand *operand = &w->c->in[id];
    size_t columns = (size_t)tsri_tensor_value(operand->dim[operand->rank - 1], w->c->sizes);
    uint64_t before = 0;
    tsri_tensor_bytes(operand->dtype, (uint64_t)first * columns, &before);
    return tsri_tensor_convert(dtype, out, operand->dtype, (const char *)w->values->in[id] + before,
                               (size_t)count * columns);
}

static tsr_status make_outputs(const tsri_case *c, const tsri_graph *graph,
                               tsri_case_values *values) {
    values->n_out = (int)tsri_graph_output_count(graph);
    for (int i = 0; i < values->n_out; i++) {
        const tsri_graph_output_mark *mark = tsri_graph_output_at(graph, (size_t)i);
        const tsr_tensor *tensor = &tsri_graph_value_at(graph, mark->value)->tensor;
        values->out_dtype[i] = (tsr_dtype)tensor->dtype;
        values->out_count[i] = (size_t)tsri_tensor_value(tsri_tensor_count(tensor), c->sizes);
        values->out_bytes[i] =
            values->out_count[i] * (size_t)tsri_tensor_dtype_info((tsr_dtype)tensor->dtype)->bytes;
        tsri_system_free_aligned(values->out[i]);
        TRY(tsri_base_new_aligned(values->out_bytes[i] + 1, &values->out[i]));
        memset(values->out[i], 0xff, values->out_bytes[i]);
    }
    return TSR_OK;
}

size_t tsri_verify_bind(const tsri_case *c, const tsri_case_values *values,
                        tsri_run_binding in[TSRI_CASE_MAX_IN]) {
    size_t n = 0;
    for (uint32_t i = 0; i < c->n_in; i++)
        if (c->in[i].present && c->in[i].kind == TSR_KIND_INPUT)
            in[n++] =
                (tsri_run_binding){.id = i, .data = values->in[i], .bytes = values->in_bytes[i]};
    return n;
}

static tsr_status execute(const tsri_verify_opened *opened, tsri_case_values *values) {
    tsri_run_binding in[TSRI_CASE_MAX_IN], out[TSRI_CASE_MAX_OUT];
    const size_t n_in = tsri_verify_bind(opened->c, values, in);
    size_t n_out = 0;
    for (; n_out < (size_t)values->n_out; n_out++)
        out[n_out] = (tsri_run_binding){.id = tsri_graph_output_at(opened->graph, n_out)->id,
                                        .data = values->out[n_out],
                                        .bytes = values->out_bytes[n_out]};
    return tsri_run_execute(opened->plan, opened->c->sizes, in, n_in, out, n_out);
}

tsr_status tsri_verify_write_states(const tsri_verify_opened *opened,
                                    const tsri_case_values *values) {
    const tsri_case *c = opened->c;
    for (uint32_t i = 0; i < c->n_in; i++)
        if (c->in[i].present && c->in[i].kind == TSR_KIND_STATE)
            TRY(tsri_run_write_state(opened->context, i, values->in[i], values->in_bytes[i]));
    return TSR_OK;
}

tsr_status tsri_verify_open(const tsri_case *c, const tsri_case_attrs *attrs,
                            const tsri_verify_place *place, const tsri_case_values *values,
                            tsri_verify_opened *out) {
    weights given = {.c = c, .values = values};
    const tsri_run_source source = {.data = &given, .rows = give_rows};
    const tsri_run_options options = {
        .devices = &place->device, .n_devices = 1, .set = place->set, .kernels = place->kernels};
    tsr_bounds bounds;
    tsri_case_bounds(c, &bounds);
    *out = (tsri_verify_opened){.c = c};
    tsr_status status = tsri_case_graph(c, attrs, &out->graph);
    if (status == TSR_OK && place->decomposed)
        status = tsri_verify_decompose(c->op, &out->graph);
    if (status == TSR_OK)
        status = tsri_run_create(&options, &out->context);
    if (status == TSR_OK)
        status = tsri_run_load(out->context, out->graph, &bounds, &source);
    if (status == TSR_OK)
        status = tsri_run_prepare(out->context, out->graph, &bounds, &out->plan);
    if (status != TSR_OK)
        tsri_verify_close(out);
    return status;
}

void tsri_verify_close(tsri_verify_opened *opened) {
    tsri_run_destroy(&opened->context);
    tsri_graph_destroy(&opened->graph);
}

static tsr_status run_poisoned(const tsri_verify_opened *opened) {
    tsri_case_values poisoned;
    tsr_status status = tsri_case_values_fill(opened->c, false, &poisoned);
    if (status == TSR_OK)
        status = make_outputs(opened->c, opened->graph, &poisoned);
    if (status == TSR_OK) {
        tsri_case_values_poison(opened->c, &poisoned);
        status = execute(opened, &poisoned);
    }
    if (status == TSR_OK)
        status = tsri_run_poison(opened->plan);
    tsri_case_values_clear(&poisoned);
    return status;
}

tsr_status tsri_verify_answer(const tsri_verify_opened *opened, tsri_case_values *values) {
    TRY(tsri_verify_write_states(opened, values));
    TRY(make_outputs(opened->c, opened->graph, values));
    return execute(opened, values);
}

tsr_status tsri_verify_run(const tsri_case *c, const tsri_case_attrs *attrs,
                           const tsri_verify_place *place, tsri_case_values *values) {
    tsri_verify_opened opened;
    TRY(tsri_verify_open(c, attrs, place, values, &opened));
    tsr_status status = run_poisoned(&opened);
    if (status == TSR_OK)
        status = tsri_verify_answer(&opened, values);
    tsri_verify_close(&opened);
    return status;
}

/* ---- the comparison ---- */

static double value_at(const tsri_case_values *values, int output, size_t i) {
    if (values->out_dtype[output] == TSR_I32)
        return ((const int32_t *)values->out[output])[i];
    const size_t size = (size_t)tsri_tensor_dtype_info(values->out_dtype[output])->bytes;
    double value = 0;
    (void)tsri_tensor_convert(TSR_F64, &value, values->out_dtype[output],
                              (const char *)values->out[output] + i * size, 1);
    return value;
}

static bool same(double a, double b) {
    return a == b || (isnan(a) && isnan(b));
}

tsr_status tsri_verify_compare(const tsri_case *c, const tsri_case_values *want,
                               const tsri_case_values *terms, const tsri_case_values *got,
                               tsri_verify_worst *out) {
    double worst_ratio = -1;
    *out = (tsri_verify_worst){0};
    for (int o = 0; o < want->n_out; o++) {
        const tsri_case_bound *b = &c->bound[o];
        double largest = 0;
        size_t zeros = 0;
        for (size_t i = 0; i < want->out_count[o]; i++) {
            const double w = value_at(want, o, i);
            largest = isfinite(w) ? fmax(largest, fabs(w)) : largest;
            zeros += w == 0;
        }
        if (!c->sparse && want->out_count[o] > 2 && 2 * zeros > want->out_count[o])
            return tsri_base_fail(TSR_E_INTERNAL,
                                  "case %s: %zu of %zu expected values are 0, so it shows little",
                                  c->name, zeros, want->out_count[o]);
        for (size_t i = 0; i < want->out_count[o]; i++) {
            const double w = value_at(want, o, i), g = value_at(got, o, i);
            double bound = b->relative * fabs(w) + b->largest * largest + b->absolute;
            if (terms && b->terms > 0)
                bound += b->terms * value_at(terms, o, i);
            const double error = same(g, w)                   ? 0
                                 : isfinite(g) && isfinite(w) ? fabs(g - w)
                                                              : INFINITY;
            const double ratio = error == 0                     ? 0
                                 : bound > 0 && isfinite(error) ? error / bound
                                                                : INFINITY;
            out->misses += ratio > 1;
            if (ratio > worst_ratio) {
                worst_ratio = ratio;
                out->error = error, out->bound = bound, out->output = o, out->element = i,
                out->got = g, out->want = w;
            }
        }
    }
    return TSR_OK;
}
