/* backend/load.h - backends as a kind of plugin: opening the file of one, checking its table, and
 * finding all. */
#ifndef TSRI_BACKEND_LOAD_H
#define TSRI_BACKEND_LOAD_H

#include "backend/host.h"
#include "base/bytes.h"

/* As tsri_base_plugin_load, tsri_base_plugin_check and tsri_base_plugin_search. The folders come
 * from TESSERA_BACKEND_PATH. */
tsr_status tsri_backend_load(const char *path, void **handle, const tsr_backend **out);
tsr_status tsri_backend_check_table(const char *path, const tsr_backend *table);
tsr_status tsri_backend_search(tsri_bytes *paths,
                               tsr_status (*note)(void *data, const char *sentence), void *data);

#endif
