/* model/load/model_path.h - finds the model that a user names. */
#ifndef TSRI_MODEL_LOAD_MODEL_PATH_H
#define TSRI_MODEL_LOAD_MODEL_PATH_H

#include "tessera/status.h"

/* Finds a model given with -m: a path as it is, else the bundled model of that name (in
 * TESSERA_MODELS, then in share/tessera/models beside the library, then in the user's data folder),
 * else the model of that name in a cache (load/caches.h). Of a folder of GGUF files it is one of them.
 * New memory. For a name that looks like a repository (org/name) the message says how to download
 * it. NULL: the default model. */
tsr_status tsri_model_locate(const char *name, char **path);
/* The same for a tokenizer: a folder that has a tokenizer's file stays that folder. */
tsr_status tsri_model_locate_tokenizer(const char *name, char **path);
/* Why blocks of the model of this name are multiplied as floats, unless something else is asked for; NULL:
 * they aren't. Of static storage. */
const char *tsri_model_float_blocks(const char *name);
/* share/tessera/NAME beside the library's folder; new memory, NULL if the library's folder is not
 * known. */
char *tsri_model_share_folder(const char *name);
/* Calls visit for each bundled model that is found. */
tsr_status tsri_model_bundled(void (*visit)(void *data, const char *name, const char *path),
                              void *data);

#endif
