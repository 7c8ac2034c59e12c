/* backends/opencl/variants/attention/attention.c - attention: scores, softmax and the sum of values;
 * variants by queries, by key heads, and in tiles. */
#include "backends/opencl/variants/attention/attention.h"

TSRI_OPERANDS(attention);
enum {
    MOST_DECODED = 8,                  /* from 9 queries on, a tile of 32 is faster */
    QUERIES = 32,                      /* of a tile of flash.cl */
    TILE_KEYS = TSRI_OPENCL_TILE_KEYS, /* the others are of tile.clh */
    MOST_ROWS = 16,
    MOST_LOCAL = 16384,
    CHUNK = TSRI_OPENCL_CHUNK,
    MOST_LOCAL_OF_CHUNK = 32768
};

static bool fits_flash(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                       const tsr_op *op, const char **why) {
    if (!facts->vector16)
        return tsri_opencl_refuse(why, "made for CPUs: its vectors have 16 queries or keys");
    return tsri_opencl_fits_flash_heads(op->in[Q], op->in[V], why) &&
           tsri_opencl_fits_attention(variant, facts, op, why);
}

static bool fits_decode(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                        const tsr_op *op, const char **why) {
    if (op->in[Q]->rank == 4 && tsri_opencl_highest(op, op->in[Q]->dim[1]) > MOST_DECODED)
        return tsri_opencl_refuse(why, "made for 8 queries a sequence at most");
    return fits_flash(variant, facts, op, why);
}

/* --- by vdpbf16ps: both fit on the same devices, so that a sequence has the same bytes in a prompt,
 * alone and in a batch --- */

static bool fits_bf16(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                      const tsr_op *op, const char **why) {
    const tsr_attention_attrs *attrs = op->attrs;
    if (attrs->compute != TSR_COMPUTE_BF16)
        return tsri_opencl_refuse(why, "its products are of bf16; this op asks for others");
    if (!tsri_opencl_fits_narrow_products(op, why))
        return false;
    return fits_flash(variant, facts, op, why);
}

static bool fits_bf16_many(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                           const tsr_op *op, const char **why) {
    const int queries = tsri_opencl_variant_tunable(variant, "QUERIES");
    if (queries != 16 && queries != 32 && queries != 64)
        return tsri_opencl_refuse(why, "QUERIES is 16, 32 or 64");
    return fits_bf16(variant, facts, op, why);
}

static bool fits_bf16_decode(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                             const tsr_op *op, const char **why) {
    return fits_decode(variant, facts, op, why) && fits_bf16(variant, facts, op, why);
}

/* --- tiles of rows, by work-groups: tiled.cl, split.cl --- */

/* How cl/attention/tile.clh cuts queries, keys and values. */
typedef struct tile {
    int queries;        /* rows (queries of the query heads of a key head) of a work-group */
    int k_unit, v_unit; /* elements that are read at once */
    int k_part, v_part; /* elements that pass through local memory at once */
    int64_t bytes;      /* of local memory */
} tile;

static int parts_of(int size, int part) {
    return (size + part - 1) / part;
}

/* A key or value in parts of equal length, of at most `step` elements rounded up to whole units; one
 * unit where it has no element. */
static int part_of(int size, int step, int unit) {
    const int whole = unit > 4 ? unit : 4, parts = parts_of(size, step);
    return parts ? parts_of(parts_of(size, parts), whole) * whole : whole;
}

/* The rows in local memory for TILE_KEYS parts, each of which `group` work-items write. */
static int rows_of(int part, int unit, int group) {
    return parts_of(parts_of(TILE_KEYS * part / unit, group) * group * unit, part);
}

/* For the rows that a work-group has to take, fewer where they would not fit into the registers of
 * 64 work-items; parts of at most `step` elements, fewer where they would need too much local
 * memory. `scored` keys have their scores there: a tile's or a chunk's. */
static tile tile_of(const tsr_op *op, int step, int group, int scored) {
    const int64_t rows = tsri_opencl_rows_of_key(op),
                  most = scored == CHUNK ? MOST_LOCAL_OF_CHUNK : MOST_LOCAL;
    const int D = (int)op->in[Q]->dim[3].factor, Dv = (int)op->in[V]->dim[3].factor;
    tile t = {.queries = scored == CHUNK ? 1 : 4,
              .k_unit = tsri_opencl_key_unit(op->in[K]),
              .v_unit = tsri_opencl_key_unit(op->in[V])};
    while (t.queries < rows && t.queries < MOST_ROWS)
        t.queries *= 2;
    while (t.queries > 4 && t.queries * (D > Dv ? D : Dv) > 2048)
        t.queries /= 2;
    do {
        t.k_part = part_of(D, step, t.k_unit);
        t.v_part = part_of(Dv, step, t.v_unit);
        const int pitch = ((t.k_part > t.v_part ? t.k_part : t.v_part) / 4) | 1,
                  k_rows = rows_of(t.k_part, t.k_unit, group),
                  v_rows = rows_of(t.v_part, t.v_unit, group);
        t.bytes =
            4 *
            ((k_rows > v_rows ? k_rows : v_rows) * 4 * pitch +
             t.queries * (parts_of(D, t.k_part) * t.k_part + scored + 2 * scored / TILE_KEYS + 3));
        step /= 2;
    } while (t.bytes > most && step >= 8);
    return t;
}

static bool fits_tile(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                      const tsr_op *op, int scored, const char **why) {
    const int group = tsri_opencl_variant_tunable(variant, "GROUP");
    const tile t = tile_of(op, tsri_opencl_variant_tunable(variant, "STEP"), group, scored);
    return tsri_opencl_fits_group(facts, group, t.bytes, why);
}

static bool fits_tiled(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                       const tsr_op *op, const char **why) {
    return tsri_opencl_fits_attention(variant, facts, op, why) &&
           fits_tile(variant, facts, op, TILE_KEYS, why);
}

/* For the variants of chunk.clh: whether one work-group takes all rows of a key head. */
static bool fits_chunk(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                       const tsr_op *op, int *queries, const char **why) {
    if (!tsri_opencl_fits_attention(variant, facts, op, why) ||
        !fits_tile(variant, facts, op, CHUNK, why))
        return false;
    *queries = tile_of(op, tsri_opencl_variant_tunable(variant, "STEP"),
                       tsri_opencl_variant_tunable(variant, "GROUP"), CHUNK)
                   .queries;
    return tsri_opencl_rows_of_key(op) <= *queries ||
           tsri_opencl_refuse(why, "made for up to 16 queries of the heads that share a key "
                                   "head, fewer where heads are large");
}

static bool fits_split(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                       const tsr_op *op, const char **why) {
    int queries;
    return fits_chunk(variant, facts, op, &queries, why) &&
           tsri_opencl_fits_chunks(op, queries, why);
}

static bool fits_one_chunk(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                           const tsr_op *op, const char **why) {
    enum { TWO_GROUPS = 48 << 10 }; /* one takes up to 24 KiB */
    int queries;
    if (!fits_chunk(variant, facts, op, &queries, why))
        return false;
    if (facts->common.local_memory < TWO_GROUPS)
        return tsri_opencl_refuse(why, "made for devices with 48 KiB of local memory or more");
    return tsri_opencl_chunks_of(op) < 2 ||
           tsri_opencl_refuse(why, "made for at most as many keys as a chunk has (256)");
}

/* The query heads that a work-item of decode.cl takes: as many of one key head as its registers
 * hold. */
static int heads_together(const tsr_op *op) {
    const int64_t group = tsri_opencl_heads_of_key(op->in[Q], op->in[K]);
    for (int heads = 4; heads > 1; heads--)
        if (group % heads == 0)
            return heads;
    return 1;
}

static void define_decode(const tsri_opencl_variant *variant, const tsr_op *op,
                          tsri_opencl_defines *defines) {
    tsri_opencl_define_attention(variant, op, defines);
    tsri_opencl_define_int(defines, "HEADS", heads_together(op));
}

static void define_tile(const tsr_op *op, int scored, tsri_opencl_defines *defines) {
    const tile t = tile_of(op, tsri_opencl_define_value(defines, "STEP"),
                           tsri_opencl_define_value(defines, "GROUP"), scored);
    tsri_opencl_define_int(defines, "QUERIES", t.queries);
    tsri_opencl_define_int(defines, "K_PART", t.k_part);
    tsri_opencl_define_int(defines, "V_PART", t.v_part);
    tsri_opencl_define_int(defines, "K_UNIT", t.k_unit);
    tsri_opencl_define_int(defines, "V_UNIT", t.v_unit);
}

static void define_tiled(const tsri_opencl_variant *variant, const tsr_op *op,
                         tsri_opencl_defines *defines) {
    tsri_opencl_define_attention(variant, op, defines);
    define_tile(op, TILE_KEYS, defines);
}

static void define_split(const tsri_opencl_variant *variant, const tsr_op *op,
                         tsri_opencl_defines *defines) {
    tsri_opencl_define_attention(variant, op, defines);
    define_tile(op, CHUNK, defines);
}

static void define_chunks(const tsri_opencl_variant *variant, const tsr_op *op,
                          tsri_opencl_defines *defines) {
    tsri_opencl_define_tunable(defines, "GROUP");
    tsri_opencl_define_tunable(defines, "STEP");
    tsri_opencl_define_tunable(defines, "DEPTH");
    tsri_opencl_define_tunable(defines, "SUB");
    define_split(variant, op, defines);
}

/* The grid where each work-item takes `queries` queries of `heads` query heads. */
static void bind_grid(const tsr_op *op, tsri_opencl_launch *launch, int queries, int heads) {
    const tsr_tensor *q = op->in[Q], *v = op->in[V];
    const int64_t a_key = (q->dim[3].factor + v->dim[3].factor) * queries * heads;
    tsri_opencl_grid(launch, 0, q->dim[1], queries);
    tsri_opencl_grid(launch, 1, q->dim[2], heads);
    tsri_opencl_grid(launch, 2, q->dim[0], 1);
    tsri_opencl_work(launch, tsri_tensor_times(tsri_opencl_keys_of(op), tsri_tensor_const(a_key)));
}

static void bind_plain(const tsri_opencl_variant *variant, const tsr_op *op,
                       tsri_opencl_launch *launch) {
    (void)variant;
    tsri_opencl_bind_attention(op, launch);
    bind_grid(op, launch, 1, 1);
}

static void bind_flash(const tsri_opencl_variant *variant, const tsr_op *op,
                       tsri_opencl_launch *launch) {
    (void)variant;
    tsri_opencl_bind_attention(op, launch);
    bind_grid(op, launch, QUERIES, 1);
}

static void bind_bf16(const tsri_opencl_variant *variant, const tsr_op *op,
                      tsri_opencl_launch *launch) {
    (void)variant;
    tsri_opencl_bind_attention(op, launch);
    bind_grid(op, launch, tsri_opencl_tuned(launch, "QUERIES"), 1);
}

static void bind_decode(const tsri_opencl_variant *variant, const tsr_op *op,
                        tsri_opencl_launch *launch) {
    (void)variant;
    tsri_opencl_bind_attention(op, launch);
    bind_grid(op, launch, 1, heads_together(op));
}

/* The rows of a work-group of `items`, and the multiply-adds of a work-item with each key. */
static int bind_tile(const tsr_op *op, tsri_opencl_launch *launch, int scored, int *items,
                     int64_t *a_key) {
    *items = tsri_opencl_tuned(launch, "GROUP");
    const int rows = tile_of(op, tsri_opencl_tuned(launch, "STEP"), *items, scored).queries;
    *a_key = 1 + (op->in[Q]->dim[3].factor + op->in[V]->dim[3].factor) * rows / *items;
    tsri_opencl_bind_attention(op, launch);
    tsri_opencl_grid(launch, 1, op->in[K]->dim[2], 1);
    tsri_opencl_grid(launch, 2, op->in[Q]->dim[0], 1);
    tsri_opencl_group(launch, *items, 1, 1);
    return rows;
}

static void bind_tiled(const tsri_opencl_variant *variant, const tsr_op *op,
                       tsri_opencl_launch *launch) {
    (void)variant;
    const tsr_tensor *q = op->in[Q], *k = op->in[K];
    int items;
    int64_t a_key;
    const int rows = bind_tile(op, launch, TILE_KEYS, &items, &a_key);
    const tsr_dim all =
        tsri_tensor_times(q->dim[1], tsri_tensor_const(items * tsri_opencl_heads_of_key(q, k)));
    tsri_opencl_grid(launch, 0, all, rows);
    tsri_opencl_work(launch, tsri_tensor_times(tsri_opencl_keys_of(op), tsri_tensor_const(a_key)));
}

static void bind_chunks(const tsri_opencl_variant *variant, const tsr_op *op,
                        tsri_opencl_launch *launch) {
    (void)variant;
    int items;
    int64_t a_key;
    const int rows = bind_tile(op, launch, CHUNK, &items, &a_key);
    tsri_opencl_arg_chunks(op, launch, rows);
    tsri_opencl_grid(launch, 0,
                     tsri_tensor_times(tsri_opencl_keys_of(op), tsri_tensor_const(items)), CHUNK);
    tsri_opencl_work(launch, tsri_tensor_const(CHUNK * a_key));
}

static void bind_one_chunk(const tsri_opencl_variant *variant, const tsr_op *op,
                           tsri_opencl_launch *launch) {
    (void)variant;
    int items;
    int64_t a_key;
    bind_tile(op, launch, CHUNK, &items, &a_key);
    tsri_opencl_grid(launch, 0, tsri_tensor_const(items), 1);
    tsri_opencl_work(launch, tsri_tensor_times(tsri_opencl_keys_of(op), tsri_tensor_const(a_key)));
}

static void bind_split(const tsri_opencl_variant *variant, const tsr_op *op,
                       tsri_opencl_launch *launch) {
    (void)variant;
    const tile t =
        tile_of(op, tsri_opencl_tuned(launch, "STEP"), tsri_opencl_tuned(launch, "GROUP"), CHUNK);
    tsri_opencl_bind_merging(op, launch, t.queries);
}

static const tsri_opencl_stage chunks = {.name = "attention_chunks",
                                         .file = "attention/chunks.cl",
                                         .define = define_chunks,
                                         .bind = bind_chunks};

const tsri_opencl_variant tsri_opencl_variants_attention[] = {
    TSRI_OPENCL_ATTENTION_UNITS("mma", MMA, 2),
    TSRI_OPENCL_ATTENTION_UNITS("mfma", MFMA, 2),
    TSRI_OPENCL_ATTENTION_UNITS("wmma11", WMMA11, 1),
    TSRI_OPENCL_ATTENTION_UNITS("wmma12", WMMA12, 1),
    TSRI_OPENCL_ATTENTION_UNITS("dpas8", DPAS8, 1),
    TSRI_OPENCL_ATTENTION_UNITS("dpas16", DPAS16, 1),
    {.name = "bf16_decode",
     .op = TSR_OP_ATTENTION,
     .file = "attention/bf16_decode.cl",
     .probe = TSRI_OPENCL_PROBE_BF16,
     .forms = "BF16",
     .score = 88,
     .tunables = {{"AHEAD", 1, 0, 1}},
     .weight_operand = -1,
     .fits = fits_bf16_decode,
     .define = define_decode,
     .bind = bind_decode},
    {.name = "bf16",
     .op = TSR_OP_ATTENTION,
     .file = "attention/bf16.cl",
     .probe = TSRI_OPENCL_PROBE_BF16,
     .forms = "BF16",
     .score = 87,
     .tunables = {{"QUERIES", 64, 16, 64}},
     .weight_operand = -1,
     .fits = fits_bf16_many,
     .define = tsri_opencl_define_attention,
     .bind = bind_bf16},
    {.name = "split",
     .op = TSR_OP_ATTENTION,
     .file = "attention/split.cl",
     .before = &chunks,
     .gpu = true,
     .score = 75,
     .tunables =
         {{"GROUP", 64, 64, 256}, {"STEP", 64, 16, 64}, {"DEPTH", 2, 1, 8}, TSRI_OPENCL_SUB},
     .weight_operand = -1,
     .fits = fits_split,
     .define = define_split,
     .bind = bind_split},
    {.name = "one_chunk",
     .op = TSR_OP_ATTENTION,
     .file = "attention/one_chunk.cl",
     .gpu = true,
     .score = 75,
     .tunables =
         {{"GROUP", 64, 64, 256}, {"STEP", 64, 16, 64}, {"DEPTH", 2, 1, 8}, TSRI_OPENCL_SUB},
     .weight_operand = -1,
     .fits = fits_one_chunk,
     .define = define_split,
     .bind = bind_one_chunk},
    {.name = "tiled",
     .op = TSR_OP_ATTENTION,
     .file = "attention/tiled.cl",
     .gpu = true,
     .score = 70,
     .tunables = {{"GROUP", 64, 64, 256}, {"STEP", 64, 16, 64}, TSRI_OPENCL_SUB},
     .weight_operand = -1,
     .fits = fits_tiled,
     .define = define_tiled,
     .bind = bind_tiled},
    {.name = "decode",
     .op = TSR_OP_ATTENTION,
     .file = "attention/decode.cl",
     .score = 60,
     .tunables = {{"AHEAD", 32, 0, 64}},
     .weight_operand = -1,
     .fits = fits_decode,
     .define = define_decode,
     .bind = bind_decode},
    {.name = "flash",
     .op = TSR_OP_ATTENTION,
     .file = "attention/flash.cl",
     .score = 50,
     .weight_operand = -1,
     .fits = fits_flash,
     .define = tsri_opencl_define_attention,
     .bind = bind_flash},
    {TSRI_OPENCL_PLAIN(TSR_OP_ATTENTION, "attention", tsri_opencl_fits_attention,
                       tsri_opencl_define_attention, bind_plain),
     .weight_operand = -1},
    {.name = NULL},
};
