/* backends/opencl/variants/shared/units.c - linear and glu_linear by a GPU's matrix units, for products
 * in f16 or bf16. */
#include "backends/opencl/variants/shared/group.h"
#include "backends/opencl/variants/shared/normed.h"
#include "backends/opencl/variants/shared/weighted.h"

TSRI_OPERANDS(linear); /* glu_linear has the same, but for the residual */

enum { FEW = 16 }; /* rows of x of the variants whose tile is that small */

tsri_opencl_unit tsri_opencl_unit_of(tsri_opencl_probe probe) {
    static const tsri_opencl_unit units[TSRI_OPENCL_PROBES] = {
        [TSRI_OPENCL_PROBE_MMA] = {"UNIT_MMA", 32, 16, 8, 16},
        [TSRI_OPENCL_PROBE_MFMA] = {"UNIT_MFMA", 64, 32, 32, 8},
        [TSRI_OPENCL_PROBE_WMMA11] = {"UNIT_WMMA11", 32, 16, 16, 16},
        [TSRI_OPENCL_PROBE_WMMA12] = {"UNIT_WMMA12", 32, 16, 16, 16},
        [TSRI_OPENCL_PROBE_DPAS8] = {"UNIT_DPAS8", 8, 8, 8, 16},
        [TSRI_OPENCL_PROBE_DPAS16] = {"UNIT_DPAS16", 16, 8, 16, 16},
    };
    return units[probe];
}

tsri_opencl_unit_tile tsri_opencl_tile_of_units(const tsri_opencl_variant *variant) {
    const tsri_opencl_unit unit = tsri_opencl_unit_of(variant->probe);
    const int64_t sm = tsri_opencl_variant_tunable(variant, "SM"),
                  sn = tsri_opencl_variant_tunable(variant, "SN");
    return (tsri_opencl_unit_tile){.items = sm * sn * unit.lanes,
                                   .rows = sm * tsri_opencl_variant_tunable(variant, "TM") * unit.m,
                                   .columns =
                                       sn * tsri_opencl_variant_tunable(variant, "TN") * unit.n};
}

bool tsri_opencl_fits_units(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                            const tsr_op *op, const char **why) {
    const tsri_opencl_unit_tile tile = tsri_opencl_tile_of_units(variant);
    const uint32_t compute = tsri_opencl_weighted_attrs(op)->compute;
    const int64_t bk = tsri_opencl_variant_tunable(variant, "BK");
    if (compute != TSR_COMPUTE_F16 && compute != TSR_COMPUTE_BF16)
        return tsri_opencl_refuse(why, "its products are of f16 or bf16; this op asks for others");
    if (bk % tsri_opencl_unit_of(variant->probe).k)
        return tsri_opencl_refuse(why,
                                  "BK is no multiple of the inputs that the unit takes at once");
    return tsri_opencl_fits_normed(facts, op, why) &&
           tsri_opencl_fits_group(facts, tile.items, 8 * (tile.rows + tile.columns) * (bk / 2 + 4),
                                  why);
}

bool tsri_opencl_fits_unit_rows(const tsr_op *op, const char **why) {
    return tsri_opencl_highest(op, tsri_tensor_rows(op->in[X])) <= FEW ||
           tsri_opencl_refuse(why, "made for up to 16 rows of x; this plan has more");
}

bool tsri_opencl_fits_units_few(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                                const tsr_op *op, const char **why) {
    return tsri_opencl_fits_unit_rows(op, why) && tsri_opencl_fits_units(variant, facts, op, why);
}

void tsri_opencl_define_units(const tsri_opencl_variant *variant, const tsr_op *op,
                              tsri_opencl_defines *defines) {
    const bool half = tsri_opencl_weighted_attrs(op)->compute == TSR_COMPUTE_F16;
    tsri_opencl_define_tiled(variant, op, defines);
    tsri_opencl_define_int(defines, tsri_opencl_unit_of(variant->probe).constant, 1);
    tsri_opencl_define_int(defines, "PRODUCT", half ? TSR_F16 : TSR_BF16);
}

void tsri_opencl_group_units(const tsri_opencl_variant *variant, const tsr_op *op,
                             tsri_opencl_launch *launch) {
    const tsri_opencl_unit unit = tsri_opencl_unit_of(variant->probe);
    const int64_t outputs = tsri_opencl_weight_outputs(op), depth = tsri_opencl_weight_depth(op);
    const int items =
                  tsri_opencl_tuned(launch, "SM") * tsri_opencl_tuned(launch, "SN") * unit.lanes,
              m = tsri_opencl_tuned(launch, "SM") * tsri_opencl_tuned(launch, "TM") * unit.m,
              n = tsri_opencl_tuned(launch, "SN") * tsri_opencl_tuned(launch, "TN") * unit.n;
    tsri_opencl_grid(launch, 0, tsri_tensor_const((outputs + n - 1) / n * items), 1);
    tsri_opencl_grid(launch, 1, tsri_tensor_rows(op->in[X]), m);
    tsri_opencl_group(launch, items, 1, 1);
    tsri_opencl_work(launch, tsri_tensor_const(depth * m * n / items));
}

void tsri_opencl_bind_units(const tsri_opencl_variant *variant, const tsr_op *op,
                            tsri_opencl_launch *launch) {
    tsri_opencl_arg_tiled(launch, op);
    tsri_opencl_group_units(variant, op, launch);
}
