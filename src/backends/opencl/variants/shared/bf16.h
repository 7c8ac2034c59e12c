/* backends/opencl/variants/shared/bf16.h - variants for products of bf16 on CPUs with AVX512-BF16 or
 * AMX: those of linear and glu_linear that read panels, best first, for variants/<kind>/<op>.c; and what
 * those of linear, matmul and matmul_add share that read plain rows (cl/cached_bf16/). */
#ifndef TSRI_OPENCL_VARIANTS_SHARED_BF16_H
#define TSRI_OPENCL_VARIANTS_SHARED_BF16_H

#include "backends/opencl/variants/shared/weighted.h"

bool tsri_opencl_fits_bf16(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                           const tsr_op *op, const char **why);
bool tsri_opencl_fits_bf16_few(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                               const tsr_op *op, const char **why);
bool tsri_opencl_fits_bf16_one(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                               const tsr_op *op, const char **why);
bool tsri_opencl_fits_amx_one(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                              const tsr_op *op, const char **why);
void tsri_opencl_define_bf16_tile(const tsri_opencl_variant *variant, const tsr_op *op,
                                  tsri_opencl_defines *defines);
void tsri_opencl_define_bf16(const tsri_opencl_variant *variant, const tsr_op *op,
                             tsri_opencl_defines *defines);
void tsri_opencl_bind_bf16(const tsri_opencl_variant *variant, const tsr_op *op,
                           tsri_opencl_launch *launch);
void tsri_opencl_bind_bf16_one(const tsri_opencl_variant *variant, const tsr_op *op,
                               tsri_opencl_launch *launch);
/* Rounds the rows of x into scratch. */
extern const tsri_opencl_stage tsri_opencl_stage_bf16_rows;

/* The left operand of linear, matmul or matmul_add: a[m,k] lies m * down + k * right elements behind
 * the first. */
typedef struct tsri_opencl_left {
    const tsr_tensor *a;
    tsr_dim M, K, down, right;
} tsri_opencl_left;
tsri_opencl_left tsri_opencl_left_of(const tsr_op *op);
/* Whether a product of `compute` with so many columns has what these variants need. */
bool tsri_opencl_fits_cached_bf16(const tsri_opencl_facts *facts, const tsr_op *op,
                                  uint32_t compute, tsr_dim columns, const char **why);
/* Binds `scratch`, where the stage leaves the rows of a; gives the rows that a work-item takes. */
void tsri_opencl_arg_rounded(tsri_opencl_launch *launch, const tsr_op *op);
int tsri_opencl_cached_bf16_rows(const tsri_opencl_launch *launch, const tsr_op *op,
                                 tsr_dim columns);
extern const tsri_opencl_stage tsri_opencl_stage_cached_bf16;
#define TSRI_OPENCL_CACHED_BF16(op_, folder, weight_, fits_, define_, bind_)                \
    {                                                                                       \
        .name = "cached_bf16", .op = op_, .file = "cached_bf16/" folder ".cl", .score = 88, \
        .before = &tsri_opencl_stage_cached_bf16, .probe = TSRI_OPENCL_PROBE_BF16,          \
        .tunables = {{"PAIRS", 512, 64, 2048}}, .weight_operand = weight_, .fits = fits_,   \
        .define = define_, .bind = bind_                                                    \
    }

#define TSRI_OPENCL_BF16_VARIANT(name_, op_, file_, score_, probe_, fits_)            \
    .name = name_, .op = op_, .file = file_, .score = score_, .weight_operand = 1,    \
    .layout = &tsri_opencl_layout_panels64_bf16, .probe = TSRI_OPENCL_PROBE_##probe_, \
    .forms = #probe_, .fits = tsri_opencl_fits_##fits_
#define TSRI_OPENCL_BF16_VARIANTS(op_, folder)                                                 \
    {TSRI_OPENCL_BF16_VARIANT("amx_one", op_, folder "/amx_one.cl", 98, AMX, amx_one),         \
     .define = tsri_opencl_define_bf16, .bind = tsri_opencl_bind_bf16_one},                    \
        {TSRI_OPENCL_BF16_VARIANT("amx", op_, folder "/amx.cl", 97, AMX, bf16),                \
         .before = &tsri_opencl_stage_bf16_rows, .tunables = {{"MR", 64, 32, 256}},            \
         .define = tsri_opencl_define_bf16, .bind = tsri_opencl_bind_bf16},                    \
        {TSRI_OPENCL_BF16_VARIANT("bf16_one", op_, folder "/bf16_one.cl", 95, BF16, bf16_one), \
         .define = tsri_opencl_define_bf16, .bind = tsri_opencl_bind_bf16_one},                \
        {TSRI_OPENCL_BF16_VARIANT("bf16_few", op_, folder "/bf16.cl", 94, BF16, bf16_few),     \
         .before = &tsri_opencl_stage_bf16_rows, .tunables = {{"MR", 9, 9, 9}},                \
         .define = tsri_opencl_define_bf16_tile, .bind = tsri_opencl_bind_bf16},               \
    {                                                                                          \
        TSRI_OPENCL_BF16_VARIANT("bf16", op_, folder "/bf16.cl", 93, BF16, bf16),              \
            .before = &tsri_opencl_stage_bf16_rows, .tunables = {{"MR", 24, 6, 48}},           \
            .define = tsri_opencl_define_bf16_tile, .bind = tsri_opencl_bind_bf16              \
    }

#endif
