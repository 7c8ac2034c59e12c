/* model/spec/generation.h - what a model's folder says about generating text. */
#ifndef TSRI_MODEL_SPEC_GENERATION_H
#define TSRI_MODEL_SPEC_GENERATION_H

#include "base/json.h"
#include "model/spec/spec.h"

typedef struct tsri_model_generation {
    json_t *settings; /* the object that the keys are read from; NULL: the folder has none */
    char *path;       /* the path of its file */
    bool old;         /* it is config.json: files made before generation_config.json existed keep
                         the same keys beside those of the model */
    bool told;        /* the settings that are not served have been reported */
    int32_t bos;      /* -1: the folder names none */
    int32_t decoder_start; /* the token that an encoder-decoder's answer begins with; -1: none */
} tsri_model_generation;

/* Reads generation_config.json if the folder has it, otherwise `config`, the object of
 * `config_name` (NULL: neither counts). If it names end tokens, they replace those of the spec.
 *
 * owner  the caller: tsri_model_generation_clear, also after an error
 * error  TSR_E_FORMAT  the file can't be read, or an id is past the vocabulary */
tsr_status tsri_model_generation_read(const char *folder, json_t *config, const char *config_name,
                                      tsri_model_spec *spec, tsri_model_generation *out);
void tsri_model_generation_clear(tsri_model_generation *generation);

/* Adds an end token, unless it is one already. */
void tsri_model_add_eos(tsri_model_spec *spec, int64_t id);

#endif
