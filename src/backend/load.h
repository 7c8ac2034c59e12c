/* backend/load.h - opening the file of a plugin and checking its table. */
#ifndef TSRI_BACKEND_LOAD_H
#define TSRI_BACKEND_LOAD_H

#include "backend/host.h"
#include "base/bytes.h"

/* Opens the shared library and asks it for its table. Refuses a library without tsr_backend_get,
 * and a table of another ABI, one that is too short or one without a required entry; the sentence
 * begins with the path. The caller closes *handle with dlclose. */
tsr_status tsri_backend_load(const char *path, void **handle, const tsr_backend **out);

/* Only checks a table. */
tsr_status tsri_backend_check_table(const char *path, const tsr_backend *table);

/* Appends to *paths, each followed by a 0 byte, every *.so in the folders of TESSERA_BACKEND_PATH,
 * then in the install folder, ordered by name within a folder. An entry of TESSERA_BACKEND_PATH
 * that is not absolute is reported to `note` and skipped. */
tsr_status tsri_backend_search(tsri_bytes *paths,
                               tsr_status (*note)(void *data, const char *sentence), void *data);

#endif
