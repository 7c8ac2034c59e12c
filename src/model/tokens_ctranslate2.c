/* The tokenizers of a CTranslate2 folder. Its vocabulary files say which pieces there are, not how
 * a text falls into them: where nothing else lies there, a text is its pieces with a space between
 * each two, as CTranslate2's own interface takes it. */
#include "model/ctranslate2.h"
#include "model/tokens.h"

#include "base/error.h"
#include "base/files.h"
#include "text/languages.h"

#include <stdlib.h>
#include <string.h>

/* A tokenizer.json of pieces between spaces. Pieces that are empty or no UTF-8 keep their ids and
 * are never found; of two alike the first is. */
static json_t *describe(const tsri_model_vocabulary *vocabulary,
                        const tsri_model_ctranslate2_settings *settings) {
    const char *const special[] = {settings->bos, settings->eos};
    json_t *pieces = json_object(), *added = json_array();
    for (size_t i = 0; i < vocabulary->count; i++) {
        const tsri_text_piece *piece = &vocabulary->pieces[i];
        if (piece->size && !json_object_getn(pieces, piece->text, piece->size))
            json_object_setn_new(pieces, piece->text, piece->size, json_integer((json_int_t)i));
    }
    for (size_t i = 0; i < sizeof special / sizeof *special; i++) {
        const json_t *id = special[i] ? json_object_get(pieces, special[i]) : NULL;
        if (id && (i == 0 || !settings->bos || strcmp(special[i], settings->bos) != 0))
            json_array_append_new(added, json_pack("{s:I, s:s, s:b}", "id", json_integer_value(id),
                                                   "content", special[i], "special", 1));
    }
    json_t *model = json_pack("{s:s, s:o}", "type", "WordLevel", "vocab", pieces);
    if (settings->unknown)
        json_object_set_new(model, "unk_token", json_string(settings->unknown));
    return json_pack("{s:o, s:o, s:{s:s, s:{s:s}, s:s}}", "model", model, "added_tokens", added,
                     "pre_tokenizer", "type", "Split", "pattern", "String", " ", "behavior",
                     "Removed");
}

static tsr_status set_role(const tsri_model_vocabulary *vocabulary, const char *piece,
                           tsri_text_role role, tsri_text_tokenizer *tokenizer) {
    const int32_t id = piece ? tsri_model_vocabulary_find(vocabulary, piece) : -1;
    return id < 0 ? TSR_OK : tsri_text_set_role(tokenizer, role, id);
}

static tsr_status make(const tsri_model_vocabulary *vocabulary,
                       const tsri_model_ctranslate2_settings *settings, bool add_bos, bool add_eos,
                       tsri_text_tokenizer **out) {
    json_t *json = describe(vocabulary, settings);
    tsr_status status =
        json ? tsri_text_from_json(json, out)
             : tsri_base_fail(TSR_E_HOST_MEMORY, "out of host memory for a vocabulary");
    json_decref(json);
    if (status == TSR_OK)
        tsri_text_set_source(*out, "vocabulary files: pieces between spaces");
    if (status == TSR_OK)
        status = set_role(vocabulary, settings->bos, TSRI_TEXT_BOS, *out);
    if (status == TSR_OK)
        status = set_role(vocabulary, settings->eos, TSRI_TEXT_EOS, *out);
    if (status == TSR_OK)
        status = tsri_text_set_affixes(*out, add_bos, add_eos);
    if (status != TSR_OK) {
        tsri_text_tokenizer_destroy(out);
        tsri_base_fail_within(status, "%s", vocabulary->path);
    }
    return status;
}

static tsr_status make_both(const char *folder, const tsri_model_ctranslate2_settings *settings,
                            tsri_text_tokenizer **out) {
    tsri_model_vocabularies words = {0};
    tsri_text_tokenizer *target = NULL;
    TRY(tsri_model_vocabularies_read(folder, settings->unknown, &words));
    tsr_status status = make(words.shared ? &words.target : &words.source, settings,
                             settings->add_source_bos, settings->add_source_eos, out);
    if (status == TSR_OK && !words.shared)
        status = make(&words.target, settings, false, false, &target);
    if (status == TSR_OK && target)
        tsri_text_set_target(*out, &target);
    if (status != TSR_OK)
        tsri_text_tokenizer_destroy(out);
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
    if (whole) /* the converter can be told to copy it */
        return tsri_model_folder_tokenizer(folder, spec, out);
    TRY(tsri_model_ctranslate2_settings_read(archive, folder, &settings));
    const tsr_status status = make_both(folder, &settings, out);
    tsri_model_ctranslate2_settings_clear(&settings);
    return status;
}
