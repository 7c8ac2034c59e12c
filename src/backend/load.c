/* backend/load.c - opens a plugin and checks its table. */
#include "backend/load.h"

#include "base/error.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

/* A table must reach at least to here; later entries may be missing. */
#define SMALLEST offsetof(tsr_backend, extension)

static const struct {
    size_t at;
    const char *name;
} required[] = {
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

static tsr_status check_name(const char *path, const char *name) {
    if (!name || !*name)
        return tsri_base_fail(TSR_E_UNSUPPORTED, "%s: the backend has no name", path);
    for (const char *c = name; *c; c++)
        if (!islower((unsigned char)*c) && !isdigit((unsigned char)*c) && *c != '_' && *c != '-')
            return tsri_base_fail(TSR_E_UNSUPPORTED,
                                  "%s: the backend's name \"%s\" is not one lower-case word", path,
                                  name);
    return TSR_OK;
}

tsr_status tsri_backend_check_table(const char *path, const tsr_backend *table) {
    if (!table)
        return tsri_base_fail(
            TSR_E_UNSUPPORTED,
            "%s: the plugin does not support backend ABI %u.%u, which this Tessera uses", path,
            TSR_BACKEND_ABI >> 16, TSR_BACKEND_ABI & 0xffff);
    if (table->struct_size < offsetof(tsr_backend, name)) /* not even its ABI can be read */
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "%s: the backend's table has %u bytes; at least %zu are needed", path,
                              table->struct_size, SMALLEST);
    if (table->abi >> 16 != TSR_BACKEND_ABI >> 16)
        return tsri_base_fail(
            TSR_E_UNSUPPORTED,
            "%s: the plugin was built for backend ABI %u.%u; this Tessera loads %u.x: rebuild it",
            path, table->abi >> 16, table->abi & 0xffff, TSR_BACKEND_ABI >> 16);
    if (table->struct_size < SMALLEST)
        return tsri_base_fail(
            TSR_E_UNSUPPORTED,
            "%s: the backend's table has %u bytes; ABI %u.%u needs at least %zu: rebuild it", path,
            table->struct_size, TSR_BACKEND_ABI >> 16, TSR_BACKEND_ABI & 0xffff, SMALLEST);
    TRY(check_name(path, table->name));
    for (size_t i = 0; i < sizeof required / sizeof *required; i++) {
        void *entry;
        memcpy(&entry, (const char *)table + required[i].at, sizeof entry);
        if (!entry)
            return tsri_base_fail(TSR_E_UNSUPPORTED, "%s: the backend's entry \"%s\" is NULL", path,
                                  required[i].name);
    }
    return TSR_OK;
}

tsr_status tsri_backend_load(const char *path, void **handle, const tsr_backend **out) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *why = dlerror();
        why = why ? why : "no reason given";
        if (strstr(why, "libOpenCL"))
            return tsri_base_fail(TSR_E_UNSUPPORTED,
                                  "%s: the OpenCL loader is missing (%s); install it (Debian: "
                                  "apt-get install ocl-icd-libopencl1)",
                                  path, why);
        return tsri_base_fail(TSR_E_UNSUPPORTED, "%s: it can't be loaded: %s", path, why);
    }
    tsr_backend_get_fn get;
    void *symbol = dlsym(library, "tsr_backend_get");
    memcpy(&get, &symbol, sizeof get); /* ISO C has no cast from object to function pointers */
    tsr_status status;
    if (!symbol)
        status = tsri_base_fail(
            TSR_E_UNSUPPORTED,
            "%s: it has no symbol tsr_backend_get, so it is not a Tessera backend", path);
    else
        status = tsri_backend_check_table(path, *out = get(TSR_BACKEND_ABI));
    if (status != TSR_OK)
        dlclose(library);
    else
        *handle = library;
    return status;
}
