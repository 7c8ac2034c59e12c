/* backends/opencl/variants/shared/blocks.h - variants of linear and glu_linear for CPUs whose weights
 * are blocks in panels. Those of 32 inputs, q8_0, q4_0 and mxfp4: portable ones (blocks), and those with
 * AVX512-VNNI for int8 products (vnni). Those of 256 inputs: wide and wide_vnni. Best first, for
 * variants/<kind>/<op>.c. */
#ifndef TSRI_OPENCL_VARIANTS_SHARED_BLOCKS_H
#define TSRI_OPENCL_VARIANTS_SHARED_BLOCKS_H

#include "backends/opencl/variants/shared/weighted.h"

enum { TSRI_OPENCL_FEW = 9 }; /* rows of x that vnni_few takes */

bool tsri_opencl_fits_blocks(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                             const tsr_op *op, const char **why);
bool tsri_opencl_fits_blocks_one(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                                 const tsr_op *op, const char **why);
bool tsri_opencl_fits_vnni(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                           const tsr_op *op, const char **why);
bool tsri_opencl_fits_vnni_few(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                               const tsr_op *op, const char **why);
bool tsri_opencl_fits_vnni_one(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                               const tsr_op *op, const char **why);
void tsri_opencl_define_blocks(const tsri_opencl_variant *variant, const tsr_op *op,
                               tsri_opencl_defines *defines);
void tsri_opencl_define_vnni(const tsri_opencl_variant *variant, const tsr_op *op,
                             tsri_opencl_defines *defines);
void tsri_opencl_bind_blocks(const tsri_opencl_variant *variant, const tsr_op *op,
                             tsri_opencl_launch *launch);
void tsri_opencl_bind_vnni(const tsri_opencl_variant *variant, const tsr_op *op,
                           tsri_opencl_launch *launch);
void tsri_opencl_bind_vnni_one(const tsri_opencl_variant *variant, const tsr_op *op,
                               tsri_opencl_launch *launch);
bool tsri_opencl_fits_wide(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                           const tsr_op *op, const char **why);
bool tsri_opencl_fits_wide_one(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                               const tsr_op *op, const char **why);
bool tsri_opencl_fits_wide_vnni(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                                const tsr_op *op, const char **why);
void tsri_opencl_define_wide(const tsri_opencl_variant *variant, const tsr_op *op,
                             tsri_opencl_defines *defines);
void tsri_opencl_bind_wide_vnni(const tsri_opencl_variant *variant, const tsr_op *op,
                                tsri_opencl_launch *launch);
/* Quantise the rows of x into scratch. */
extern const tsri_opencl_stage tsri_opencl_stage_vnni_rows, tsri_opencl_stage_wide_rows;

#define TSRI_OPENCL_BLOCKS_VARIANT(name_, op_, file_, score_, kind)                \
    .name = name_, .op = op_, .file = file_, .score = score_, .weight_operand = 1, \
    .layout = &tsri_opencl_layout_panels64_blocks, .fits = tsri_opencl_fits_##kind
#define TSRI_OPENCL_BLOCKS_VARIANTS(op_, folder)                                             \
    {TSRI_OPENCL_BLOCKS_VARIANT("vnni_one", op_, folder "/vnni_one.cl", 95, vnni_one),       \
     .probe = TSRI_OPENCL_PROBE_VNNI, .define = tsri_opencl_define_weighted,                 \
     .bind = tsri_opencl_bind_vnni_one},                                                     \
        {TSRI_OPENCL_BLOCKS_VARIANT("vnni_few", op_, folder "/vnni.cl", 93, vnni_few),       \
         .probe = TSRI_OPENCL_PROBE_VNNI,                                                    \
         .before = &tsri_opencl_stage_vnni_rows,                                             \
         .tunables = {{"MR", TSRI_OPENCL_FEW, TSRI_OPENCL_FEW, TSRI_OPENCL_FEW}},            \
         .define = tsri_opencl_define_vnni,                                                  \
         .bind = tsri_opencl_bind_vnni},                                                     \
        {TSRI_OPENCL_BLOCKS_VARIANT("vnni", op_, folder "/vnni.cl", 91, vnni),               \
         .probe = TSRI_OPENCL_PROBE_VNNI,                                                    \
         .before = &tsri_opencl_stage_vnni_rows,                                             \
         .tunables = {{"MR", 24, 3, 48}},                                                    \
         .define = tsri_opencl_define_vnni,                                                  \
         .bind = tsri_opencl_bind_vnni},                                                     \
        {TSRI_OPENCL_BLOCKS_VARIANT("wide_vnni", op_, folder "/wide.cl", 91, wide_vnni),     \
         .probe = TSRI_OPENCL_PROBE_VNNI,                                                    \
         .before = &tsri_opencl_stage_wide_rows,                                             \
         .tunables = {{"MR", 24, 3, 48}},                                                    \
         .define = tsri_opencl_define_wide,                                                  \
         .bind = tsri_opencl_bind_wide_vnni},                                                \
        {TSRI_OPENCL_BLOCKS_VARIANT("wide_one", op_, folder "/wide.cl", 75, wide_one),       \
         .tunables = {{"MR", 1, 1, 1}}, .define = tsri_opencl_define_wide,                   \
         .bind = tsri_opencl_bind_blocks},                                                   \
        {TSRI_OPENCL_BLOCKS_VARIANT("wide", op_, folder "/wide.cl", 70, wide),               \
         .tunables = {{"MR", 3, 1, 6}}, .define = tsri_opencl_define_wide,                   \
         .bind = tsri_opencl_bind_blocks},                                                   \
        {TSRI_OPENCL_BLOCKS_VARIANT("blocks_one", op_, folder "/blocks.cl", 75, blocks_one), \
         .tunables = {{"MR", 1, 1, 1}}, .define = tsri_opencl_define_blocks,                 \
         .bind = tsri_opencl_bind_blocks},                                                   \
    {                                                                                        \
        TSRI_OPENCL_BLOCKS_VARIANT("blocks", op_, folder "/blocks.cl", 70, blocks),          \
            .tunables = {{"MR", 3, 1, 6}}, .define = tsri_opencl_define_blocks,              \
            .bind = tsri_opencl_bind_blocks                                                  \
    }

#endif
