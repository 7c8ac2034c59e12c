/* backends/opencl/program/bundle_files.c - the hash of the kernel files, which a bundle names. */
#include "backends/opencl/program/bundle_files.h"
#include "backends/opencl/source/sources.h"
#include "base/error.h"
#include "base/hash.h"

#include <stdlib.h>

/* The hash of the embedded kernel files. Files of TESSERA_KERNEL_PATH are a developer's; their
 * folder's name stands for them. */
tsr_status tsri_opencl_bundle_sources(char hex[65]) {
    const char *folder = getenv("TESSERA_KERNEL_PATH");
    tsri_hash *hash = NULL;
    TRY(tsri_base_hash_begin(&hash));
    tsri_base_hash_text(hash, folder ? folder : "");
    for (const tsri_opencl_source *source = tsri_opencl_sources; source->path; source++) {
        tsri_base_hash_text(hash, source->path);
        tsri_base_hash_text(hash, source->text);
    }
    tsri_base_hash_end_hex(&hash, hex);
    return TSR_OK;
}
