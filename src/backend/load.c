/* backend/load.c - backends as a kind of plugin: which entries a table must have, and where plugins
 * lie. */
#include "backend/load.h"

#include "base/error.h"
#include "base/plugins.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const tsri_base_plugin_entry required[] = {
#define ENTRY(name) \
    { offsetof(tsr_backend, name), #name }
    ENTRY(version),       ENTRY(description),    ENTRY(open),         ENTRY(close),
    ENTRY(device_count),  ENTRY(device_facts),   ENTRY(device_open),  ENTRY(device_close),
    ENTRY(buffer_create), ENTRY(buffer_destroy), ENTRY(transfer),     ENTRY(event_wait),
    ENTRY(event_destroy), ENTRY(op_variants),    ENTRY(weight_store), ENTRY(weight_load),
    ENTRY(plan_create),   ENTRY(plan_destroy),   ENTRY(plan_run),     ENTRY(plan_explain),
    ENTRY(plan_profile),
#undef ENTRY
};

static const char *explain(const char *why) {
    return strstr(why, "libOpenCL") ? "the OpenCL loader is missing; install it (Debian: apt-get "
                                      "install ocl-icd-libopencl1)"
                                    : NULL;
}

static const tsri_base_plugin_kind kind = {.noun = "backend",
                                           .symbol = "tsr_backend_get",
                                           .folder = "tessera/backends",
                                           .variable = "TESSERA_BACKEND_PATH",
                                           .abi = TSR_BACKEND_ABI,
                                           .smallest = offsetof(tsr_backend, extension),
                                           .required = required,
                                           .n_required = sizeof required / sizeof *required,
                                           .explain = explain};

tsr_status tsri_backend_check_table(const char *path, const tsr_backend *table) {
    return tsri_base_plugin_check(&kind, path, table);
}

tsr_status tsri_backend_load(const char *path, void **handle, const tsr_backend **out) {
    const void *table = NULL;
    TRY(tsri_base_plugin_load(&kind, path, handle, &table));
    *out = table;
    return TSR_OK;
}

tsr_status tsri_backend_search(tsri_bytes *paths,
                               tsr_status (*note)(void *data, const char *sentence), void *data) {
    return tsri_base_plugin_search(&kind, getenv("TESSERA_BACKEND_PATH"), paths, note, data);
}
