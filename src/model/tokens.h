/* model/tokens.h - the tokenizer that lies with a model, whatever file it is in. */
#ifndef TSRI_MODEL_TOKENS_H
#define TSRI_MODEL_TOKENS_H

#include "io/archive.h"
#include "model/spec.h"
#include "text/tokenizer.h"

/* Of a folder: tokenizer.json, else tokenizer.model. *out is NULL where there is neither. */
tsr_status tsri_model_folder_tokenizer(const char *folder, const tsri_model_spec *spec,
                                       tsri_text_tokenizer **out);
tsr_status tsri_model_gguf_tokenizer(const tsri_io_archive *archive, tsri_text_tokenizer **out);
/* tokenizer.bin beside the checkpoint. */
tsr_status tsri_model_llama2c_tokenizer(const char *folder, const tsri_model_spec *spec,
                                        tsri_text_tokenizer **out);

#endif
