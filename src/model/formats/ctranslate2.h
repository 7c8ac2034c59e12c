/* model/formats/ctranslate2.h - what a CTranslate2 folder says besides its weights: special tokens,
 * vocabulary files, and the shape of the model, in the form of a config. */
#ifndef TSRI_MODEL_FORMATS_CTRANSLATE2_H
#define TSRI_MODEL_FORMATS_CTRANSLATE2_H

#include "base/json.h"
#include "io/archive.h"
#include "text/load/load.h"
#include "text/tokenizer/tokenizer.h"

/* config.json, or what files with a binary version before 6 have instead. */
typedef struct tsri_model_ctranslate2_settings {
    json_t *json;                    /* owns the texts */
    const char *unknown, *bos, *eos; /* NULL: none */
    const char *decoder_start;       /* NULL: each text has its own, or there is no decoder */
    bool add_source_bos, add_source_eos;
    double norm_eps; /* 0: not given */
} tsri_model_ctranslate2_settings;

tsr_status tsri_model_ctranslate2_settings_read(const tsri_io_archive *archive, const char *folder,
                                                tsri_model_ctranslate2_settings *out);
void tsri_model_ctranslate2_settings_clear(tsri_model_ctranslate2_settings *settings);

/* The pieces of one vocabulary file by id. In a .txt each line is a piece, including its spaces; a
 * .json is a list of texts. As in CTranslate2, `unknown` is appended if the file lacks it. */
typedef struct tsri_model_vocabulary {
    tsri_text_piece *pieces;
    size_t count;
    char *path;
    void *lines; /* the memory that the pieces are borrowed from */
    json_t *list;
} tsri_model_vocabulary;

/* Reads FOLDER/NAME.json, else FOLDER/NAME.txt; count is 0 if neither exists. `unknown` may be NULL
 * and must outlive the vocabulary. */
tsr_status tsri_model_vocabulary_read(const char *folder, const char *name, const char *unknown,
                                      tsri_model_vocabulary *out);
/* The first id of a piece; -1: none. */
int32_t tsri_model_vocabulary_find(const tsri_model_vocabulary *vocabulary, const char *piece);
void tsri_model_vocabulary_clear(tsri_model_vocabulary *vocabulary);

/* Both vocabularies of a folder: the shared one twice, or the source's and the target's; a language
 * model or an encoder has one. TSR_E_IO names the missing file. */
typedef struct tsri_model_vocabularies {
    tsri_model_vocabulary source, target;
    bool shared; /* source is empty: the target's serves both */
} tsri_model_vocabularies;

tsr_status tsri_model_vocabularies_read(const char *folder, const char *unknown,
                                        tsri_model_vocabularies *out);
void tsri_model_vocabularies_clear(tsri_model_vocabularies *vocabularies);

/* Makes, as new JSON, the config from which arch/ctranslate2.c reads the spec. Checks vocabularies
 * against the rows of the embeddings. */
tsr_status tsri_model_ctranslate2_config(const tsri_io_archive *archive, const char *folder,
                                         json_t **out);

#endif
