/* model/tokens/ctranslate2.c - the tokenizers of a CTranslate2 folder. Its vocabulary files say
 * which pieces there are, but not how a text is cut into them: a SentencePiece model in the folder
 * or above it does. If there is none, a text is its pieces separated by spaces, as CTranslate2's
 * own interface takes it. */
#include "model/formats/ctranslate2.h"
#include "model/tokens/families.h"
#include "model/tokens/tokens.h"

#include "base/error.h"
#include "base/files.h"
#include "text/load/load.h"
#include "text/tokenizer/languages.h"

#include <stdlib.h>
#include <string.h>

/* ---- what cuts a text ---- */

static const char *const shared_names[] = {
    "sentencepiece.model", "sentencepiece.bpe.model", "spiece.model",      "spm.model", "sp.model",
    "tokenizer.model",     "spm.128k.model",          "sentencepiece.spm", NULL};
static const char *const side_names[2][5] = {
    {"source.spm", "source.model", "src.spm", "src.model", NULL},
    {"target.spm", "target.model", "tgt.spm", "tgt.model", NULL}};

/* The first of the files that exists, in new memory; NULL: none. */
static tsr_status first_of(const char *folder, const char *above, const char *const *names,
                           char **out) {
    *out = NULL;
    for (; *names && !*out; names++) {
        tsri_bytes path = {0};
        TRY(tsri_base_bytes_printf(&path, "%s/%s%s", folder, above, *names));
        if (tsri_base_is_file(path.data))
            *out = path.data;
        else
            tsri_base_bytes_clear(&path);
    }
    return TSR_OK;
}

tsr_status tsri_model_ctranslate2_pieces(const char *folder, bool target, char **out) {
    static const char *const places[] = {"", "../"};
    *out = NULL;
    for (size_t i = 0; i < 2 && !*out; i++) {
        TRY(first_of(folder, places[i], side_names[target], out));
        if (!*out)
            TRY(first_of(folder, places[i], shared_names, out));
    }
    return TSR_OK;
}

/* ---- one side ---- */

static tsr_status set_role(const tsri_model_vocabulary *vocabulary, const char *piece,
                           tsri_text_role role, tsri_text_tokenizer *tokenizer) {
    const int32_t id = piece ? tsri_model_vocabulary_find(vocabulary, piece) : -1;
    return id < 0 ? TSR_OK : tsri_text_set_role(tokenizer, role, id);
}

static int32_t find(const tsri_model_vocabulary *vocabulary, const char *piece) {
    return piece ? tsri_model_vocabulary_find(vocabulary, piece) : -1;
}

static tsr_status list(const tsri_model_vocabulary *vocabulary,
                       const tsri_model_ctranslate2_settings *settings, const char *model,
                       tsri_text_tokenizer **out) {
    tsri_text_tokenizer *segmenter = NULL;
    const int32_t ids[] = {find(vocabulary, settings->bos), find(vocabulary, settings->eos)};
    int32_t specials[2];
    tsri_text_listed listed = {.source = model ? "vocabulary files and a SentencePiece model"
                                               : "vocabulary files: pieces between spaces",
                               .pieces = vocabulary->pieces,
                               .count = vocabulary->count,
                               .specials = specials,
                               .unknown = find(vocabulary, settings->unknown),
                               .mask = -1,
                               .segmenter = &segmenter};
    for (size_t i = 0; i < 2; i++)
        if (ids[i] >= 0 && (i == 0 || ids[1] != ids[0]))
            specials[listed.special_count++] = ids[i];
    if (model)
        TRY(tsri_model_read_sentencepiece(model, &segmenter));
    const tsr_status status = tsri_text_from_list(&listed, out);
    tsri_text_tokenizer_destroy(&segmenter);
    return status == TSR_OK || !model ? status : tsri_base_fail_within(status, "%s", model);
}

static tsr_status make(const char *folder, bool target, const tsri_model_vocabulary *vocabulary,
                       const tsri_model_ctranslate2_settings *settings, bool add_bos, bool add_eos,
                       tsri_text_tokenizer **out) {
    char *model = NULL;
    tsr_status status = tsri_model_ctranslate2_pieces(folder, target, &model);
    if (status == TSR_OK)
        status = list(vocabulary, settings, model, out);
    free(model);
    if (status == TSR_OK)
        status = set_role(vocabulary, settings->bos, TSRI_TEXT_BOS, *out);
    if (status == TSR_OK)
        status = set_role(vocabulary, settings->eos, TSRI_TEXT_EOS, *out);
    if (status == TSR_OK)
        status = tsri_text_set_affixes(*out, add_bos, add_eos);
    if (status == TSR_OK)
        status = tsri_model_guess_languages(*out);
    if (status != TSR_OK) {
        tsri_text_tokenizer_destroy(out);
        tsri_base_fail_within(status, "%s", vocabulary->path);
    }
    return status;
}

/* Whether the model reads </s> after a text: Marian and T5 do, and models whose decoder starts with
 * </s> (M2M-100). Converted from Hugging Face, their settings leave that to the tokenizer there, so
 * add_source_eos is false: that is right for pieces, but not for a text. */
static bool reads_end(const tsri_model_spec *spec,
                      const tsri_model_ctranslate2_settings *settings) {
    const char *start = settings->decoder_start, *bos = settings->bos;
    return spec->blank_start || spec->encoder.relative_buckets ||
           (settings->eos && start && (!bos || strcmp(start, bos) != 0));
}

static tsr_status make_both(const char *folder, const tsri_model_spec *spec,
                            const tsri_model_ctranslate2_settings *settings,
                            tsri_text_tokenizer **out) {
    tsri_model_vocabularies words = {0};
    tsri_text_tokenizer *target = NULL;
    char *models[2] = {NULL, NULL};
    TRY(tsri_model_vocabularies_read(folder, settings->unknown, &words));
    tsr_status status = tsri_model_ctranslate2_pieces(folder, false, &models[0]);
    if (status == TSR_OK)
        status = make(folder, false, words.shared ? &words.target : &words.source, settings,
                      settings->add_source_bos,
                      settings->add_source_eos || (models[0] && reads_end(spec, settings)), out);
    if (status == TSR_OK)
        status = tsri_model_ctranslate2_pieces(folder, true, &models[1]);
    /* One vocabulary with a SentencePiece model for each side also makes two tokenizers. */
    const bool apart = !words.shared || (models[0] && models[1] && strcmp(models[0], models[1]));
    if (status == TSR_OK && apart)
        status = make(folder, true, &words.target, settings, false, false, &target);
    if (status == TSR_OK && target)
        tsri_text_set_target(*out, &target);
    if (status != TSR_OK)
        tsri_text_tokenizer_destroy(out);
    free(models[0]);
    free(models[1]);
    tsri_model_vocabularies_clear(&words);
    return status;
}

tsr_status tsri_model_ctranslate2_tokenizer(const tsri_io_archive *archive, const char *folder,
                                            const tsri_model_spec *spec,
                                            tsri_text_tokenizer **out) {
    tsri_model_ctranslate2_settings settings = {0};
    *out = NULL;
    char *path = tsri_base_join(folder, "tokenizer.json");
    if (!path)
        return TSR_E_HOST_MEMORY;
    const bool whole = tsri_base_is_file(path);
    free(path);
    if (whole) /* the converter can be told to copy tokenizer.json */
        return tsri_model_folder_tokenizer(folder, spec, out);
    TRY(tsri_model_ctranslate2_settings_read(archive, folder, &settings));
    const tsr_status status = make_both(folder, spec, &settings, out);
    tsri_model_ctranslate2_settings_clear(&settings);
    return status;
}
