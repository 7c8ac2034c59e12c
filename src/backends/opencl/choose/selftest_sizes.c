/* backends/opencl/choose/selftest_sizes.c - chooses the sizes of a kernel's trials. */
#include "backends/opencl/choose/selftest.h"
#include "base/error.h"
#include "tensor/quantize.h"
#include "tensor/shape.h"

/* The multiply-adds that a trial grows to, and the most that one may have; the most elements of an
 * operand. The reference takes about a nanosecond for a multiply-add. */
static const int64_t fair_work = INT64_C(1) << 21, most_work = INT64_C(1) << 27,
                     fair_elements = INT64_C(1) << 20, most_elements = INT64_C(1) << 24;
/* The largest sizes along axes that are constant. */
static const int64_t most_rows = 1 << 10, most_width = 1 << 19;

enum { SMALL_AXIS, FIRST_AXIS, SECOND_AXIS, THIRD_AXIS };
enum { B, T, S, U, N };

static const int64_t own = INT64_MAX; /* in place of a small size */

static int64_t class_of(int64_t n) {
    int64_t power = 1;
    while (power < n)
        power *= 2;
    return power;
}

static int64_t lesser(int64_t a, int64_t b) {
    return a < b ? a : b;
}

tsr_tensor *tsri_opencl_trial_tensor(const tsri_opencl_trial *t, uint32_t place) {
    const tsr_op *op = &t->operation.op;
    return place < op->n_in ? t->operation.in[place] : t->operation.out[place - op->n_in];
}

uint32_t tsri_opencl_trial_operands(const tsri_opencl_trial *t) {
    return t->operation.op.n_in + t->operation.op.n_out;
}

static int64_t count(const tsr_tensor *tensor, const int64_t sizes[TSR_SYMBOLS]) {
    return tensor ? tsri_tensor_value(tsri_tensor_count(tensor), sizes) : 0;
}

size_t tsri_opencl_trial_count(const tsri_opencl_trial *t, uint32_t place) {
    return (size_t)count(tsri_opencl_trial_tensor(t, place), t->sizes);
}

static int64_t largest(const tsr_op *op, const int64_t sizes[TSR_SYMBOLS]) {
    int64_t most = 0;
    for (uint32_t i = 0; i < op->n_in + op->n_out; i++) {
        const int64_t n = count(i < op->n_in ? op->in[i] : op->out[i - op->n_in], sizes);
        most = n > most ? n : most;
    }
    return most;
}

/* The size of a dimension, counted from the last one. */
static int64_t size_at(const tsr_tensor *tensor, uint32_t from_last, const int64_t *sizes) {
    return tsri_tensor_value(tensor->dim[tensor->rank - from_last], sizes);
}

/* Of matmul or matmul_add: the operand that is [M, N]; below, the one that is [M, K]. */
static const tsr_tensor *product_of(const tsr_op *op) {
    return op->id == TSR_OP_MATMUL ? op->out[0] : op->in[0];
}

static const tsr_tensor *left_of(const tsr_op *op) {
    return op->in[op->id == TSR_OP_MATMUL ? 0 : 1];
}

static int64_t depth_of(const tsr_op *op, const int64_t *sizes) {
    const tsr_matmul_attrs *attrs = op->attrs;
    return size_at(left_of(op), attrs->trans_a ? 2 : 1, sizes);
}

/* The multiply-adds of an op, or the number of them that takes the reference as long. */
static int64_t work_of(const tsr_op *op, const int64_t sizes[TSR_SYMBOLS]) {
    switch (op->id) {
    case TSR_OP_LINEAR:
    case TSR_OP_GLU_LINEAR:
        return tsri_tensor_value(tsri_tensor_rows(op->in[0]), sizes) * count(op->in[1], sizes);
    case TSR_OP_MATMUL:
    case TSR_OP_MATMUL_ADD:
        return count(product_of(op), sizes) * depth_of(op, sizes);
    case TSR_OP_ATTENTION:
        return count(op->in[0], sizes) * size_at(op->in[1], 3, sizes) * 2;
    case TSR_OP_ATTENTION_GRAD:
        return count(op->in[0], sizes) * size_at(op->in[1], 3, sizes) * 6;
    case TSR_OP_ADDITIVE_ATTENTION:
    case TSR_OP_ADDITIVE_ATTENTION_GRAD: /* tanh */
        return count(op->in[0], sizes) * size_at(op->in[1], 2, sizes) * 20;
    case TSR_OP_GRU_CELL:
    case TSR_OP_GRU_CELL_GRAD:
        return count(op->in[0], sizes) * size_at(op->in[2], 1, sizes);
    case TSR_OP_EMBED_ADD:
    case TSR_OP_SCATTER:
        return count(op->in[0], sizes) * (count(op->in[1], sizes) + 8);
    case TSR_OP_TOPK:
        return count(op->in[0], sizes) * (size_at(op->out[0], 1, sizes) + 4) * 4;
    default:
        return largest(op, sizes) * 8;
    }
}

/* --- axes --- */

void tsri_opencl_trial_reach(const tsr_op *op, int64_t most[TSRI_OPENCL_AXES]) {
    const int64_t *sizes = op->bounds->highest;
    const tsr_linear_attrs *linear = op->attrs; /* glu_linear's begin with the same fields */
    most[SMALL_AXIS] = 1;
    most[SECOND_AXIS] = most[THIRD_AXIS] = 0;
    switch (op->id) {
    case TSR_OP_LINEAR:
    case TSR_OP_GLU_LINEAR:
        most[FIRST_AXIS] =
            lesser(class_of(tsri_tensor_value(tsri_tensor_rows(op->in[0]), sizes)), most_rows);
        most[SECOND_AXIS] = size_at(op->in[1], linear->trans_w ? 1 : 2, sizes);
        most[THIRD_AXIS] = size_at(op->in[1], linear->trans_w ? 2 : 1, sizes);
        break;
    case TSR_OP_MATMUL:
    case TSR_OP_MATMUL_ADD:
        most[FIRST_AXIS] = class_of(size_at(product_of(op), 2, sizes));
        most[SECOND_AXIS] = class_of(size_at(product_of(op), 1, sizes));
        most[THIRD_AXIS] = class_of(depth_of(op, sizes));
        break;
    case TSR_OP_EMBED:
    case TSR_OP_EMBED_ADD:
    case TSR_OP_GATHER:
        most[FIRST_AXIS] = lesser(class_of(count(op->in[1], sizes)), most_rows);
        most[SECOND_AXIS] = size_at(op->in[0], 2, sizes);
        most[THIRD_AXIS] = size_at(op->in[0], 1, sizes);
        break;
    case TSR_OP_ATTENTION:
        most[FIRST_AXIS] = lesser(class_of(size_at(op->in[0], 3, sizes)), most_rows);
        most[SECOND_AXIS] = class_of(size_at(op->in[1], 3, sizes));
        most[THIRD_AXIS] = size_at(op->in[0], 2, sizes);
        break;
    default:
        most[FIRST_AXIS] = lesser(class_of(largest(op, sizes)), fair_elements);
    }
}

/* Replaces a constant size that is larger by `small`. */
static void shrink(tsr_tensor *tensor, uint32_t from_last, int64_t small) {
    if (!tensor || tensor->rank < from_last)
        return;
    tsr_dim *dim = &tensor->dim[tensor->rank - from_last];
    if (!dim->symbols && dim->factor > small)
        dim->factor = small;
}

static tsr_tensor *in(const tsri_opencl_trial *t, uint32_t i) {
    return i < t->operation.op.n_in ? t->operation.in[i] : NULL;
}

static tsr_tensor *out(const tsri_opencl_trial *t, uint32_t i) {
    return i < t->operation.op.n_out ? t->operation.out[i] : NULL;
}

/* Rounds a small size down to whole blocks, for dtypes that are stored in blocks. */
static int64_t whole(const tsr_tensor *tensor, int64_t n) {
    return n != own && tsri_tensor_is_kept_blocks((tsr_dtype)tensor->dtype) ? n / 32 * 32 : n;
}

static void shrink_linear(tsri_opencl_trial *t, int64_t depth, int64_t outputs) {
    const tsr_linear_attrs *attrs = t->operation.attrs;
    const int64_t parts = t->operation.op.id == TSR_OP_GLU_LINEAR ? 2 : 1;
    const int64_t stored = outputs == own ? parts * most_width : parts * outputs;
    outputs = lesser(outputs, most_width);
    depth = whole(in(t, 1), depth);
    shrink(in(t, 0), 1, depth);
    shrink(in(t, 1), attrs->trans_w ? 1 : 2, depth);
    shrink(in(t, 1), attrs->trans_w ? 2 : 1, stored);
    shrink(in(t, 2), 1, stored);
    shrink(in(t, 3), 1, outputs);
    shrink(out(t, 0), 1, outputs);
}

static void shrink_matmul(tsri_opencl_trial *t, int64_t rows, int64_t columns, int64_t depth) {
    const tsr_matmul_attrs *attrs = t->operation.attrs;
    const bool adds = t->operation.op.id == TSR_OP_MATMUL_ADD;
    tsr_tensor *a = in(t, adds), *b = in(t, adds + 1), *y = adds ? in(t, 0) : out(t, 0);
    shrink(a, attrs->trans_a ? 1 : 2, rows);
    shrink(a, attrs->trans_a ? 2 : 1, depth);
    shrink(b, attrs->trans_b ? 2 : 1, columns);
    shrink(b, attrs->trans_b ? 1 : 2, depth);
    shrink(y, 2, rows);
    shrink(y, 1, columns);
}

static void shrink_table(tsri_opencl_trial *t, int64_t rows, int64_t width) {
    const uint32_t id = t->operation.op.id;
    width = whole(in(t, 0), width);
    shrink(in(t, 0), 2, lesser(rows, most_width));
    shrink(in(t, 0), 1, width);
    shrink(id == TSR_OP_EMBED_ADD ? in(t, 2) : out(t, 0), 1, width);
}

/* Keeps one key head, with the query heads that share it. */
static void shrink_attention(tsri_opencl_trial *t, int64_t keys, int64_t heads) {
    const tsr_tensor *q = in(t, 0), *k = in(t, 1);
    const tsr_dim H = q->dim[q->rank - 2], G = k->dim[k->rank - 2];
    const int64_t shared = !H.symbols && !G.symbols && G.factor ? H.factor / G.factor : 1;
    const int64_t all = heads == own ? own : heads * shared, D = k->dim[k->rank - 1].factor;
    keys = lesser(keys, most_elements / 4 / (D ? D : 1));
    for (uint32_t i = 1; i <= 2; i++) {
        shrink(in(t, i), 4, 2);
        shrink(in(t, i), 3, keys);
        shrink(in(t, i), 2, heads);
    }
    shrink(in(t, 0), 2, all);
    shrink(in(t, 6), 1, keys);
    shrink(in(t, 7), 3, all);
    shrink(in(t, 7), 1, keys);
    shrink(in(t, 8), 2, all);
    shrink(out(t, 0), 2, all);
    shrink(out(t, 1), 2, all);
}

/* Ops over the elements of an array in order, as a weight's update, are tested with some of the
 * array's rows. */
static void shrink_elements(tsri_opencl_trial *t) {
    const tsr_tensor *first = in(t, 0);
    const tsr_dim rows = first->rank > 1 ? first->dim[0] : tsri_tensor_const(1);
    const int64_t sizes[TSR_SYMBOLS] = {1, 1, 1, 1, 1}, n = count(first, sizes);
    if (rows.symbols || n <= fair_elements)
        return;
    const int64_t few = rows.factor * fair_elements / n > 1 ? rows.factor * fair_elements / n : 1;
    const uint32_t rank = first->rank;
    for (uint32_t i = 0; i < tsri_opencl_trial_operands(t); i++) {
        tsr_tensor *tensor = tsri_opencl_trial_tensor(t, i);
        if (tensor && tensor->rank == rank && tsri_tensor_same_dim(tensor->dim[0], rows))
            shrink(tensor, rank, few);
    }
}

/* A state holds many sequences; the trial keeps three of them and 2048 positions. */
static void shrink_states(tsri_opencl_trial *t, uint32_t states) {
    for (uint32_t i = 0; i < states; i++) {
        shrink(in(t, i), 4, 3);
        shrink(in(t, i), 2, 2048);
    }
}

static void shrink_op(tsri_opencl_trial *t, int axis, int attempt) {
    static const int64_t depths[] = {130, 128, INT64_MAX}, widths[] = {70, 128, INT64_MAX},
                         rows[] = {67, 128, INT64_MAX}, thin[] = {32, 128, INT64_MAX},
                         heads[] = {3, 2, INT64_MAX}, one[] = {1, 2, INT64_MAX};
    const int64_t depth = axis == SMALL_AXIS ? depths[attempt] : thin[attempt];
    switch (t->operation.op.id) {
    case TSR_OP_LINEAR:
    case TSR_OP_GLU_LINEAR:
        shrink_linear(t, axis == SECOND_AXIS ? own : depth,
                      axis == THIRD_AXIS ? own : widths[attempt]);
        break;
    case TSR_OP_MATMUL:
    case TSR_OP_MATMUL_ADD:
        shrink_matmul(t, axis == FIRST_AXIS ? own : rows[attempt],
                      axis == SECOND_AXIS ? own : widths[attempt],
                      axis == THIRD_AXIS ? own : depth);
        break;
    case TSR_OP_EMBED:
    case TSR_OP_EMBED_ADD:
    case TSR_OP_GATHER:
        shrink_table(t, axis == SECOND_AXIS ? own : rows[attempt],
                     axis == THIRD_AXIS ? own : depth);
        break;
    case TSR_OP_ATTENTION:
        shrink_attention(t,
                         axis == SECOND_AXIS  ? own
                         : axis == FIRST_AXIS ? 2 * most_rows
                                              : rows[attempt],
                         axis == THIRD_AXIS   ? own
                         : axis == SMALL_AXIS ? heads[attempt]
                                              : one[attempt]);
        break;
    case TSR_OP_KV_APPEND:
        shrink_states(t, 1);
        break;
    case TSR_OP_QKV_APPEND:
        shrink_states(t, 2);
        break;
    default:
        if (attempt < TSRI_OPENCL_ATTEMPTS - 1)
            shrink_elements(t);
    }
}

/* --- sizes of a run --- */

static bool too_much(const tsri_opencl_trial *t, int64_t work, int64_t elements) {
    return largest(&t->operation.op, t->sizes) > elements ||
           work_of(&t->operation.op, t->sizes) > work;
}

/* Grows every size as far as it is wanted and the work stays within the limit. */
static void choose_sizes(tsri_opencl_trial *t, int axis) {
    static const int64_t tails[TSR_SYMBOLS] = {2, 7, 70, 7, 7}, few[TSR_SYMBOLS] = {2, 3, 70, 3, 3};
    static const int order[TSR_SYMBOLS] = {S, T, N, U, B};
    const tsr_bounds *bounds = &t->operation.bounds;
    const uint32_t id = t->operation.op.id;
    int64_t wanted[TSR_SYMBOLS];
    for (int i = 0; i < TSR_SYMBOLS; i++) {
        t->sizes[i] = bounds->lowest[i] > 1 ? bounds->lowest[i] : 1;
        wanted[i] = axis == SMALL_AXIS ? tails[i] : few[i];
        if (axis == FIRST_AXIS || (axis == SECOND_AXIS && i == S && id == TSR_OP_ATTENTION) ||
            id == TSR_OP_MATMUL || id == TSR_OP_MATMUL_ADD)
            wanted[i] = axis == SMALL_AXIS ? tails[i] : bounds->highest[i];
    }
    if (id == TSR_OP_KV_APPEND || id == TSR_OP_QKV_APPEND)
        wanted[B] = 2; /* two sequences must not share a slot */
    if (id == TSR_OP_ATTENTION && axis == FIRST_AXIS)
        wanted[S] = wanted[T] > 70 ? wanted[T] : 70;
    for (int i = 0; i < TSR_SYMBOLS; i++) {
        int64_t *size = &t->sizes[order[i]];
        const int64_t lowest = *size, most = lesser(wanted[order[i]], bounds->highest[order[i]]);
        for (*size = most > lowest ? most : lowest;
             *size > lowest && too_much(t, fair_work, fair_elements);)
            *size = lowest + (*size - lowest) / 2;
    }
}

tsr_status tsri_opencl_trial_make(const tsr_op *op, int axis, int attempt, tsri_opencl_trial *t,
                                  bool *usable) {
    *usable = false;
    TRY(tsri_opencl_operation_copy(op, &t->operation));
    shrink_op(t, axis, attempt);
    for (uint32_t i = 0; i < tsri_opencl_trial_operands(t); i++) {
        tsr_tensor *tensor = tsri_opencl_trial_tensor(t, i);
        if (!tensor)
            continue;
        tsri_tensor_pack(tensor);
        tensor->offset = 0;
        tensor->origin = 0;
    }
    choose_sizes(t, axis);
    *usable = tsri_opencl_trial_operands(t) <= TSRI_OPENCL_OPERANDS &&
              !too_much(t, most_work, most_elements);
    return TSR_OK;
}
