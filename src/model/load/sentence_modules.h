/* model/load/sentence_modules.h - the modules of a sentence-transformers folder that come after the transformer:
 * each reads its own folder, and adds to `sentence` what it does. For Dense and norms that is the last of
 * the steps, which the caller has counted. */
#ifndef TSRI_MODEL_LOAD_SENTENCE_MODULES_H
#define TSRI_MODEL_LOAD_SENTENCE_MODULES_H

#include "base/json.h"
#include "model/load/sentence.h"

tsr_status tsri_model_sentence_pooling(const char *folder, tsri_model_sentence *sentence);
tsr_status tsri_model_sentence_dense(const char *folder, tsri_model_sentence *sentence);
tsr_status tsri_model_sentence_layer_norm(const char *folder, tsri_model_sentence *sentence);
tsr_status tsri_model_sentence_normalize(const char *folder, tsri_model_sentence *sentence);

/* The dense layers of EmbeddingGemma as GGUF files have them: dense_2 and dense_3, where they are. */
tsr_status tsri_model_sentence_gguf_dense(const tsri_io_archive *archive,
                                          tsri_model_sentence *sentence);

/* Loads a JSON file of the folder; *out is NULL if it doesn't exist.
 *
 * owner   the caller: *out and *path, also after an error */
tsr_status tsri_model_sentence_load(const char *folder, const char *name, json_t **out,
                                    char **path);

#endif
