/* backends/opencl/variants/lookup/embed.c - embed: the rows of a table that the ids name. */
#include "backends/opencl/variants/shared/common.h"
#include "tensor/quantize.h"

TSRI_OPERANDS(embed);

static bool fits_plain(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                       const tsr_op *op, const char **why) {
    (void)variant, (void)facts;
    const tsr_tensor *table = op->in[TABLE];
    if (table->rank != 2 || !tsri_opencl_is_constant(table->dim[0]) ||
        !tsri_opencl_is_constant(table->dim[1]))
        return tsri_opencl_refuse(why, "the table is not a matrix of constant size");
    if (!tsri_tensor_is_packed(op->in[IDS]))
        return tsri_opencl_refuse(why, "the ids are not contiguous; copy them first");
    return tsri_opencl_fits_weight(table, why) && tsri_opencl_fits_rows(op->out[Y], why) &&
           tsri_opencl_fits_index(op, why);
}

static bool fits_panels(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                        const tsr_op *op, const char **why) {
    const bool blocks = tsri_tensor_is_kept_blocks((tsr_dtype)op->in[TABLE]->dtype);
    if (!facts->cpu)
        return tsri_opencl_refuse(why, "reads weights laid out for CPUs");
    if (op->in[TABLE]->offset != 0)
        return tsri_opencl_refuse(why, "the table is part of another weight");
    if (blocks != (variant->layout == &tsri_opencl_layout_panels64_blocks))
        return tsri_opencl_refuse(why, blocks ? "reads panels of numbers; these are of blocks"
                                              : "reads panels of blocks; these are of numbers");
    if (tsri_tensor_is_wide_blocks((tsr_dtype)op->in[TABLE]->dtype) && !facts->vector16)
        return tsri_opencl_refuse(why, "the device's compiler does not cope with float16");
    return fits_plain(variant, facts, op, why);
}

static bool fits_pairs(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                       const tsr_op *op, const char **why) {
    if (op->in[TABLE]->dtype != TSR_BF16)
        return tsri_opencl_refuse(why, "reads panels of bf16; the table has another dtype");
    return fits_panels(variant, facts, op, why);
}

static bool fits_panels32(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                          const tsr_op *op, const char **why) {
    if (!tsri_tensor_is_kept_blocks((tsr_dtype)op->in[TABLE]->dtype))
        return tsri_opencl_refuse(why, "made for a table of blocks");
    if (op->in[TABLE]->offset != 0)
        return tsri_opencl_refuse(why, "the table is part of another weight");
    return fits_plain(variant, facts, op, why);
}

static bool fits_lanes(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                       const tsr_op *op, const char **why) {
    if (!facts->cpu || !facts->vector16)
        return tsri_opencl_refuse(why, "made for CPUs: a work-item copies a row");
    return fits_plain(variant, facts, op, why);
}

static void define_plain(const tsri_opencl_variant *variant, const tsr_op *op,
                         tsri_opencl_defines *defines) {
    tsri_opencl_define_operand(defines, "TABLE", op->in[TABLE]);
    tsri_opencl_define_int(defines, "PANELS",
                           !variant->layout                                       ? 0
                           : variant->layout == &tsri_opencl_layout_panels64_bf16 ? 2
                                                                                  : 1);
}

static void define_blocks(const tsri_opencl_variant *variant, const tsr_op *op,
                          tsri_opencl_defines *defines) {
    (void)variant;
    tsri_opencl_define_operand(defines, "TABLE", op->in[TABLE]);
    tsri_opencl_define_int(defines, "WIDE",
                           tsri_tensor_is_wide_blocks((tsr_dtype)op->in[TABLE]->dtype));
}

static void bind_table(const tsr_op *op, tsri_opencl_launch *launch, int columns) {
    const tsr_embed_attrs *attrs = op->attrs;
    const tsr_tensor *table = op->in[TABLE], *ids = op->in[IDS], *y = op->out[Y];

    tsri_opencl_arg_operands(launch, op);
    tsri_opencl_arg_dims(launch);
    tsri_opencl_arg_dim(launch, "N", tsri_tensor_count(ids));
    tsri_opencl_arg_int(launch, "V", table->dim[0].factor);
    tsri_opencl_arg_int(launch, "C", table->dim[1].factor);
    tsri_opencl_arg_row(launch, "y", y);
    tsri_opencl_arg_float(launch, "scale", attrs->scale != 0.0f ? attrs->scale : 1.0f);
    tsri_opencl_arg_int(launch, "first", attrs->first);
    tsri_opencl_arg_int(launch, "whole", attrs->whole ? attrs->whole : table->dim[0].factor);
    tsri_opencl_grid(launch, 0, table->dim[1], columns);
    tsri_opencl_grid(launch, 1, tsri_tensor_count(ids), 1);
}

static void bind_plain(const tsri_opencl_variant *variant, const tsr_op *op,
                       tsri_opencl_launch *launch) {
    (void)variant;
    bind_table(op, launch, 1);
}

static void bind_lanes(const tsri_opencl_variant *variant, const tsr_op *op,
                       tsri_opencl_launch *launch) {
    (void)variant;
    bind_table(op, launch, 1);
    tsri_opencl_grid(launch, 0, tsri_tensor_count(op->in[IDS]), 1);
    tsri_opencl_grid(launch, 1, tsri_tensor_const(1), 1);
    tsri_opencl_group(launch, 1, 1, 1);
    tsri_opencl_work(launch, tsri_tensor_const(op->in[TABLE]->dim[1].factor));
}

static void bind_blocks(const tsri_opencl_variant *variant, const tsr_op *op,
                        tsri_opencl_launch *launch) {
    (void)variant;
    bind_table(op, launch, 32);
}

/* The plain layout comes first. Panels serve where another use of the table, a linear op, is faster
 * with them: scores are summed over all uses, so panels score little less than rows, whose copying takes
 * microseconds where that op takes milliseconds. */
const tsri_opencl_variant tsri_opencl_variants_embed[] = {
    {.name = "panels",
     .op = TSR_OP_EMBED,
     .file = "embed/plain.cl",
     .score = 18,
     .layout = &tsri_opencl_layout_panels64,
     .weight_operand = TABLE,
     .fits = fits_panels,
     .define = define_plain,
     .bind = bind_plain},
    {.name = "pairs",
     .op = TSR_OP_EMBED,
     .file = "embed/plain.cl",
     .score = 18,
     .layout = &tsri_opencl_layout_panels64_bf16,
     .weight_operand = TABLE,
     .fits = fits_pairs,
     .define = define_plain,
     .bind = bind_plain},
    {.name = "blocks",
     .op = TSR_OP_EMBED,
     .file = "embed/blocks.cl",
     .score = 5,
     .layout = &tsri_opencl_layout_panels64_blocks,
     .weight_operand = TABLE,
     .fits = fits_panels,
     .define = define_blocks,
     .bind = bind_blocks},
    {.name = "panels32",
     .op = TSR_OP_EMBED,
     .file = "embed/panels32.cl",
     .gpu = true,
     .score = 15,
     .layout = &tsri_opencl_layout_panels32_blocks,
     .weight_operand = TABLE,
     .fits = fits_panels32,
     .define = define_blocks,
     .bind = bind_plain},
    {TSRI_OPENCL_LANES(TSR_OP_EMBED, "embed", 20, fits_lanes, define_blocks, bind_lanes),
     .weight_operand = TABLE},
    {TSRI_OPENCL_PLAIN(TSR_OP_EMBED, "embed", fits_plain, define_plain, bind_plain),
     .weight_operand = TABLE},
    {.name = NULL},
};
