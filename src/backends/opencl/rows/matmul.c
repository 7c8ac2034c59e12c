#include "backends/opencl/clblast.h"
#include "backends/opencl/rows/group.h"

/* matmul and matmul_add, which writes a state. */
typedef struct sides {
    const tsr_tensor *a, *b, *y, *beta; /* beta: of matmul_add, or NULL */
    bool add;
} sides;

static sides sides_of(const tsr_op *op) {
    if (op->id == TSR_OP_MATMUL)
        return (sides){.a = op->in[0], .b = op->in[1], .y = op->out[0]};
    return (sides){
        .a = op->in[1], .b = op->in[2], .y = op->in[0], .beta = tsri_opencl_in(op, 3), .add = true};
}

static bool fits_plain(const tsri_opencl_row *row, const tsri_opencl_facts *facts, const tsr_op *op,
                       const char **why) {
    (void)row, (void)facts;
    const sides of = sides_of(op);
    const tsr_tensor *a = of.a, *b = of.b, *y = of.y;
    if (a->rank > 5 || b->rank > 5 || y->rank > 5)
        return tsri_opencl_refuse(why, "more than three leading dimensions");
    if (!tsri_opencl_is_float(a) || !tsri_opencl_is_float(b) || !tsri_opencl_is_float(y))
        return tsri_opencl_refuse(why, "operands are taken as f32, f16 or bf16 only");
    if (a->layout || b->layout)
        return tsri_opencl_refuse(why, "an operand is a weight in a layout of its own");
    return tsri_opencl_fits_index(op, why);
}

static bool fits_tiled(const tsri_opencl_row *row, const tsri_opencl_facts *facts, const tsr_op *op,
                       const char **why) {
    return fits_plain(row, facts, op, why) && tsri_opencl_fits_tile(row, facts, why);
}

/* One row alone needs no tile of rows. */
static int tile_rows(const tsr_op *op) {
    const tsr_tensor *y = sides_of(op).y;
    return tsri_opencl_highest(op, y->dim[y->rank - 2]) <= 1 ? 1 : 4;
}

static void define_operands(const tsr_op *op, tsri_opencl_defines *defines) {
    const tsr_matmul_attrs *attrs = op->attrs;
    const sides of = sides_of(op);
    tsri_opencl_define_operand(defines, "A", of.a);
    tsri_opencl_define_operand(defines, "B", of.b);
    tsri_opencl_define_operand(defines, "Y", of.y);
    tsri_opencl_define_int(defines, "TRANS_A", attrs->trans_a != 0);
    tsri_opencl_define_int(defines, "TRANS_B", attrs->trans_b != 0);
    tsri_opencl_define_int(defines, "ADD", of.add);
    tsri_opencl_define_int(defines, "HAS_BETA", of.beta != NULL);
}

static void define_plain(const tsri_opencl_row *row, const tsr_op *op,
                         tsri_opencl_defines *defines) {
    (void)row;
    define_operands(op, defines);
    tsri_opencl_define_int(defines, "TM", tile_rows(op));
}

/* Lanes read along k where neighbours in k lie side by side, or nothing does. */
static bool along_k(const tsr_tensor *tensor, bool k_last) {
    const tsr_dim k = tensor->stride[tensor->rank - (k_last ? 1 : 2)];
    const tsr_dim other = tensor->stride[tensor->rank - (k_last ? 2 : 1)];
    return tsri_tensor_is_one(k) || !tsri_tensor_is_one(other);
}

static void define_tiled(const tsri_opencl_row *row, const tsr_op *op,
                         tsri_opencl_defines *defines) {
    (void)row;
    const tsr_matmul_attrs *attrs = op->attrs;
    define_operands(op, defines);
    tsri_opencl_define_int(defines, "A_ALONG_K", along_k(sides_of(op).a, !attrs->trans_a));
    tsri_opencl_define_int(defines, "B_ALONG_K", along_k(sides_of(op).b, attrs->trans_b != 0));
}

/* `tensor` with its leading dimensions repeated to those of y; the last two stay as they are. */
static tsr_tensor spread(const tsr_tensor *tensor, const tsr_tensor *y) {
    tsr_tensor shape = *y;
    for (uint32_t i = 1; i <= 2; i++)
        shape.dim[shape.rank - i] = tensor->dim[tensor->rank - i];
    return tsri_opencl_broadcast(tensor, &shape);
}

static tsr_dim matrices_of(const tsr_tensor *y) {
    tsr_dim matrices = tsri_tensor_const(1);
    for (uint32_t i = 0; i + 2 < y->rank; i++)
        matrices = tsri_tensor_times(matrices, y->dim[i]);
    return matrices;
}

/* All arguments, and the grid of matrices; gives the depth. */
static tsr_dim bind_matrices(const tsr_op *op, tsri_opencl_launch *launch) {
    const tsr_matmul_attrs *attrs = op->attrs;
    const sides of = sides_of(op);
    const tsr_tensor *y = of.y, a = spread(of.a, y), b = spread(of.b, y);
    const tsr_dim depth = a.dim[a.rank - (attrs->trans_a ? 2 : 1)];

    tsri_opencl_arg_tensor(launch, of.a);
    tsri_opencl_arg_tensor(launch, of.b);
    tsri_opencl_arg_tensor(launch, y);
    tsri_opencl_arg_dims(launch);
    tsri_opencl_arg_sizes(launch, y);
    tsri_opencl_arg_strides(launch, &a);
    tsri_opencl_arg_strides(launch, &b);
    tsri_opencl_arg_strides(launch, y);
    tsri_opencl_arg_dim(launch, depth);
    tsri_opencl_arg_float(launch, attrs->alpha != 0.0f ? attrs->alpha : 1.0f);
    if (of.add)
        tsri_opencl_arg_tensor(launch, of.beta);
    tsri_opencl_grid(launch, 2, matrices_of(y), 1);
    return depth;
}

static void bind_plain(const tsri_opencl_row *row, const tsr_op *op, tsri_opencl_launch *launch) {
    (void)row;
    const tsr_tensor *y = sides_of(op).y;
    const int tn = tsri_opencl_tuned(launch, "TN"), tm = tile_rows(op);
    const tsr_dim depth = bind_matrices(op, launch);
    tsri_opencl_grid(launch, 0, y->dim[y->rank - 1], tn);
    tsri_opencl_grid(launch, 1, y->dim[y->rank - 2], tm);
    tsri_opencl_work(launch, tsri_tensor_times(depth, tsri_tensor_const(tn * tm)));
}

static void bind_tiled(const tsri_opencl_row *row, const tsr_op *op, tsri_opencl_launch *launch) {
    (void)row;
    const tsr_tensor *y = sides_of(op).y;
    tsri_opencl_group_tile(launch, y->dim[y->rank - 2], y->dim[y->rank - 1],
                           bind_matrices(op, launch));
}

/* --- packed: b in panels, as linear has its weights --- */

enum { PANEL = 64, LEAST_ROWS = 16 };

static tsr_dim depth_of(const tsr_op *op) {
    const tsr_matmul_attrs *attrs = op->attrs;
    return op->in[0]->dim[op->in[0]->rank - (attrs->trans_a ? 2 : 1)];
}

/* Elements of b in panels, all matrices, at the plan's largest sizes. */
static int64_t packed_elements(const tsr_op *op) {
    const tsr_tensor *y = op->out[0];
    int64_t n = tsri_opencl_highest(op, y->dim[y->rank - 1]);
    n = (n + PANEL - 1) / PANEL * PANEL;
    for (uint32_t i = 0; i <= y->rank - 2; i++) {
        const tsr_dim dim = i + 2 == y->rank ? depth_of(op) : y->dim[i];
        if (__builtin_mul_overflow(n, tsri_opencl_highest(op, dim), &n))
            return INT64_MAX;
    }
    return n;
}

static bool fits_packed(const tsri_opencl_row *row, const tsri_opencl_facts *facts,
                        const tsr_op *op, const char **why) {
    if (!facts->cpu || !facts->vector16)
        return tsri_opencl_refuse(
            why, "made for CPUs: a work-item holds a whole tile in vector registers");
    if (!fits_plain(row, facts, op, why))
        return false;
    if (tsri_opencl_highest(op, op->out[0]->dim[op->out[0]->rank - 2]) < LEAST_ROWS)
        return tsri_opencl_refuse(why, "packs b, which pays from 16 rows of a on");
    if (packed_elements(op) > INT32_MAX)
        return tsri_opencl_refuse(why, "b in panels has more than 2^31 elements");
    return true;
}

static void define_packed(const tsri_opencl_row *row, const tsr_op *op,
                          tsri_opencl_defines *defines) {
    (void)row;
    const tsr_matmul_attrs *attrs = op->attrs;
    tsri_opencl_define_operand(defines, "A", op->in[0]);
    tsri_opencl_define_operand(defines, "Y", op->out[0]);
    tsri_opencl_define_int(defines, "TRANS_A", attrs->trans_a != 0);
    /* The stage's: an instance has one. */
    tsri_opencl_define_operand(defines, "B", op->in[1]);
    tsri_opencl_define_int(defines, "TRANS_B", attrs->trans_b != 0);
}

static void define_pack(const tsri_opencl_row *row, const tsr_op *op,
                        tsri_opencl_defines *defines) {
    (void)row;
    const tsr_matmul_attrs *attrs = op->attrs;
    tsri_opencl_define_operand(defines, "B", op->in[1]);
    tsri_opencl_define_int(defines, "TRANS_B", attrs->trans_b != 0);
}

static void bind_pack(const tsri_opencl_row *row, const tsr_op *op, tsri_opencl_launch *launch) {
    (void)row;
    const tsr_tensor *y = op->out[0];
    const tsr_tensor b = spread(op->in[1], y);
    tsri_opencl_arg_tensor(launch, op->in[1]);
    tsri_opencl_arg_dims(launch);
    tsri_opencl_arg_sizes(launch, y);
    tsri_opencl_arg_strides(launch, &b);
    tsri_opencl_arg_dim(launch, depth_of(op));
    tsri_opencl_arg_scratch(launch, tsri_tensor_const(packed_elements(op) * 4));
    tsri_opencl_grid(launch, 0, depth_of(op), PANEL);
    tsri_opencl_grid(launch, 1, y->dim[y->rank - 1], PANEL);
    tsri_opencl_grid(launch, 2, matrices_of(y), 1);
    tsri_opencl_group(launch, 1, 1, 1);
    tsri_opencl_work(launch, tsri_tensor_const(PANEL * PANEL));
}

static void bind_packed(const tsri_opencl_row *row, const tsr_op *op, tsri_opencl_launch *launch) {
    (void)row;
    const tsr_matmul_attrs *attrs = op->attrs;
    const tsr_tensor *y = op->out[0];
    const tsr_tensor a = spread(op->in[0], y);
    const int mr = tsri_opencl_tuned(launch, "MR");
    tsri_opencl_arg_tensor(launch, op->in[0]);
    tsri_opencl_arg_tensor(launch, y);
    tsri_opencl_arg_dims(launch);
    tsri_opencl_arg_sizes(launch, y);
    tsri_opencl_arg_strides(launch, &a);
    tsri_opencl_arg_strides(launch, y);
    tsri_opencl_arg_dim(launch, depth_of(op));
    tsri_opencl_arg_float(launch, attrs->alpha != 0.0f ? attrs->alpha : 1.0f);
    tsri_opencl_arg_scratch(launch, tsri_tensor_const(packed_elements(op) * 4));
    tsri_opencl_grid(launch, 0, y->dim[y->rank - 2], mr);
    tsri_opencl_grid(launch, 1, y->dim[y->rank - 1], PANEL);
    tsri_opencl_grid(launch, 2, matrices_of(y), 1);
    tsri_opencl_group(launch, 1, 1, 1);
    tsri_opencl_work(launch, tsri_tensor_times(depth_of(op), tsri_tensor_const(mr * PANEL)));
}

static const tsri_opencl_stage pack = {
    .name = "pack_b", .file = "matmul/pack.cl", .define = define_pack, .bind = bind_pack};

const tsri_opencl_row tsri_opencl_rows_matmul[] = {
    {.name = "packed",
     .op = TSR_OP_MATMUL,
     .file = "matmul/packed.cl",
     .before = &pack,
     .score = 70,
     .tunables = {{"MR", 6, 1, 7}},
     .weight_operand = -1,
     .fits = fits_packed,
     .define = define_packed,
     .bind = bind_packed},
    {.name = "tiled",
     .op = TSR_OP_MATMUL,
     .file = "matmul/tiled.cl",
     .gpu = true,
     .score = 60,
     TSRI_OPENCL_TILE(16, 4, 8, 4, 16),
     .weight_operand = -1,
     .fits = fits_tiled,
     .define = define_tiled,
     .bind = bind_tiled},
    TSRI_OPENCL_CLBLAST_MATMUL, /* only where it is forced: its score is the lowest */
    {.name = "plain",
     .op = TSR_OP_MATMUL,
     .file = "matmul/plain.cl",
     .plain = true,
     .score = 10,
     .tunables = {{"TN", 4, 1, 8}},
     .weight_operand = -1,
     .fits = fits_plain,
     .define = define_plain,
     .bind = bind_plain},
    {.name = NULL},
};

const tsri_opencl_row tsri_opencl_rows_matmul_add[] = {
    {.name = "tiled",
     .op = TSR_OP_MATMUL_ADD,
     .file = "matmul/tiled.cl",
     .gpu = true,
     .score = 60,
     TSRI_OPENCL_TILE(16, 4, 8, 4, 16),
     .weight_operand = -1,
     .fits = fits_tiled,
     .define = define_tiled,
     .bind = bind_tiled},
    {.name = "plain",
     .op = TSR_OP_MATMUL_ADD,
     .file = "matmul/plain.cl",
     .plain = true,
     .score = 10,
     .tunables = {{"TN", 4, 1, 8}},
     .weight_operand = -1,
     .fits = fits_plain,
     .define = define_plain,
     .bind = bind_plain},
    {.name = NULL},
};
