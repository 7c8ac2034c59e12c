/* model/weights/mxfp4.h - folders whose matrices are blocks of 4-bit floats, as gpt-oss is published:
 * config.json says {"quantization_config": {"quant_method": "mxfp4"}}, and in place of a matrix of
 * experts NAME there are U8 arrays NAME_blocks [experts, outputs, inputs / 32, 16], two codes to a byte,
 * and NAME_scales [experts, outputs, inputs / 32], exponents.
 *
 * source  OCP Microscaling Formats (MX) 1.0 */
#ifndef TSRI_MODEL_WEIGHTS_MXFP4_H
#define TSRI_MODEL_WEIGHTS_MXFP4_H

#include "base/json.h"
#include "io/archive.h"

/* If the config says so, turns each NAME_blocks with its NAME_scales into an array of mxfp4,
 * [experts, outputs, inputs], under the name NAME_blocks, takes the key out of the config, and sets
 * *joined. */
tsr_status tsri_model_mxfp4_adopt(json_t *config, const char *what, tsri_io_archive *archive,
                                  bool *joined);

#endif
