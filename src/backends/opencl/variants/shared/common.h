/* backends/opencl/variants/shared/common.h - what the files of variants share: the tables by op, and
 * questions that several `fits` ask. */
#ifndef TSRI_OPENCL_VARIANTS_SHARED_COMMON_H
#define TSRI_OPENCL_VARIANTS_SHARED_COMMON_H

#include "backends/opencl/bind/variant.h"
#include "backends/opencl/variants/layouts/layouts.h"
#include "tensor/operands.h"
#include "tensor/shape.h"

/* The tables, variants_<op>[], each ended by an entry without a name. The table of an op that is not
 * offered is empty. */
#define TSRI_OPENCL_TABLE(id, name, attributes) \
    extern const tsri_opencl_variant tsri_opencl_variants_##name[];
TSR_OP_LIST(TSRI_OPENCL_TABLE)
#undef TSRI_OPENCL_TABLE

/* Operand i; NULL where it is missing. */
const tsr_tensor *tsri_opencl_in(const tsr_op *op, uint32_t i);
const tsr_tensor *tsri_opencl_out(const tsr_op *op, uint32_t i);

bool tsri_opencl_is_float(const tsr_tensor *tensor); /* f32, f16 or bf16 */
bool tsri_opencl_is_f32(const tsr_tensor *tensor);
bool tsri_opencl_is_kv(
    const tsr_tensor *tensor);             /* a float, or q8_0, as keys and values are kept */
bool tsri_opencl_is_constant(tsr_dim dim); /* the same in every run */
bool tsri_opencl_last_contiguous(const tsr_tensor *tensor);
int64_t tsri_opencl_highest(const tsr_op *op, tsr_dim dim); /* at the plan's largest sizes */

/* Each of these sets *why to a sentence where it returns false. */
bool tsri_opencl_fits_index(const tsr_op *op,
                            const char **why); /* the index of every element fits int */
bool tsri_opencl_fits_rows(const tsr_tensor *tensor,
                           const char **why); /* f32 rows of one stride; true if missing */
bool tsri_opencl_fits_grouped_rows(const tsr_tensor *tensor,
                                   const char **why); /* the same, or such rows in groups */
bool tsri_opencl_fits_vector(const tsr_tensor *tensor,
                             const char **why); /* a packed float array; true if missing */
bool tsri_opencl_fits_vectors(const tsri_opencl_facts *facts,
                              const char **why); /* vectors of 16 floats */
/* A weight: as fits_vector, or a matrix of blocks, for variants that read both. */
bool tsri_opencl_fits_weight(const tsr_tensor *tensor, const char **why);
bool tsri_opencl_refuse(const char **why, const char *sentence); /* sets *why; false */

/* The elements from one row to the next of a tensor that tsri_opencl_fits_rows takes; 0 where it is
 * missing. */
int64_t tsri_opencl_row_stride(const tsr_tensor *tensor);
/* The places of rows that tsri_opencl_fits_grouped_rows takes. */
tsri_tensor_grouped tsri_opencl_grouped_rows(const tsr_tensor *tensor);
/* Whether every row of `columns` elements begins at a multiple of four, so that four are read at a
 * time. */
bool tsri_opencl_by_fours(const tsr_tensor *tensor, int64_t columns, int64_t pitch);
/* `tensor` in the shape of `to`, with stride 0 along dimensions that it repeats. Its dimensions are
 * right-aligned. */
tsr_tensor tsri_opencl_broadcast(const tsr_tensor *tensor, const tsr_tensor *to);
/* Defines <name>_DTYPE, f32 for a missing operand. */
void tsri_opencl_define_operand(tsri_opencl_defines *defines, const char *name,
                                const tsr_tensor *tensor);
/* Defines ACT and what GLU of cl/common/tessera.clh reads: the form of glu, or of the glu in a gated
 * product. */
void tsri_opencl_define_gates(tsri_opencl_defines *defines, const tsr_activation_attrs *form);
void tsri_opencl_define_product_gates(tsri_opencl_defines *defines,
                                      const tsr_glu_linear_attrs *attrs);
/* Each of these binds operands by the names of the op's list (tensor/operands.h): all operands and
 * then all results; inputs first .. last, missing ones too; those of them that are given, for a
 * kernel that has no parameters for missing ones; results first .. last. */
void tsri_opencl_arg_operands(tsri_opencl_launch *launch, const tsr_op *op);
void tsri_opencl_arg_inputs(tsri_opencl_launch *launch, const tsr_op *op, uint32_t first,
                            uint32_t last);
void tsri_opencl_arg_given(tsri_opencl_launch *launch, const tsr_op *op, uint32_t first,
                           uint32_t last);
void tsri_opencl_arg_results(tsri_opencl_launch *launch, const tsr_op *op, uint32_t first,
                             uint32_t last);
/* Binds tsri_opencl_row_stride as `int <name>_row`. */
void tsri_opencl_arg_row(tsri_opencl_launch *launch, const char *name, const tsr_tensor *tensor);
/* Binds tsri_opencl_grouped_rows as `int <name>_row, int <name>_group, int <name>_gap`, for GROUPED_ROW
 * (cl/common/tessera.clh). */
void tsri_opencl_arg_grouped_rows(tsri_opencl_launch *launch, const char *name,
                                  const tsr_tensor *tensor);
/* Binds the strides of the first dimensions, as arg_dim; zeros for a missing operand. "x", "bth"
 * are xb, xt and xh, each with its set. */
void tsri_opencl_arg_leading_strides(tsri_opencl_launch *launch, const char *name,
                                     const char *letters, const tsr_tensor *tensor);

/* Fields of the two variants that most ops have: <folder>/lanes.cl, for CPUs, and <folder>/plain.cl,
 * the last of a table. */
#define TSRI_OPENCL_LANES(op_, folder, score_, fits_, define_, bind_)                       \
    .name = "lanes", .op = op_, .file = folder "/lanes.cl", .score = score_, .fits = fits_, \
    .define = define_, .bind = bind_
#define TSRI_OPENCL_PLAIN(op_, folder, fits_, define_, bind_)                           \
    .name = "plain", .op = op_, .file = folder "/plain.cl", .plain = true, .score = 10, \
    .fits = fits_, .define = define_, .bind = bind_

#endif
