/* model/load/caches.h - models that other programs have downloaded: found by name and listed, without
 * network. A new cache is a row of `places` in caches.c, and a file. */
#ifndef TSRI_MODEL_LOAD_CACHES_H
#define TSRI_MODEL_LOAD_CACHES_H

#include "tessera/model.h"

#include <stdbool.h>
#include <stddef.h>

/* Finds a model by its name; *path stays NULL where no cache has it. Where files of it are gone or
 * damaged in one cache, the others are searched, too; the failure is reported if none has it. */
tsr_status tsri_model_cached(const char *name, char **path);
enum { TSRI_MODEL_COMMAND = 512 }; /* the room for a command */
/* Whether a name begins with a host that "ollama pull" takes: hf.co/org/name. */
bool tsri_model_names_host(const char *name);
/* Puts into `command` what downloads a model that no cache has. */
void tsri_model_get_command(const char *name, char *command, size_t room);
/* Returns the status of opening the model of this name. Where the sentence is about files that are
 * missing (TSR_E_IO) of what the name finds in the cache of Hugging Face or llama.cpp, adds the
 * command that downloads them. */
tsr_status tsri_model_tell_download(tsr_status status, const char *name);
/* Calls each with the models of all caches; their sizes are not set. */
tsr_status tsri_model_list_caches(void (*each)(void *data, const tsr_model_found *model),
                                  void *data);

#endif
