/* model/tokens/families.h - what a SentencePiece model alone doesn't say: the ids of its pieces,
 * the tokens around a text, and the languages, by family. */
#ifndef TSRI_MODEL_TOKENS_FAMILIES_H
#define TSRI_MODEL_TOKENS_FAMILIES_H

#include "base/json.h"
#include "model/spec/spec.h"
#include "text/tokenizer/languages.h"

typedef struct tsri_model_family tsri_model_family;

/* What is known beside a tokenizer's file. */
typedef struct tsri_model_place {
    const char *folder;
    const tsri_model_spec *spec;
    char *config_path;               /* the path of tokenizer_config.json */
    json_t *config, *model_config;   /* tokenizer_config.json, config.json; NULL: missing */
    const tsri_model_family *family; /* NULL: not a known family */
} tsri_model_place;

/* The family, by tokenizer_config.json's tokenizer_class, else by config.json's model_type; NULL:
 * none. */
const tsri_model_family *tsri_model_family_of(const tsri_model_place *place);
/* Whether transformers has the family's tokenizer in Python, not from the tokenizers library. */
bool tsri_model_family_in_python(const tsri_model_family *family);

/* Writes the name of transformers' class for the tokenizer, by tokenizer_class, else by model_type: without its end and in
 * lower case, so that "GPTNeoXTokenizerFast" and "gpt_neox" become "gptneox". Empty: neither is known. */
enum { TSRI_MODEL_CLASS = 64 };
void tsri_model_class_of(const tsri_model_place *place, char out[TSRI_MODEL_CLASS]);

/* Read a file by the family of its place: spiece.model, spm.model or sentencepiece.bpe.model; source.spm with
 * target.spm and vocab.json; vocab.json with merges.txt. */
tsr_status tsri_model_read_pieces(const tsri_model_place *place, const char *path,
                                  tsri_text_tokenizer **out);
tsr_status tsri_model_read_marian(const tsri_model_place *place, const char *path,
                                  tsri_text_tokenizer **out);
/* framed: whether the class puts tokens around a text whatever tokenizer_config.json says of bos and eos. */
tsr_status tsri_model_read_merges(const tsri_model_place *place, const char *path, bool *framed,
                                  tsri_text_tokenizer **out);
/* Reads a tekken.json, by its name or by what is in it, or a file of tiktoken; *out is NULL where the
 * file is neither. */
tsr_status tsri_model_read_ranks(const tsri_model_place *place, const char *path,
                                 tsri_text_tokenizer **out);
/* Adds the tokens of added_tokens_decoder in tokenizer_config.json, else those of added_tokens.json, to a
 * tokenizer whose own file has no list of them. Ids behind the model's rows are left out. */
tsr_status tsri_model_add_tokens(const tsri_model_place *place, tsri_text_tokenizer *tokenizer);
/* added_tokens_decoder as a tokenizer.json would list these tokens; the caller releases the list, after a failure
 * too. */
tsr_status tsri_model_added_decoder(const tsri_model_place *place, json_t **out);
/* What tokenizer_config.json states anew of the steps of a tokenizer.json beside it, as tsri_text_from_json_for takes it;
 * the caller releases it, after a failure too. */
tsr_status tsri_model_stated_steps(const tsri_model_place *place, json_t **out);
/* Adds the languages that the family knows, whichever file the tokenizer came from. */
tsr_status tsri_model_add_languages(const tsri_model_place *place, tsri_text_tokenizer *tokenizer);

/* If nothing names the family: adds the languages of the family whose codes are all in the
 * vocabulary. */
tsr_status tsri_model_guess_languages(tsri_text_tokenizer *tokenizer);

/* Gives the special tokens their roles by their usual names: <s>, <mask>, ..., or BERT's [CLS], [MASK], ... */
tsr_status tsri_model_set_usual_roles(tsri_text_tokenizer *tokenizer, bool bert);

/* Reads a file of the folder if it is there; else *out stays as it is. */
tsr_status tsri_model_load_if(const tsri_model_place *place, const char *name, json_t **out);
/* Reads a SentencePiece model's file; messages have its path. */
tsr_status tsri_model_read_sentencepiece(const char *path, tsri_text_tokenizer **out);

extern const char tsri_model_codes_mbart[], tsri_model_codes_mbart50[], tsri_model_codes_m2m_100[],
    tsri_model_codes_wmt21[], tsri_model_codes_nllb[];

#endif
