/* model/weights/quantized.h - folders that `tessera quantize` wrote: config.json says
 *
 *     "quantization_config": {"quant_method": "tessera", "version": 1, "dtype": "q8" | "q4"}
 *
 * and each quantised matrix [rows, columns] is a U8 array [rows, bytes of its blocks a row],
 * outputs first whatever order the family has. What other engines can't read they refuse by that
 * name.
 */
#ifndef TSRI_MODEL_WEIGHTS_QUANTIZED_H
#define TSRI_MODEL_WEIGHTS_QUANTIZED_H

#include "io/archive.h"
#include "model/weights/weights.h"

#include "base/json.h"

enum { TSRI_QUANTIZED_VERSION = 1 };
#define TSRI_QUANTIZED_KEY "quantization_config"
#define TSRI_QUANTIZED_METHOD "tessera"

/* "q8" or "q4"; NULL for another dtype. */
const char *tsri_model_quantized_name(tsr_dtype dtype);

/* Where the config says so, its U8 arrays become arrays of blocks, the key is taken out of the
 * config, and *quantized is set. Other methods are left for the refusal of unknown keys. */
tsr_status tsri_model_quantized_adopt(json_t *config, const char *what, tsri_io_archive *archive,
                                      bool *quantized);

#endif
