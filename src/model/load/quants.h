/* model/load/quants.h - folders of GGUF files, as repositories of quantised models are. */
#ifndef TSRI_MODEL_LOAD_QUANTS_H
#define TSRI_MODEL_LOAD_QUANTS_H

#include "tessera/status.h"

#include <stdbool.h>
#include <stddef.h>

/* Whether the file's name ends with the quantisation, "Q4_K_M" in any case: model-Q4_K_M.gguf,
 * model.q4_k_m.gguf, model-Q4_K_M-00001-of-00002.gguf. */
bool tsri_model_has_quant(const char *file, const char *quant);

/* Where *path is a folder of GGUF files without a config.json, replaces it by one of them: that of the
 * quantisation, or, where `quant` is NULL, the only one, or Q4_K_M of several. Of a model in parts it is
 * the first part; projectors of pictures (mmproj) don't count. Other paths stay.
 *
 * error  TSR_E_ARGUMENT  none fits, or several: the sentence lists them */
tsr_status tsri_model_choose_gguf(char **path, const char *quant);

#endif
