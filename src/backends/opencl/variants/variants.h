/* backends/opencl/variants/variants.h - all kernel variants, found by their op, name or layout. */
#ifndef TSRI_OPENCL_VARIANTS_VARIANTS_H
#define TSRI_OPENCL_VARIANTS_VARIANTS_H

#include "backends/opencl/bind/variant.h"

/* No op has more variants. */
enum { TSRI_OPENCL_MAX_VARIANTS = 128 };

/* The variants of an op, best first; the one behind the last has name == NULL. NULL where the op is
 * not offered. */
const tsri_opencl_variant *tsri_opencl_variants_of(tsr_op_id op);
/* The score that a variant ranks by on a device: its own, or a tenth of it (less than plain has)
 * for a variant made for GPUs on another device. */
int tsri_opencl_variant_score(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts);
/* Whether the variant's kernels can be functions of a chain: they begin with ENTRY
 * (cl/common/tessera.clh). */
bool tsri_opencl_variant_chains(const tsri_opencl_variant *variant);

/* The op's name, "linear"; NULL for an unknown op. */
const char *tsri_opencl_op_name(tsr_op_id op);
/* The op with a name of n bytes; TSR_OP_NONE where there is none. */
tsr_op_id tsri_opencl_op_of(const char *name, size_t n);
/* The variant of an op with a name of n bytes; NULL where there is none. */
const tsri_opencl_variant *tsri_opencl_variant_of(tsr_op_id op, const char *name, size_t n);
/* The variant "linear/packed"; NULL where there is none. */
const tsri_opencl_variant *tsri_opencl_find_variant(const char *name);
const tsri_opencl_layout *tsri_opencl_layout_by_id(uint32_t id); /* NULL: plain, or unknown */

#endif
