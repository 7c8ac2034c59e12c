/* backend/load.h - one plugin: its file opened, its table checked. */
#ifndef TSRI_BACKEND_LOAD_H
#define TSRI_BACKEND_LOAD_H

#include "backend/host.h"
#include "base/bytes.h"

/* Opens the shared library and asks it for its table; refuses, with a sentence that begins with the
 * path, one that has no tsr_backend_get, is of another ABI, too short, or lacks an entry.  owner:
 * the caller closes *handle with dlclose. */
tsr_status tsri_backend_load(const char *path, void **handle, const tsr_backend **out);

/* The checks alone. */
tsr_status tsri_backend_check_table(const char *path, const tsr_backend *table);

/* Appends to *paths, each followed by a 0 byte: every *.so of the folders of TESSERA_BACKEND_PATH,
 * then of the install folder, by name within a folder. An entry of TESSERA_BACKEND_PATH that is not
 * absolute is given to `note` and skipped. */
tsr_status tsri_backend_search(tsri_bytes *paths,
                               tsr_status (*note)(void *data, const char *sentence), void *data);

#endif
