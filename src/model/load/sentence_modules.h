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

/* What the folder of the model says of its texts: their length and case. `context`: the tokens that it reads.
 *
 * error   TSR_E_UNSUPPORTED  a setting would change tokens and is not served */
tsr_status tsri_model_sentence_text(const char *folder, int64_t context,
                                    tsri_model_sentence *sentence);
/* Whether sentence-transformers puts its texts into the tokenizer's chat template. */
tsr_status tsri_model_sentence_in_template(const char *folder, bool *out);

/* The dense layers of EmbeddingGemma as GGUF files have them: dense_2 and dense_3, where they are. */
tsr_status tsri_model_sentence_gguf_dense(const tsri_io_archive *archive,
                                          tsri_model_sentence *sentence);

/* Loads a JSON file of the folder; *out is NULL if it doesn't exist.
 *
 * owner   the caller: *out and *path, also after an error */
tsr_status tsri_model_sentence_load(const char *folder, const char *name, json_t **out,
                                    char **path);

#endif
