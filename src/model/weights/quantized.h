/* model/weights/quantized.h - folders that `tessera quantize` wrote: config.json says
 *
 *     "quantization_config": {"quant_method": "tessera", "version": 2, "dtype": "q8" | "q4",
 *                             "tensors": {NAME: "q8" | "q4"}}
 *
 * and each quantised matrix [rows, columns] is a U8 array [rows, bytes of a row's blocks], outputs
 * first whatever order the family has. "tensors" lists those whose blocks are of another dtype; it
 * may be absent, as in version 1. Other engines, which can't read them, refuse that method by
 * name. */
#ifndef TSRI_MODEL_WEIGHTS_QUANTIZED_H
#define TSRI_MODEL_WEIGHTS_QUANTIZED_H

#include "io/archive.h"
#include "model/weights/weights.h"

#include "base/json.h"

enum { TSRI_QUANTIZED_VERSION = 2 };
#define TSRI_QUANTIZED_KEY "quantization_config"
#define TSRI_QUANTIZED_METHOD "tessera"

/* "q8" or "q4"; NULL for another dtype. */
const char *tsri_model_quantized_name(tsr_dtype dtype);

/* If the config says so, turns the U8 arrays into arrays of blocks, takes the key out of the
 * config, and sets *quantized. Other methods are left to the refusal of unknown keys. */
tsr_status tsri_model_quantized_adopt(json_t *config, const char *what, tsri_io_archive *archive,
                                      bool *quantized);

#endif
