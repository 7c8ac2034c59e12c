/* transport/load.c - finds the plugin of a transport by its name. */
#include "transport/load.h"

#include "base/error.h"
#include "base/plugins.h"
#include "base/system/system.h"

#include <stdlib.h>
#include <string.h>

static const tsri_base_plugin_entry required[] = {
#define ENTRY(name) \
    { offsetof(tsr_transport, name), #name }
    ENTRY(version),    ENTRY(description), ENTRY(open),    ENTRY(close),     ENTRY(leave),
    ENTRY(facts),      ENTRY(host_of),     ENTRY(barrier), ENTRY(broadcast), ENTRY(all_to_all),
    ENTRY(all_gather), ENTRY(send),        ENTRY(receive), ENTRY(wait),
#undef ENTRY
};

static const char *explain(const char *why) {
    return strstr(why, "libmpi")
               ? "the MPI library is missing; install it (Debian: apt-get install "
                 "openmpi-bin)"
               : NULL;
}

static const tsri_base_plugin_kind kind = {.noun = "transport",
                                           .symbol = "tsr_transport_get",
                                           .folder = "tessera/transports",
                                           .variable = "TESSERA_TRANSPORT_PATH",
                                           .abi = TSR_TRANSPORT_ABI,
                                           .smallest = sizeof(tsr_transport),
                                           .required = required,
                                           .n_required = sizeof required / sizeof *required,
                                           .explain = explain};

tsr_status tsri_transport_check_table(const char *path, const tsr_transport *table) {
    return tsri_base_plugin_check(&kind, path, table);
}

/* What was found that is not the transport that is wanted: names, or why a plugin was refused. */
static tsr_status add_found(void *data, const char *sentence) {
    tsri_bytes *found = data;
    return tsri_base_bytes_printf(found, "%s%s", found->size ? "; " : "", sentence);
}

/* Opens one file. *out stays NULL where it is another transport or is refused. */
static tsr_status try_file(const char *path, const char *name, tsri_bytes *found,
                           const tsr_transport **out) {
    void *handle = NULL;
    const void *table = NULL;
    const tsr_status status = tsri_base_plugin_load(&kind, path, &handle, &table);
    if (status == TSR_E_HOST_MEMORY)
        return status;
    if (status != TSR_OK)
        return add_found(found, tsri_base_reported());
    const tsr_transport *transport = table;
    if (!strcmp(transport->name, name)) {
        tsri_system_library_pin(path);
        *out = transport;
        return TSR_OK;
    }
    const tsr_status added = add_found(found, transport->name);
    tsri_system_library_close(handle);
    return added;
}

tsr_status tsri_transport_load(const char *name, const tsr_transport **out) {
    tsri_bytes paths = {0}, found = {0};
    *out = NULL;
    tsr_status status =
        tsri_base_plugin_search(&kind, getenv("TESSERA_TRANSPORT_PATH"), &paths, add_found, &found);
    for (size_t at = 0; at < paths.size && status == TSR_OK && !*out;
         at += strlen(paths.data + at) + 1)
        status = try_file(paths.data + at, name, &found, out);
    if (status == TSR_OK && !*out)
        status = tsri_base_fail(TSR_E_ARGUMENT,
                                "there is no transport %s (found: %s); install its plugin, or give "
                                "--transport none",
                                name, found.size ? found.data : "none");
    tsri_base_bytes_clear(&paths);
    tsri_base_bytes_clear(&found);
    return status;
}
