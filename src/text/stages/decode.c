/* text/stages/decode.c - joins pieces to text, one at a time, and holds back what a later piece
 * may change. */
#include "text/stages/decode.h"

#include "base/error.h"
#include "base/memory.h"
#include "text/base/allowance.h"
#include "text/base/byte_level.h"
#include "text/base/pattern_json.h"
#include "text/base/unicode.h"

#include <stdlib.h>
#include <string.h>

static const char replacement[] = "\xEF\xBF\xBD";

typedef struct stage stage;

typedef struct stage_row {
    const char *type;
    tsr_status (*load)(const json_t *json, stage *s); /* NULL: the type says all */
    tsr_status (*push)(tsri_text_decoding *d, size_t k, const char *text, size_t n,
                       tsri_text_piece_type type);
    tsr_status (*finish)(tsri_text_decoding *d, size_t k); /* NULL: holds nothing back */
} stage_row;

struct stage {
    const stage_row *row;
    tsri_text_pattern
        *pattern;  /* Replace; BPEDecoder's suffix; a space in SentencePiece's pieces */
    char *content; /* Replace; WordPiece's prefix */
    size_t content_size;
    int32_t character;         /* Strip, Metaspace */
    int64_t start, stop;       /* Strip */
    bool strip_one, strip_all; /* SentencePiece; Metaspace: strip_one */
    bool cleanup, first;       /* WordPiece: its prefix begins a word */
    bool fused;                /* all that comes is one text, in parts */
    bool passes;               /* Fuse: the stages behind it can take the text in parts */
};

struct tsri_text_decoder {
    stage *stages;
    size_t count, capacity;
};

typedef struct state {
    tsri_bytes held;
    bool started, any, bos_space;
    int64_t left, run; /* Strip: characters yet to go at the start; held at the end */
    size_t made;       /* bytes passed on */
} state;

struct tsri_text_decoding {
    const tsri_text_decoder *decoder;
    state *states;
    tsri_text_allowance allowance; /* of the pieces pushed */
    tsri_bytes *out;
};

static tsr_status pass(tsri_text_decoding *d, size_t k, const char *text, size_t n,
                       tsri_text_piece_type type) {
    if (k && (d->states[k - 1].made += n) > d->allowance.most)
        return tsri_base_fail(
            TSR_E_FORMAT, "decoder %s: more than %zu bytes, the most that is made of these pieces",
            d->decoder->stages[k - 1].row->type, d->allowance.most);
    if (k == d->decoder->count)
        return tsri_base_bytes_append(d->out, text, n);
    return d->decoder->stages[k].row->push(d, k, text, n, type);
}

static tsr_status push_join(tsri_text_decoding *d, size_t k, const char *text, size_t n,
                            tsri_text_piece_type type) {
    if (d->states[k].started)
        TRY(pass(d, k + 1, " ", 1, type));
    d->states[k].started = true;
    return pass(d, k + 1, text, n, type);
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
        status = pass(d, k + 1, whole.data, whole.size, type);
    }
    tsri_base_bytes_clear(&whole);
    return status;
}

static tsr_status finish_bytes(tsri_text_decoding *d, size_t k) {
    tsri_bytes *held = &d->states[k].held, whole = {0};
    size_t used = 0;
    tsr_status status = tsri_text_utf8_lossy(held->data, held->size, true, &whole, &used);
    if (status == TSR_OK && whole.size)
        status = pass(d, k + 1, whole.data, whole.size, TSRI_TEXT_NORMAL);
    tsri_base_bytes_clear(&whole);
    return status;
}

static tsr_status load_replace(const json_t *json, stage *s) {
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
        status = pass(d, k + 1, replaced.data, replaced.size, type);
    tsri_base_bytes_clear(&replaced);
    return status;
}

static tsr_status push_replace(tsri_text_decoding *d, size_t k, const char *text, size_t n,
                               tsri_text_piece_type type) {
    const stage *s = &d->decoder->stages[k];
    return pass_replaced(d, k, text, n, s->content, s->content_size, type);
}

/* A run of byte pieces is its text when that is UTF-8 as a whole, else one U+FFFD a byte. */
static tsr_status finish_fallback(tsri_text_decoding *d, size_t k) {
    tsri_bytes *held = &d->states[k].held;
    const size_t n = held->size;
    held->size = 0;
    if (n == 0)
        return TSR_OK;
    if (tsri_text_utf8_valid(held->data, n))
        return pass(d, k + 1, held->data, n, TSRI_TEXT_NORMAL);
    for (size_t i = 0; i < n; i++)
        TRY(pass(d, k + 1, replacement, 3, TSRI_TEXT_NORMAL));
    return TSR_OK;
}

static tsr_status push_fallback(tsri_text_decoding *d, size_t k, const char *text, size_t n,
                                tsri_text_piece_type type) {
    const int byte = tsri_text_byte_of_piece(text, n);
    if (byte >= 0)
        return tsri_base_bytes_append(&d->states[k].held, &(char){(char)byte}, 1);
    TRY(finish_fallback(d, k));
    return pass(d, k + 1, text, n, type);
}

static tsr_status push_fuse(tsri_text_decoding *d, size_t k, const char *text, size_t n,
                            tsri_text_piece_type type) {
    return d->decoder->stages[k].passes ? pass(d, k + 1, text, n, type)
                                        : tsri_base_bytes_append(&d->states[k].held, text, n);
}

static tsr_status finish_fuse(tsri_text_decoding *d, size_t k) {
    const tsri_bytes *held = &d->states[k].held;
    return d->decoder->stages[k].passes
               ? TSR_OK
               : pass(d, k + 1, held->data ? held->data : "", held->size, TSRI_TEXT_NORMAL);
}

static tsr_status load_strip(const json_t *json, stage *s) {
    s->character = ' ';
    TRY(tsri_text_character_from_json(json, "decoder Strip", "content", &s->character));
    TRY(tsri_base_json_int(json, "decoder Strip", "start", 0, INT32_MAX, &s->start));
    return tsri_base_json_int(json, "decoder Strip", "stop", 0, INT32_MAX, &s->stop);
}

static tsr_status pass_characters(tsri_text_decoding *d, size_t k, int64_t count) {
    char bytes[4];
    const size_t size = tsri_text_utf8_put(d->decoder->stages[k].character, bytes);
    for (int64_t i = 0; i < count; i++)
        TRY(pass(d, k + 1, bytes, size, TSRI_TEXT_NORMAL));
    return TSR_OK;
}

/* What was held at the end goes, up to `stop` characters of it. */
static tsr_status finish_strip(tsri_text_decoding *d, size_t k) {
    const int64_t run = d->states[k].run, stop = d->decoder->stages[k].stop;
    d->states[k].run = 0;
    return run > stop ? pass_characters(d, k, run - stop) : TSR_OK;
}

static tsr_status push_strip(tsri_text_decoding *d, size_t k, const char *text, size_t n,
                             tsri_text_piece_type type) {
    const stage *s = &d->decoder->stages[k];
    state *st = &d->states[k];
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
    if (end > at) { /* something follows the run held so far: it was not at the end */
        TRY(pass_characters(d, k, st->run));
        st->run = 0;
        TRY(pass(d, k + 1, text + at, end - at, type));
    }
    st->run += run;
    return s->fused ? TSR_OK : finish_strip(d, k);
}

static tsr_status load_metaspace(const json_t *json, stage *s) {
    const char *scheme = NULL;
    s->character = 0x2581;
    s->strip_one = true;
    TRY(tsri_text_character_from_json(json, "decoder Metaspace", "replacement", &s->character));
    TRY(tsri_base_json_bool(json, "decoder Metaspace", "add_prefix_space", &s->strip_one));
    TRY(tsri_base_json_text(json, "decoder Metaspace", "prepend_scheme", &scheme));
    if (scheme)
        s->strip_one = strcmp(scheme, "never") != 0;
    char bytes[4];
    return tsri_text_pattern_new(bytes, tsri_text_utf8_put(s->character, bytes), true, &s->pattern);
}

static tsr_status push_metaspace(tsri_text_decoding *d, size_t k, const char *text, size_t n,
                                 tsri_text_piece_type type) {
    const bool first = !d->states[k].started;
    d->states[k].started = true;
    return pass_replaced(d, k, text, n, " ", first && d->decoder->stages[k].strip_one ? 0 : 1,
                         type);
}

static tsr_status load_word_piece(const json_t *json, stage *s) {
    static const char what[] = "decoder WordPiece";
    const char *prefix = "##";
    s->cleanup = true;
    TRY(tsri_base_json_text(json, what, "prefix", &prefix));
    TRY(tsri_base_json_bool(json, what, "cleanup", &s->cleanup));
    s->content_size = strlen(prefix);
    s->content = tsri_base_copy_text(prefix, s->content_size);
    return s->content ? TSR_OK : TSR_E_HOST_MEMORY;
}

/* Takes the spaces away that English doesn't write, one rule after the other over the whole piece.
 */
static void clean_up(char *text, size_t *n) {
    static const char *const rules[][2] = {
        {" .", "."},   {" ?", "?"},     {" !", "!"},     {" ,", ","},
        {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},   {" do not", " don't"},
        {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"},
    };
    for (size_t k = 0; k < sizeof rules / sizeof *rules; k++) {
        const size_t from = strlen(rules[k][0]), to = strlen(rules[k][1]);
        size_t kept = 0;
        for (size_t i = 0; i < *n;) {
            if (*n - i < from || memcmp(text + i, rules[k][0], from) != 0) {
                text[kept++] = text[i++];
                continue;
            }
            memcpy(text + kept, rules[k][1], to); /* never longer than what it stands for */
            kept += to;
            i += from;
        }
        *n = kept;
    }
}

static tsr_status push_word_piece(tsri_text_decoding *d, size_t k, const char *text, size_t n,
                                  tsri_text_piece_type type) {
    const stage *s = &d->decoder->stages[k];
    state *st = &d->states[k];
    const bool prefixed = n >= s->content_size && memcmp(text, s->content, s->content_size) == 0;
    const bool inner = s->first ? !prefixed && type != TSRI_TEXT_CONTROL : prefixed;
    const size_t skip = prefixed && (s->first || st->started) ? s->content_size : 0;
    st->held.size = 0;
    if (st->started && !inner)
        TRY(tsri_base_bytes_append(&st->held, " ", 1));
    st->started = true;
    TRY(tsri_base_bytes_append(&st->held, text + skip, n - skip));
    if (s->cleanup)
        clean_up(st->held.data, &st->held.size);
    const size_t size = st->held.size;
    st->held.size = 0; /* nothing stays behind */
    return pass(d, k + 1, st->held.data ? st->held.data : "", size, type);
}

static tsr_status load_bpe(const json_t *json, stage *s) {
    const char *suffix = "</w>";
    TRY(tsri_base_json_text(json, "decoder BPEDecoder", "suffix", &suffix));
    return tsri_text_pattern_new(suffix, strlen(suffix), true, &s->pattern);
}

/* The suffix is a space, but nothing at the end: the last piece is held until there is another. */
static tsr_status push_bpe(tsri_text_decoding *d, size_t k, const char *text, size_t n,
                           tsri_text_piece_type type) {
    state *st = &d->states[k];
    if (st->started)
        TRY(pass_replaced(d, k, st->held.data, st->held.size, " ", 1, type));
    st->started = true;
    st->held.size = 0;
    return tsri_base_bytes_append(&st->held, text, n);
}

static tsr_status finish_bpe(tsri_text_decoding *d, size_t k) {
    const state *st = &d->states[k];
    return st->started ? pass_replaced(d, k, st->held.data, st->held.size, "", 0, TSRI_TEXT_NORMAL)
                       : TSR_OK;
}

/* The characters of the bytes held, U+FFFD for each byte of none; a cut one stays unless `last`. */
static tsr_status pass_held(tsri_text_decoding *d, size_t k, bool last) {
    state *st = &d->states[k];
    size_t at = 0;
    while (at < st->held.size) {
        int32_t c;
        const char *text = st->held.data + at;
        if (!last && tsri_text_utf8_cut(text, st->held.size - at))
            break;
        const size_t size = tsri_text_utf8_next(text, st->held.size - at, &c);
        TRY(pass(d, k + 1, c < 0 ? replacement : text, c < 0 ? 3 : size, TSRI_TEXT_NORMAL));
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
    const stage *s = &d->decoder->stages[k];
    state *st = &d->states[k];
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
        return pass(d, k + 1, text, n, type);
    }
    if (type == TSRI_TEXT_UNKNOWN) {
        st->any = true;
        return pass(d, k + 1, " \xE2\x81\x87 ", 5, type);
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

static const stage_row sentencepiece_row = {"SentencePiece", NULL, push_sentencepiece,
                                            finish_sentencepiece};
static const stage_row word_piece_row = {"WordPiece", NULL, push_word_piece, NULL};
static const stage_row join_row = {"joined by spaces", NULL, push_join, NULL};
static const stage_row fuse_row = {"Fuse", NULL, push_fuse, finish_fuse};

static const stage_row rows[] = {
    {"ByteLevel", NULL, push_bytes, finish_bytes},
    {"Replace", load_replace, push_replace, NULL},
    {"ByteFallback", NULL, push_fallback, finish_fallback},
    {"Strip", load_strip, push_strip, finish_strip},
    {"Metaspace", load_metaspace, push_metaspace, NULL},
    {"WordPiece", load_word_piece, push_word_piece, NULL},
    {"BPEDecoder", load_bpe, push_bpe, finish_bpe},
};

static tsr_status add_stage(tsri_text_decoder *decoder, const stage_row *row, stage **out) {
    TRY(tsri_base_grow(&decoder->stages, &decoder->capacity, decoder->count + 1,
                       sizeof *decoder->stages));
    *out = &decoder->stages[decoder->count++];
    **out = (stage){.row = row};
    return TSR_OK;
}

static tsr_status add_json(const json_t *json, tsri_text_decoder *decoder) {
    const char *type = NULL;
    stage *s;
    TRY(tsri_text_type_of(json, "decoder", &type));
    if (strcmp(type, "Sequence") == 0) {
        const json_t *list = NULL;
        TRY(tsri_text_list_of(json, "decoder Sequence", "decoders", &list));
        for (size_t i = 0; i < json_array_size(list); i++)
            TRY(add_json(json_array_get(list, i), decoder));
        return TSR_OK;
    }
    if (strcmp(type, "Fuse") == 0)
        return add_stage(decoder, &fuse_row, &s);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(rows[i].type, type) != 0)
            continue;
        TRY(add_stage(decoder, &rows[i], &s));
        if (rows[i].load)
            TRY(rows[i].load(json, s));
        /* Bytes become one text: what follows sees it as if fused. */
        return rows[i].push == push_bytes ? add_stage(decoder, &fuse_row, &s) : TSR_OK;
    }
    return tsri_base_fail(TSR_E_UNSUPPORTED, "decoder \"%s\" is not supported", type);
}

static void set_fused(tsri_text_decoder *decoder) {
    bool fused = false, passes = true;
    for (size_t k = 0; k < decoder->count; k++) {
        decoder->stages[k].fused = fused;
        fused |= decoder->stages[k].row == &fuse_row;
    }
    for (size_t k = decoder->count; k-- > 0;) {
        decoder->stages[k].passes = passes;
        passes &= decoder->stages[k].row == &fuse_row || decoder->stages[k].row->push == push_strip;
    }
}

tsr_status tsri_text_decoder_load(const json_t *json, tsri_text_decoder **out) {
    *out = NULL;
    tsri_text_decoder *decoder = NULL;
    TRY(tsri_base_new(1, sizeof *decoder, &decoder));
    stage *s;
    const tsr_status status =
        !json || json_is_null(json) ? add_stage(decoder, &join_row, &s) : add_json(json, decoder);
    set_fused(decoder);
    if (status != TSR_OK)
        tsri_text_decoder_destroy(&decoder);
    *out = decoder;
    return status;
}

tsr_status tsri_text_decoder_bytes(tsri_text_decoder **out) {
    *out = NULL;
    tsri_text_decoder *decoder = NULL;
    TRY(tsri_base_new(1, sizeof *decoder, &decoder));
    stage *s;
    const tsr_status status = add_stage(decoder, &rows[0], &s);
    if (status != TSR_OK)
        tsri_text_decoder_destroy(&decoder);
    *out = decoder;
    return status;
}

tsr_status tsri_text_decoder_word_piece(const char *prefix, bool first, bool cleanup,
                                        tsri_text_decoder **out) {
    *out = NULL;
    tsri_text_decoder *decoder = NULL;
    TRY(tsri_base_new(1, sizeof *decoder, &decoder));
    stage *s;
    tsr_status status = add_stage(decoder, &word_piece_row, &s);
    if (status == TSR_OK) {
        s->first = first;
        s->cleanup = cleanup;
        s->content_size = strlen(prefix);
        s->content = tsri_base_copy_text(prefix, s->content_size);
        status = s->content ? TSR_OK : TSR_E_HOST_MEMORY;
    }
    if (status != TSR_OK)
        tsri_text_decoder_destroy(&decoder);
    *out = decoder;
    return status;
}

tsr_status tsri_text_decoder_sentencepiece(const char *space, bool strip_one, bool strip_all,
                                           tsri_text_decoder **out) {
    *out = NULL;
    tsri_text_decoder *decoder = NULL;
    TRY(tsri_base_new(1, sizeof *decoder, &decoder));
    stage *s;
    tsr_status status = add_stage(decoder, &sentencepiece_row, &s);
    if (status == TSR_OK) {
        s->strip_one = strip_one;
        s->strip_all = strip_all;
        s->content_size = strlen(space);
        s->content = tsri_base_copy_text(space, s->content_size);
        status = s->content ? tsri_text_pattern_new(space, s->content_size, true, &s->pattern)
                            : TSR_E_HOST_MEMORY;
    }
    if (status != TSR_OK)
        tsri_text_decoder_destroy(&decoder);
    *out = decoder;
    return status;
}

bool tsri_text_decoder_wants_all(const tsri_text_decoder *decoder) {
    return decoder->count && decoder->stages[0].row == &sentencepiece_row;
}

tsr_status tsri_text_decoder_describe(const tsri_text_decoder *decoder, tsri_bytes *out) {
    for (size_t k = 0; k < decoder->count; k++)
        TRY(tsri_base_bytes_printf(out, "%s%s", k ? ", " : "", decoder->stages[k].row->type));
    return TSR_OK;
}

void tsri_text_decoder_destroy(tsri_text_decoder **decoder) {
    if (!*decoder)
        return;
    for (size_t k = 0; k < (*decoder)->count; k++) {
        tsri_text_pattern_destroy(&(*decoder)->stages[k].pattern);
        free((*decoder)->stages[k].content);
    }
    free((*decoder)->stages);
    free(*decoder);
    *decoder = NULL;
}

tsr_status tsri_text_decoding_new(const tsri_text_decoder *decoder, tsri_text_decoding **out) {
    *out = NULL;
    tsri_text_decoding *d = NULL;
    TRY(tsri_base_new(1, sizeof *d, &d));
    d->decoder = decoder;
    d->allowance = tsri_text_allowance_of(0);
    const tsr_status status = tsri_base_new(decoder->count, sizeof *d->states, &d->states);
    if (status != TSR_OK)
        tsri_text_decoding_destroy(&d);
    *out = d;
    return status;
}

tsr_status tsri_text_decoding_push(tsri_text_decoding *d, const char *piece, size_t n,
                                   tsri_text_piece_type type, tsri_bytes *out) {
    d->out = out;
    tsri_text_allowance_grow(&d->allowance, n + 1); /* one byte for what joins it */
    return pass(d, 0, piece, n, type);
}

tsr_status tsri_text_decoding_finish(tsri_text_decoding *d, tsri_bytes *out) {
    d->out = out;
    for (size_t k = 0; k < d->decoder->count; k++) {
        if (d->decoder->stages[k].row->finish)
            TRY(d->decoder->stages[k].row->finish(d, k));
        const tsri_bytes held = d->states[k].held;
        d->states[k] = (state){.held = held};
        d->states[k].held.size = 0;
    }
    d->allowance = tsri_text_allowance_of(0);
    return TSR_OK;
}

void tsri_text_decoding_destroy(tsri_text_decoding **d) {
    if (!*d)
        return;
    for (size_t k = 0; (*d)->states && k < (*d)->decoder->count; k++)
        tsri_base_bytes_clear(&(*d)->states[k].held);
    free((*d)->states);
    free(*d);
    *d = NULL;
}
