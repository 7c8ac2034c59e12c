/* backends/opencl/variants/lookup/concat.c - concat: up to four inputs side by side. */
#include "backends/opencl/variants/shared/common.h"

enum { MOST = 4 /* inputs */ };

static bool fits_plain(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                       const tsr_op *op, const char **why) {
    (void)variant, (void)facts;
    for (uint32_t i = 0; i < op->n_in; i++)
        if (!tsri_opencl_fits_rows(op->in[i], why))
            return false;
    return tsri_opencl_fits_rows(op->out[0], why) && tsri_opencl_fits_index(op, why);
}

static void define_plain(const tsri_opencl_variant *variant, const tsr_op *op,
                         tsri_opencl_defines *defines) {
    (void)variant;
    int inputs = 0;
    for (uint32_t i = 0; i < MOST; i++)
        inputs += tsri_opencl_in(op, i) != NULL;
    tsri_opencl_define_int(defines, "INPUTS", inputs);
}

static bool fits_lanes(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                       const tsr_op *op, const char **why) {
    return tsri_opencl_fits_vectors(facts, why) && fits_plain(variant, facts, op, why);
}

static void bind_operands(const tsr_op *op, tsri_opencl_launch *launch) {
    static const struct {
        const char *tensor, *columns, *row;
    } names[MOST] = {{"a", "a_columns", "a_row"},
                     {"b", "b_columns", "b_row"},
                     {"c", "c_columns", "c_row"},
                     {"d", "d_columns", "d_row"}};
    const tsr_tensor *y = op->out[0];
    for (uint32_t i = 0; i < MOST; i++)
        tsri_opencl_arg_tensor(launch, names[i].tensor, tsri_opencl_in(op, i));
    tsri_opencl_arg_tensor(launch, "y", y);
    tsri_opencl_arg_dims(launch);
    tsri_opencl_arg_dim(launch, "R", tsri_tensor_rows(y));
    for (uint32_t i = 0; i < MOST; i++) {
        const tsr_tensor *x = tsri_opencl_in(op, i);
        tsri_opencl_arg_int(launch, names[i].columns, x ? tsri_tensor_columns(x).factor : 0);
        tsri_opencl_arg_int(launch, names[i].row, tsri_opencl_row_stride(x));
    }
    tsri_opencl_arg_int(launch, "C", tsri_tensor_columns(y).factor);
    tsri_opencl_arg_row(launch, "y", y);
}

static void bind_plain(const tsri_opencl_variant *variant, const tsr_op *op,
                       tsri_opencl_launch *launch) {
    (void)variant;
    const tsr_tensor *y = op->out[0];
    bind_operands(op, launch);
    tsri_opencl_grid(launch, 0, tsri_tensor_columns(y), 1);
    tsri_opencl_grid(launch, 1, tsri_tensor_rows(y), 1);
}

static void bind_lanes(const tsri_opencl_variant *variant, const tsr_op *op,
                       tsri_opencl_launch *launch) {
    (void)variant;
    const tsr_tensor *y = op->out[0];
    bind_operands(op, launch);
    tsri_opencl_grid(launch, 0, tsri_tensor_rows(y), 1);
    tsri_opencl_group(launch, 1, 1, 1);
    tsri_opencl_work(launch, tsri_tensor_columns(y));
}

const tsri_opencl_variant tsri_opencl_variants_concat[] = {
    {TSRI_OPENCL_LANES(TSR_OP_CONCAT, "concat", 50, fits_lanes, define_plain, bind_lanes),
     .weight_operand = -1},
    {TSRI_OPENCL_PLAIN(TSR_OP_CONCAT, "concat", fits_plain, define_plain, bind_plain),
     .weight_operand = -1},
    {.name = NULL},
};
