/* backends/opencl/variants/attention/attention.h - what the variants of attention share
 * (attention_parts.c), and those by matrix units (attention_units.c). */
#ifndef TSRI_OPENCL_VARIANTS_ATTENTION_ATTENTION_H
#define TSRI_OPENCL_VARIANTS_ATTENTION_ATTENTION_H

#include "backends/opencl/variants/shared/group.h"
#include "backends/opencl/variants/shared/heads.h"

enum {
    TSRI_OPENCL_TILE_KEYS = 32, /* of a tile: cl/attention/order.clh */
    TSRI_OPENCL_CHUNK = 256     /* of a chunk */
};

/* --- attention_parts.c --- */
/* What every variant needs; the constants of its operands; the arguments of cl/attention/operands.clh. */
bool tsri_opencl_fits_attention(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                                const tsr_op *op, const char **why);
/* What the variants with products of f16 or bf16 need besides. */
bool tsri_opencl_fits_narrow_products(const tsr_op *op, const char **why);
void tsri_opencl_define_attention(const tsri_opencl_variant *variant, const tsr_op *op,
                                  tsri_opencl_defines *defines);
void tsri_opencl_bind_attention(const tsr_op *op, tsri_opencl_launch *launch);

/* The elements of 16 bytes, if every key or value begins at a multiple of them; else 1. Of q8_0, 4. */
int tsri_opencl_key_unit(const tsr_tensor *x);
/* The most rows that a key head has: queries of the query heads that share it. */
int64_t tsri_opencl_rows_of_key(const tsr_op *op);
/* The keys that a sequence may have. */
tsr_dim tsri_opencl_keys_of(const tsr_op *op);
/* The most chunks that a sequence has. */
int64_t tsri_opencl_chunks_of(const tsr_op *op);

/* Variants whose stage leaves the sums of each chunk in scratch, with `queries` rows, and whose own
 * kernel is attention/split.cl. Whether there are several chunks, and their indices fit; the scratch;
 * the own kernel. */
bool tsri_opencl_fits_chunks(const tsr_op *op, int queries, const char **why);
void tsri_opencl_arg_chunks(const tsr_op *op, tsri_opencl_launch *launch, int queries);
void tsri_opencl_bind_merging(const tsr_op *op, tsri_opencl_launch *launch, int queries);

/* --- by matrix units, where the op asks for f16 or bf16: attention_units.c --- */
bool tsri_opencl_fits_attention_units(const tsri_opencl_variant *variant,
                                      const tsri_opencl_facts *facts, const tsr_op *op,
                                      const char **why);
bool tsri_opencl_fits_attention_units_split(const tsri_opencl_variant *variant,
                                            const tsri_opencl_facts *facts, const tsr_op *op,
                                            const char **why);
void tsri_opencl_define_attention_units(const tsri_opencl_variant *variant, const tsr_op *op,
                                        tsri_opencl_defines *defines);
void tsri_opencl_define_attention_units_split(const tsri_opencl_variant *variant, const tsr_op *op,
                                              tsri_opencl_defines *defines);
void tsri_opencl_bind_attention_units(const tsri_opencl_variant *variant, const tsr_op *op,
                                      tsri_opencl_launch *launch);
void tsri_opencl_bind_attention_units_split(const tsri_opencl_variant *variant, const tsr_op *op,
                                            tsri_opencl_launch *launch);
extern const tsri_opencl_stage tsri_opencl_stage_attention_units;

/* Two variants for each unit; `depth` is how many tiles are on their way where keys are split. */
#define TSRI_OPENCL_ATTENTION_UNITS(name_, unit, depth)                                        \
    {.name = name_ "_split",                                                                   \
     .op = TSR_OP_ATTENTION,                                                                   \
     .file = "attention/split.cl",                                                             \
     .before = &tsri_opencl_stage_attention_units,                                             \
     .gpu = true,                                                                              \
     .probe = TSRI_OPENCL_PROBE_##unit,                                                        \
     .forms = #unit,                                                                           \
     .score = 91,                                                                              \
     .tunables = {{"DEPTH", depth, 1, 4}},                                                     \
     .weight_operand = -1,                                                                     \
     .fits = tsri_opencl_fits_attention_units_split,                                           \
     .define = tsri_opencl_define_attention_units_split,                                       \
     .bind = tsri_opencl_bind_attention_units_split},                                          \
    {                                                                                          \
        .name = name_, .op = TSR_OP_ATTENTION, .file = "attention/units.cl", .gpu = true,      \
        .probe = TSRI_OPENCL_PROBE_##unit, .forms = #unit, .newest_c = true, .score = 90,      \
        .weight_operand = -1, .fits = tsri_opencl_fits_attention_units,                        \
        .define = tsri_opencl_define_attention_units, .bind = tsri_opencl_bind_attention_units \
    }

#endif
