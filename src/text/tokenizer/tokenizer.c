/* text/tokenizer/tokenizer.c - encodes texts and decodes ids with the parts that a loader put
 * together. */
#include "text/tokenizer/parts.h"

#include "base/error.h"
#include "base/memory.h"
#include "text/base/byte_level.h"
#include "text/base/unicode.h"
#include "text/stages/clean_up.h"

#include <stdlib.h>
#include <string.h>

enum { TEXT_LIMIT = 1 << 30 };

tsr_status tsri_text_tokenizer_new(const char *source, tsri_text_tokenizer **out) {
    *out = NULL;
    TRY(tsri_base_new(1, sizeof **out, out));
    (*out)->source = source;
    for (size_t i = 0; i < TSRI_TEXT_ROLES; i++)
        (*out)->roles[i] = -1;
    return TSR_OK;
}

static void clear_languages(tsri_text_languages *l) {
    for (size_t i = 0; i < l->count; i++)
        free(l->items[i].code);
    for (size_t i = 0; i < l->pair_count; i++) {
        free(l->pairs[i].from);
        free(l->pairs[i].to);
        free(l->pairs[i].prefix);
    }
    free(l->items);
    free(l->pairs);
    free(l->from);
    free(l->to);
    *l = (tsri_text_languages){0};
}

void tsri_text_tokenizer_destroy(tsri_text_tokenizer **tokenizer) {
    tsri_text_tokenizer *t = *tokenizer;
    if (!t)
        return;
    if (t->model)
        t->row->destroy(t->model);
    tsri_text_vocabulary_clear(&t->vocabulary);
    tsri_text_added_clear(&t->added);
    tsri_text_matcher_clear(&t->whole);
    tsri_text_normalizer_destroy(&t->normalizer);
    tsri_text_pre_tokenizer_destroy(&t->pre_tokenizer);
    tsri_text_post_clear(&t->post);
    tsri_text_decoder_destroy(&t->decoder);
    clear_languages(&t->languages);
    tsri_text_tokenizer_destroy(&t->target);
    tsri_text_tokenizer_destroy(&t->cutter);
    free(t->types);
    free(t->special);
    free(t);
    *tokenizer = NULL;
}

tsr_status tsri_text_mark_special(tsri_text_tokenizer *tokenizer, int32_t id) {
    TRY(tsri_base_grow(&tokenizer->special, &tokenizer->special_count, (size_t)id + 1,
                       sizeof *tokenizer->special));
    tokenizer->special[id] = true;
    return TSR_OK;
}

/* Finds added tokens in the original text, normalizes the text between them, and finds the
 * normalized added tokens there. */
static tsr_status find_added(const tsri_text_tokenizer *t, bool special, const char *text, size_t n,
                             tsri_text_allowance *allowance, tsri_text_splits *raw,
                             tsri_text_splits *out) {
    tsri_bytes normal = {0};
    tsr_status status = tsri_text_added_split(&t->added, false, special, text, n, true, raw);
    for (size_t i = 0; i < raw->count && status == TSR_OK; i++) {
        const tsri_text_split piece = raw->items[i];
        const char *at = raw->text.data + piece.start;
        if (piece.id >= 0) {
            status = tsri_text_splits_add(out, at, piece.size, piece.id, piece.first);
            continue;
        }
        bool moved = false;
        normal.size = 0;
        status = tsri_text_normalizer_apply(t->normalizer, at, piece.size, piece.first, allowance,
                                            &normal, &moved);
        if (status == TSR_OK && normal.size)
            status = tsri_text_added_split(&t->added, true, special, normal.data, normal.size,
                                           piece.first && !moved, out);
    }
    tsri_base_bytes_clear(&normal);
    return status;
}

/* Numbers the words of the ids that have none yet. */
static tsr_status number_words(const tsri_text_ids *ids, int32_t word, tsri_text_ids *words) {
    tsr_status status = TSR_OK;
    while (status == TSR_OK && words && words->count < ids->count)
        status = tsri_text_ids_append(words, &word, 1);
    return status;
}

/* The ids of one text, without the tokens around it, and, if `words` is not NULL, the number of each
 * id's word. Both are empty before. */
static tsr_status ids_of(const tsri_text_tokenizer *t, const char *text, size_t n, bool special,
                         tsri_text_ids *ids, tsri_text_ids *words) {
    if (n == 0)
        return TSR_OK;
    tsri_bytes repaired = {0};
    tsri_text_splits splits = {0}, spare = {0};
    tsri_text_work work = {.dropout = t->dropout};
    tsri_text_allowance allowance = tsri_text_allowance_of(n);
    tsr_status status = TSR_OK;
    if (n > TEXT_LIMIT)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "a text of %zu bytes; at most %d bytes can be encoded at once", n,
                              TEXT_LIMIT);
    if (!t->raw && !tsri_text_utf8_valid(text, n)) {
        status = tsri_text_utf8_repair(text, n, &repaired);
        text = repaired.data;
        n = repaired.size;
    }
    if (status == TSR_OK)
        status = find_added(t, special, text, n, &allowance, &spare, &splits);
    if (status == TSR_OK)
        status = tsri_text_pre_tokenizer_apply(t->pre_tokenizer, &allowance, &splits, &spare);
    for (size_t i = 0; i < splits.count && status == TSR_OK; i++) {
        const tsri_text_split piece = splits.items[i];
        status = piece.id >= 0 ? tsri_text_ids_append(ids, &piece.id, 1)
                               : t->row->encode(t->model, &t->vocabulary, &work,
                                                splits.text.data + piece.start, piece.size, ids);
        if (status == TSR_OK)
            status = number_words(ids, (int32_t)i, words);
    }
    tsri_base_bytes_clear(&repaired);
    tsri_text_splits_clear(&splits);
    tsri_text_splits_clear(&spare);
    tsri_text_work_clear(&work);
    return status;
}

static tsr_status encode(const tsri_text_tokenizer *t, const char *a, size_t na, const char *b,
                         size_t nb, unsigned flags, tsri_text_ids *ids, tsri_text_ids *types) {
    const size_t before = ids->count, types_before = types ? types->count : 0;
    const bool special = flags & TSRI_TEXT_PARSE_SPECIAL;
    tsri_text_ids first = {0}, second = {0};
    tsr_status status = ids_of(t, a, na, special, &first, NULL);
    if (status == TSR_OK && b)
        status = ids_of(t, b, nb, special, &second, NULL);
    if (status == TSR_OK)
        status = tsri_text_post_apply(&t->post, &first, b ? &second : NULL,
                                      flags & TSRI_TEXT_ADD_SPECIAL, ids, types);
    if (status != TSR_OK) {
        ids->count = before;
        if (types)
            types->count = types_before;
    }
    tsri_text_ids_clear(&first);
    tsri_text_ids_clear(&second);
    return status;
}

tsr_status tsri_text_encode(const tsri_text_tokenizer *tokenizer, const char *text, size_t n,
                            unsigned flags, tsri_text_ids *ids) {
    return encode(tokenizer, text, n, NULL, 0, flags, ids, NULL);
}

tsr_status tsri_text_encode_pair(const tsri_text_tokenizer *tokenizer, const char *a, size_t na,
                                 const char *b, size_t nb, unsigned flags, tsri_text_ids *ids,
                                 tsri_text_ids *types) {
    return encode(tokenizer, a, na, b, nb, flags, ids, types);
}

tsr_status tsri_text_encode_words(const tsri_text_tokenizer *tokenizer, const char *text, size_t n,
                                  unsigned flags, tsri_text_ids *ids, tsri_text_ids *words) {
    tsri_text_ids own = {0}, numbers = {0};
    tsr_status status = ids_of(tokenizer, text, n, flags & TSRI_TEXT_PARSE_SPECIAL, &own, &numbers);
    if (status == TSR_OK)
        status = tsri_text_ids_append(ids, own.data, own.count);
    if (status == TSR_OK)
        status = tsri_text_ids_append(words, numbers.data, numbers.count);
    tsri_text_ids_clear(&own);
    tsri_text_ids_clear(&numbers);
    return status;
}

struct tsri_text_stream {
    const tsri_text_tokenizer *tokenizer;
    bool skip_special, clean_up;
    tsri_text_decoding *decoding;
    tsri_bytes decoded; /* what is to be cleaned */
    tsri_text_cleaning cleaning;
};

tsr_status tsri_text_stream_new(const tsri_text_tokenizer *tokenizer, unsigned flags,
                                tsri_text_stream **out) {
    *out = NULL;
    tsri_text_stream *stream = NULL;
    TRY(tsri_base_new(1, sizeof *stream, &stream));
    stream->tokenizer = tokenizer;
    stream->skip_special = flags & TSRI_TEXT_SKIP_SPECIAL;
    stream->clean_up = tokenizer->clean_up && !(flags & TSRI_TEXT_UNCLEANED);
    const tsr_status status = tsri_text_decoding_new(tokenizer->decoder, &stream->decoding);
    if (status != TSR_OK)
        tsri_text_stream_destroy(&stream);
    *out = stream;
    return status;
}

static tsr_status decode_id(tsri_text_stream *stream, int32_t id, tsri_bytes *out) {
    const tsri_text_tokenizer *t = stream->tokenizer;
    size_t n;
    const char *piece = tsri_text_vocabulary_piece(&t->vocabulary, id, &n);
    if (!piece)
        return TSR_OK;
    const tsri_bytes *form = tsri_text_added_form_of(&t->added, id);
    if (form) {
        piece = form->size ? form->data : "";
        n = form->size;
    }
    const tsri_text_piece_type type = t->types && (size_t)id < t->type_count
                                          ? (tsri_text_piece_type)t->types[id]
                                          : TSRI_TEXT_NORMAL;
    if (!stream->skip_special || !tsri_text_is_special(t, id))
        return tsri_text_decoding_push(stream->decoding, piece, n, type, out);
    return tsri_text_decoder_wants_all(t->decoder)
               ? tsri_text_decoding_push(stream->decoding, "", 0, TSRI_TEXT_CONTROL, out)
               : TSR_OK;
}

/* Cleans what was decoded since the last call. */
static tsr_status clean(tsri_text_stream *stream, tsri_bytes *out) {
    const size_t n = stream->decoded.size;
    stream->decoded.size = 0;
    return n ? tsri_text_cleaning_push(&stream->cleaning, stream->decoded.data, n, out) : TSR_OK;
}

tsr_status tsri_text_stream_push(tsri_text_stream *stream, int32_t id, tsri_bytes *out) {
    if (!stream->clean_up)
        return decode_id(stream, id, out);
    TRY(decode_id(stream, id, &stream->decoded));
    return clean(stream, out);
}

tsr_status tsri_text_stream_finish(tsri_text_stream *stream, tsri_bytes *out) {
    if (!stream->clean_up)
        return tsri_text_decoding_finish(stream->decoding, out);
    TRY(tsri_text_decoding_finish(stream->decoding, &stream->decoded));
    TRY(clean(stream, out));
    return tsri_text_cleaning_finish(&stream->cleaning, out);
}

void tsri_text_stream_part(tsri_text_stream *stream) {
    tsri_text_cleaning_drop(&stream->cleaning);
}

void tsri_text_stream_destroy(tsri_text_stream **stream) {
    if (!*stream)
        return;
    tsri_text_decoding_destroy(&(*stream)->decoding);
    tsri_base_bytes_clear(&(*stream)->decoded);
    tsri_text_cleaning_clear(&(*stream)->cleaning);
    free(*stream);
    *stream = NULL;
}

tsr_status tsri_text_decode(const tsri_text_tokenizer *tokenizer, const int32_t *ids, size_t n,
                            unsigned flags, tsri_bytes *out) {
    tsri_text_stream *stream = NULL;
    TRY(tsri_text_stream_new(tokenizer, flags, &stream));
    tsr_status status = TSR_OK;
    for (size_t i = 0; i < n && status == TSR_OK; i++)
        status = tsri_text_stream_push(stream, ids[i], out);
    if (status == TSR_OK)
        status = tsri_text_stream_finish(stream, out);
    tsri_text_stream_destroy(&stream);
    return status;
}

/* What the second of two such tokens adds: at the beginning of a text some decoders leave out a space. */
static tsr_status second_of_two(const tsri_text_tokenizer *t, int32_t id, tsri_bytes *out) {
    const int32_t ids[] = {id, id};
    tsri_bytes one = {0}, both = {0};
    tsr_status status = tsri_text_decode(t, ids, 1, TSRI_TEXT_UNCLEANED, &one);
    if (status == TSR_OK)
        status = tsri_text_decode(t, ids, 2, TSRI_TEXT_UNCLEANED, &both);
    const bool longer = both.size > one.size && !memcmp(both.data, one.data, one.size);
    if (status == TSR_OK)
        status = longer ? tsri_base_bytes_append(out, both.data + one.size, both.size - one.size)
                        : tsri_base_bytes_append(out, one.data, one.size);
    tsri_base_bytes_clear(&one);
    tsri_base_bytes_clear(&both);
    return status;
}

tsr_status tsri_text_token_bytes(const tsri_text_tokenizer *tokenizer, int32_t id,
                                 tsri_bytes *out) {
    size_t n;
    const char *piece = tsri_text_piece_of(tokenizer, id, &n);
    const int byte = piece ? tsri_text_byte_of_piece(piece, n) : -1;
    if (piece && tsri_text_decoder_has(tokenizer->decoder, "ByteLevel"))
        return tsri_text_characters_to_bytes(piece, n, out);
    if (byte >= 0 && (tsri_text_decoder_has(tokenizer->decoder, "ByteFallback") ||
                      tsri_text_decoder_has(tokenizer->decoder, "SentencePiece")))
        return tsri_base_bytes_append(out, &(char){(char)byte}, 1);
    return second_of_two(tokenizer, id, out);
}

int32_t tsri_text_vocabulary_size(const tsri_text_tokenizer *tokenizer) {
    return (int32_t)tokenizer->vocabulary.count;
}

const char *tsri_text_piece_of(const tsri_text_tokenizer *tokenizer, int32_t id, size_t *n) {
    return tsri_text_vocabulary_piece(&tokenizer->vocabulary, id, n);
}

int32_t tsri_text_id_of(const tsri_text_tokenizer *tokenizer, const char *piece, size_t n) {
    return tsri_text_vocabulary_find(&tokenizer->vocabulary, piece, n);
}

bool tsri_text_is_special(const tsri_text_tokenizer *tokenizer, int32_t id) {
    return id >= 0 && (size_t)id < tokenizer->special_count && tokenizer->special[id];
}

int32_t tsri_text_role_id(const tsri_text_tokenizer *tokenizer, tsri_text_role role) {
    return tokenizer->roles[role];
}

tsr_status tsri_text_set_role(tsri_text_tokenizer *tokenizer, tsri_text_role role, int64_t id) {
    static const char *const names[] = {"bos",  "eos", "unknown",  "padding",
                                        "mask", "cls", "separator"};
    size_t n;
    if (id != -1 && !tsri_text_vocabulary_piece(&tokenizer->vocabulary, id, &n))
        return tsri_base_fail(TSR_E_FORMAT,
                              "the %s token's id %lld is not in the vocabulary of %zu", names[role],
                              (long long)id, tokenizer->vocabulary.count);
    tokenizer->roles[role] = (int32_t)id;
    return TSR_OK;
}

void tsri_text_set_role_unnamed(tsri_text_tokenizer *tokenizer, tsri_text_role role) {
    tokenizer->unnamed[role] = true;
}

bool tsri_text_role_is_unnamed(const tsri_text_tokenizer *tokenizer, tsri_text_role role) {
    return tokenizer->unnamed[role];
}

void tsri_text_set_space_before(tsri_text_tokenizer *tokenizer, bool before, bool first_only) {
    tsri_text_normalizer_set_prefix(tokenizer->normalizer, before, first_only);
    if (!before)
        tsri_text_decoder_keep_space(tokenizer->decoder);
}

tsr_status tsri_text_set_affixes(tsri_text_tokenizer *tokenizer, bool add_bos, bool add_eos) {
    const int32_t bos = tokenizer->roles[TSRI_TEXT_BOS], eos = tokenizer->roles[TSRI_TEXT_EOS];
    if ((add_bos && bos < 0) || (add_eos && eos < 0))
        return tsri_base_fail(TSR_E_FORMAT, "a %s token is to be added, but the tokenizer has none",
                              add_bos && bos < 0 ? "bos" : "eos");
    return tsri_text_post_affixes(add_bos ? bos : -1, add_eos ? eos : -1, &tokenizer->post);
}

static tsr_status set_by(tsri_text_tokenizer *tokenizer,
                         tsr_status (*post)(int32_t cls, int32_t sep, tsri_text_post *post)) {
    const int32_t cls = tokenizer->roles[TSRI_TEXT_CLS], sep = tokenizer->roles[TSRI_TEXT_SEP];
    if (cls < 0 || sep < 0)
        return tsri_base_fail(TSR_E_FORMAT, "a %s token is to be added, but the tokenizer has none",
                              cls < 0 ? "cls" : "separator");
    return post(cls, sep, &tokenizer->post);
}

tsr_status tsri_text_set_roberta_affixes(tsri_text_tokenizer *tokenizer) {
    return set_by(tokenizer, tsri_text_post_roberta);
}

tsr_status tsri_text_set_bert_affixes(tsri_text_tokenizer *tokenizer) {
    return set_by(tokenizer, tsri_text_post_bert);
}

bool tsri_text_adds_bos(const tsri_text_tokenizer *tokenizer) {
    const tsri_text_post_list *single = &tokenizer->post.single;
    return single->count && single->items[0].id >= 0 &&
           single->items[0].id == tokenizer->roles[TSRI_TEXT_BOS];
}

int64_t tsri_text_max_length(const tsri_text_tokenizer *tokenizer) {
    return tokenizer->max_length;
}

void tsri_text_set_max_length(tsri_text_tokenizer *tokenizer, int64_t length) {
    tokenizer->max_length = length > 0 && length <= INT32_MAX ? length : 0;
}

static bool merges(const tsri_text_tokenizer *t) {
    return (t->cutter ? t->cutter : t)->row->merges;
}

void tsri_text_set_clean_up(tsri_text_tokenizer *tokenizer, bool clean_up) {
    tokenizer->clean_up = clean_up;
    if (tokenizer->target)
        tokenizer->target->clean_up = clean_up;
}

bool tsri_text_is_bpe(const tsri_text_tokenizer *tokenizer) {
    return merges(tokenizer);
}

tsr_status tsri_text_set_dropout(tsri_text_tokenizer *t, tsri_text_dropout *dropout) {
    if (dropout && (!merges(t) || (t->target && !merges(t->target))))
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "this tokenizer (%s) merges no pairs that could be left out; only "
                              "byte-pair encoding does",
                              (merges(t) ? t->target : t)->row->type);
    t->dropout = dropout;
    if (t->target)
        t->target->dropout = dropout;
    return TSR_OK;
}

void tsri_text_set_source(tsri_text_tokenizer *tokenizer, const char *source) {
    tokenizer->source = source;
}
