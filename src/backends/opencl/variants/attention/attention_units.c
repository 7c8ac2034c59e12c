/* backends/opencl/variants/attention/attention_units.c - attention by a GPU's matrix units, with products
 * in f16 or bf16. The two variants of a unit fit on the same devices and for the same heads, so that a
 * sequence has the same bytes in a prompt, alone and in a batch. */
#include "backends/opencl/variants/attention/attention.h"

TSRI_OPERANDS(attention);
enum { MOST_HEAD = 128 }; /* its sums are the registers of a sub-group */

/* Sub-groups of a work-group, along the rows and along the keys of a tile. */
typedef struct groups {
    int m, n;
} groups;

typedef struct tile {
    groups groups;
    int items, queries;
    int64_t bytes; /* of local memory */
} tile;

static int round_up(int64_t n, int unit) {
    return (int)((n + unit - 1) / unit * unit);
}

/* What cl/attention/units.cl declares. */
static tile tile_of(const tsri_opencl_variant *variant, const tsr_op *op, groups g) {
    const tsri_opencl_unit unit = tsri_opencl_unit_of(variant->probe);
    const int query_pitch = round_up(op->in[Q]->dim[3].factor, 16) / 2 + 4,
              wide = round_up(op->in[V]->dim[3].factor, g.n * unit.n), queries = g.m * unit.m;
    /* Values lie along the keys or, for a unit that reads them across, along their elements. */
    const int along = wide * (TSRI_OPENCL_TILE_KEYS / 2 + 4),
              across = TSRI_OPENCL_TILE_KEYS * (wide / 2 + 4);
    return (tile){.groups = g,
                  .items = g.m * g.n * unit.lanes,
                  .queries = queries,
                  .bytes = 4 * ((int64_t)(queries + TSRI_OPENCL_TILE_KEYS) * query_pitch +
                                (along > across ? along : across) +
                                queries * (TSRI_OPENCL_TILE_KEYS + 4 + 5))};
}

/* For few rows of a key head, and for any number. A work-group has two work-items for each row; Intel's
 * compiler needs 256 of them, or it spills. */
static tile few_rows(const tsri_opencl_variant *variant, const tsr_op *op) {
    static const groups few[TSRI_OPENCL_PROBES] = {
        [TSRI_OPENCL_PROBE_MMA] = {1, 4},    [TSRI_OPENCL_PROBE_MFMA] = {1, 1},
        [TSRI_OPENCL_PROBE_WMMA11] = {1, 2}, [TSRI_OPENCL_PROBE_WMMA12] = {1, 2},
        [TSRI_OPENCL_PROBE_DPAS8] = {8, 4},  [TSRI_OPENCL_PROBE_DPAS16] = {8, 2},
    };
    return tile_of(variant, op, few[variant->probe]);
}

static tile many_rows(const tsri_opencl_variant *variant, const tsr_op *op) {
    static const groups many[TSRI_OPENCL_PROBES] = {
        [TSRI_OPENCL_PROBE_MMA] = {4, 1},    [TSRI_OPENCL_PROBE_MFMA] = {2, 1},
        [TSRI_OPENCL_PROBE_WMMA11] = {4, 1}, [TSRI_OPENCL_PROBE_WMMA12] = {4, 1},
        [TSRI_OPENCL_PROBE_DPAS8] = {8, 4},  [TSRI_OPENCL_PROBE_DPAS16] = {8, 2},
    };
    return tile_of(variant, op, many[variant->probe]);
}

static bool are_few(const tile *few, const tsr_op *op) {
    return tsri_opencl_rows_of_key(op) <= few->queries;
}

static tile tile_for(const tsri_opencl_variant *variant, const tsr_op *op) {
    const tile few = few_rows(variant, op);
    return are_few(&few, op) ? few : many_rows(variant, op);
}

bool tsri_opencl_fits_attention_units(const tsri_opencl_variant *variant,
                                      const tsri_opencl_facts *facts, const tsr_op *op,
                                      const char **why) {
    const tsr_attention_attrs *attrs = op->attrs;
    if (attrs->compute != TSR_COMPUTE_F16 && attrs->compute != TSR_COMPUTE_BF16)
        return tsri_opencl_refuse(why, "its products are of f16 or bf16; this op asks for others");
    if (!tsri_opencl_fits_narrow_products(op, why) ||
        !tsri_opencl_fits_attention(variant, facts, op, why))
        return false;
    if (op->in[Q]->dim[3].factor > MOST_HEAD || op->in[V]->dim[3].factor > MOST_HEAD)
        return tsri_opencl_refuse(why, "a head is larger than 128");
    const tile few = few_rows(variant, op), many = many_rows(variant, op);
    return tsri_opencl_fits_group(facts, few.items, few.bytes, why) &&
           tsri_opencl_fits_group(facts, many.items, many.bytes, why);
}

bool tsri_opencl_fits_attention_units_split(const tsri_opencl_variant *variant,
                                            const tsri_opencl_facts *facts, const tsr_op *op,
                                            const char **why) {
    if (!tsri_opencl_fits_attention_units(variant, facts, op, why))
        return false;
    const tile few = few_rows(variant, op);
    return (are_few(&few, op) ||
            tsri_opencl_refuse(why,
                               "made for as many queries of the heads that share a key head as "
                               "the unit takes at once (mma, wmma: 16, mfma: 32, dpas: 64)")) &&
           tsri_opencl_fits_chunks(op, few.queries, why);
}

static void define_tile(const tsri_opencl_variant *variant, const tsr_op *op, const tile *t,
                        tsri_opencl_defines *defines) {
    const tsr_attention_attrs *attrs = op->attrs;
    tsri_opencl_define_attention(variant, op, defines);
    tsri_opencl_define_int(defines, tsri_opencl_unit_of(variant->probe).constant, 1);
    tsri_opencl_define_int(defines, "PRODUCT",
                           attrs->compute == TSR_COMPUTE_F16 ? TSR_F16 : TSR_BF16);
    tsri_opencl_define_int(defines, "SM", t->groups.m);
    tsri_opencl_define_int(defines, "SN", t->groups.n);
    tsri_opencl_define_int(defines, "QUERIES", t->queries);
    tsri_opencl_define_int(defines, "K_UNIT", tsri_opencl_key_unit(op->in[K]));
    tsri_opencl_define_int(defines, "V_UNIT", tsri_opencl_key_unit(op->in[V]));
}

void tsri_opencl_define_attention_units(const tsri_opencl_variant *variant, const tsr_op *op,
                                        tsri_opencl_defines *defines) {
    const tile t = tile_for(variant, op);
    define_tile(variant, op, &t, defines);
    tsri_opencl_define_int(defines, "SPLIT", 0);
    tsri_opencl_define_int(defines, "DEPTH", 1);
}

/* Of attention/split.cl, which merges what the stage leaves. */
void tsri_opencl_define_attention_units_split(const tsri_opencl_variant *variant, const tsr_op *op,
                                              tsri_opencl_defines *defines) {
    const tile t = few_rows(variant, op);
    define_tile(variant, op, &t, defines);
}

static void define_stage(const tsri_opencl_variant *variant, const tsr_op *op,
                         tsri_opencl_defines *defines) {
    const tile t = few_rows(variant, op);
    tsri_opencl_define_tunable(defines, "DEPTH");
    define_tile(variant, op, &t, defines);
    tsri_opencl_define_int(defines, "SPLIT", 1);
}

/* Work-groups for so many work-items along the first axis, of which each does `work` multiply-adds. */
static void bind_groups(const tsr_op *op, tsri_opencl_launch *launch, const tile *t, tsr_dim items,
                        int per_item, tsr_dim keys) {
    const int64_t a_key =
        1 + (op->in[Q]->dim[3].factor + op->in[V]->dim[3].factor) * t->queries / t->items;
    tsri_opencl_grid(launch, 0, items, per_item);
    tsri_opencl_grid(launch, 1, op->in[K]->dim[2], 1);
    tsri_opencl_grid(launch, 2, op->in[Q]->dim[0], 1);
    tsri_opencl_group(launch, t->items, 1, 1);
    tsri_opencl_work(launch, tsri_tensor_times(keys, tsri_tensor_const(a_key)));
}

void tsri_opencl_bind_attention_units(const tsri_opencl_variant *variant, const tsr_op *op,
                                      tsri_opencl_launch *launch) {
    const tile t = tile_for(variant, op);
    const int64_t a_query = t.items * tsri_opencl_heads_of_key(op->in[Q], op->in[K]);
    tsri_opencl_bind_attention(op, launch);
    bind_groups(op, launch, &t, tsri_tensor_times(op->in[Q]->dim[1], tsri_tensor_const(a_query)),
                t.queries, tsri_opencl_keys_of(op));
}

static void bind_stage(const tsri_opencl_variant *variant, const tsr_op *op,
                       tsri_opencl_launch *launch) {
    const tile t = few_rows(variant, op);
    tsri_opencl_bind_attention(op, launch);
    tsri_opencl_arg_chunks(op, launch, t.queries);
    bind_groups(op, launch, &t,
                tsri_tensor_times(tsri_opencl_keys_of(op), tsri_tensor_const(t.items)),
                TSRI_OPENCL_CHUNK, tsri_tensor_const(TSRI_OPENCL_CHUNK));
}

void tsri_opencl_bind_attention_units_split(const tsri_opencl_variant *variant, const tsr_op *op,
                                            tsri_opencl_launch *launch) {
    tsri_opencl_bind_merging(op, launch, few_rows(variant, op).queries);
}

const tsri_opencl_stage tsri_opencl_stage_attention_units = {.name = "attention_units",
                                                             .file = "attention/units.cl",
                                                             .newest_c = true,
                                                             .define = define_stage,
                                                             .bind = bind_stage};
