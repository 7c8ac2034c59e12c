/* backends/opencl/variants/shared/group.h - variants made for GPUs: work-groups that share local
 * memory.
 *
 * Their defaults are legal on every GPU, except for tiles of 128 x 128: at most 64 work-items and
 * 16 KiB of local memory (attention/split, one_chunk: 32), no sub-groups. They fit any device that
 * has as much, and are chosen on GPUs only (tsri_opencl_variant_score). */
#ifndef TSRI_OPENCL_VARIANTS_SHARED_GROUP_H
#define TSRI_OPENCL_VARIANTS_SHARED_GROUP_H

#include "backends/opencl/variants/shared/int8.h"

/* Intel's compiler shares the registers of a thread among the work-items of a sub-group, so fewer leave more
 * for each. */
#define TSRI_OPENCL_SUB \
    { TSRI_OPENCL_SUB_SIZE, 0, 0, 32 }

/* Whether the device takes work-groups of so many work-items that share so many bytes. */
bool tsri_opencl_fits_group(const tsri_opencl_facts *facts, int64_t items, int64_t bytes,
                            const char **why);
/* The value of a tunable of a variant: in its `fits`, the value in force (bind/variant.h). */
int tsri_opencl_variant_tunable(const tsri_opencl_variant *variant, const char *name);

/* For variants of matmul/tile.clh: the local memory that their tunables ask for; whether the device has
 * that, and the work-group; below, the work-group of a launch. */
int64_t tsri_opencl_tile_bytes(const tsri_opencl_variant *variant);
bool tsri_opencl_fits_tile(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                           const char **why);
/* For tiled_64, which ranks above tiled_128: whether tiles of 128 x 128 would leave compute units
 * without work, or half of each tile. */
bool tsri_opencl_fits_small_tile(const tsri_opencl_facts *facts, int64_t rows, int64_t columns,
                                 int64_t matrices, const char **why);
void tsri_opencl_group_tile(tsri_opencl_launch *launch, tsr_dim rows, tsr_dim columns,
                            tsr_dim depth);

/* For variants with a work-group for each row (common/group.clh): its GROUP work-items share one
 * float each. SUB_GROUPS is for those that let the driver's sub-groups add. */
bool tsri_opencl_fits_group_row(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                                const char **why);
void tsri_opencl_define_group_row(const tsri_opencl_variant *variant, tsri_opencl_defines *defines);
void tsri_opencl_group_row(tsri_opencl_launch *launch, tsr_dim rows, tsr_dim columns);
/* The same for a stage with work-groups of `group`, which do `work` multiply-adds for a row. */
void tsri_opencl_group_rows(tsri_opencl_launch *launch, tsr_dim rows, int group, int64_t work);
#define TSRI_OPENCL_GROUP_VARIANTS(op_, file_, fits_, define_, bind_)              \
    {.name = "sub_groups",                                                         \
     .op = op_,                                                                    \
     .file = file_,                                                                \
     .gpu = true,                                                                  \
     .newest_c = true,                                                             \
     .score = 60,                                                                  \
     .tunables = {{"GROUP", 64, 16, 256}, TSRI_OPENCL_SUB},                        \
     .weight_operand = -1,                                                         \
     .fits = fits_,                                                                \
     .define = define_,                                                            \
     .bind = bind_},                                                               \
    {                                                                              \
        .name = "group", .op = op_, .file = file_, .gpu = true, .score = 50,       \
        .tunables = {{"GROUP", 64, 16, 256}}, .weight_operand = -1, .fits = fits_, \
        .define = define_, .bind = bind_                                           \
    }

/* The tunables of a tile of GM*TM by GN*TN. */
#define TSRI_OPENCL_TILE_OF(gn, gm, tm, tn, bk, vw, blocks)                               \
    .tunables = {                                                                         \
        {"GN", gn, 4, 32}, {"GM", gm, 1, 16}, {"TM", tm, 1, 8},         {"TN", tn, 1, 8}, \
        {"BK", bk, 4, 64}, {"VW", vw, 1, 4},  {"BLOCKS", blocks, 1, 2}, TSRI_OPENCL_SUB,  \
    }
#define TSRI_OPENCL_TILE(gn, gm, tm, tn, bk) TSRI_OPENCL_TILE_OF(gn, gm, tm, tn, bk, 1, 1)
#define TSRI_OPENCL_TILE_64 TSRI_OPENCL_TILE_OF(8, 8, 8, 8, 8, 4, 2)
#define TSRI_OPENCL_TILE_128 TSRI_OPENCL_TILE_OF(16, 16, 8, 8, 8, 4, 2)

/* Their variants of linear and glu_linear (tiled.c), best first: TILED_ROWS below. tn and bk are TN
 * and BK of the variants for up to 8 rows of x (skinny). */
bool tsri_opencl_fits_tiled(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                            const tsr_op *op, const char **why);
bool tsri_opencl_fits_tiled_64(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                               const tsr_op *op, const char **why);
bool tsri_opencl_fits_skinny(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                             const tsr_op *op, const char **why);
void tsri_opencl_define_tiled(const tsri_opencl_variant *variant, const tsr_op *op,
                              tsri_opencl_defines *defines);
void tsri_opencl_bind_tiled(const tsri_opencl_variant *variant, const tsr_op *op,
                            tsri_opencl_launch *launch);
/* The arguments of their kernels. Where x has a norm, a stage leaves the normed rows in scratch. */
extern const tsri_opencl_stage tsri_opencl_stage_norm_rows;
void tsri_opencl_arg_tiled(tsri_opencl_launch *launch, const tsr_op *op);
/* The same for kernels that norm x themselves. */
void tsri_opencl_arg_few(tsri_opencl_launch *launch, const tsr_op *op);
#define TSRI_OPENCL_TILED_VARIANT(name_, op_, file_, score_, fits_)                               \
    .name = name_, .op = op_, .file = file_, .before = &tsri_opencl_stage_norm_rows, .gpu = true, \
    .score = score_, .weight_operand = 1, .fits = fits_, .define = tsri_opencl_define_tiled,      \
    .bind = tsri_opencl_bind_tiled
/* The same for up to 8 rows of x and weights of f32, f16, bf16 or blocks of 256 in plain rows
 * (few_float.c). */
bool tsri_opencl_fits_few_float(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                                const tsr_op *op, const char **why);
void tsri_opencl_define_few_float(const tsri_opencl_variant *variant, const tsr_op *op,
                                  tsri_opencl_defines *defines);
void tsri_opencl_bind_few_float(const tsri_opencl_variant *variant, const tsr_op *op,
                                tsri_opencl_launch *launch);
#define TSRI_OPENCL_FEW_FLOAT(op_, folder)                                                        \
    {                                                                                             \
        .name = "few_float", .op = op_, .file = folder "/few_float.cl", .gpu = true, .score = 72, \
        .tunables = {{"OUTPUTS", 16, 2, 32},                                                      \
                     {"PARTS", 4, 1, 32},                                                         \
                     {"DEPTH", 4, 1, 8},                                                          \
                     {"KIB", 16, 4, 64}},                                                         \
        .weight_operand = 1, .fits = tsri_opencl_fits_few_float,                                  \
        .define = tsri_opencl_define_few_float, .bind = tsri_opencl_bind_few_float                \
    }
/* The same with products in half precision, where the op asks for them; for any device that has
 * it. */
bool tsri_opencl_fits_tiled_half(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                                 const tsr_op *op, const char **why);
bool tsri_opencl_fits_skinny_half(const tsri_opencl_variant *variant,
                                  const tsri_opencl_facts *facts, const tsr_op *op,
                                  const char **why);
void tsri_opencl_define_tiled_half(const tsri_opencl_variant *variant, const tsr_op *op,
                                   tsri_opencl_defines *defines);
#define TSRI_OPENCL_HALF_VARIANT(name_, op_, file_, score_, fits_)                          \
    .name = name_, .op = op_, .file = file_, .before = &tsri_opencl_stage_norm_rows,        \
    .newest_c = true, .forms = "half", .score = score_, .weight_operand = 1, .fits = fits_, \
    .define = tsri_opencl_define_tiled_half, .bind = tsri_opencl_bind_tiled
#define TSRI_OPENCL_HALF_VARIANTS(op_, file_, tn, bk)                                        \
    {TSRI_OPENCL_HALF_VARIANT("skinny_half", op_, file_, 96, tsri_opencl_fits_skinny_half),  \
     TSRI_OPENCL_TILE(16, 4, 2, tn, bk)},                                                    \
    {                                                                                        \
        TSRI_OPENCL_HALF_VARIANT("tiled_half", op_, file_, 95, tsri_opencl_fits_tiled_half), \
            TSRI_OPENCL_TILE(16, 4, 8, 4, 16)                                                \
    }
/* The same by matrix units (units.c), where the op asks for f16 or bf16: two variants for each unit, of
 * which _few is for up to 16 rows of x. */
bool tsri_opencl_fits_units(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                            const tsr_op *op, const char **why);
bool tsri_opencl_fits_units_few(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                                const tsr_op *op, const char **why);
void tsri_opencl_define_units(const tsri_opencl_variant *variant, const tsr_op *op,
                              tsri_opencl_defines *defines);
void tsri_opencl_bind_units(const tsri_opencl_variant *variant, const tsr_op *op,
                            tsri_opencl_launch *launch);
/* The same with int8 products (int8.c), exact, so that no one needs to ask for them. */
bool tsri_opencl_fits_units_int8(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                                 const tsr_op *op, const char **why);
bool tsri_opencl_fits_units_int8_few(const tsri_opencl_variant *variant,
                                     const tsri_opencl_facts *facts, const tsr_op *op,
                                     const char **why);
void tsri_opencl_define_units_int8(const tsri_opencl_variant *variant, const tsr_op *op,
                                   tsri_opencl_defines *defines);
void tsri_opencl_bind_units_int8(const tsri_opencl_variant *variant, const tsr_op *op,
                                 tsri_opencl_launch *launch);
/* What both share: a unit's constant and sizes, as cl/units/NAME.clh has them; in `fits`, the work-items of
 * a work-group and its tile; whether the op has at most 16 rows of x; the grid and the work-group. */
typedef struct tsri_opencl_unit {
    const char *constant;
    int lanes, m, n, k;
} tsri_opencl_unit;
tsri_opencl_unit tsri_opencl_unit_of(tsri_opencl_probe probe);
typedef struct tsri_opencl_unit_tile {
    int64_t items, rows, columns;
} tsri_opencl_unit_tile;
tsri_opencl_unit_tile tsri_opencl_tile_of_units(const tsri_opencl_variant *variant);
bool tsri_opencl_fits_unit_rows(const tsr_op *op, const char **why);
void tsri_opencl_group_units(const tsri_opencl_variant *variant, const tsr_op *op,
                             tsri_opencl_launch *launch);
/* MAKE(op, folder, name, unit, few, sm, sn, tm, tn, bk, tm_int8) for each variant: sub-groups of a
 * work-group; results of the unit for each; the step of f16; tm of int8 products, whose tile is smaller: a
 * prompt of 512 rows and 2048 outputs then has 128 of them. `few` is _few or empty. */
#define TSRI_OPENCL_UNIT_VARIANTS(MAKE, op_, folder)                      \
    MAKE(op_, folder, "mma_few", MMA, _few, 1, 4, 1, 2, 32, 1),           \
        MAKE(op_, folder, "mma", MMA, , 2, 4, 4, 4, 16, 2),               \
        MAKE(op_, folder, "mfma_few", MFMA, _few, 1, 2, 1, 2, 32, 1),     \
        MAKE(op_, folder, "mfma", MFMA, , 2, 2, 2, 2, 16, 1),             \
        MAKE(op_, folder, "wmma11_few", WMMA11, _few, 1, 4, 1, 2, 32, 1), \
        MAKE(op_, folder, "wmma11", WMMA11, , 2, 4, 4, 2, 16, 2),         \
        MAKE(op_, folder, "wmma12_few", WMMA12, _few, 1, 4, 1, 2, 32, 1), \
        MAKE(op_, folder, "wmma12", WMMA12, , 2, 4, 4, 2, 16, 2),         \
        MAKE(op_, folder, "dpas8_few", DPAS8, _few, 2, 8, 1, 2, 16, 1),   \
        MAKE(op_, folder, "dpas8", DPAS8, , 4, 8, 2, 2, 16, 2),           \
        MAKE(op_, folder, "dpas16_few", DPAS16, _few, 1, 8, 1, 2, 16, 1), \
        MAKE(op_, folder, "dpas16", DPAS16, , 4, 4, 1, 2, 16, 1)
enum {
    TSRI_OPENCL_UNITS_SCORE = 98,
    TSRI_OPENCL_UNITS_SCORE_few,
    TSRI_OPENCL_UNITS_INT8_SCORE = 73,
    TSRI_OPENCL_UNITS_INT8_SCORE_few
};
#define TSRI_OPENCL_UNIT_HALF(op_, folder, name_, unit, few, sm, sn, tm, tn, bk, tm_int8)         \
    {                                                                                             \
        .name = name_, .op = op_, .file = folder "/units.cl",                                     \
        .before = &tsri_opencl_stage_norm_rows, .gpu = true, .newest_c = true,                    \
        .probe = TSRI_OPENCL_PROBE_##unit, .forms = #unit, .score = TSRI_OPENCL_UNITS_SCORE##few, \
        .tunables = {{"SM", sm, 1, 8},                                                            \
                     {"SN", sn, 1, 8},                                                            \
                     {"TM", tm, 1, 4},                                                            \
                     {"TN", tn, 2, 8},                                                            \
                     {"BK", bk, 16, 64}},                                                         \
        .weight_operand = 1, .fits = tsri_opencl_fits_units##few,                                 \
        .define = tsri_opencl_define_units, .bind = tsri_opencl_bind_units                        \
    }
#define TSRI_OPENCL_UNIT_INT8(op_, folder, name_, unit, few, sm, sn, tm, tn, bk, tm_int8)  \
    {                                                                                      \
        .name = "int8_" name_, .op = op_, .file = folder "/units_int8.cl",                 \
        .before = &tsri_opencl_stage_quantise_rows, .gpu = true,                           \
        .probe = TSRI_OPENCL_PROBE_##unit, .newest_c = true,                               \
        .score = TSRI_OPENCL_UNITS_INT8_SCORE##few,                                        \
        .tunables = {{"SM", sm, 1, 8}, {"SN", sn, 1, 8},    {"TM", tm_int8, 1, 4},         \
                     {"TN", tn, 2, 8}, {"BLOCKS", 1, 1, 4}, {"ROW_GROUP", 256, 64, 256}},  \
        .layout = &tsri_opencl_layout_panels32_blocks, .weight_operand = 1,                \
        .fits = tsri_opencl_fits_units_int8##few, .define = tsri_opencl_define_units_int8, \
        .bind = tsri_opencl_bind_units_int8                                                \
    }
/* The same with int8 products (int8.c): a stage quantises the rows of x, or (direct) each work-group
 * does, where they are one or two. Without an instruction for dot products of bytes they are slower than
 * products of floats, and so score less. Those with a layout read
 * panels32_blocks; few_int8.cl is for up to 8 rows of x. The layout's scores are so much higher that it
 * wins also where a tied embedding reads it, which is slower than with plain rows. */
bool tsri_opencl_fits_int8(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                           const tsr_op *op, const char **why);
void tsri_opencl_define_int8(const tsri_opencl_variant *variant, const tsr_op *op,
                             tsri_opencl_defines *defines);
void tsri_opencl_bind_int8(const tsri_opencl_variant *variant, const tsr_op *op,
                           tsri_opencl_launch *launch);
bool tsri_opencl_fits_int8_few(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                               const tsr_op *op, const char **why);
void tsri_opencl_define_int8_few(const tsri_opencl_variant *variant, const tsr_op *op,
                                 tsri_opencl_defines *defines);
void tsri_opencl_bind_int8_few(const tsri_opencl_variant *variant, const tsr_op *op,
                               tsri_opencl_launch *launch);
#define TSRI_OPENCL_INT8_PAIR(name_, op_, file_, before_, layout_, kind, dot_score, score_, ...)  \
    {.name = name_ "_dot",                                                                        \
     .op = op_,                                                                                   \
     .file = file_,                                                                               \
     .before = before_,                                                                           \
     .gpu = true,                                                                                 \
     .probe = TSRI_OPENCL_PROBE_DOT,                                                              \
     .newest_c = true,                                                                            \
     .score = dot_score,                                                                          \
     .tunables = {__VA_ARGS__},                                                                   \
     .layout = layout_,                                                                           \
     .weight_operand = 1,                                                                         \
     .fits = tsri_opencl_fits_##kind,                                                             \
     .define = tsri_opencl_define_##kind,                                                         \
     .bind = tsri_opencl_bind_##kind},                                                            \
    {                                                                                             \
        .name = name_, .op = op_, .file = file_, .before = before_, .gpu = true, .score = score_, \
        .tunables = {__VA_ARGS__}, .layout = layout_, .weight_operand = 1,                        \
        .fits = tsri_opencl_fits_##kind, .define = tsri_opencl_define_##kind,                     \
        .bind = tsri_opencl_bind_##kind                                                           \
    }
#define TSRI_OPENCL_INT8_VARIANTS(op_, folder)                                                 \
    TSRI_OPENCL_INT8_PAIR("int8_direct", op_, folder "/few_int8.cl", NULL,                     \
                          &tsri_opencl_layout_panels32_blocks, int8_few, 77, 59,               \
                          {"SPLIT", 2, 1, 8}, {"DEPTH", 4, 1, 8}, TSRI_OPENCL_SUB),            \
        TSRI_OPENCL_INT8_PAIR(                                                                 \
            "int8_few", op_, folder "/few_int8.cl", &tsri_opencl_stage_quantise_rows,          \
            &tsri_opencl_layout_panels32_blocks, int8_few, 75, 58, {"SPLIT", 2, 1, 8},         \
            {"DEPTH", 4, 1, 8}, {"ROW_GROUP", 64, 64, 256}, TSRI_OPENCL_SUB),                  \
        TSRI_OPENCL_INT8_PAIR(                                                                 \
            "int8_panels", op_, folder "/tiled_int8.cl", &tsri_opencl_stage_quantise_rows,     \
            &tsri_opencl_layout_panels32_blocks, int8, 70, 57, {"GN", 16, 4, 32},              \
            {"GM", 4, 1, 16}, {"ROW_GROUP", 64, 64, 256}, TSRI_OPENCL_SUB),                    \
        TSRI_OPENCL_INT8_PAIR("int8", op_, folder "/tiled_int8.cl",                            \
                              &tsri_opencl_stage_quantise_rows, NULL, int8, 65, 50,            \
                              {"GN", 16, 4, 32}, {"GM", 4, 1, 16}, {"ROW_GROUP", 64, 64, 256}, \
                              TSRI_OPENCL_SUB)
#define TSRI_OPENCL_TILED_ROWS(op_, folder, tn, bk)                                              \
    TSRI_OPENCL_UNIT_VARIANTS(TSRI_OPENCL_UNIT_HALF, op_, folder),                               \
        TSRI_OPENCL_UNIT_VARIANTS(TSRI_OPENCL_UNIT_INT8, op_, folder),                           \
        TSRI_OPENCL_HALF_VARIANTS(op_, folder "/tiled.cl", tn, bk),                              \
        TSRI_OPENCL_INT8_VARIANTS(op_, folder), TSRI_OPENCL_FEW_FLOAT(op_, folder),              \
        {TSRI_OPENCL_TILED_VARIANT("skinny", op_, folder "/tiled.cl", 70,                        \
                                   tsri_opencl_fits_skinny),                                     \
         TSRI_OPENCL_TILE(16, 4, 2, tn, bk)},                                                    \
        {TSRI_OPENCL_TILED_VARIANT("tiled_64", op_, folder "/tiled.cl", 62,                      \
                                   tsri_opencl_fits_tiled_64),                                   \
         TSRI_OPENCL_TILE_64},                                                                   \
        {TSRI_OPENCL_TILED_VARIANT("tiled_128", op_, folder "/tiled.cl", 61,                     \
                                   tsri_opencl_fits_tiled),                                      \
         TSRI_OPENCL_TILE_128},                                                                  \
    {                                                                                            \
        TSRI_OPENCL_TILED_VARIANT("tiled", op_, folder "/tiled.cl", 60, tsri_opencl_fits_tiled), \
            TSRI_OPENCL_TILE(16, 4, 8, 4, 16)                                                    \
    }

#endif
