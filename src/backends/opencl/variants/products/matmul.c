/* backends/opencl/variants/products/matmul.c - matmul, and matmul_add, which writes a state. */
#include "backends/opencl/variants/shared/bf16.h"
#include "backends/opencl/variants/shared/cached.h"
#include "backends/opencl/variants/shared/clblast.h"
#include "backends/opencl/variants/shared/group.h"

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

static bool fits_plain(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                       const tsr_op *op, const char **why) {
    (void)variant, (void)facts;
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

static bool fits_tiled(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                       const tsr_op *op, const char **why) {
    return fits_plain(variant, facts, op, why) && tsri_opencl_fits_tile(variant, facts, why);
}

static tsr_dim matrices_of(const tsr_tensor *y) {
    tsr_dim matrices = tsri_tensor_const(1);
    for (uint32_t i = 0; i + 2 < y->rank; i++)
        matrices = tsri_tensor_times(matrices, y->dim[i]);
    return matrices;
}

static bool fits_tiled_64(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                          const tsr_op *op, const char **why) {
    const tsr_tensor *y = sides_of(op).y;
    return tsri_opencl_fits_small_tile(facts, tsri_opencl_highest(op, y->dim[y->rank - 2]),
                                       tsri_opencl_highest(op, y->dim[y->rank - 1]),
                                       tsri_opencl_highest(op, matrices_of(y)), why) &&
           fits_tiled(variant, facts, op, why);
}

/* A single row of the result needs no tile of rows. */
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

static void define_plain(const tsri_opencl_variant *variant, const tsr_op *op,
                         tsri_opencl_defines *defines) {
    (void)variant;
    define_operands(op, defines);
    tsri_opencl_define_int(defines, "TM", tile_rows(op));
}

/* Lanes read along k where neighbours in k are adjacent in memory, or where no neighbours are. */
static bool along_k(const tsr_tensor *tensor, bool k_last) {
    const tsr_dim k = tensor->stride[tensor->rank - (k_last ? 1 : 2)];
    const tsr_dim other = tensor->stride[tensor->rank - (k_last ? 2 : 1)];
    return tsri_tensor_is_one(k) || !tsri_tensor_is_one(other);
}

/* Whether four elements along that axis (1: the last) can be read at a time, wherever they begin. */
static bool by_fours(const tsr_tensor *tensor, uint32_t axis) {
    const uint32_t at = tensor->rank - axis;
    bool fours = tensor->offset % 4 == 0 && tsri_tensor_is_one(tensor->stride[at]) &&
                 tensor->dim[at].factor % 4 == 0;
    for (uint32_t i = 0; i < tensor->rank; i++)
        fours &= i == at || tensor->stride[i].factor % 4 == 0;
    return fours;
}

static void define_side(tsri_opencl_defines *defines, const char *along, const char *four,
                        const tsr_tensor *tensor, bool k_last) {
    const bool along_depth = along_k(tensor, k_last);
    tsri_opencl_define_int(defines, along, along_depth);
    tsri_opencl_define_int(defines, four, by_fours(tensor, along_depth == k_last ? 1 : 2));
}

static void define_tiled(const tsri_opencl_variant *variant, const tsr_op *op,
                         tsri_opencl_defines *defines) {
    (void)variant;
    const tsr_matmul_attrs *attrs = op->attrs;
    define_operands(op, defines);
    define_side(defines, "A_ALONG_K", "FOUR_A", sides_of(op).a, !attrs->trans_a);
    define_side(defines, "B_ALONG_K", "FOUR_B", sides_of(op).b, attrs->trans_b != 0);
}

/* `tensor` with its leading dimensions repeated to those of y; its last two dimensions stay as they
 * are. */
static tsr_tensor spread(const tsr_tensor *tensor, const tsr_tensor *y) {
    tsr_tensor shape = *y;
    for (uint32_t i = 1; i <= 2; i++)
        shape.dim[shape.rank - i] = tensor->dim[tensor->rank - i];
    return tsri_opencl_broadcast(tensor, &shape);
}

/* Binds all arguments and the grid of matrices; gives the depth K. */
static tsr_dim bind_matrices(const tsr_op *op, tsri_opencl_launch *launch) {
    const tsr_matmul_attrs *attrs = op->attrs;
    const sides of = sides_of(op);
    const tsr_tensor *y = of.y, a = spread(of.a, y), b = spread(of.b, y);
    const tsr_dim depth = a.dim[a.rank - (attrs->trans_a ? 2 : 1)];

    tsri_opencl_arg_tensor(launch, "a", of.a);
    tsri_opencl_arg_tensor(launch, "b", of.b);
    tsri_opencl_arg_tensor(launch, "y", y);
    tsri_opencl_arg_dims(launch);
    tsri_opencl_arg_sizes(launch, y);
    tsri_opencl_arg_strides(launch, "a", &a);
    tsri_opencl_arg_strides(launch, "b", &b);
    tsri_opencl_arg_strides(launch, "y", y);
    tsri_opencl_arg_dim(launch, "K", depth);
    tsri_opencl_arg_float(launch, "alpha", attrs->alpha != 0.0f ? attrs->alpha : 1.0f);
    if (of.add)
        tsri_opencl_arg_tensor(launch, "beta", of.beta);
    tsri_opencl_grid(launch, 2, matrices_of(y), 1);
    return depth;
}

static void bind_plain(const tsri_opencl_variant *variant, const tsr_op *op,
                       tsri_opencl_launch *launch) {
    (void)variant;
    const tsr_tensor *y = sides_of(op).y;
    const int tn = tsri_opencl_tuned(launch, "TN"), tm = tile_rows(op);
    const tsr_dim depth = bind_matrices(op, launch);
    tsri_opencl_grid(launch, 0, y->dim[y->rank - 1], tn);
    tsri_opencl_grid(launch, 1, y->dim[y->rank - 2], tm);
    tsri_opencl_work(launch, tsri_tensor_times(depth, tsri_tensor_const(tn * tm)));
}

static void bind_tiled(const tsri_opencl_variant *variant, const tsr_op *op,
                       tsri_opencl_launch *launch) {
    (void)variant;
    const tsr_tensor *y = sides_of(op).y;
    tsri_opencl_group_tile(launch, y->dim[y->rank - 2], y->dim[y->rank - 1],
                           bind_matrices(op, launch));
}

/* --- cached: b is packed where it is used, one tile at a time --- */

static bool fits_cached(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                        const tsr_op *op, const char **why) {
    const tsr_tensor *y = sides_of(op).y;
    return tsri_opencl_fits_cached(facts, op, y->dim[y->rank - 1], why) &&
           fits_plain(variant, facts, op, why);
}

static void define_cached(const tsri_opencl_variant *variant, const tsr_op *op,
                          tsri_opencl_defines *defines) {
    (void)variant;
    define_operands(op, defines);
    tsri_opencl_define_int(defines, "ROWS", TSRI_OPENCL_CACHED_ROWS);
}

/* The tiles of `each` rows by 64 columns. What neighbours share is the larger operand. */
static void bind_tiles(const tsr_op *op, tsri_opencl_launch *launch, tsr_dim depth, int each) {
    const tsr_tensor *y = sides_of(op).y;
    const tsr_dim M = y->dim[y->rank - 2], N = y->dim[y->rank - 1];
    const bool rows_first = tsri_opencl_highest(op, M) <= tsri_opencl_highest(op, N);
    tsri_opencl_arg_int(launch, "each", each);
    tsri_opencl_arg_int(launch, "rows_first", rows_first);
    tsri_opencl_grid(launch, rows_first ? 0 : 1, M, each);
    tsri_opencl_grid(launch, rows_first ? 1 : 0, N, TSRI_OPENCL_CACHED_COLUMNS);
    tsri_opencl_group(launch, 1, 1, 1);
    tsri_opencl_work(
        launch, tsri_tensor_times(depth, tsri_tensor_const(each * TSRI_OPENCL_CACHED_COLUMNS)));
}

static void bind_cached(const tsri_opencl_variant *variant, const tsr_op *op,
                        tsri_opencl_launch *launch) {
    (void)variant;
    const sides of = sides_of(op);
    const tsr_tensor *y = of.y;
    const tsr_dim M = y->dim[y->rank - 2], N = y->dim[y->rank - 1],
                  depth = bind_matrices(op, launch);
    bind_tiles(op, launch, depth,
               tsri_opencl_cached_rows(launch, op, M, N, tsri_opencl_tuned(launch, "MR"),
                                       TSRI_OPENCL_CACHED_ROWS));
}

static bool fits_cached_bf16(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                             const tsr_op *op, const char **why) {
    const tsr_matmul_attrs *attrs = op->attrs;
    const sides of = sides_of(op);
    const tsri_opencl_left left = tsri_opencl_left_of(op);
    if (!tsri_tensor_is_one(matrices_of(of.y)))
        return tsri_opencl_refuse(why, "made for one matrix; this op has several");
    if (left.M.symbols & left.K.symbols)
        return tsri_opencl_refuse(why, "the sizes of the left operand depend on each other");
    return tsri_opencl_fits_cached_bf16(facts, op, attrs->compute, of.y->dim[of.y->rank - 1],
                                        why) &&
           fits_plain(variant, facts, op, why);
}

static void define_cached_bf16(const tsri_opencl_variant *variant, const tsr_op *op,
                               tsri_opencl_defines *defines) {
    (void)variant;
    const sides of = sides_of(op);
    tsri_opencl_define_operand(defines, "B", of.b);
    tsri_opencl_define_int(defines, "ADD", of.add);
    tsri_opencl_define_int(defines, "HAS_BETA", of.beta != NULL);
    tsri_opencl_define_int(defines, "ROWS", TSRI_OPENCL_CACHED_ROWS);
}

static void bind_cached_bf16(const tsri_opencl_variant *variant, const tsr_op *op,
                             tsri_opencl_launch *launch) {
    (void)variant;
    const tsr_matmul_attrs *attrs = op->attrs;
    const sides of = sides_of(op);
    const tsri_opencl_left left = tsri_opencl_left_of(op);
    const uint32_t b_n = of.b->rank - (attrs->trans_b ? 2 : 1),
                   b_k = of.b->rank - (attrs->trans_b ? 1 : 2), last = of.y->rank - 1;
    const tsr_dim N = of.y->dim[last];
    const int each = tsri_opencl_cached_bf16_rows(launch, op, N);
    tsri_opencl_arg_tensor(launch, "b", of.b);
    tsri_opencl_arg_tensor(launch, "y", of.y);
    tsri_opencl_arg_rounded(launch, op);
    tsri_opencl_arg_dims(launch);
    tsri_opencl_arg_dim(launch, "M", left.M);
    tsri_opencl_arg_dim(launch, "N", N);
    tsri_opencl_arg_dim(launch, "K", left.K);
    tsri_opencl_arg_dim(launch, "bn", of.b->stride[b_n]);
    tsri_opencl_arg_dim(launch, "bk", of.b->stride[b_k]);
    tsri_opencl_arg_dim(launch, "ym", of.y->stride[last - 1]);
    tsri_opencl_arg_dim(launch, "yn", of.y->stride[last]);
    tsri_opencl_arg_float(launch, "alpha", attrs->alpha != 0.0f ? attrs->alpha : 1.0f);
    if (of.add)
        tsri_opencl_arg_tensor(launch, "beta", of.beta);
    bind_tiles(op, launch, left.K, each);
}

#define CACHED_BF16(op_)                                                             \
    TSRI_OPENCL_CACHED_BF16(op_, "matmul", -1, fits_cached_bf16, define_cached_bf16, \
                            bind_cached_bf16)
#define CACHED(op_)                                                                \
    {                                                                              \
        .name = "cached", .op = op_, .file = "matmul/cached.cl", .score = 75,      \
        .tunables = {{"MR", 6, 1, 7}, {"KC", 256, 64, 512}}, .weight_operand = -1, \
        .fits = fits_cached, .define = define_cached, .bind = bind_cached          \
    }
#define TILED_VARIANT(name_, op_, score_, fits_)                                       \
    .name = name_, .op = op_, .file = "matmul/tiled.cl", .gpu = true, .score = score_, \
    .weight_operand = -1, .fits = fits_, .define = define_tiled, .bind = bind_tiled
#define TILED(op_)                                                                     \
    {TILED_VARIANT("tiled_64", op_, 62, fits_tiled_64), TSRI_OPENCL_TILE_64},          \
        {TILED_VARIANT("tiled_128", op_, 61, fits_tiled), TSRI_OPENCL_TILE_128}, {     \
        TILED_VARIANT("tiled", op_, 60, fits_tiled), TSRI_OPENCL_TILE(16, 4, 8, 4, 16) \
    }
#define PLAIN(op_)                                                              \
    {                                                                           \
        TSRI_OPENCL_PLAIN(op_, "matmul", fits_plain, define_plain, bind_plain), \
            .tunables = {{"TN", 4, 1, 8}}, .weight_operand = -1                 \
    }

const tsri_opencl_variant tsri_opencl_variants_matmul[] = {
    CACHED_BF16(TSR_OP_MATMUL), CACHED(TSR_OP_MATMUL), TILED(TSR_OP_MATMUL),
    TSRI_OPENCL_CLBLAST_MATMUL, /* used only where it is forced: its score is the lowest */
    PLAIN(TSR_OP_MATMUL),       {.name = NULL},
};

const tsri_opencl_variant tsri_opencl_variants_matmul_add[] = {
    CACHED_BF16(TSR_OP_MATMUL_ADD),
    CACHED(TSR_OP_MATMUL_ADD),
    TILED(TSR_OP_MATMUL_ADD),
    PLAIN(TSR_OP_MATMUL_ADD),
    {.name = NULL},
};
