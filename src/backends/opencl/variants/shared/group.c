/* backends/opencl/variants/shared/group.c - what the variants made for GPUs share: their work-groups,
 * tiles and grids. */
#include "backends/opencl/variants/shared/group.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

bool tsri_opencl_fits_group(const tsri_opencl_facts *facts, int64_t items, int64_t bytes,
                            const char **why) {
    static _Thread_local char text[160];
    const tsr_facts *common = &facts->common;
    if (items <= (int64_t)common->max_work_group && bytes <= (int64_t)common->local_memory)
        return true;
    snprintf(text, sizeof text,
             "needs work-groups of %" PRId64 " and %" PRId64
             " bytes of local memory; the device has %" PRIu32 " and %" PRIu64,
             items, bytes, common->max_work_group, common->local_memory);
    return tsri_opencl_refuse(why, text);
}

int tsri_opencl_variant_tunable(const tsri_opencl_variant *variant, const char *name) {
    for (int i = 0; i < TSRI_OPENCL_TUNABLES; i++)
        if (variant->tunables[i].name && !strcmp(variant->tunables[i].name, name))
            return variant->tunables[i].value;
    return 0;
}

int64_t tsri_opencl_tile_bytes(const tsri_opencl_variant *variant) {
    const int64_t rows = (int64_t)tsri_opencl_variant_tunable(variant, "GM") *
                         tsri_opencl_variant_tunable(variant, "TM"),
                  columns = (int64_t)tsri_opencl_variant_tunable(variant, "GN") *
                            tsri_opencl_variant_tunable(variant, "TN"),
                  padding = 8; /* of the pitches */
    return 4 * tsri_opencl_variant_tunable(variant, "BK") * (rows + columns + padding) *
           tsri_opencl_variant_tunable(variant, "BLOCKS");
}

bool tsri_opencl_fits_tile(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                           const char **why) {
    const int64_t items = (int64_t)tsri_opencl_variant_tunable(variant, "GN") *
                          tsri_opencl_variant_tunable(variant, "GM");
    return tsri_opencl_fits_group(facts, items, tsri_opencl_tile_bytes(variant), why);
}

bool tsri_opencl_fits_small_tile(const tsri_opencl_facts *facts, int64_t rows, int64_t columns,
                                 int64_t matrices, const char **why) {
    enum { LARGE = 128 };
    const int64_t tiles = (rows + LARGE - 1) / LARGE * ((columns + LARGE - 1) / LARGE) * matrices;
    return rows <= LARGE / 2 || columns <= LARGE / 2 || tiles < facts->common.compute_units ||
           tsri_opencl_refuse(why, "made for results with fewer tiles of 128 x 128 than the device "
                                   "has compute units; this one has more");
}

void tsri_opencl_group_tile(tsri_opencl_launch *launch, tsr_dim rows, tsr_dim columns,
                            tsr_dim depth) {
    const int tm = tsri_opencl_tuned(launch, "TM"), tn = tsri_opencl_tuned(launch, "TN");
    tsri_opencl_grid(launch, 0, columns, tn);
    tsri_opencl_grid(launch, 1, rows, tm);
    tsri_opencl_group(launch, tsri_opencl_tuned(launch, "GN"), tsri_opencl_tuned(launch, "GM"), 1);
    tsri_opencl_work(launch, tsri_tensor_times(depth, tsri_tensor_const((int64_t)tm * tn)));
}

bool tsri_opencl_fits_group_row(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                                const char **why) {
    const int group = tsri_opencl_variant_tunable(variant, "GROUP");
    if (variant->newest_c && !facts->sub_groups)
        return tsri_opencl_refuse(why, "needs sub-groups; the device has none that can be used");
    return tsri_opencl_fits_group(facts, group, 4 * group, why);
}

void tsri_opencl_define_group_row(const tsri_opencl_variant *variant,
                                  tsri_opencl_defines *defines) {
    tsri_opencl_define_int(defines, "SUB_GROUPS", variant->newest_c);
}

void tsri_opencl_group_rows(tsri_opencl_launch *launch, tsr_dim rows, int group, int64_t work) {
    tsri_opencl_grid(launch, 0, tsri_tensor_const(group), 1);
    tsri_opencl_grid(launch, 1, rows, 1);
    tsri_opencl_group(launch, group, 1, 1);
    tsri_opencl_work(launch, tsri_tensor_const(1 + work / group));
}

void tsri_opencl_group_row(tsri_opencl_launch *launch, tsr_dim rows, tsr_dim columns) {
    const int group = tsri_opencl_tuned(launch, "GROUP");
    tsri_opencl_grid(launch, 0, tsri_tensor_const(group), 1);
    tsri_opencl_grid(launch, 1, rows, 1);
    tsri_opencl_group(launch, group, 1, 1);
    tsri_opencl_work(launch,
                     columns); /* more than its elements: the work-group's sum, and exponentials */
}
