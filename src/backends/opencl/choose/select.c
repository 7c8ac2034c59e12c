/* backends/opencl/choose/select.c - filters and ranks kernel variants. */
#include "backends/opencl/choose/select.h"
#include "backends/opencl/program/bundle.h"
#include "backends/opencl/program/compile.h"
#include "backends/opencl/program/constants.h"
#include "backends/opencl/program/probe.h"
#include "base/bytes.h"
#include "base/error.h"

#include <stdio.h>
#include <string.h>

static tsr_status fail_unknown_variant(tsr_op_id op, const char *name, size_t n) {
    tsri_bytes list = {0};
    for (const tsri_opencl_variant *variant = tsri_opencl_variants_of(op); variant && variant->name;
         variant++)
        (void)!tsri_base_bytes_printf(&list, "%s%s", list.size ? ", " : "", variant->name);
    const tsr_status status =
        tsri_base_fail(TSR_E_ARGUMENT, "%s has no kernel variant %.*s; it has %s",
                       tsri_opencl_op_name(op), (int)n, name, list.size ? list.data : "none");
    tsri_base_bytes_clear(&list);
    return status;
}

static tsr_status fail_unknown_op(const char *name, size_t n) {
    tsri_bytes list = {0};
    for (int op = 1; op < TSR_OP_COUNT; op++) {
        const char *known = tsri_opencl_op_name((tsr_op_id)op);
        if (known && tsri_opencl_variants_of((tsr_op_id)op))
            (void)!tsri_base_bytes_printf(&list, "%s%s", list.size ? ", " : "", known);
    }
    const tsr_status status =
        tsri_base_fail(TSR_E_ARGUMENT, "%.*s is not an op; kernel variants can be forced for %s",
                       (int)n, name, list.size ? list.data : "none");
    tsri_base_bytes_clear(&list);
    return status;
}

tsri_opencl_wish tsri_opencl_forced_variant(const tsri_opencl_forced *forced, tsr_op_id op) {
    for (size_t i = 0; i < forced->n; i++)
        if (forced->wishes[i].variant->op == op)
            return forced->wishes[i];
    return (tsri_opencl_wish){0};
}

/* `values` is "MR=4:NV=2", n bytes. */
static tsr_status add_forced(tsri_opencl_forced *forced, const tsri_opencl_variant *variant,
                             const char *values, size_t n) {
    const tsri_opencl_variant *before = tsri_opencl_forced_variant(forced, variant->op).variant;
    char place[192];
    if (before)
        return before == variant && !n
                   ? TSR_OK
                   : tsri_base_fail(TSR_E_ARGUMENT, "%s is forced twice: %s and %s",
                                    tsri_opencl_op_name(variant->op), before->name, variant->name);
    if (forced->n == TSRI_OPENCL_MAX_FORCED)
        return tsri_base_fail(TSR_E_ARGUMENT, "more than %d kernel variants are forced",
                              TSRI_OPENCL_MAX_FORCED);
    tsri_opencl_wish *wish = &forced->wishes[forced->n];
    *wish = (tsri_opencl_wish){.variant = variant};
    snprintf(place, sizeof place, "%s=%s:%.*s", tsri_opencl_op_name(variant->op), variant->name,
             (int)n, values);
    if (n && tsri_opencl_read_values(variant, place, values, n, ':', wish) != TSR_OK)
        return TSR_E_ARGUMENT;
    forced->n++;
    return TSR_OK;
}

/* An entry "matmul=variant:values" also applies to the ops that have a variant of that name. */
typedef struct family {
    const char *variant, *values; /* variant NULL: there is no such entry */
    size_t variant_n, values_n;
} family;

static tsr_status force_one(const char *entry, size_t n, tsri_opencl_forced *out, family *shared) {
    const char *equals = memchr(entry, '=', n);
    if (!equals || equals == entry || equals + 1 == entry + n)
        return tsri_base_fail(TSR_E_ARGUMENT, "\"%.*s\" is not of the form op=variant", (int)n,
                              entry);
    const size_t name_n = (size_t)(equals - entry);
    const char *name = equals + 1, *colon = memchr(name, ':', n - name_n - 1);
    const size_t variant_n = colon ? (size_t)(colon - name) : n - name_n - 1;
    const char *values = colon ? colon + 1 : "";
    const size_t values_n = colon ? (size_t)(entry + n - values) : 0;
    const tsr_op_id op = tsri_opencl_op_of(entry, name_n);
    const tsri_opencl_variant *variant =
        op == TSR_OP_NONE ? NULL : tsri_opencl_variant_of(op, name, variant_n);
    if (op == TSR_OP_NONE || !tsri_opencl_variants_of(op))
        return fail_unknown_op(entry, name_n);
    if (op == TSR_OP_MATMUL) {
        *shared = (family){name, values, variant_n, values_n};
        if (!variant && (tsri_opencl_variant_of(TSR_OP_LINEAR, name, variant_n) ||
                         tsri_opencl_variant_of(TSR_OP_GLU_LINEAR, name, variant_n)))
            return TSR_OK;
    }
    return variant ? add_forced(out, variant, values, values_n)
                   : fail_unknown_variant(op, name, variant_n);
}

tsr_status tsri_opencl_force(const char *kernels, tsri_opencl_forced *out) {
    family shared = {0};
    *out = (tsri_opencl_forced){0};
    for (const char *at = kernels; at && *at;) {
        const size_t n = strcspn(at, ",");
        TRY(force_one(at, n, out, &shared));
        at += n + (at[n] == ',');
    }
    static const tsr_op_id relatives[] = {TSR_OP_LINEAR, TSR_OP_GLU_LINEAR};
    for (size_t i = 0; shared.variant && i < 2; i++) {
        const tsri_opencl_variant *variant =
            tsri_opencl_variant_of(relatives[i], shared.variant, shared.variant_n);
        if (variant && !tsri_opencl_forced_variant(out, relatives[i]).variant)
            TRY(add_forced(out, variant, shared.values, shared.values_n));
    }
    return TSR_OK;
}

size_t tsri_opencl_candidates(const tsr_dev *dev, const tsr_op *op,
                              const tsri_opencl_variant *variants[TSRI_OPENCL_MAX_VARIANTS]) {
    int scores[TSRI_OPENCL_MAX_VARIANTS];
    size_t n = 0;
    for (const tsri_opencl_variant *variant = tsri_opencl_variants_of((tsr_op_id)op->id);
         variant && variant->name && n < TSRI_OPENCL_MAX_VARIANTS; variant++) {
        const int score = tsri_opencl_score_of(dev, variant, op);
        size_t at = n++;
        for (; at > 0 && scores[at - 1] < score; at--) {
            variants[at] = variants[at - 1];
            scores[at] = scores[at - 1];
        }
        variants[at] = variant;
        scores[at] = score;
    }
    return n;
}

/* Whether every operand is stored in the layout that this variant reads. */
static bool reads_layouts(const tsri_opencl_variant *variant, const tsr_op *op, const char **why) {
    static _Thread_local char text[192];
    for (uint32_t i = 0; i < op->n_in; i++) {
        const tsr_tensor *tensor = op->in[i];
        if (!tensor)
            continue;
        const bool weight = (int)i == variant->weight_operand;
        const uint32_t wanted = weight && variant->layout ? variant->layout->id : 0;
        if (tensor->layout == wanted)
            continue;
        const tsri_opencl_layout *stored = tsri_opencl_layout_by_id(tensor->layout);
        snprintf(text, sizeof text, "reads its weight as %s; it is stored as %s",
                 wanted ? variant->layout->name : "plain rows",
                 stored           ? stored->name
                 : tensor->layout ? "an unknown layout"
                                  : "plain rows");
        *why = text;
        return false;
    }
    return true;
}

/* A device that does not compile has the kernels of its bundle only, and no provider's. */
static bool in_bundle(const tsr_dev *dev, const tsri_opencl_variant *variant, const tsr_op *op,
                      const tsri_opencl_wish *wish, const char **why) {
    /* A bundle is one program; a kernel that is built as a newer OpenCL C would need a second
     * one. */
    const bool newest_c = variant->newest_c || (variant->before && variant->before->newest_c);
    bool has = dev->record && variant->file && !variant->enqueue &&
               !(newest_c && dev->found->version >= 200);
    if (!dev->record && tsri_opencl_bundle_has(dev, variant, op, wish, &has) != TSR_OK)
        has = false;
    if (!has)
        *why = dev->record ? "can't be part of the one program of a bundle" : "not in the bundle";
    return has;
}

bool tsri_opencl_alike(const tsri_opencl_variant *one, const tsri_opencl_variant *other) {
    return one->op == other->op && one->forms && other->forms && !strcmp(one->forms, other->forms);
}

/* Values that a user or `tessera tune` tries say nothing about the other forms. */
static bool has_defaults(const tsri_opencl_instance *instance) {
    const tsri_opencl_tunable *tunables = instance->variant->tunables;
    for (int t = 0; t < TSRI_OPENCL_TUNABLES && tunables[t].name; t++)
        if (instance->values.value[t] != tunables[t].value)
            return false;
    return true;
}

const char *tsri_opencl_form_refused(const tsr_dev *dev, const tsri_opencl_variant *variant) {
    static _Thread_local char text[320];
    for (size_t i = 0; variant->forms && i < dev->programs->n; i++) {
        const tsri_opencl_instance *instance = dev->programs->instances[i];
        if (instance->state != TSRI_OPENCL_REFUSED || instance->stage ||
            !tsri_opencl_alike(instance->variant, variant) || !has_defaults(instance))
            continue;
        snprintf(text, sizeof text, "a variant that rounds alike is refused: %.120s: %.*s",
                 instance->name, (int)strcspn(instance->why, "\n"), instance->why);
        return text;
    }
    return NULL;
}

bool tsri_opencl_fits(const tsr_dev *dev, const tsri_opencl_variant *variant, const tsr_op *op,
                      const tsri_opencl_wish *wish, bool placed, const char **why) {
    const int weight = variant->layout ? variant->weight_operand : -1;
    *why = "";
    if (weight >= 0 && op->in[weight]->kind != TSR_KIND_WEIGHT) {
        *why = "reads weights in a layout of its own; this one is written, so it is kept as plain "
               "rows";
        return false;
    }
    /* What holds for every op comes before what holds for this one. */
    if (variant->probe && tsri_opencl_probe_refused(dev, variant->probe, why))
        return false;
    /* Asked before the layout: what a variant needs and does not find is the reason why a weight is stored in
     * another variant's layout. */
    if (!tsri_opencl_fits_tuned(dev, variant, op, wish, why))
        return false;
    if (placed && !reads_layouts(variant, op, why))
        return false;
    if (variant->probe && !tsri_opencl_probe_passed(dev, variant->probe, why))
        return false;
    const char *refused = tsri_opencl_form_refused(dev, variant);
    if (refused) {
        *why = refused;
        return false;
    }
    return !(dev->bundle || dev->record) || in_bundle(dev, variant, op, wish, why);
}

const tsri_opencl_variant *tsri_opencl_best(const tsr_dev *dev, const tsr_op *op,
                                            const tsri_opencl_wish *forced) {
    const tsri_opencl_variant *variants[TSRI_OPENCL_MAX_VARIANTS];
    const char *why;
    const size_t n = tsri_opencl_candidates(dev, op, variants);
    if (forced->variant)
        return tsri_opencl_fits(dev, forced->variant, op, forced, true, &why) ? forced->variant
                                                                              : NULL;
    for (size_t i = 0; i < n; i++)
        if (tsri_opencl_fits(dev, variants[i], op, NULL, true, &why))
            return variants[i];
    return NULL;
}

enum { B, T, S, U, N };

/* Ranges of M; the last has no end. */
static const int64_t ranges[4][2] = {{1, 1}, {2, 8}, {9, 63}, {64, 64}};

int tsri_opencl_next_bucket(const tsr_bounds *bounds) {
    int range = 0;
    while (range < 3 && bounds->highest[B] > ranges[range][1])
        range++;
    return range ? 2 * range - 1 : 0; /* of those with many sequences */
}

void tsri_opencl_buckets(const tsr_bounds *bounds, tsr_bounds out[TSRI_OPENCL_BUCKETS]) {
    const int64_t most = bounds->highest[B] * bounds->highest[T];
    for (int i = 0; i < TSRI_OPENCL_BUCKETS; i++) {
        const int64_t *range = ranges[(i + 1) / 2];
        const int64_t last = (i + 1) / 2 == 3 && most > range[1] ? most : range[1];
        const int many = i % 2 ? B : T, one = i % 2 ? T : B;
        out[i] = *bounds;
        out[i].lowest[one] = out[i].highest[one] = 1;
        out[i].lowest[many] = range[0];
        out[i].highest[many] = last;
        out[i].lowest[N] = range[0];
        out[i].highest[N] = last;
        if (out[i].highest[S] < last)
            out[i].highest[S] = last;
    }
}

/* While variants are only asked for, weights are not stored yet: any layout may come. */
static bool placed(const tsr_op *op) {
    for (uint32_t i = 0; i < op->n_in; i++)
        if (op->in[i] && (op->in[i]->buf || op->in[i]->layout))
            return true;
    return false;
}

tsr_status tsri_opencl_op_variants(tsr_dev *dev, const tsr_op *op, tsr_variant_visitor visit,
                                   void *data) {
    const tsri_opencl_variant *variants[TSRI_OPENCL_MAX_VARIANTS];
    if (!tsri_opencl_op_name((tsr_op_id)op->id))
        return TSR_OK;
    const size_t n = tsri_opencl_candidates(dev, op, variants);
    for (size_t i = 0; i < n; i++) {
        const char *why = "";
        char name[128];
        const bool fits = tsri_opencl_fits(dev, variants[i], op, NULL, placed(op), &why);
        snprintf(name, sizeof name, "%s/%s", tsri_opencl_op_name((tsr_op_id)op->id),
                 variants[i]->name);
        visit(data, &(tsr_variant){.struct_size = sizeof(tsr_variant),
                                   .fits = fits,
                                   .score = tsri_opencl_score_of(dev, variants[i], op),
                                   .name = name,
                                   .why = why,
                                   .tunables = "",
                                   .batch_variant = variants[i]->batch_variant});
    }
    return TSR_OK;
}
