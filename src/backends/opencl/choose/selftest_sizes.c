/* backends/opencl/choose/selftest_sizes.c - chooses the sizes of a kernel's trials. */
#include "backends/opencl/choose/selftest.h"
#include "base/error.h"
#include "tensor/dtype.h"
#include "tensor/operands.h"
#include "tensor/quantize.h"
#include "tensor/shape.h"

#include <string.h>

/* The multiply-adds that a trial grows to, and the most that one may have; the most elements of an
 * operand. The reference takes about a nanosecond for a multiply-add. */
static const int64_t fair_work = INT64_C(1) << 21, most_work = INT64_C(1) << 27,
                     fair_elements = INT64_C(1) << 20, most_elements = INT64_C(1) << 24;

enum { SMALL_AXIS, FIRST_AXIS, SECOND_AXIS, THIRD_AXIS };
enum { B, T, S, U, N };
enum { MOST_ROWS = 1 << 10, MOST_WIDTH = 1 << 19 };
static const int64_t two_chunks = 300; /* keys of attention: cl/attention/order.clh */

static const int64_t own = INT64_MAX; /* in place of a small size */

/* An axis of an op: a dimension, by its word in the list of operands. */
typedef struct axis {
    const char *word, *twice; /* twice: the word of one that is twice as large; NULL: none */
    int64_t small, thin;      /* the size in small trials, and along other axes; 0: its own */
    int64_t most;             /* the largest size that is tried; 0: any */
    bool rounded;             /* how far a trial goes is rounded up to a power of two */
} axis;

typedef struct facts {
    uint32_t op;
    /* For each element of the first operand the reference takes (the size of `by` + plus) * times
     * multiply-adds; NULL: 8 for each element of the largest operand. */
    const char *by;
    int64_t plus, times;
    axis axes[TSRI_OPENCL_AXES - 1]; /* none: the elements are the only axis */
    bool grows;                      /* any of them may be a symbol, which grows along each */
} facts;

/* clang-format off */
#define ROWS(name)   {.word = name, .most = MOST_ROWS, .rounded = true}
#define DEPTH(name)  {.word = name, .small = 130, .thin = 32}
#define WIDTH(name)  .word = name, .small = 70, .thin = 70, .most = MOST_WIDTH
#define PLACES(name) {.word = name, .small = 67, .thin = 67, .most = MOST_WIDTH}
#define PRODUCT      {.word = "M", .small = 67, .thin = 67, .rounded = true},  \
                     {.word = "N", .small = 70, .thin = 70, .rounded = true},  \
                     {.word = "K", .small = 130, .thin = 32, .rounded = true}
static const facts table[] = {
    {.op = TSR_OP_LINEAR, .by = "N", .times = 1, .axes = {ROWS(".."), DEPTH("K"), {WIDTH("N")}}},
    {.op = TSR_OP_GLU_LINEAR, .by = "2F", .times = 1, .axes = {ROWS(".."), DEPTH("K"), {WIDTH("F"), .twice = "2F"}}},
    {.op = TSR_OP_EXPERT_LINEAR, .by = "N", .times = 2, .axes = {ROWS("R"), DEPTH("K"), {WIDTH("N")}}},
    {.op = TSR_OP_EXPERT_GLU_LINEAR, .by = "2F", .times = 2, .axes = {ROWS("R"), DEPTH("K"), {WIDTH("F"), .twice = "2F"}}},
    {.op = TSR_OP_EXPERT_MATMUL_ADD, .by = "R", .plus = 8, .times = 2},
    {.op = TSR_OP_MATMUL, .by = "N", .times = 1, .axes = {PRODUCT}, .grows = true},
    {.op = TSR_OP_MATMUL_ADD, .by = "K", .times = 1, .axes = {PRODUCT}, .grows = true},
    {.op = TSR_OP_EMBED, .axes = {ROWS(".."), PLACES("V"), DEPTH("C")}},
    {.op = TSR_OP_EMBED_ADD, .by = "..", .plus = 8, .times = 1, .axes = {ROWS(".."), PLACES("V"), DEPTH("C")}},
    {.op = TSR_OP_GATHER, .axes = {ROWS("N"), PLACES("R"), DEPTH("C")}},
    {.op = TSR_OP_SCATTER, .by = "N", .plus = 8, .times = 1},
    /* shrink_attention() has its sizes */
    {.op = TSR_OP_ATTENTION, .by = "S", .times = 2, .axes = {ROWS("T"), {.word = "S", .rounded = true}, {.word = "H"}}},
    {.op = TSR_OP_ATTENTION_GRAD, .by = "S", .times = 6},
    {.op = TSR_OP_DISTANCE_SCORES_GRAD, .by = "S", .plus = 8, .times = 2},
    {.op = TSR_OP_ADDITIVE_ATTENTION, .by = "S", .times = 20}, /* tanh */
    {.op = TSR_OP_ADDITIVE_ATTENTION_GRAD, .by = "S", .times = 20},
    {.op = TSR_OP_GRU_CELL, .by = "E", .times = 1},
    {.op = TSR_OP_GRU_CELL_GRAD, .by = "E", .times = 1},
    {.op = TSR_OP_TOPK, .by = "k", .plus = 4, .times = 4},
};
/* clang-format on */

static const facts *facts_of(uint32_t op) {
    static const facts others = {0};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].op == op)
            return &table[i];
    return &others;
}

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

/* Of keys, those of all pages of a sequence. */
static int64_t size_of(const tsr_op *op, const char *word, const int64_t sizes[TSR_SYMBOLS]) {
    return tsri_tensor_value(
        strcmp(word, "S") ? tsri_tensor_size(op, word) : tsri_tensor_positions(op, word), sizes);
}

/* The multiply-adds of an op, or the number of them that takes the reference as long. */
static int64_t work_of(const tsr_op *op, const int64_t sizes[TSR_SYMBOLS]) {
    const facts *f = facts_of(op->id);
    return f->by ? count(op->in[0], sizes) * (size_of(op, f->by, sizes) + f->plus) * f->times
                 : largest(op, sizes) * 8;
}

/* --- axes --- */

void tsri_opencl_trial_reach(const tsr_op *op, int64_t most[TSRI_OPENCL_AXES]) {
    const int64_t *sizes = op->bounds->highest;
    const facts *f = facts_of(op->id);
    most[SMALL_AXIS] = 1;
    most[FIRST_AXIS] = lesser(class_of(largest(op, sizes)), fair_elements);
    most[SECOND_AXIS] = most[THIRD_AXIS] = 0;
    for (int i = FIRST_AXIS; i <= THIRD_AXIS; i++) {
        const axis *x = &f->axes[i - 1];
        if (!x->word)
            return;
        const int64_t n = size_of(op, x->word, sizes), reach = x->rounded ? class_of(n) : n;
        most[i] = x->most ? lesser(reach, x->most) : reach;
    }
}

/* So many elements or fewer, in whole blocks, of which there is at least one. */
static int64_t whole_blocks(tsr_dtype dtype, int64_t n) {
    const int64_t block = tsri_tensor_dtype_info(dtype)->block;
    return n < block ? block : n / block * block;
}

/* Replaces constant sizes that are larger by `small`, in all operands that have the dimension.
 * dtypes that are stored in blocks keep whole blocks. */
static void shrink(tsri_opencl_trial *t, const char *word, int64_t small) {
    const uint32_t n = tsri_opencl_trial_operands(t);
    for (uint32_t i = 0; i < n; i++) {
        const tsr_tensor *x = tsri_opencl_trial_tensor(t, i);
        const int at = tsri_tensor_axis(&t->operation.op, i, word);
        if (small != own && at >= 0 && at == (int)x->rank - 1 &&
            tsri_tensor_is_kept_blocks((tsr_dtype)x->dtype))
            small = whole_blocks((tsr_dtype)x->dtype, small);
    }
    for (uint32_t i = 0; i < n; i++) {
        const int at = tsri_tensor_axis(&t->operation.op, i, word);
        tsr_dim *dim = at >= 0 ? &tsri_opencl_trial_tensor(t, i)->dim[at] : NULL;
        if (dim && !dim->symbols && dim->factor > small)
            dim->factor = small;
    }
}

static void shrink_axis(tsri_opencl_trial *t, const axis *x, int64_t n) {
    n = x->most ? lesser(n, x->most) : n;
    if (x->small)
        shrink(t, x->word, n);
    if (x->twice)
        shrink(t, x->twice, n == own ? own : 2 * n);
}

/* Keeps pages as long as they are: a sequence has as many as `positions` need, out of one more than all
 * sequences of a trial have; in place of what is shrunk otherwise. */
static bool shrink_pages(tsri_opencl_trial *t, const char *slots, const char *rows,
                         int64_t positions) {
    const tsr_op *op = &t->operation.op;
    const tsr_dim S = tsri_tensor_size(op, rows);
    if (tsri_tensor_axis(op, op->n_in - 1, "pages") < 0 || S.symbols || S.factor < 1)
        return false;
    shrink(t, "pages", positions / S.factor + (positions % S.factor != 0));
    shrink(t, slots, 2 * tsri_tensor_size(op, "pages").factor + 1);
    return true;
}

/* Keeps one key head, with the query heads that share it. */
static void shrink_attention(tsri_opencl_trial *t, int64_t keys, int64_t heads) {
    const tsr_dim H = tsri_tensor_size(&t->operation.op, "H"),
                  G = tsri_tensor_size(&t->operation.op, "G");
    const int64_t shared = !H.symbols && !G.symbols && G.factor ? H.factor / G.factor : 1,
                  D = tsri_tensor_size(&t->operation.op, "D").factor;
    keys = lesser(keys, most_elements / 4 / (D ? D : 1));
    if (!shrink_pages(t, "J", "S", keys)) {
        shrink(t, "B", 2); /* one that is fixed: without slots, sequence b has the keys b */
        shrink(t, "J", 2);
        shrink(t, "S", keys);
    }
    shrink(t, "G", heads);
    shrink(t, "H", heads == own ? own : heads * shared);
}

/* Ops over the elements of an array in order, as a weight's update, are tested with some of the
 * array's rows. */
static void shrink_elements(tsri_opencl_trial *t) {
    const tsr_tensor *first = t->operation.in[0];
    const tsr_dim rows = first->rank > 1 ? first->dim[0] : tsri_tensor_const(1);
    const int64_t sizes[TSR_SYMBOLS] = {1, 1, 1, 1, 1}, n = count(first, sizes);
    if (rows.symbols || n <= fair_elements)
        return;
    const int64_t few = rows.factor * fair_elements / n > 1 ? rows.factor * fair_elements / n : 1;
    const uint32_t rank = first->rank;
    for (uint32_t i = 0; i < tsri_opencl_trial_operands(t); i++) {
        tsr_tensor *tensor = tsri_opencl_trial_tensor(t, i);
        if (tensor && tensor->rank == rank && tsri_tensor_same_dim(tensor->dim[0], rows))
            tensor->dim[0].factor = few;
    }
}

/* The experts of a trial: few, but no fewer than pairs of rows and experts where the op has no fewer, because
 * such ops have kernels of their own. */
static int64_t few_experts(const tsr_op *op) {
    enum { FEW = 5, MOST = 64 };
    const int64_t *most = op->bounds->highest,
                  pairs = size_of(op, "R", most) * size_of(op, "J", most);
    return pairs > FEW && pairs <= MOST && pairs <= size_of(op, "E", most) ? pairs : FEW;
}

/* A size in the attempts one after the other. */
static int64_t size_in(int attempt, int64_t first, int64_t second) {
    return attempt == 0 ? first : attempt == 1 ? second : own;
}

static void shrink_op(tsri_opencl_trial *t, int along, int attempt) {
    const facts *f = facts_of(t->operation.op.id);
    switch (t->operation.op.id) {
    case TSR_OP_ATTENTION:
        shrink_attention(t,
                         along == SECOND_AXIS  ? own
                         : along == FIRST_AXIS ? 2 * MOST_ROWS
                                               : size_in(attempt, 67, 128),
                         along == THIRD_AXIS ? own
                                             : size_in(attempt, along == SMALL_AXIS ? 3 : 1, 2));
        break;
    case TSR_OP_KV_APPEND:
    case TSR_OP_QKV_APPEND: /* a state holds many sequences and positions */
        if (shrink_pages(t, "slots", "capacity", 2048))
            break;
        shrink(t, "slots", 3);
        shrink(t, "capacity", 2048);
        break;
    case TSR_OP_EXPERT_LINEAR:
    case TSR_OP_EXPERT_GLU_LINEAR:
    case TSR_OP_EXPERT_MATMUL_ADD:
        shrink(t, "E", few_experts(&t->operation.op));
        break;
    default:
        if (!f->axes[0].word && attempt < TSRI_OPENCL_ATTEMPTS - 1)
            shrink_elements(t);
    }
    for (int i = FIRST_AXIS; i <= THIRD_AXIS; i++) {
        const axis *x = &f->axes[i - 1];
        const int64_t first = along == SMALL_AXIS ? x->small : x->thin;
        shrink_axis(t, x, along == i ? own : size_in(attempt, first, 128));
    }
}

/* --- sizes of a run --- */

static bool too_much(const tsri_opencl_trial *t, int64_t work, int64_t elements) {
    return largest(&t->operation.op, t->sizes) > elements ||
           work_of(&t->operation.op, t->sizes) > work;
}

/* Grows every size as far as it is wanted and the work stays within the limit. */
static void choose_sizes(tsri_opencl_trial *t, int along) {
    static const int64_t tails[TSR_SYMBOLS] = {2, 7, 70, 7, 7}, few[TSR_SYMBOLS] = {2, 3, 70, 3, 3};
    static const int order[TSR_SYMBOLS] = {S, T, N, U, B};
    const tsr_bounds *bounds = &t->operation.bounds;
    const uint32_t id = t->operation.op.id;
    int64_t wanted[TSR_SYMBOLS];
    for (int i = 0; i < TSR_SYMBOLS; i++) {
        t->sizes[i] = bounds->lowest[i] > 1 ? bounds->lowest[i] : 1;
        wanted[i] = along == SMALL_AXIS ? tails[i] : few[i];
        if (along == FIRST_AXIS || (along == SECOND_AXIS && i == S && id == TSR_OP_ATTENTION) ||
            (along != SMALL_AXIS && facts_of(id)->grows))
            wanted[i] = bounds->highest[i];
    }
    if (id == TSR_OP_KV_APPEND || id == TSR_OP_QKV_APPEND)
        wanted[B] = 2; /* two sequences must not share a slot */
    if (id == TSR_OP_ATTENTION && along == FIRST_AXIS)
        wanted[S] = wanted[T] > 70 ? wanted[T] : 70;
    for (int i = 0; i < TSR_SYMBOLS; i++) {
        int64_t *size = &t->sizes[order[i]];
        const int64_t most = lesser(wanted[order[i]], bounds->highest[order[i]]);
        int64_t lowest = *size;
        if (id == TSR_OP_ATTENTION && along == SECOND_AXIS && order[i] == S && most > lowest)
            lowest = lesser(most, two_chunks);
        for (*size = most > lowest ? most : lowest;
             *size > lowest && too_much(t, fair_work, fair_elements);)
            *size = lowest + (*size - lowest) / 2;
    }
}

tsr_status tsri_opencl_trial_make(const tsr_op *op, int along, int attempt, tsri_opencl_trial *t,
                                  bool *usable) {
    *usable = false;
    TRY(tsri_opencl_operation_copy(op, &t->operation));
    shrink_op(t, along, attempt);
    for (uint32_t i = 0; i < tsri_opencl_trial_operands(t); i++) {
        tsr_tensor *tensor = tsri_opencl_trial_tensor(t, i);
        if (!tensor)
            continue;
        tsri_tensor_pack(tensor);
        tensor->offset = 0;
        tensor->origin = 0;
    }
    choose_sizes(t, along);
    *usable = tsri_opencl_trial_operands(t) <= TSRI_OPENCL_OPERANDS &&
              !too_much(t, most_work, most_elements);
    return TSR_OK;
}
