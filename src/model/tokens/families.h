/* model/tokens/families.h - what a SentencePiece model alone doesn't say: the ids of its pieces,
 * what goes around a text, and the languages, family by family. */
#ifndef TSRI_MODEL_TOKENS_FAMILIES_H
#define TSRI_MODEL_TOKENS_FAMILIES_H

#include "base/json.h"
#include "model/spec/spec.h"
#include "text/tokenizer/languages.h"

typedef struct tsri_model_family tsri_model_family;

/* What lies around a tokenizer's file. */
typedef struct tsri_model_place {
    const char *folder;
    const tsri_model_spec *spec;
    char *config_path;               /* of tokenizer_config.json */
    json_t *config, *model_config;   /* tokenizer_config.json, config.json; NULL: not there */
    const tsri_model_family *family; /* NULL: none of those below */
} tsri_model_place;

/* By tokenizer_config.json's tokenizer_class, else config.json's model_type; NULL: none. */
const tsri_model_family *tsri_model_family_of(const tsri_model_place *place);

/* Readers of a file, by the family of its place: spiece.model, sentencepiece.bpe.model; source.spm
 * with target.spm and vocab.json; vocab.json with merges.txt. */
tsr_status tsri_model_read_pieces(const tsri_model_place *place, const char *path,
                                  tsri_text_tokenizer **out);
tsr_status tsri_model_read_marian(const tsri_model_place *place, const char *path,
                                  tsri_text_tokenizer **out);
tsr_status tsri_model_read_merges(const tsri_model_place *place, const char *path,
                                  tsri_text_tokenizer **out);
/* Whatever file a tokenizer came from: the languages that its family knows. */
tsr_status tsri_model_add_languages(const tsri_model_place *place, tsri_text_tokenizer *tokenizer);

/* The languages of the family whose codes are all in the vocabulary, where nothing names one. */
tsr_status tsri_model_guess_languages(tsri_text_tokenizer *tokenizer);

/* A SentencePiece model's file, errors with its path. */
tsr_status tsri_model_read_sentencepiece(const char *path, tsri_text_tokenizer **out);

extern const char tsri_model_codes_mbart[], tsri_model_codes_mbart50[], tsri_model_codes_m2m_100[],
    tsri_model_codes_wmt21[], tsri_model_codes_nllb[];

#endif
