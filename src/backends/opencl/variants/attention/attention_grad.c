/* backends/opencl/variants/attention/attention_grad.c - the gradients of attention from its lse, in
 * tiles. */
#include "backends/opencl/variants/shared/group.h"
#include "backends/opencl/variants/shared/heads.h"

TSRI_OPERANDS(attention_grad);
enum {
    TILE_GROUP = 64,
    TILE_QUERIES = 16 /* of a tile of tile.clh */
};

static const tsr_tensor *distances(const tsr_op *op) {
    return tsri_opencl_in(op, RELATIVE) ? tsri_opencl_out(op, DRELATIVE) : NULL;
}

static bool fits_plain(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                       const tsr_op *op, const char **why) {
    (void)variant, (void)facts;
    const tsr_tensor *bias = tsri_opencl_in(op, BIAS), *relative = tsri_opencl_in(op, RELATIVE);
    const tsr_tensor *heads[] = {op->in[Q], op->in[K], op->in[V], op->in[Y], op->in[DY]};
    const tsr_tensor *packed[] = {op->in[LSE], op->out[DQ],   op->out[DK],
                                  op->out[DV], distances(op), relative};
    for (int i = 0; i < 5; i++) {
        if (!tsri_opencl_fits_private_heads(heads[i], why))
            return false;
        if (!tsri_opencl_is_f32(heads[i]))
            return tsri_opencl_refuse(why, "activations are taken as f32 only");
    }
    for (int i = 0; i < 6; i++)
        if (packed[i] && (!tsri_opencl_is_f32(packed[i]) || !tsri_tensor_is_packed(packed[i])))
            return tsri_opencl_refuse(why,
                                      "lse, relative or a result is not a packed array of f32");
    if (bias && !tsri_opencl_is_f32(bias))
        return tsri_opencl_refuse(why, "activations are taken as f32 only");
    return tsri_opencl_fits_index(op, why);
}

static bool fits_flash(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                       const tsr_op *op, const char **why) {
    if (!facts->vector16)
        return tsri_opencl_refuse(why, "made for CPUs: its vectors have 16 queries or elements");
    if (distances(op))
        return tsri_opencl_refuse(why, "the table of distances needs a gradient");
    return tsri_opencl_fits_flash_heads(op->in[Q], op->in[V], why) &&
           fits_plain(variant, facts, op, why);
}

/* The keys of a work-group of tiled.cl, whose sums are private to its work-items. */
static int tile_keys(const tsr_op *op) {
    const int64_t D = op->in[Q]->dim[3].factor, Dv = op->in[V]->dim[3].factor,
                  size = D > Dv ? D : Dv;
    return size <= 128 ? 16 : size <= 256 ? 8 : 4;
}

static bool fits_tiled(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                       const tsr_op *op, const char **why) {
    if (distances(op))
        return tsri_opencl_refuse(why, "the table of distances needs a gradient");
    return fits_plain(variant, facts, op, why) &&
           tsri_opencl_fits_group(facts, TILE_GROUP, 5120, why);
}

static void define_plain(const tsri_opencl_variant *variant, const tsr_op *op,
                         tsri_opencl_defines *defines) {
    (void)variant;
    const tsr_attention_attrs *attrs = op->attrs;
    tsri_opencl_define_int(defines, "HEAD", (int)op->in[Q]->dim[3].factor);
    tsri_opencl_define_int(defines, "VALUE", (int)op->in[V]->dim[3].factor);
    tsri_opencl_define_mask(defines, attrs->causal, attrs->window, tsri_opencl_in(op, PAST),
                            tsri_opencl_in(op, LEN));
    tsri_opencl_define_int(defines, "HAS_BIAS", tsri_opencl_in(op, BIAS) != NULL);
    tsri_opencl_define_int(defines, "HAS_RELATIVE", tsri_opencl_in(op, RELATIVE) != NULL);
    tsri_opencl_define_int(defines, "HAS_SOFT_CAP", attrs->soft_cap > 0);
    tsri_opencl_define_int(defines, "HAS_DRELATIVE", distances(op) != NULL);
}

static void define_tiled(const tsri_opencl_variant *variant, const tsr_op *op,
                         tsri_opencl_defines *defines) {
    define_plain(variant, op, defines);
    tsri_opencl_define_int(defines, "KEYS", tile_keys(op));
}

/* Binds the arguments of operands.clh. */
static void bind_operands(const tsr_op *op, tsri_opencl_launch *launch) {
    const tsr_attention_attrs *attrs = op->attrs;
    const tsr_tensor *q = op->in[Q], *k = op->in[K], *v = op->in[V], *y = op->in[Y];
    tsri_opencl_arg_given(launch, op, Q, BIAS);
    tsri_opencl_arg_score_addends(launch, q, k, tsri_opencl_in(op, BIAS),
                                  tsri_opencl_in(op, RELATIVE));
    if (distances(op))
        tsri_opencl_arg_tensor(launch, "drelative", distances(op));
    tsri_opencl_arg_results(launch, op, DQ, DV);
    tsri_opencl_arg_dims(launch);
    tsri_opencl_arg_head_sizes(launch, q, k, v, y);
    tsri_opencl_arg_leading_strides(launch, "d", "bth", op->in[DY]);
    tsri_opencl_arg_int(launch, "H", q->dim[2].factor);
    tsri_opencl_arg_int(launch, "group", tsri_opencl_heads_of_key(q, k));
    tsri_opencl_arg_scale(launch, attrs);
}

/* Binds scratch for <dy, y> of each query: f32 [B,H,T]. */
static void arg_own(const tsr_op *op, tsri_opencl_launch *launch) {
    tsri_opencl_arg_scratch(
        launch, "scratch", tsri_tensor_times(tsri_tensor_count(op->in[LSE]), tsri_tensor_const(4)));
}

static void bind_queries(const tsri_opencl_variant *variant, const tsr_op *op,
                         tsri_opencl_launch *launch) {
    (void)variant;
    const tsr_tensor *q = op->in[Q];
    const int64_t a_key = 2 * q->dim[3].factor + op->in[V]->dim[3].factor;
    bind_operands(op, launch);
    arg_own(op, launch);
    tsri_opencl_grid(launch, 0, q->dim[1], 1);
    tsri_opencl_grid(launch, 1, q->dim[2], 1);
    tsri_opencl_grid(launch, 2, q->dim[0], 1);
    tsri_opencl_work(launch, tsri_tensor_times(op->in[K]->dim[1], tsri_tensor_const(a_key)));
}

/* The grid has an axis for keys and, where their gradients are needed, for distances: it is as long
 * as the longer of both. */
static void bind_plain(const tsri_opencl_variant *variant, const tsr_op *op,
                       tsri_opencl_launch *launch) {
    (void)variant;
    const tsr_tensor *q = op->in[Q], *k = op->in[K], *relative = distances(op);
    const int64_t a_query =
        2 * (q->dim[3].factor + op->in[V]->dim[3].factor) * (tsri_opencl_heads_of_key(q, k));
    tsr_dim keys = k->dim[1];
    if (relative && relative->dim[1].factor > 0) {
        const int64_t most = tsri_opencl_highest(op, keys), many = relative->dim[1].factor;
        keys = tsri_tensor_const(most > many ? most : many);
    }
    bind_operands(op, launch);
    arg_own(op, launch);
    tsri_opencl_grid(launch, 0, keys, 1);
    tsri_opencl_grid(launch, 1, relative ? q->dim[2] : k->dim[2], 1);
    tsri_opencl_grid(launch, 2, q->dim[0], 1);
    tsri_opencl_work(launch, tsri_tensor_times(q->dim[1], tsri_tensor_const(a_query)));
}

static void bind_flash(const tsri_opencl_variant *variant, const tsr_op *op,
                       tsri_opencl_launch *launch) {
    (void)variant;
    const tsr_tensor *q = op->in[Q], *k = op->in[K];
    const int64_t a_pair =
        (3 * q->dim[3].factor + 2 * op->in[V]->dim[3].factor) * (tsri_opencl_heads_of_key(q, k));
    const tsr_dim pairs = q->dim[1].symbols & k->dim[1].symbols
                              ? tsri_tensor_const(tsri_opencl_highest(op, q->dim[1]) *
                                                  tsri_opencl_highest(op, k->dim[1]))
                              : tsri_tensor_times(q->dim[1], k->dim[1]);
    bind_operands(op, launch);
    tsri_opencl_grid(launch, 0, k->dim[2], 1);
    tsri_opencl_grid(launch, 1, q->dim[0], 1);
    tsri_opencl_work(launch, tsri_tensor_times(pairs, tsri_tensor_const(a_pair)));
}

/* The grid of work-groups of 64 work-items that each take `tile` of n queries or keys, of `heads`
 * heads. A work-item's work is that of `others` pairs. */
static void bind_tiles(const tsr_op *op, tsri_opencl_launch *launch, tsr_dim n, int tile,
                       tsr_dim heads, tsr_dim others) {
    const int64_t a_pair = 2 * (op->in[Q]->dim[3].factor + op->in[V]->dim[3].factor);
    bind_operands(op, launch);
    arg_own(op, launch);
    tsri_opencl_grid(launch, 0, tsri_tensor_times(n, tsri_tensor_const(TILE_GROUP)), tile);
    tsri_opencl_grid(launch, 1, heads, 1);
    tsri_opencl_grid(launch, 2, op->in[Q]->dim[0], 1);
    tsri_opencl_group(launch, TILE_GROUP, 1, 1);
    tsri_opencl_work(launch,
                     tsri_tensor_times(others, tsri_tensor_const(1 + a_pair * tile / TILE_GROUP)));
}

static void bind_tiled_queries(const tsri_opencl_variant *variant, const tsr_op *op,
                               tsri_opencl_launch *launch) {
    (void)variant;
    bind_tiles(op, launch, op->in[Q]->dim[1], TILE_QUERIES, op->in[Q]->dim[2], op->in[K]->dim[1]);
}

static void bind_tiled(const tsri_opencl_variant *variant, const tsr_op *op,
                       tsri_opencl_launch *launch) {
    (void)variant;
    const tsr_tensor *q = op->in[Q], *k = op->in[K];
    const tsr_dim group = tsri_tensor_const(tsri_opencl_heads_of_key(q, k));
    bind_tiles(op, launch, k->dim[1], tile_keys(op), k->dim[2],
               tsri_tensor_times(q->dim[1], group));
}

static const tsri_opencl_stage tiled_queries = {.name = "attention_grad_tiled_queries",
                                                .file = "attention_grad/tiled_queries.cl",
                                                .define = define_tiled,
                                                .bind = bind_tiled_queries};

static const tsri_opencl_stage queries = {.name = "attention_grad_queries",
                                          .file = "attention_grad/plain_queries.cl",
                                          .define = define_plain,
                                          .bind = bind_queries};

const tsri_opencl_variant tsri_opencl_variants_attention_grad[] = {
    {.name = "tiled",
     .op = TSR_OP_ATTENTION_GRAD,
     .file = "attention_grad/tiled.cl",
     .before = &tiled_queries,
     .gpu = true,
     .score = 70,
     .weight_operand = -1,
     .fits = fits_tiled,
     .define = define_tiled,
     .bind = bind_tiled},
    {.name = "flash",
     .op = TSR_OP_ATTENTION_GRAD,
     .file = "attention_grad/flash.cl",
     .score = 50,
     .weight_operand = -1,
     .fits = fits_flash,
     .define = define_plain,
     .bind = bind_flash},
    {TSRI_OPENCL_PLAIN(TSR_OP_ATTENTION_GRAD, "attention_grad", fits_plain, define_plain,
                       bind_plain),
     .before = &queries, .weight_operand = -1},
    {.name = NULL},
};
