/* base/plugins.h - finds the shared libraries that extend Tessera, opens them, and checks the table
 * of functions that each gives. */
#ifndef TSRI_BASE_PLUGINS_H
#define TSRI_BASE_PLUGINS_H

#include "base/bytes.h"

#include <stdint.h>

/* How every plugin's table begins. */
typedef struct tsri_base_plugin_table {
    uint32_t struct_size, abi;
    const char *name; /* lower case, one word */
    const char *version, *description;
} tsri_base_plugin_table;

/* An entry that a table must have. */
typedef struct tsri_base_plugin_entry {
    size_t at;
    const char *name;
} tsri_base_plugin_entry;

/* A kind of plugin. */
typedef struct tsri_base_plugin_kind {
    const char *noun;     /* "backend" */
    const char *symbol;   /* of the function that gives the table: "tsr_backend_get" */
    const char *folder;   /* where they are installed, beside the library: "tessera/backends" */
    const char *variable; /* of the environment, with further folders: "TESSERA_BACKEND_PATH" */
    uint32_t abi;         /* major << 16 | minor */
    size_t smallest;      /* bytes that a table has at least; later entries may be missing */
    const tsri_base_plugin_entry *required;
    size_t n_required;
    /* Gives a sentence for a library that can't be loaded, whose reason is `why`; NULL: the usual
     * one. May be NULL. */
    const char *(*explain)(const char *why);
} tsri_base_plugin_kind;

/* Opens the shared library and asks it for its table. Refuses a library without the symbol, and a
 * table of another ABI, one that is too short or one without a required entry; the sentence begins
 * with the path. The caller closes *handle with tsri_system_library_close. */
tsr_status tsri_base_plugin_load(const tsri_base_plugin_kind *kind, const char *path, void **handle,
                                 const void **table);

/* Only checks a table. */
tsr_status tsri_base_plugin_check(const tsri_base_plugin_kind *kind, const char *path,
                                  const void *table);

/* Appends to *paths, each followed by a 0 byte, every shared library in the folders of `given`, the value of
 * the kind's variable (may be NULL), then in the install folder; ordered by name
 * within a folder. An entry of `given` that is not absolute is reported to `note` and skipped: the
 * current folder is never searched. */
tsr_status tsri_base_plugin_search(const tsri_base_plugin_kind *kind, const char *given,
                                   tsri_bytes *paths,
                                   tsr_status (*note)(void *data, const char *sentence),
                                   void *data);

#endif
