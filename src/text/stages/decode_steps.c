/* text/stages/decode_steps.c - what each step of a decoder does with a piece, and at the end of a
 * text. */
#include "text/stages/decode_steps.h"

#include "base/error.h"
#include "base/memory.h"
#include "text/base/byte_level.h"
#include "text/base/pattern_json.h"
#include "text/base/unicode.h"
#include "text/stages/clean_up.h"

#include <stdlib.h>
#include <string.h>

static const char replacement[] = "\xEF\xBF\xBD";

tsr_status tsri_text_decode_pass(tsri_text_decoding *d, size_t k, const char *text, size_t n,
                                 tsri_text_piece_type type) {
    if (k && (d->states[k - 1].made += n) > d->allowance.most)
        return tsri_base_fail(TSR_E_FORMAT,
                              "decoder %s: makes more than %zu bytes, the limit for these pieces",
                              d->decoder->stages[k - 1].row->type, d->allowance.most);
    if (k == d->decoder->count)
        return tsri_base_bytes_append(d->out, text, n);
    return d->decoder->stages[k].row->push(d, k, text, n, type);
}

static tsr_status push_join(tsri_text_decoding *d, size_t k, const char *text, size_t n,
                            tsri_text_piece_type type) {
    if (d->states[k].started)
        TRY(tsri_text_decode_pass(d, k + 1, " ", 1, type));
    d->states[k].started = true;
    return tsri_text_decode_pass(d, k + 1, text, n, type);
}

static tsr_status push_bytes(tsri_text_decoding *d, size_t k, const char *text, size_t n,
                             tsri_text_piece_type type) {
    tsri_bytes *held = &d->states[k].held, whole = {0};
    size_t used = 0;
    TRY(tsri_text_characters_to_bytes(text, n, held));
    tsr_status status = tsri_text_utf8_lossy(held->data, held->size, false, &whole, &used);
    if (status == TSR_OK && used) {
        held->size -= used;
        memmove(held->data, held->data + used, held->size);
        status = tsri_text_decode_pass(d, k + 1, whole.data, whole.size, type);
    }
    tsri_base_bytes_clear(&whole);
    return status;
}

static tsr_status finish_bytes(tsri_text_decoding *d, size_t k) {
    tsri_bytes *held = &d->states[k].held, whole = {0};
    size_t used = 0;
    tsr_status status = tsri_text_utf8_lossy(held->data, held->size, true, &whole, &used);
    if (status == TSR_OK && whole.size)
        status = tsri_text_decode_pass(d, k + 1, whole.data, whole.size, TSRI_TEXT_NORMAL);
    tsri_base_bytes_clear(&whole);
    return status;
}

static tsr_status load_replace(const json_t *json, tsri_text_decode_step *s) {
    const char *content = NULL;
    TRY(tsri_base_json_text(json, "decoder Replace", "content", &content));
    if (!content)
        return tsri_base_fail(TSR_E_FORMAT, "decoder Replace: \"content\" is missing");
    s->content_size = strlen(content);
    s->content = tsri_base_copy_text(content, s->content_size);
    return s->content ? tsri_text_pattern_from_json(json, "decoder Replace", &s->pattern)
                      : TSR_E_HOST_MEMORY;
}

/* Passes text with the stage's pattern replaced. */
static tsr_status pass_replaced(tsri_text_decoding *d, size_t k, const char *text, size_t n,
                                const char *by, size_t by_size, tsri_text_piece_type type) {
    tsri_bytes replaced = {.limit = d->allowance.most};
    bool at_start;
    tsr_status status =
        tsri_text_pattern_replace(d->decoder->stages[k].pattern, text, n, by, by_size,
                                  &d->allowance.steps, &replaced, &at_start);
    if (status == TSR_E_FORMAT)
        tsri_base_fail_within(status, "decoder %s", d->decoder->stages[k].row->type);
    if (status == TSR_OK)
        status = tsri_text_decode_pass(d, k + 1, replaced.data, replaced.size, type);
    tsri_base_bytes_clear(&replaced);
    return status;
}

static tsr_status push_replace(tsri_text_decoding *d, size_t k, const char *text, size_t n,
                               tsri_text_piece_type type) {
    const tsri_text_decode_step *s = &d->decoder->stages[k];
    return pass_replaced(d, k, text, n, s->content, s->content_size, type);
}

/* A run of byte pieces is its text if the whole run is UTF-8, otherwise one U+FFFD for each
 * byte. */
static tsr_status finish_fallback(tsri_text_decoding *d, size_t k) {
    tsri_bytes *held = &d->states[k].held;
    const size_t n = held->size;
    held->size = 0;
    if (n == 0)
        return TSR_OK;
    if (tsri_text_utf8_valid(held->data, n))
        return tsri_text_decode_pass(d, k + 1, held->data, n, TSRI_TEXT_NORMAL);
    for (size_t i = 0; i < n; i++)
        TRY(tsri_text_decode_pass(d, k + 1, replacement, 3, TSRI_TEXT_NORMAL));
    return TSR_OK;
}

static tsr_status push_fallback(tsri_text_decoding *d, size_t k, const char *text, size_t n,
                                tsri_text_piece_type type) {
    const int byte = tsri_text_byte_of_piece(text, n);
    if (byte >= 0)
        return tsri_base_bytes_append(&d->states[k].held, &(char){(char)byte}, 1);
    TRY(finish_fallback(d, k));
    return tsri_text_decode_pass(d, k + 1, text, n, type);
}

static tsr_status push_fuse(tsri_text_decoding *d, size_t k, const char *text, size_t n,
                            tsri_text_piece_type type) {
    return d->decoder->stages[k].passes ? tsri_text_decode_pass(d, k + 1, text, n, type)
                                        : tsri_base_bytes_append(&d->states[k].held, text, n);
}

static tsr_status finish_fuse(tsri_text_decoding *d, size_t k) {
    const tsri_bytes *held = &d->states[k].held;
    return d->decoder->stages[k].passes
               ? TSR_OK
               : tsri_text_decode_pass(d, k + 1, held->data ? held->data : "", held->size,
                                       TSRI_TEXT_NORMAL);
}

static tsr_status load_strip(const json_t *json, tsri_text_decode_step *s) {
    s->character = ' ';
    TRY(tsri_text_character_from_json(json, "decoder Strip", "content", &s->character));
    TRY(tsri_base_json_int(json, "decoder Strip", "start", 0, INT32_MAX, &s->start));
    return tsri_base_json_int(json, "decoder Strip", "stop", 0, INT32_MAX, &s->stop);
}

static tsr_status pass_characters(tsri_text_decoding *d, size_t k, int64_t count) {
    char bytes[4];
    const size_t size = tsri_text_utf8_put(d->decoder->stages[k].character, bytes);
    for (int64_t i = 0; i < count; i++)
        TRY(tsri_text_decode_pass(d, k + 1, bytes, size, TSRI_TEXT_NORMAL));
    return TSR_OK;
}

/* Removes what was held at the end, up to `stop` characters of it. */
static tsr_status finish_strip(tsri_text_decoding *d, size_t k) {
    const int64_t run = d->states[k].run, stop = d->decoder->stages[k].stop;
    d->states[k].run = 0;
    return run > stop ? pass_characters(d, k, run - stop) : TSR_OK;
}

static tsr_status push_strip(tsri_text_decoding *d, size_t k, const char *text, size_t n,
                             tsri_text_piece_type type) {
    const tsri_text_decode_step *s = &d->decoder->stages[k];
    tsri_text_decode_state *st = &d->states[k];
    if (!s->fused || !st->started) {
        st->left = s->start;
        st->started = true;
    }
    size_t at = 0;
    int32_t c;
    for (size_t size; at < n && st->left > 0; at += size, st->left--) {
        size = tsri_text_utf8_next(text + at, n - at, &c);
        if (c != s->character) {
            st->left = 0;
            break;
        }
    }
    size_t end = n;
    int64_t run = 0;
    while (s->stop && end > at) {
        const size_t before = tsri_text_utf8_before(text, end);
        tsri_text_utf8_next(text + before, end - before, &c);
        if (c != s->character)
            break;
        end = before;
        run++;
    }
    if (end > at) { /* something follows the run held so far, so the run was not at the end */
        TRY(pass_characters(d, k, st->run));
        st->run = 0;
        TRY(tsri_text_decode_pass(d, k + 1, text + at, end - at, type));
    }
    st->run += run;
    return s->fused ? TSR_OK : finish_strip(d, k);
}

static tsr_status load_metaspace(const json_t *json, tsri_text_decode_step *s) {
    const char *scheme = NULL;
    s->character = 0x2581;
    s->strip_one = true;
    TRY(tsri_text_character_from_json(json, "decoder Metaspace", "replacement", &s->character));
    TRY(tsri_base_json_bool(json, "decoder Metaspace", "add_prefix_space", &s->strip_one));
    TRY(tsri_base_json_text(json, "decoder Metaspace", "prepend_scheme", &scheme));
    if (scheme)
        s->strip_one = strcmp(scheme, "never") != 0;
    char bytes[4];
    return tsri_text_pattern_new(bytes, tsri_text_utf8_put(s->character, bytes), TSRI_TEXT_LITERAL,
                                 &s->pattern);
}

static tsr_status push_metaspace(tsri_text_decoding *d, size_t k, const char *text, size_t n,
                                 tsri_text_piece_type type) {
    const bool first = !d->states[k].started;
    d->states[k].started = true;
    return pass_replaced(d, k, text, n, " ", first && d->decoder->stages[k].strip_one ? 0 : 1,
                         type);
}

static tsr_status load_word_piece(const json_t *json, tsri_text_decode_step *s) {
    static const char what[] = "decoder WordPiece";
    const char *prefix = "##";
    s->cleanup = true;
    TRY(tsri_base_json_text(json, what, "prefix", &prefix));
    TRY(tsri_base_json_bool(json, what, "cleanup", &s->cleanup));
    s->content_size = strlen(prefix);
    s->content = tsri_base_copy_text(prefix, s->content_size);
    return s->content ? TSR_OK : TSR_E_HOST_MEMORY;
}

static tsr_status push_word_piece(tsri_text_decoding *d, size_t k, const char *text, size_t n,
                                  tsri_text_piece_type type) {
    const tsri_text_decode_step *s = &d->decoder->stages[k];
    tsri_text_decode_state *st = &d->states[k];
    const bool prefixed = n >= s->content_size && memcmp(text, s->content, s->content_size) == 0;
    const bool inner = s->first ? !prefixed && type != TSRI_TEXT_CONTROL : prefixed;
    const size_t skip = prefixed && (s->first || st->started) ? s->content_size : 0;
    st->held.size = 0;
    if (st->started && !inner)
        TRY(tsri_base_bytes_append(&st->held, " ", 1));
    st->started = true;
    TRY(tsri_base_bytes_append(&st->held, text + skip, n - skip));
    if (s->cleanup)
        tsri_text_clean_up(st->held.data, &st->held.size, true);
    const size_t size = st->held.size;
    st->held.size = 0; /* nothing is held any longer */
    return tsri_text_decode_pass(d, k + 1, st->held.data ? st->held.data : "", size, type);
}

static tsr_status load_bpe(const json_t *json, tsri_text_decode_step *s) {
    const char *suffix = "</w>";
    TRY(tsri_base_json_text(json, "decoder BPEDecoder", "suffix", &suffix));
    if (!*suffix)
        return tsri_base_fail(TSR_E_FORMAT, "decoder BPEDecoder: \"suffix\" is empty");
    return tsri_text_pattern_new(suffix, strlen(suffix), TSRI_TEXT_LITERAL, &s->pattern);
}

/* The suffix becomes a space, but nothing at the end: the last piece is held until another one
 * comes. */
static tsr_status push_bpe(tsri_text_decoding *d, size_t k, const char *text, size_t n,
                           tsri_text_piece_type type) {
    tsri_text_decode_state *st = &d->states[k];
    if (st->started)
        TRY(pass_replaced(d, k, st->held.data, st->held.size, " ", 1, type));
    st->started = true;
    st->held.size = 0;
    return tsri_base_bytes_append(&st->held, text, n);
}

static tsr_status finish_bpe(tsri_text_decoding *d, size_t k) {
    const tsri_text_decode_state *st = &d->states[k];
    return st->started ? pass_replaced(d, k, st->held.data, st->held.size, "", 0, TSRI_TEXT_NORMAL)
                       : TSR_OK;
}

/* Passes on the characters of the bytes held, with U+FFFD for each byte that is not part of one; a
 * truncated character is still held, unless `last`. */
static tsr_status pass_held(tsri_text_decoding *d, size_t k, bool last) {
    tsri_text_decode_state *st = &d->states[k];
    size_t at = 0;
    while (at < st->held.size) {
        int32_t c;
        const char *text = st->held.data + at;
        if (!last && tsri_text_utf8_cut(text, st->held.size - at))
            break;
        const size_t size = tsri_text_utf8_next(text, st->held.size - at, &c);
        TRY(tsri_text_decode_pass(d, k + 1, c < 0 ? replacement : text, c < 0 ? 3 : size,
                                  TSRI_TEXT_NORMAL));
        st->any = true;
        at += size;
    }
    st->held.size -= at;
    if (at)
        memmove(st->held.data, st->held.data + at, st->held.size);
    return TSR_OK;
}

static tsr_status push_sentencepiece(tsri_text_decoding *d, size_t k, const char *text, size_t n,
                                     tsri_text_piece_type type) {
    const tsri_text_decode_step *s = &d->decoder->stages[k];
    tsri_text_decode_state *st = &d->states[k];
    if (type == TSRI_TEXT_BYTE) {
        TRY(tsri_base_bytes_append(&st->held, &(char){(char)tsri_text_byte_of_piece(text, n)}, 1));
        return pass_held(d, k, false);
    }
    TRY(pass_held(d, k, true));
    if (st->bos_space || st->any)
        st->started = true;
    st->bos_space = false;
    if (type == TSRI_TEXT_CONTROL) {
        st->any |= n > 0;
        return tsri_text_decode_pass(d, k + 1, text, n, type);
    }
    if (type == TSRI_TEXT_UNKNOWN) {
        st->any |= *s->unknown != 0;
        return tsri_text_decode_pass(d, k + 1, s->unknown, strlen(s->unknown), type);
    }
    if (!st->started && (s->strip_one || s->strip_all) && n >= s->content_size &&
        memcmp(text, s->content, s->content_size) == 0) {
        text += s->content_size;
        n -= s->content_size;
        st->bos_space = !s->strip_all;
    }
    st->any |= n > 0;
    return pass_replaced(d, k, text, n, " ", 1, type);
}

static tsr_status finish_sentencepiece(tsri_text_decoding *d, size_t k) {
    return pass_held(d, k, true);
}

const tsri_text_decode_row tsri_text_decode_sentencepiece = {
    .type = "SentencePiece", .push = push_sentencepiece, .finish = finish_sentencepiece};
const tsri_text_decode_row tsri_text_decode_word_piece = {.type = "WordPiece",
                                                          .push = push_word_piece};
const tsri_text_decode_row tsri_text_decode_join = {.type = "joined by spaces", .push = push_join};
const tsri_text_decode_row tsri_text_decode_fuse = {
    .type = "Fuse", .push = push_fuse, .finish = finish_fuse, .takes_parts = true};

static const tsri_text_decode_row rows[] = {
    {.type = "ByteLevel", .push = push_bytes, .finish = finish_bytes, .joins = true},
    {.type = "Replace", .load = load_replace, .push = push_replace},
    {.type = "ByteFallback", .push = push_fallback, .finish = finish_fallback},
    {.type = "Strip",
     .load = load_strip,
     .push = push_strip,
     .finish = finish_strip,
     .takes_parts = true},
    {.type = "Metaspace", .load = load_metaspace, .push = push_metaspace},
    {.type = "WordPiece", .load = load_word_piece, .push = push_word_piece},
    {.type = "BPEDecoder", .load = load_bpe, .push = push_bpe, .finish = finish_bpe},
};

const tsri_text_decode_row *tsri_text_decode_row_named(const char *type) {
    if (strcmp(type, tsri_text_decode_fuse.type) == 0)
        return &tsri_text_decode_fuse;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].type, type) == 0)
            return &rows[i];
    return NULL;
}
