/* backends/opencl/program/instance.c - a variant with all its build constants, and its name. */
#include "backends/opencl/program/instance.h"
#include "backends/opencl/program/bundle.h"
#include "backends/opencl/variants/variants.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void tsri_opencl_instance_free(tsri_opencl_instance *instance) {
    free(instance->name);
    free(instance->define);
    free(instance->undefine);
    free(instance->signature);
    free(instance->why);
    free(instance);
}

static const char *text_of(const tsri_bytes *bytes) {
    return bytes->data ? bytes->data : "";
}

/* Makes a C identifier that is short and the same from run to run: "linear_packed_5f3a09c1". */
static tsr_status name_kernel(tsri_opencl_instance *instance) {
    tsri_hash *hash = NULL;
    char hex[65];
    TRY(tsri_base_hash_begin(&hash));
    tsri_base_hash_text(hash, instance->name);
    tsri_base_hash_end_hex(&hash, hex);
    const tsri_opencl_stage *stage = instance->stage;
    snprintf(instance->kernel, sizeof instance->kernel, "%s_%.40s_%.8s",
             stage ? "stage" : tsri_opencl_op_name(instance->variant->op),
             stage ? stage->name : instance->variant->name, hex);
    return TSR_OK;
}

const char *tsri_opencl_instance_file(const tsri_opencl_instance *instance) {
    return instance->stage ? instance->stage->file : instance->variant->file;
}

tsr_status tsri_opencl_instance_new(const tsri_opencl_bundle *bundle,
                                    const tsri_opencl_variant *variant,
                                    const tsri_opencl_stage *stage,
                                    const tsri_opencl_defines *defines, char *name,
                                    tsri_opencl_instance **out) {
    tsri_opencl_instance *instance = NULL;
    TRY(tsri_base_new(1, sizeof *instance, &instance));
    instance->variant = variant;
    instance->stage = stage;
    instance->values = defines->values;
    instance->name = tsri_base_copy_text(name, strlen(name));
    instance->define = tsri_base_copy_text(text_of(&defines->define), defines->define.size);
    instance->undefine = tsri_base_copy_text(text_of(&defines->undefine), defines->undefine.size);
    instance->state = tsri_opencl_instance_file(instance) ? TSRI_OPENCL_NEW : TSRI_OPENCL_BUILT;
    const tsri_opencl_bundled *bundled =
        bundle ? tsri_opencl_bundle_find(bundle, instance->name) : NULL;
    if (bundled) { /* `tessera verify` checks it: the bundle may have no other variant */
        instance->program = bundle->program;
        instance->state = TSRI_OPENCL_BUILT;
        instance->bundled = true;
    }
    if (!instance->name || !instance->define || !instance->undefine ||
        name_kernel(instance) != TSR_OK) {
        tsri_opencl_instance_free(instance);
        return TSR_E_HOST_MEMORY;
    }
    *out = instance;
    return TSR_OK;
}

tsr_status tsri_opencl_instance_refuse(tsri_opencl_instance *instance, const char *why) {
    instance->state = TSRI_OPENCL_REFUSED;
    instance->program = NULL;
    free(instance->why);
    instance->why = tsri_base_copy_text(why, strlen(why));
    return instance->why ? TSR_OK : TSR_E_HOST_MEMORY;
}

bool tsri_opencl_instance_newest_c(const tsri_opencl_instance *instance) {
    return instance->stage ? instance->stage->newest_c : instance->variant->newest_c;
}
