/* model/load/model_path.h - where a model lies that a user names. */
#ifndef TSRI_MODEL_LOAD_MODEL_PATH_H
#define TSRI_MODEL_LOAD_MODEL_PATH_H

#include "tessera/status.h"

/* Where a name given with -m lies: a path as it is, else a bundled model of that name
 * (TESSERA_MODELS, then share/tessera/models beside the library, then in the user's data folder).
 * New memory. A name that looks like a repository (org/name) is answered with how to download it.
 * NULL: the default. */
tsr_status tsri_model_locate(const char *name, char **path);
/* share/tessera/NAME beside the library's folder; new memory, NULL where the library's place is not
 * known. */
char *tsri_model_share_folder(const char *name);
/* Names of the bundled models that are found: calls visit for each. */
tsr_status tsri_model_bundled(void (*visit)(void *data, const char *name, const char *path),
                              void *data);

#endif
