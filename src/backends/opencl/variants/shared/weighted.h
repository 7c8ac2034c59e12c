/* backends/opencl/variants/shared/weighted.h - what the variants of linear and glu_linear share. Both ops
 * multiply x by a weight matrix, add a bias and apply an activation; glu_linear is gated: its weight
 * has the outputs of the gate and then as many more. */
#ifndef TSRI_OPENCL_VARIANTS_SHARED_WEIGHTED_H
#define TSRI_OPENCL_VARIANTS_SHARED_WEIGHTED_H

#include "backends/opencl/variants/shared/common.h"

/* These, and define_activation below, also serve expert_linear and expert_glu_linear, whose structs of
 * attributes are the same. */
bool tsri_opencl_is_gated(const tsr_op *op);
/* The attributes of any of these ops, whose structs begin with the same fields. */
const tsr_linear_attrs *tsri_opencl_weighted_attrs(const tsr_op *op);
/* The sizes of the weight, or of each expert's, whichever way it lies. */
int64_t tsri_opencl_weight_depth(const tsr_op *op);
int64_t tsri_opencl_weight_outputs(const tsr_op *op);
/* The weight of the norm of x; NULL where x has none, as that of experts. */
const tsr_tensor *tsri_opencl_norm_of(const tsr_op *op);

/* --- fits --- */

/* Whether weight, bias, x, residual and y are as every variant of these ops needs them. */
bool tsri_opencl_fits_product(const tsr_op *op, const char **why);
/* The same for variants that take x as it is: it has no norm. */
bool tsri_opencl_fits_weighted(const tsr_op *op, const char **why);
/* For variants that read panels, of any dtype: a CPU, and a whole weight of [outputs, inputs]. */
bool tsri_opencl_fits_tiles(const tsri_opencl_facts *facts, const tsr_op *op, const char **why);
/* Whether the halves of a gated weight are whole panels; true for linear. */
bool tsri_opencl_fits_halves(const tsr_op *op, const char **why);
/* For variants made for decoding: at most so many rows of x (1 or FEW_ROWS). */
enum { TSRI_OPENCL_FEW_ROWS = 8 };
bool tsri_opencl_fits_few_rows(const tsr_op *op, int most, const char **why);

/* The variants: plain; packed, for panels of f32, f16 or bf16; among these one for one row of x,
 * split for one row and few outputs for the number of cores, few for up to FEW_ROWS. */
bool tsri_opencl_fits_weighted_plain(const tsri_opencl_variant *variant,
                                     const tsri_opencl_facts *facts, const tsr_op *op,
                                     const char **why);
bool tsri_opencl_fits_packed(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                             const tsr_op *op, const char **why);
bool tsri_opencl_fits_packed_one(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                                 const tsr_op *op, const char **why);
bool tsri_opencl_fits_packed_split(const tsri_opencl_variant *variant,
                                   const tsri_opencl_facts *facts, const tsr_op *op,
                                   const char **why);
bool tsri_opencl_fits_packed_few(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                                 const tsr_op *op, const char **why);

/* --- define --- */

/* Defines ACT; for gated ops the form of their glu, too. */
void tsri_opencl_define_activation(const tsr_op *op, tsri_opencl_defines *defines);
/* The same, BIAS_DTYPE and HAS_BIAS; for linear HAS_RESIDUAL. */
void tsri_opencl_define_epilogue(const tsr_op *op, tsri_opencl_defines *defines);
/* The same, and W_DTYPE. */
void tsri_opencl_define_weighted(const tsri_opencl_variant *variant, const tsr_op *op,
                                 tsri_opencl_defines *defines);
/* The rows of x that a kernel for a few of them is built for: 1, 2, 4 or FEW_ROWS. */
int tsri_opencl_built_rows(const tsr_op *op);
/* As define_weighted, and TRANS_W, INT8 and TM of the plain kernels. */
void tsri_opencl_define_weighted_plain(const tsri_opencl_variant *variant, const tsr_op *op,
                                       tsri_opencl_defines *defines);

/* --- bind --- */

/* Binds w, bias and, for linear, residual; then y. */
void tsri_opencl_arg_from_weight(const tsr_op *op, tsri_opencl_launch *launch);
/* Binds the arguments that every kernel of the op takes, and the work of a tile; the variant binds
 * the grid.
 *   linear      x w bias residual y, dims, R, N, K, row strides of x, residual and y
 *   glu_linear  x w bias y, dims, R, F, K, row strides of x and y */
void tsri_opencl_bind_weighted(const tsr_op *op, tsri_opencl_launch *launch, int tile_m,
                               int tile_n);
/* The same, with work-groups of one work-item for each `rows` x `columns` of y; and for each
 * `columns` of its only row. */
void tsri_opencl_bind_panels(const tsr_op *op, tsri_opencl_launch *launch, int rows, int columns);
void tsri_opencl_bind_panels_one(const tsr_op *op, tsri_opencl_launch *launch, int columns);
/* The same for as many panels a work-item as leave some for every core: P, the last argument. */
void tsri_opencl_bind_panels_shared(const tsr_op *op, tsri_opencl_launch *launch);
/* For a stage that leaves the rows of x in scratch in another form: x, scratch, dims, R, K, row
 * stride of x; work-groups of one work-item, `rows` rows each. */
void tsri_opencl_bind_stage_rows(const tsr_op *op, tsri_opencl_launch *launch, tsr_dim bytes,
                                 int rows);
void tsri_opencl_bind_weighted_plain(const tsri_opencl_variant *variant, const tsr_op *op,
                                     tsri_opencl_launch *launch);
void tsri_opencl_bind_packed_few(const tsri_opencl_variant *variant, const tsr_op *op,
                                 tsri_opencl_launch *launch);

/* --- entries of the tables --- */

#define TSRI_OPENCL_PACKED(name_, op_, file_, score_, fits_, bind_, ...)                     \
    {                                                                                        \
        .name = name_, .op = op_, .file = file_, .score = score_, .tunables = {__VA_ARGS__}, \
        .layout = &tsri_opencl_layout_panels64, .weight_operand = 1, .fits = fits_,          \
        .define = tsri_opencl_define_weighted, .bind = bind_                                 \
    }
#define TSRI_OPENCL_WEIGHTED_PLAIN(op_, folder, tn)                                            \
    {                                                                                          \
        TSRI_OPENCL_PLAIN(op_, folder, tsri_opencl_fits_weighted_plain,                        \
                          tsri_opencl_define_weighted_plain, tsri_opencl_bind_weighted_plain), \
            .tunables = {{"TN", tn, 1, 8}}, .weight_operand = 1                                \
    }

#endif
