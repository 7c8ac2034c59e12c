/* model/load/fingerprint.h - a hash that tells whether two models are the same. */
#ifndef TSRI_MODEL_LOAD_FINGERPRINT_H
#define TSRI_MODEL_LOAD_FINGERPRINT_H

#include "model/load/load.h"

/* SHA-256, in hex, of all arrays: names, types, shapes, and of each its first `most` bytes. */
tsr_status tsri_model_hash(const tsri_io_archive *archive, uint64_t most, char hex[65]);
/* The same of the model's files; where adapters are added, of all that theirs have, too, and of their
 * scales. TSR_E_STATE where the model is a tokenizer without weights. */
tsr_status tsri_model_hash_weights(const tsri_model *model, uint64_t most, char hex[65]);
/* Visits the files beside the weights that say how the model is run: configs, the tokenizer's, chat templates, the modules
 * of a sentence-transformers folder. Every name that is looked for is visited, whether or not there is such a file;
 * where it isn't known, `path` is NULL. */
tsr_status tsri_model_visit_settings(const tsri_model *model,
                                     tsr_status (*visit)(void *data, const char *name,
                                                         const char *path),
                                     void *data);
/* SHA-256, in hex, of the metadata in the file of the weights; "" where files beside it say all (safetensors). */
tsr_status tsri_model_hash_metadata(const tsri_model *model, char hex[65]);
/* SHA-256, in hex, of both: of the metadata and of the files that tsri_model_visit_settings finds. */
tsr_status tsri_model_hash_settings(const tsri_model *model, char hex[65]);

#endif
