/* train/data/encode.c - makes the ids that a model learns from out of an example's text. */
#include "train/data/encode.h"

#include "base/error.h"
#include "base/files.h"
#include "base/hash.h"
#include "model/tokens/tokens.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_TOKENIZER_FILE = 1 << 30 };

/* ---- what ids depend on ---- */

/* Files with rules that the vocabulary alone doesn't tell: merges, scores, patterns. */
static tsr_status hash_files(const char *folder, tsri_hash *hash) {
    const char *const *names = tsri_model_tokenizer_files;
    for (size_t i = 0; names[i]; i++) {
        char *path = tsri_base_join(folder, names[i]);
        tsri_bytes bytes = {0};
        tsr_status status = path ? TSR_OK : TSR_E_HOST_MEMORY;
        if (status == TSR_OK && tsri_base_is_file(path))
            status = tsri_base_read_whole(path, MOST_TOKENIZER_FILE, &bytes);
        if (status == TSR_OK && bytes.size) {
            tsri_base_hash_text(hash, names[i]);
            tsri_base_hash_add(hash, bytes.data, bytes.size);
        }
        tsri_base_bytes_clear(&bytes);
        free(path);
        TRY(status);
    }
    return TSR_OK;
}

static tsr_status hash_pieces(const tsri_text_tokenizer *t, tsri_hash *hash) {
    tsri_bytes about = {0};
    TRY(tsri_text_describe(t, &about));
    tsri_base_hash_text(hash, about.data);
    tsri_base_bytes_clear(&about);
    for (int32_t id = 0; id < tsri_text_vocabulary_size(t); id++) {
        size_t n = 0;
        const char *piece = tsri_text_piece_of(t, id, &n);
        const uint64_t facts[2] = {n, tsri_text_is_special(t, id)};
        tsri_base_hash_add(hash, facts, sizeof facts);
        tsri_base_hash_add(hash, piece ? piece : "", n);
    }
    return TSR_OK;
}

static tsr_status make_digest(const tsri_train_data_options *o, tsri_train_encoder *e) {
    const tsri_model_spec *spec = &e->model->spec;
    const tsri_text_tokenizer *target = tsri_text_target(e->model->tokenizer);
    const int32_t facts[] = {1,
                             (int32_t)e->objective,
                             (int32_t)e->wants,
                             e->direction.from,
                             e->direction.to,
                             e->direction.start,
                             e->bos,
                             e->eos,
                             e->before,
                             e->behind,
                             spec->vocab,
                             spec->source_vocab};
    const char *const texts[] = {o->text_field, o->label_field, o->source_field, o->target_field,
                                 e->direction.prefix};
    tsri_hash *hash = NULL;
    TRY(tsri_base_hash_begin(&hash));
    tsri_base_hash_add(hash, facts, sizeof facts);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        tsri_base_hash_text(hash, texts[i] ? texts[i] : "");
    tsr_status status = hash_pieces(e->model->tokenizer, hash);
    if (status == TSR_OK && target != e->model->tokenizer)
        status = hash_pieces(target, hash);
    if (status == TSR_OK && e->model->folder)
        status = hash_files(e->model->folder, hash);
    tsri_base_hash_end_hex(&hash, e->digest);
    return status;
}

/* ---- the tokens that an objective needs ---- */

static int32_t within(int32_t id, int32_t vocab) {
    return id < vocab ? id : -1;
}

/* How many ids an empty text has; for masked, also which one stands before and behind a text. */
static tsr_status find_frame(tsri_train_encoder *e) {
    const tsri_text_tokenizer *t = e->model->tokenizer;
    tsri_text_ids ids = {0};
    tsr_status status = TSR_OK;
    if (e->objective == TSRI_OBJECTIVE_TRANSLATE) {
        status = tsri_text_encode_source(t, "", 0, &e->direction, 0, &ids);
        e->frame = ids.count;
        ids.count = 0;
        if (status == TSR_OK)
            status = tsri_text_encode_target(t, "", 0, &e->direction, 0, &ids);
        e->target_frame = ids.count;
    } else if (e->objective != TSRI_OBJECTIVE_NEXT) {
        status = tsri_text_encode(t, "", 0, TSRI_TEXT_ADD_SPECIAL, &ids);
        e->frame = ids.count;
        if (ids.count == 2) {
            e->before = ids.data[0];
            e->behind = ids.data[1];
        }
    }
    tsri_text_ids_clear(&ids);
    return status;
}

static tsr_status need(const tsri_train_encoder *e, int32_t id, const char *what) {
    return id >= 0 ? TSR_OK
                   : tsri_base_fail(TSR_E_STATE, "%s has no %s, which this objective needs",
                                    e->model->path, what);
}

static tsr_status find_tokens(const tsri_train_data_options *o, tsri_train_encoder *e) {
    const tsri_model_spec *spec = &e->model->spec;
    const tsri_text_tokenizer *t = e->model->tokenizer;
    const int32_t eos = spec->n_eos ? spec->eos[0] : tsri_text_role_id(t, TSRI_TEXT_EOS);
    e->eos = within(eos, spec->vocab);
    e->bos = tsri_text_adds_bos(t) ? within(tsri_text_role_id(t, TSRI_TEXT_BOS), spec->vocab) : -1;
    e->filler = within(spec->pad, spec->vocab) < 0 ? 0 : spec->pad;
    e->before = e->behind = e->start = -1;
    e->mask = within(tsri_text_role_id(t, TSRI_TEXT_MASK), spec->vocab);
    e->direction = (tsri_text_direction){.from = -1, .to = -1, .start = -1, .forced = -1};
    if (e->objective == TSRI_OBJECTIVE_MASKED)
        TRY(need(e, e->mask, "mask token"));
    if (e->objective == TSRI_OBJECTIVE_TRANSLATE) {
        TRY(tsri_text_direction_of(t, o->source_language, o->target_language, &e->direction));
        e->start = e->direction.start >= 0    ? e->direction.start
                   : spec->decoder_start >= 0 ? spec->decoder_start
                                              : spec->bos;
        TRY(need(e, e->start, "token that a target begins with (decoder_start_token_id)"));
        TRY(need(e, e->eos, "token that ends a text (eos_token_id)"));
    }
    return find_frame(e);
}

tsr_status tsri_train_encoder_make(const tsri_model *model, const tsri_train_data_options *options,
                                   tsri_train_encoder *out) {
    *out = (tsri_train_encoder){
        .model = model, .objective = options->objective, .wants = tsri_train_wants_of(options)};
    if (!model->tokenizer)
        return tsri_base_fail(TSR_E_STATE, "%s has no tokenizer that can be used%s%s", model->path,
                              model->tokenizer_why ? ": " : "",
                              model->tokenizer_why ? model->tokenizer_why : "");
    TRY(find_tokens(options, out));
    return make_digest(options, out);
}

void tsri_train_encoder_edges(const tsri_train_encoder *e, int32_t *before, int32_t *behind) {
    const bool next = e->objective == TSRI_OBJECTIVE_NEXT;
    *before = next ? e->bos : -1;
    *behind = next ? e->eos : -1;
}

/* ---- a record ---- */

static tsr_status check_ids(const tsri_text_ids *ids, size_t from, int32_t vocab) {
    for (size_t i = from; i < ids->count; i++)
        if (ids->data[i] >= vocab)
            return tsri_base_fail(TSR_E_FORMAT,
                                  "the tokenizer gives token id %d, but the model's vocabulary "
                                  "ends at %d: tokenizer and model don't belong together",
                                  (int)ids->data[i], (int)vocab - 1);
    return TSR_OK;
}

/* Makes a text end with eos, unless it does already; a language's code may follow eos. */
static tsr_status end_with_eos(const tsri_train_encoder *e, tsri_text_ids *ids, size_t from) {
    const size_t n = ids->count;
    if (e->eos < 0 || (n > from && ids->data[n - 1] == e->eos) ||
        (n > from + 1 && ids->data[n - 2] == e->eos))
        return TSR_OK;
    return tsri_text_ids_append(ids, &e->eos, 1);
}

static tsr_status none(const char *what) {
    return tsri_base_fail(TSR_E_FORMAT, "the %s has no tokens; fill it in, or remove the line",
                          what);
}

static tsr_status encode_next(const tsri_train_encoder *e, const tsri_train_record *record,
                              tsri_text_ids *first, tsri_text_ids *second) {
    const tsri_text_tokenizer *t = e->model->tokenizer;
    const size_t before = first->count;
    if (e->bos >= 0)
        TRY(tsri_text_ids_append(first, &e->bos, 1));
    TRY(tsri_text_encode(t, record->text.data, record->text.n, TSRI_TEXT_PARSE_SPECIAL, first));
    if (first->count == before + (e->bos >= 0))
        return none(record->second.data ? "source" : "text");
    if (record->second.data) {
        const size_t from = second->count;
        TRY(tsri_text_encode(t, record->second.data, record->second.n, TSRI_TEXT_PARSE_SPECIAL,
                             second));
        return second->count == from ? none("target") : end_with_eos(e, second, from);
    }
    TRY(end_with_eos(e, first, before));
    return first->count > before + 1
               ? TSR_OK
               : tsri_base_fail(TSR_E_FORMAT, "the text has one token; it needs at least two, "
                                              "because a model learns each from those before it");
}

/* Some tokenizers have tokens for blanks, but a text of blanks alone can't be translated. */
static bool is_blank(tsri_train_span text) {
    size_t n = 0;
    while (n < text.n && text.data[n] && strchr(" \t\r\n\f\v", text.data[n]))
        n++;
    return n == text.n;
}

tsr_status tsri_train_encode_source(const tsri_train_encoder *e, tsri_train_span text,
                                    tsri_text_ids *ids) {
    const size_t from = ids->count;
    TRY(tsri_text_encode_source(e->model->tokenizer, text.data, text.n, &e->direction,
                                TSRI_TEXT_PARSE_SPECIAL, ids));
    return is_blank(text) || ids->count == from + e->frame ? none("source")
                                                           : end_with_eos(e, ids, from);
}

static tsr_status encode_translate(const tsri_train_encoder *e, const tsri_train_record *record,
                                   tsri_text_ids *first, tsri_text_ids *second) {
    const tsri_text_tokenizer *t = e->model->tokenizer;
    const size_t target = second->count;
    TRY(tsri_train_encode_source(e, record->text, first));
    TRY(tsri_text_encode_target(t, record->second.data, record->second.n, &e->direction,
                                TSRI_TEXT_PARSE_SPECIAL, second));
    if (is_blank(record->second) || second->count == target + e->target_frame)
        return none("target");
    return end_with_eos(e, second, target);
}

/* The tokens of each word; `numbers` has 1 + the number of the word at its first token, and 0 elsewhere. */
static tsr_status encode_words(const tsri_train_encoder *e, const tsri_train_record *record,
                               tsri_text_ids *ids, tsri_text_ids *numbers) {
    const int32_t around[2] = {e->before, e->behind}, none_here = 0;
    const size_t before = ids->count;
    if (around[0] >= 0) {
        TRY(tsri_text_ids_append(ids, &around[0], 1));
        TRY(tsri_text_ids_append(numbers, &none_here, 1));
    }
    for (size_t i = 0; i < record->n_words; i++) {
        const tsri_train_span word = record->words[i];
        const size_t from = ids->count, blank = i > 0; /* words follow blanks in a text */
        TRY(tsri_text_encode(e->model->tokenizer, word.data - blank, word.n + blank, 0, ids));
        for (size_t k = from; k < ids->count; k++) {
            const int32_t number = k == from ? (int32_t)i + 1 : 0;
            TRY(tsri_text_ids_append(numbers, &number, 1));
        }
    }
    if (ids->count == before + (around[0] >= 0))
        return none("text");
    if (around[1] < 0)
        return TSR_OK;
    TRY(tsri_text_ids_append(numbers, &none_here, 1));
    return tsri_text_ids_append(ids, &around[1], 1);
}

/* A part of a stream, in which every token is learned. */
static tsr_status encode_piece(const tsri_train_encoder *e, const tsri_train_record *record,
                               tsri_text_ids *ids) {
    const tsri_text_tokenizer *t = e->model->tokenizer;
    if (record->second.data && e->objective == TSRI_OBJECTIVE_NEXT)
        return tsri_base_fail(TSR_E_FORMAT,
                              "a source and its target can't be packed, because only the target is "
                              "learned; give --set pack=false");
    TRY(tsri_text_encode(t, record->text.data, record->text.n, TSRI_TEXT_PARSE_SPECIAL, ids));
    return record->second.data ? tsri_text_encode(t, record->second.data, record->second.n,
                                                  TSRI_TEXT_PARSE_SPECIAL, ids)
                               : TSR_OK;
}

tsr_status tsri_train_encode(const tsri_train_encoder *e, const tsri_train_record *record,
                             tsri_text_ids *first, tsri_text_ids *second) {
    const tsri_model_spec *spec = &e->model->spec;
    const tsri_text_tokenizer *t = e->model->tokenizer;
    const size_t from = first->count, target = second->count;
    const bool translate = e->objective == TSRI_OBJECTIVE_TRANSLATE;
    if (e->wants == TSRI_WANTS_WORDS) {
        TRY(encode_words(e, record, first, second));
        return check_ids(first, from, spec->vocab);
    }
    if (translate) {
        TRY(encode_translate(e, record, first, second));
    } else if (e->wants == TSRI_WANTS_PIECES) {
        TRY(encode_piece(e, record, first));
    } else if (e->objective == TSRI_OBJECTIVE_NEXT) {
        TRY(encode_next(e, record, first, second));
    } else {
        TRY(tsri_text_encode(t, record->text.data, record->text.n,
                             TSRI_TEXT_ADD_SPECIAL | TSRI_TEXT_PARSE_SPECIAL, first));
        if (first->count == from + e->frame)
            return none("text");
    }
    TRY(check_ids(first, from, translate ? spec->source_vocab : spec->vocab));
    return check_ids(second, target, spec->vocab);
}
