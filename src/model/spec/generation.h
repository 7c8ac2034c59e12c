/* model/spec/generation.h - what a model's folder says of generating text. */
#ifndef TSRI_MODEL_SPEC_GENERATION_H
#define TSRI_MODEL_SPEC_GENERATION_H

#include "base/json.h"
#include "model/spec/spec.h"

typedef struct tsri_model_generation {
    json_t *settings; /* the object that the keys are read from; NULL: the folder has none */
    char *path;       /* of its file */
    bool old;         /* it is config.json, where files made before generation_config.json keep the
                         same keys beside those of the model */
    bool told;        /* what is not served was said */
    int32_t bos;      /* -1: none is named */
    int32_t decoder_start; /* the token that an encoder-decoder's answer begins with; -1: none */
} tsri_model_generation;

/* generation_config.json alone where the folder has it, else `config`, which is that of
 * `config_name` (NULL: neither counts). Its end tokens take the place of the spec's where it names
 * some.
 *
 * owner  the caller: tsri_model_generation_clear, also after an error
 * error  TSR_E_FORMAT  the file can't be read, or an id is past the vocabulary */
tsr_status tsri_model_generation_read(const char *folder, json_t *config, const char *config_name,
                                      tsri_model_spec *spec, tsri_model_generation *out);
void tsri_model_generation_clear(tsri_model_generation *generation);

/* One more end token, where it isn't one yet. */
void tsri_model_add_eos(tsri_model_spec *spec, int64_t id);

#endif
