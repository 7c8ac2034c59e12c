/* backends/reference/products/matmul.c - matmul and matmul_add. */
#include "backends/reference/reference.h"

/* The place of matrix number i of y's leading dimensions in an operand whose own leading dimensions
 * may be 1 or missing. */
static int64_t matrix_at(const tsri_reference_view *x, const tsri_reference_view *y, int64_t i) {
    int64_t at = 0;
    for (uint32_t k = y->rank - 2; k-- > 0; i /= y->dim[k]) {
        const int64_t j = (int64_t)x->rank - (int64_t)(y->rank - k);
        if (j >= 0 && x->dim[j] != 1)
            at += i % y->dim[k] * x->stride[j];
    }
    return at;
}

/* y = beta y + alpha a b for every matrix; where beta is 0, y is not read. */
static void multiply(const tsri_reference_call *call, const tsri_reference_view *a,
                     const tsri_reference_view *b, const tsri_reference_view *y, double beta) {
    tsr_matmul_attrs attrs;
    tsri_reference_attrs(call->op, &attrs, sizeof attrs);
    const int64_t M = y->dim[y->rank - 2], N = y->dim[y->rank - 1];
    const uint32_t a_k = a->rank - (attrs.trans_a ? 2 : 1), a_m = a->rank - (attrs.trans_a ? 1 : 2);
    const uint32_t b_k = b->rank - (attrs.trans_b ? 1 : 2), b_n = b->rank - (attrs.trans_b ? 2 : 1);
    const double alpha = attrs.alpha == 0 ? 1 : attrs.alpha;
    int64_t matrices = 1;
    for (uint32_t i = 0; i + 2 < y->rank; i++)
        matrices *= y->dim[i];
    for (int64_t i = 0; i < matrices; i++) {
        const int64_t a0 = matrix_at(a, y, i), b0 = matrix_at(b, y, i), y0 = matrix_at(y, y, i);
        for (int64_t m = 0; m < M; m++)
            for (int64_t n = 0; n < N; n++) {
                const int64_t at = y0 + m * y->stride[y->rank - 2] + n * y->stride[y->rank - 1];
                const double sum =
                    tsri_reference_dot(a, a0 + m * a->stride[a_m], a->stride[a_k], b,
                                       b0 + n * b->stride[b_n], b->stride[b_k], a->dim[a_k]);
                const double before = beta == 0 ? 0 : beta * tsri_reference_load(y, at);
                tsri_reference_store(y, at, before + alpha * sum);
            }
    }
}

tsr_status tsri_reference_matmul(const tsri_reference_call *call) {
    const tsri_reference_view a = tsri_reference_in(call, 0), b = tsri_reference_in(call, 1),
                              y = tsri_reference_out(call, 0);
    multiply(call, &a, &b, &y, 0);
    return TSR_OK;
}

tsr_status tsri_reference_matmul_add(const tsri_reference_call *call) {
    const tsri_reference_view state = tsri_reference_in(call, 0), a = tsri_reference_in(call, 1),
                              b = tsri_reference_in(call, 2), beta = tsri_reference_in(call, 3);
    multiply(call, &a, &b, &state, beta.data ? tsri_reference_load(&beta, 0) : 1);
    return TSR_OK;
}
