/* model/load/caches.h - models that other programs have downloaded: found by name and listed, without
 * network. A new cache is a row of `places` in caches.c, and a file. */
#ifndef TSRI_MODEL_LOAD_CACHES_H
#define TSRI_MODEL_LOAD_CACHES_H

#include "tessera/status.h"

#include <stddef.h>

/* Finds a model by its name; *path stays NULL where no cache has it. */
tsr_status tsri_model_cached(const char *name, char **path);
/* Puts into `command` what downloads it. */
void tsri_model_download(const char *name, char *command, size_t room);
tsr_status tsri_model_list_caches(void (*each)(void *data, const char *place, const char *name,
                                               const char *path),
                                  void *data);

#endif
