/* backends/opencl/variants/products/glu_linear.c - glu_linear: two products of one input, the second
 * passed through an activation. */
#include "backends/opencl/variants/shared/bf16.h"
#include "backends/opencl/variants/shared/blocks.h"
#include "backends/opencl/variants/shared/clblast.h"
#include "backends/opencl/variants/shared/group.h"
#include "backends/opencl/variants/shared/weighted.h"

static void bind_packed(const tsri_opencl_variant *variant, const tsr_op *op,
                        tsri_opencl_launch *launch) {
    (void)variant;
    tsri_opencl_bind_panels(op, launch, tsri_opencl_tuned(launch, "MR"),
                            16 * tsri_opencl_tuned(launch, "NV"));
}

static void bind_one(const tsri_opencl_variant *variant, const tsr_op *op,
                     tsri_opencl_launch *launch) {
    (void)variant;
    tsri_opencl_bind_panels_one(op, launch, 16 * tsri_opencl_tuned(launch, "NV"));
}

#define PACKED(variant, file_, score_, fits, bind, ...)                                     \
    TSRI_OPENCL_PACKED(variant, TSR_OP_GLU_LINEAR, "glu_linear/" file_, score_, fits, bind, \
                       __VA_ARGS__)

const tsri_opencl_variant tsri_opencl_variants_glu_linear[] = {
    PACKED("packed_split", "packed_one.cl", 92, tsri_opencl_fits_packed_split, bind_one,
           {"NV", 1, 1, 2}, {"AHEAD", 0, 0, 64}),
    PACKED("packed_one", "packed_one.cl", 90, tsri_opencl_fits_packed_one, bind_one,
           {"NV", 4, 4, 4}, {"AHEAD", 0, 0, 64}),
    PACKED("packed_few", "packed_few.cl", 85, tsri_opencl_fits_packed_few,
           tsri_opencl_bind_packed_few, {0}),
    PACKED("packed", "packed.cl", 80, tsri_opencl_fits_packed, bind_packed, {"MR", 6, 1, 7},
           {"NV", 2, 2, 2}),
    TSRI_OPENCL_BF16_VARIANTS(TSR_OP_GLU_LINEAR, "glu_linear"),
    TSRI_OPENCL_BLOCKS_VARIANTS(TSR_OP_GLU_LINEAR, "glu_linear"),
    TSRI_OPENCL_TILED_ROWS(TSR_OP_GLU_LINEAR, "glu_linear", 2, 32),
    TSRI_OPENCL_CLBLAST_GLU_LINEAR, /* used only where it is forced: its score is the lowest */
    TSRI_OPENCL_WEIGHTED_PLAIN(TSR_OP_GLU_LINEAR, "glu_linear", 2),
    {.name = NULL},
};
