/* model/load/fingerprint.h - a hash that tells whether two models are the same. */
#ifndef TSRI_MODEL_LOAD_FINGERPRINT_H
#define TSRI_MODEL_LOAD_FINGERPRINT_H

#include "model/load/load.h"

/* SHA-256, in hex, of all arrays: names, types, shapes, and of each its first `most` bytes. */
tsr_status tsri_model_hash(const tsri_io_archive *archive, uint64_t most, char hex[65]);
/* The same of the model's files; where adapters are added, of all that theirs have, too, and of their
 * scales. */
tsr_status tsri_model_hash_weights(const tsri_model *model, uint64_t most, char hex[65]);
/* SHA-256, in hex, of the files in the model's folder that say how it is run: its config, the
 * tokenizer, the chat template and the like; of nothing where the file of its weights says all. */
tsr_status tsri_model_hash_settings(const tsri_model *model, char hex[65]);

#endif
