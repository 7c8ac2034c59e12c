/* model/load/quants.h - folders of GGUF files, as repositories of quantised models are. */
#ifndef TSRI_MODEL_LOAD_QUANTS_H
#define TSRI_MODEL_LOAD_QUANTS_H

#include "tessera/status.h"

/* Finds the file of a quantisation ("Q4_K_M", in any case) in a folder: model-Q4_K_M.gguf,
 * model.q4_k_m.gguf, model-Q4_K_M-00001-of-00002.gguf. Where `quant` is NULL: the only file, or Q4_K_M
 * of several. Of a model in parts it is the first part; projectors of pictures (mmproj) don't count.
 * prefix: only files whose names begin with it.
 * *path is new memory; NULL: none fits.
 *
 * error  TSR_E_ARGUMENT  several fit: the sentence lists them */
tsr_status tsri_model_find_gguf(const char *folder, const char *prefix, const char *quant,
                                char **path);

/* Where *path is a folder of GGUF files without a config.json, replaces it by one of them, as above.
 * Other paths stay. */
tsr_status tsri_model_enter_gguf(char **path);

/* Where the quantisation stands in the name of a GGUF file, "Q4_K_M" of model-Q4_K_M.gguf, and its
 * length; 0: it is not a GGUF file, or a part of one that is not the first. */
int tsri_model_quant_of(const char *file, const char **quant);

#endif
