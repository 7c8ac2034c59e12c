/* backends/reference/reference.h - what the ops of the reference backend share: operands with their
 * sizes filled in, and elements read as doubles whatever their dtype.
 *
 * exact   Every sum is kept in double and rounded once, when it is stored. In a fused op, what the
 *         ops apart would store is rounded, too: a linear's normed rows, and its product before a
 *         residual is added. All kernel variants are compared with this. */
#ifndef TSRI_REFERENCE_REFERENCE_H
#define TSRI_REFERENCE_REFERENCE_H

#include "tessera/backend.h"

#include <stdbool.h>

struct tsr_buf {
    char *data;
    uint64_t bytes;
};

/* An operand of a run. Strides count elements; data points to the first element. */
typedef struct tsri_reference_view {
    char *data; /* NULL: a missing operand */
    uint32_t dtype, rank;
    int64_t dim[TSR_MAX_RANK], stride[TSR_MAX_RANK];
} tsri_reference_view;

/* What an op is run with. */
typedef struct tsri_reference_call {
    const tsr_op *op;
    const int64_t *sizes; /* B T S U N */
    double *scratch;      /* tsri_reference_scratch doubles, at the plan's largest sizes */
} tsri_reference_call;

typedef struct tsri_reference_row {
    tsr_op_id id;
    const char *name; /* "linear": the variant is reference/linear */
    tsr_status (*run)(const tsri_reference_call *call);
} tsri_reference_row;

/* ops.c: the table's entry; NULL for an op that the backend does not have. */
const tsri_reference_row *tsri_reference_find(uint32_t id);
/* The doubles that an op needs in scratch. */
int64_t tsri_reference_scratch(const tsr_op *op, const int64_t *sizes);

/* Repeats sizes of 1: their strides become 0. */
void tsri_reference_repeat(tsri_reference_view *view);
/* Missing operands give a view whose data is NULL. */
tsri_reference_view tsri_reference_in(const tsri_reference_call *call, uint32_t i);
tsri_reference_view tsri_reference_out(const tsri_reference_call *call, uint32_t i);

int64_t tsri_reference_count(const tsri_reference_view *view); /* elements */
int64_t
tsri_reference_rows(const tsri_reference_view *view); /* product of all but the last dimension */
int64_t
tsri_reference_columns(const tsri_reference_view *view);      /* the last dimension; 1 for rank 0 */
int64_t tsri_reference_step(const tsri_reference_view *view); /* stride of the last dimension */
/* The place of row r, or of element i in row-major order, in elements from data. */
int64_t tsri_reference_row_at(const tsri_reference_view *view, int64_t r);
int64_t tsri_reference_element_at(const tsri_reference_view *view, int64_t i);

double tsri_reference_load(const tsri_reference_view *view, int64_t at);
int64_t tsri_reference_load_int(const tsri_reference_view *view, int64_t at);
/* Rounds to f32 first, then to the view's dtype. */
void tsri_reference_store(const tsri_reference_view *view, int64_t at, double value);
void tsri_reference_store_int(const tsri_reference_view *view, int64_t at, int64_t value);

/* Stores n elements of `from` as adjacent ones of `to`: keys or values. Where `to` has blocks, n and
 * to_at are whole ones of them. */
void tsri_reference_keep(const tsri_reference_view *from, int64_t from_at,
                         const tsri_reference_view *to, int64_t to_at, int64_t n);

/* sum_i a[a_at + i a_step] b[b_at + i b_step], i upwards */
double tsri_reference_dot(const tsri_reference_view *a, int64_t a_at, int64_t a_step,
                          const tsri_reference_view *b, int64_t b_at, int64_t b_step, int64_t n);

double tsri_reference_activate(uint32_t activation, double x);
double tsri_reference_slope(uint32_t activation, double x); /* its derivative */
/* What glu makes of a gate and an up. */
double tsri_reference_gated(const tsr_activation_attrs *form, double gate, double up);

/* The keys that query t of sequence b sees: first <= s < end. `past` and `len` may be missing. */
void tsri_reference_visible(const tsri_reference_view *past, const tsri_reference_view *len,
                            bool causal, int64_t window, int64_t b, int64_t t, int64_t keys,
                            int64_t *first, int64_t *end);

/* The slot or page of `rows` rows that has position s of sequence b: b itself where neither is given. */
int64_t tsri_reference_home(const tsri_reference_view *slot, const tsri_reference_view *pages,
                            int64_t rows, int64_t b, int64_t s);

/* The term that the distance from query t of sequence b to key s adds to a score of head h:
 * relative[h, clamp(s - (past[b] + t), -R, R) + R]; 0 where `relative` is missing. */
double tsri_reference_relative(const tsri_reference_view *relative, const tsri_reference_view *past,
                               int64_t b, int64_t t, int64_t h, int64_t s);

/* softmax.c: exp(score - top), where top is the largest score; 0 for a masked score, which is minus
 * infinity. NaN for a score that is NaN, or as infinite as top: an overflow is to be seen. */
double tsri_reference_exp(double score, double top);

/* rope.c: rotates one head, from x at x_at to y at y_at, which may be the same memory. */
void tsri_reference_rotate(const tsr_rope_attrs *attrs, const tsri_reference_view *inv_freq,
                           int64_t position, const tsri_reference_view *x, int64_t x_at,
                           const tsri_reference_view *y, int64_t y_at);

/* Copies the op's attributes into *out, which is `size` bytes (zeros where the op gives none). */
void tsri_reference_attrs(const tsr_op *op, void *out, size_t size);

/* Refuses an index outside 0 .. n-1, with a message. */
tsr_status tsri_reference_check_index(const tsr_op *op, const char *what, int64_t index, int64_t n);

#define X(id, name, attributes) tsr_status tsri_reference_##name(const tsri_reference_call *call);
TSR_OP_LIST(X)
#undef X
int64_t tsri_reference_linear_scratch(const tsr_op *op, const int64_t *sizes);
int64_t tsri_reference_expert_linear_scratch(const tsr_op *op, const int64_t *sizes);
int64_t tsri_reference_attention_scratch(const tsr_op *op, const int64_t *sizes);
int64_t tsri_reference_qkv_append_scratch(const tsr_op *op, const int64_t *sizes);
int64_t tsri_reference_gru_cell_scratch(const tsr_op *op, const int64_t *sizes);
int64_t tsri_reference_additive_attention_scratch(const tsr_op *op, const int64_t *sizes);
int64_t tsri_reference_attention_grad_scratch(const tsr_op *op, const int64_t *sizes);
int64_t tsri_reference_gru_cell_grad_scratch(const tsr_op *op, const int64_t *sizes);
int64_t tsri_reference_additive_attention_grad_scratch(const tsr_op *op, const int64_t *sizes);

#endif
