/* model/load/quants.h - folders of GGUF files, as repositories of quantised models are: the files
 * lie in the folder, or in folders of it, one for each quantisation. */
#ifndef TSRI_MODEL_LOAD_QUANTS_H
#define TSRI_MODEL_LOAD_QUANTS_H

#include "tessera/status.h"

#include <stdbool.h>
#include <stddef.h>

/* Calls each with the GGUF files of a folder and of the folders in it, in order: `file` is "FILE"
 * or "FOLDER/FILE". Of a model in parts it is the first part; projectors of pictures (mmproj) don't
 * count. */
tsr_status tsri_model_each_gguf(const char *folder,
                                tsr_status (*each)(void *data, const char *folder,
                                                   const char *file),
                                void *data);

/* Finds the file of a quantisation ("Q4_K_M", in any case) among these: model-Q4_K_M.gguf,
 * model.q4_k_m.gguf, model-Q4_K_M-00001-of-00002.gguf, Q4_K_M/model.gguf. A file of just that name
 * is chosen before model-UD-Q4_K_M.gguf. Where `quant` is NULL: the only file, or Q4_K_M of several;
 * files of adapters don't count then.
 * prefix: only files whose names begin with it.
 * *path is new memory; NULL: none fits.
 *
 * error  TSR_E_ARGUMENT  several fit: the sentence lists them */
tsr_status tsri_model_find_gguf(const char *folder, const char *prefix, const char *quant,
                                char **path);

/* Whether GGUF files are looked for in it: it is a folder without config.json, or one whose model has
 * no weights in another format. */
bool tsri_model_is_gguf_folder(const char *folder);
/* Where *path is such a folder, replaces it by one of its files, as above. Other paths stay. */
tsr_status tsri_model_enter_gguf(char **path);

/* Where the quantisation stands in the name of a GGUF file, "Q4_K_M" of model-Q4_K_M.gguf and of
 * Q4_K_M/model.gguf, "UD-Q4_K_M" of model-UD-Q4_K_M.gguf, and its length; 0: it is not a GGUF file,
 * or a part of one that is not the first. */
int tsri_model_quant_of(const char *file, const char **quant);

/* The length of a GGUF file's name or path without ".gguf" and without "-00001-of-00002", and the
 * number of its parts (1: it is whole). 0: it is another file, a later part, or a projector of
 * pictures. */
size_t tsri_model_gguf_stem(const char *file, int *parts);

#endif
