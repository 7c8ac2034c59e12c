/* backends/opencl/choose/tune.c - extension "tsr.tune/1": searches and stores the values of
 * tunables. */
#include "backends/opencl/choose/tune.h"
#include "backends/opencl/choose/select.h"
#include "backends/opencl/driver/host.h"
#include "backends/opencl/program/program.h"
#include "backends/opencl/tuning/tuning_file.h"
#include "backends/opencl/variants/variants.h"
#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

static bool ends_with(const char *text, size_t n, const char *ending) {
    const size_t m = strlen(ending);
    return n >= m && !memcmp(text + n - m, ending, m);
}

/* Whether a constant decides what is fast: the operands' dtypes and the head size do; activations
 * and flags don't. */
static bool matters(const char *constant, size_t n) {
    const char *equals = memchr(constant, '=', n);
    const size_t name_n = equals ? (size_t)(equals - constant) : 0;
    return ends_with(constant, name_n, "_DTYPE") || (name_n == 4 && !memcmp(constant, "HEAD", 4));
}

/* "W_DTYPE=F32,rows=64-" */
static tsr_status condition_of(const tsri_opencl_variant *variant, const tsr_op *op,
                               tsri_bytes *out) {
    tsri_opencl_defines decided = {.variant = variant};
    for (int t = 0; t < TSRI_OPENCL_TUNABLES && variant->tunables[t].name; t++)
        decided.values.value[t] = variant->tunables[t].value;
    if (variant->define)
        variant->define(variant, op, &decided);
    tsr_status status = decided.status;
    for (const char *at = decided.name.data; at && *at && status == TSR_OK;) {
        const size_t n = strcspn(at, ",");
        if (matters(at, n))
            status = tsri_base_bytes_printf(out, "%.*s,", (int)n, at);
        at += n + (at[n] == ',');
    }
    if (status == TSR_OK)
        status = tsri_base_bytes_printf(out, "%s", tsri_opencl_rows_condition(op));
    tsri_opencl_defines_clear(&decided);
    return status;
}

static tsr_status visit_variant(tsr_dev *dev, const tsri_opencl_variant *variant, const tsr_op *op,
                                tsr_tunable_visitor visit, void *data) {
    tsr_tunable tunables[TSRI_OPENCL_TUNABLES];
    const tsr_tunable *pointers[TSRI_OPENCL_TUNABLES];
    tsri_opencl_values values;
    tsri_opencl_instance *instance;
    tsri_bytes condition = {0};
    uint32_t n = 0;
    TRY(tsri_opencl_instance_of(dev, variant, op, NULL, &values, &instance));
    for (; n < TSRI_OPENCL_TUNABLES && variant->tunables[n].name; n++) {
        const tsri_opencl_tunable *t = &variant->tunables[n];
        const bool matters = dev->facts.sub_sizes || strcmp(t->name, TSRI_OPENCL_SUB_SIZE) != 0;
        tunables[n] = (tsr_tunable){.struct_size = sizeof *tunables,
                                    .value = values.value[n],
                                    .lowest = matters ? t->lowest : values.value[n],
                                    .highest = matters ? t->highest : values.value[n],
                                    .name = t->name};
        pointers[n] = &tunables[n];
    }
    const tsr_status status = condition_of(variant, op, &condition);
    if (status == TSR_OK)
        visit(data, &(tsr_tunable_variant){.struct_size = sizeof(tsr_tunable_variant),
                                           .n_tunables = n,
                                           .tunables = pointers,
                                           .op = tsri_opencl_op_name(variant->op),
                                           .variant = variant->name,
                                           .condition = condition.data,
                                           .batch_variant = variant->batch_variant});
    tsri_base_bytes_clear(&condition);
    return status;
}

static tsr_status visit_variants(tsr_dev *dev, const tsr_op *op, tsr_tunable_visitor visit,
                                 void *data) {
    const tsri_opencl_variant *variants[TSRI_OPENCL_MAX_VARIANTS];
    const char *why;
    tsri_opencl_enter(dev->state);
    if (!tsri_opencl_op_name((tsr_op_id)op->id))
        return TSR_OK;
    const size_t n = tsri_opencl_candidates(dev, op, variants);
    for (size_t i = 0; i < n; i++)
        if (variants[i]->tunables[0].name &&
            tsri_opencl_fits(dev, variants[i], op, NULL, false, &why))
            TRY(visit_variant(dev, variants[i], op, visit, data));
    return TSR_OK;
}

/* A name as a pattern that matches only itself. */
static char *pattern_of(const char *name) {
    char *pattern = tsri_base_copy_text(*name ? name : "*", strlen(*name ? name : "*"));
    for (char *at = pattern; *name && at && *at; at++)
        if (strchr("[]*\\\t", *at))
            *at = '?';
    return pattern;
}

static tsr_status keep(tsr_dev *dev, const char *path, const tsr_tuned *const *found, size_t n) {
    const tsr_facts *facts = &dev->facts.common;
    tsri_opencl_tuned_line *lines = NULL;
    tsri_opencl_enter(dev->state);
    char *platform = pattern_of(facts->platform), *device = pattern_of(facts->name);
    tsri_bytes names = {0};
    size_t *at = NULL;
    tsr_status status = platform && device ? TSR_OK : TSR_E_HOST_MEMORY;
    if (status == TSR_OK)
        status = tsri_base_new(n ? n : 1, sizeof *lines, &lines);
    if (status == TSR_OK)
        status = tsri_base_new(n ? n : 1, sizeof *at, &at);
    for (size_t i = 0; i < n && status == TSR_OK; i++) {
        at[i] = names.size;
        status = tsri_base_bytes_printf(&names, "%s/%s", found[i]->op, found[i]->variant);
        if (status == TSR_OK)
            status = tsri_base_bytes_append(&names, "", 1);
    }
    for (size_t i = 0; i < n && status == TSR_OK; i++)
        lines[i] = (tsri_opencl_tuned_line){
            .platform = path ? platform : "*",
            .device = path ? device : "*",
            .type = path ? tsri_opencl_type_name(facts->type) : "*",
            .variant = names.data + at[i],
            .condition = found[i]->condition && *found[i]->condition ? found[i]->condition : "-",
            .values = found[i]->values,
            .note = found[i]->note};
    if (status == TSR_OK)
        status = tsri_opencl_tuning_store(dev, path, lines, n);
    tsri_base_bytes_clear(&names);
    free(at);
    free(lines);
    free(platform);
    free(device);
    return status;
}

const tsr_backend_tune tsri_opencl_tune = {sizeof tsri_opencl_tune, visit_variants, keep};
