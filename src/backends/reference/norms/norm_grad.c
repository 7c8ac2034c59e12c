/* backends/reference/norms/norm_grad.c - the gradients of layer_norm, rms_norm and add_norm. */
#include "backends/reference/reference.h"

#include <math.h>

/* A row of each operand. */
typedef struct row {
    const tsri_reference_view *x, *weight, *dy, *addend;
    int64_t x_at, dy_at, addend_at, C;
    double mean, scale; /* scale: 1 / deviation */
} row;

static double centred(const row *r, int64_t c) {
    return tsri_reference_load(r->x, r->x_at + c * tsri_reference_step(r->x)) - r->mean;
}

/* The incoming gradient times the weight. */
static double incoming(const row *r, int64_t c) {
    return tsri_reference_load(r->dy, r->dy_at + c * tsri_reference_step(r->dy)) *
           tsri_reference_load(r->weight, c * r->weight->stride[0]);
}

static void measure(row *r, const tsr_norm_attrs *attrs) {
    double sum = 0, squares = 0;
    r->mean = 0;
    for (int64_t c = 0; attrs->norm == TSR_NORM_LAYER && c < r->C; c++)
        sum += centred(r, c);
    r->mean = sum / (double)r->C;
    for (int64_t c = 0; c < r->C; c++)
        squares += centred(r, c) * centred(r, c);
    r->scale = 1 / sqrt(squares / (double)r->C + attrs->eps);
}

/* dx may be the same memory as an operand: each element is written after all reads of it. */
static void write_row(const row *r, bool layer, const tsri_reference_view *dx, int64_t at) {
    double mean = 0, along = 0; /* means of g and of g times the normed x */
    for (int64_t c = 0; c < r->C; c++) {
        mean += layer ? incoming(r, c) / (double)r->C : 0;
        along += incoming(r, c) * centred(r, c) * r->scale / (double)r->C;
    }
    for (int64_t c = 0; c < r->C; c++) {
        double value = r->scale * (incoming(r, c) - mean - centred(r, c) * r->scale * along);
        if (r->addend->data)
            value +=
                tsri_reference_load(r->addend, r->addend_at + c * tsri_reference_step(r->addend));
        tsri_reference_store(dx, at + c * tsri_reference_step(dx), value);
    }
}

tsr_status tsri_reference_norm_grad(const tsri_reference_call *call) {
    tsr_norm_attrs attrs;
    tsri_reference_attrs(call->op, &attrs, sizeof attrs);
    const tsri_reference_view x = tsri_reference_in(call, 0), weight = tsri_reference_in(call, 1),
                              dy = tsri_reference_in(call, 2), addend = tsri_reference_in(call, 3),
                              dx = tsri_reference_out(call, 0), stats = tsri_reference_out(call, 1);
    for (int64_t i = 0, R = tsri_reference_rows(&x); i < R; i++) {
        row r = {.x = &x,
                 .weight = &weight,
                 .dy = &dy,
                 .addend = &addend,
                 .x_at = tsri_reference_row_at(&x, i),
                 .dy_at = tsri_reference_row_at(&dy, i),
                 .addend_at = addend.data ? tsri_reference_row_at(&addend, i) : 0,
                 .C = tsri_reference_columns(&x)};
        measure(&r, &attrs);
        write_row(&r, attrs.norm == TSR_NORM_LAYER, &dx, tsri_reference_row_at(&dx, i));
        if (stats.data) {
            const int64_t at = tsri_reference_row_at(&stats, i);
            tsri_reference_store(&stats, at, r.mean);
            tsri_reference_store(&stats, at + tsri_reference_step(&stats), r.scale);
        }
    }
    return TSR_OK;
}
