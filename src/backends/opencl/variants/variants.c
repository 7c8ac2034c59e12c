/* backends/opencl/variants/variants.c - the table of all kernel variants: which ops the backend offers, and
 * the variants and layouts by their names. */
#include "backends/opencl/variants/variants.h"
#include "backends/opencl/variants/shared/common.h"

#include <string.h>

int tsri_opencl_variant_score(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts) {
    return variant->gpu && facts->common.type != TSR_DEVICE_GPU ? variant->score / 10
                                                                : variant->score;
}

const tsri_opencl_variant *tsri_opencl_variants_of(tsr_op_id op) {
    static const tsri_opencl_variant *const tables[TSR_OP_COUNT] = {
#define TABLE(id, name, attributes) [TSR_OP_##id] = tsri_opencl_variants_##name,
        TSR_OP_LIST(TABLE)
#undef TABLE
    };
    return op > TSR_OP_NONE && op < TSR_OP_COUNT ? tables[op] : NULL;
}

bool tsri_opencl_variant_chains(const tsri_opencl_variant *variant) {
    return variant->file && !variant->enqueue && !variant->gpu && !variant->newest_c &&
           !variant->alone;
}

static const char *const names[TSR_OP_COUNT] = {
#define NAME(id, name, attributes) [TSR_OP_##id] = #name,
    TSR_OP_LIST(NAME)
#undef NAME
};

const char *tsri_opencl_op_name(tsr_op_id op) {
    return (unsigned)op < TSR_OP_COUNT ? names[op] : NULL;
}

tsr_op_id tsri_opencl_op_of(const char *name, size_t n) {
    for (int op = 1; op < TSR_OP_COUNT; op++)
        if (names[op] && strlen(names[op]) == n && !memcmp(names[op], name, n))
            return (tsr_op_id)op;
    return TSR_OP_NONE;
}

const tsri_opencl_variant *tsri_opencl_variant_of(tsr_op_id op, const char *name, size_t n) {
    for (const tsri_opencl_variant *variant = tsri_opencl_variants_of(op); variant && variant->name;
         variant++)
        if (strlen(variant->name) == n && !memcmp(variant->name, name, n))
            return variant;
    return NULL;
}

const tsri_opencl_variant *tsri_opencl_find_variant(const char *name) {
    const char *slash = strchr(name, '/');
    const tsr_op_id op = slash ? tsri_opencl_op_of(name, (size_t)(slash - name)) : TSR_OP_NONE;
    return op == TSR_OP_NONE ? NULL : tsri_opencl_variant_of(op, slash + 1, strlen(slash + 1));
}

const tsri_opencl_layout *tsri_opencl_layout_by_id(uint32_t id) {
    for (int op = 1; id && op < TSR_OP_COUNT; op++)
        for (const tsri_opencl_variant *variant = tsri_opencl_variants_of((tsr_op_id)op);
             variant && variant->name; variant++)
            if (variant->layout && variant->layout->id == id)
                return variant->layout;
    return NULL;
}
