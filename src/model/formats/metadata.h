/* model/formats/metadata.h - turns the metadata of GGUF files and llama2.c checkpoints into the
 * config.json that Hugging Face would write. */
#ifndef TSRI_MODEL_FORMATS_METADATA_H
#define TSRI_MODEL_FORMATS_METADATA_H

#include "io/archive.h"
#include "model/arch/arch.h"

/* Each gives new JSON and the architecture. TSR_E_UNSUPPORTED names an architecture that is not
 * served. */
tsr_status tsri_model_gguf_config(const tsri_io_archive *archive, const tsri_model_arch **arch,
                                  json_t **out);
tsr_status tsri_model_llama2c_config(const tsri_io_archive *archive, const tsri_model_arch **arch,
                                     json_t **out);

#endif
