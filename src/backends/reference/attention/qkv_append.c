/* backends/reference/attention/qkv_append.c - qkv_append: rope of queries and keys and both
 * kv_append, one token after another.
 *
 * source  Su et al. 2021, arXiv:2104.09864 */
#include "backends/reference/reference.h"

typedef struct append {
    const tsri_reference_call *call;
    tsri_reference_view keys, values, k, v, past, len, slot, q, positions, inv_freq, pages, y;
    tsr_rope_attrs attrs;
    float *row; /* a rotated key */
} append;

int64_t tsri_reference_qkv_append_scratch(const tsr_op *op, const int64_t *sizes) {
    (void)sizes;
    return op->in[2]->dim[3].factor;
}

/* Writes head h of x at a token, rotated where the op rotates, into `to` at to_at. */
static void place(const append *a, const tsri_reference_view *x, int64_t b, int64_t t, int64_t h,
                  const tsri_reference_view *to, int64_t to_at, bool rotates) {
    const int64_t x_at = b * x->stride[0] + t * x->stride[1] + h * x->stride[2];
    if (rotates) {
        const int64_t position = tsri_reference_load_int(
            &a->positions, b * a->positions.stride[0] + t * a->positions.stride[1]);
        const tsri_reference_view row = {
            .data = (char *)a->row, .dtype = TSR_F32, .rank = 1, .dim = {x->dim[3]}, .stride = {1}};
        tsri_reference_rotate(&a->attrs, &a->inv_freq, position, x, x_at, &row, 0);
        tsri_reference_keep(&row, 0, to, to_at, x->dim[3]);
        return;
    }
    tsri_reference_keep(x, x_at, to, to_at, x->dim[3]);
}

static tsr_status one_token(const append *a, int64_t b, int64_t t) {
    const bool rotates = a->q.data != NULL;
    for (int64_t h = 0; rotates && h < a->q.dim[2]; h++)
        place(a, &a->q, b, t, h, &a->y,
              b * a->y.stride[0] + t * a->y.stride[1] + h * a->y.stride[2], true);
    const int64_t s = tsri_reference_load_int(&a->past, b * a->past.stride[0]) + t;
    const int64_t length = tsri_reference_load_int(&a->len, b * a->len.stride[0]);
    const int64_t rows = a->keys.dim[2], capacity = a->pages.data ? rows * a->pages.dim[1] : rows;
    if (s >= length || s >= capacity)
        return TSR_OK;
    if (s < 0)
        return tsri_reference_check_index(a->call->op, "position", s, capacity);
    const int64_t j = tsri_reference_home(&a->slot, &a->pages, rows, b, s), row = s % rows;
    if (j < 0 || j >= a->keys.dim[0])
        return tsri_reference_check_index(a->call->op, "slot", j, a->keys.dim[0]);
    for (int64_t g = 0; g < a->k.dim[2]; g++) {
        place(a, &a->k, b, t, g, &a->keys,
              j * a->keys.stride[0] + g * a->keys.stride[1] + row * a->keys.stride[2], rotates);
        place(a, &a->v, b, t, g, &a->values,
              j * a->values.stride[0] + g * a->values.stride[1] + row * a->values.stride[2], false);
    }
    return TSR_OK;
}

tsr_status tsri_reference_qkv_append(const tsri_reference_call *call) {
    append a = {.call = call,
                .keys = tsri_reference_in(call, 0),
                .values = tsri_reference_in(call, 1),
                .k = tsri_reference_in(call, 2),
                .v = tsri_reference_in(call, 3),
                .past = tsri_reference_in(call, 4),
                .len = tsri_reference_in(call, 5),
                .slot = tsri_reference_in(call, 6),
                .q = tsri_reference_in(call, 7),
                .positions = tsri_reference_in(call, 8),
                .inv_freq = tsri_reference_in(call, 9),
                .pages = tsri_reference_in(call, 10),
                .y = tsri_reference_out(call, 0),
                .row = (float *)call->scratch};
    tsri_reference_attrs(call->op, &a.attrs, sizeof a.attrs);
    tsr_status status = TSR_OK;
    for (int64_t b = 0; b < a.k.dim[0]; b++)
        for (int64_t t = 0; t < a.k.dim[1] && status == TSR_OK; t++)
            status = one_token(&a, b, t);
    return status;
}
