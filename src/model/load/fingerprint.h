/* model/load/fingerprint.h - a hash that tells whether two models are the same. */
#ifndef TSRI_MODEL_LOAD_FINGERPRINT_H
#define TSRI_MODEL_LOAD_FINGERPRINT_H

#include "io/archive.h"

/* SHA-256, in hex, of all arrays: names, types, shapes, and of each its first `most` bytes. */
tsr_status tsri_model_hash(const tsri_io_archive *archive, uint64_t most, char hex[65]);

#endif
