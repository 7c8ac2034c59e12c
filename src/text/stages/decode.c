/* text/stages/decode.c - makes a decoder from its steps, and runs the pieces of one text through
 * them. */
#include "text/stages/decode.h"

#include "base/error.h"
#include "base/memory.h"
#include "text/base/pattern_json.h"
#include "text/stages/decode_steps.h"

#include <stdlib.h>
#include <string.h>

static tsr_status add_stage(tsri_text_decoder *decoder, const tsri_text_decode_row *row,
                            tsri_text_decode_step **out) {
    TRY(tsri_base_grow(&decoder->stages, &decoder->capacity, decoder->count + 1,
                       sizeof *decoder->stages));
    *out = &decoder->stages[decoder->count++];
    **out = (tsri_text_decode_step){.row = row};
    return TSR_OK;
}

static tsr_status add_json(const json_t *json, tsri_text_decoder *decoder) {
    const char *type = NULL;
    tsri_text_decode_step *s;
    TRY(tsri_text_type_of(json, "decoder", &type));
    if (strcmp(type, "Sequence") == 0) {
        const json_t *list = NULL;
        TRY(tsri_text_list_of(json, "decoder Sequence", "decoders", &list));
        for (size_t i = 0; i < json_array_size(list); i++)
            TRY(add_json(json_array_get(list, i), decoder));
        return TSR_OK;
    }
    const tsri_text_decode_row *row = tsri_text_decode_row_named(type);
    if (!row)
        return tsri_base_fail(TSR_E_UNSUPPORTED, "decoder \"%s\" is not supported", type);
    TRY(add_stage(decoder, row, &s));
    if (row->load)
        TRY(row->load(json, s));
    return row->joins ? add_stage(decoder, &tsri_text_decode_fuse, &s) : TSR_OK;
}

static void set_fused(tsri_text_decoder *decoder) {
    bool fused = false, passes = true;
    for (size_t k = 0; k < decoder->count; k++) {
        decoder->stages[k].fused = fused;
        fused |= decoder->stages[k].row == &tsri_text_decode_fuse;
    }
    for (size_t k = decoder->count; k-- > 0;) {
        decoder->stages[k].passes = passes;
        passes &= decoder->stages[k].row->takes_parts;
    }
}

tsr_status tsri_text_decoder_load(const json_t *json, tsri_text_decoder **out) {
    *out = NULL;
    tsri_text_decoder *decoder = NULL;
    TRY(tsri_base_new(1, sizeof *decoder, &decoder));
    tsri_text_decode_step *s;
    const tsr_status status = !json || json_is_null(json)
                                  ? add_stage(decoder, &tsri_text_decode_join, &s)
                                  : add_json(json, decoder);
    set_fused(decoder);
    if (status != TSR_OK)
        tsri_text_decoder_destroy(&decoder);
    *out = decoder;
    return status;
}

/* A decoder of one step, with a copy of its text; NULL: the step has none. */
static tsr_status make_single(const tsri_text_decode_row *row, const char *content,
                              tsri_text_decoder **out, tsri_text_decode_step **step) {
    *out = NULL;
    tsri_text_decoder *decoder = NULL;
    TRY(tsri_base_new(1, sizeof *decoder, &decoder));
    tsr_status status = add_stage(decoder, row, step);
    if (status == TSR_OK && content) {
        (*step)->content_size = strlen(content);
        (*step)->content = tsri_base_copy_text(content, (*step)->content_size);
        status = (*step)->content ? TSR_OK : TSR_E_HOST_MEMORY;
    }
    if (status != TSR_OK)
        tsri_text_decoder_destroy(&decoder);
    *out = decoder;
    return status;
}

tsr_status tsri_text_decoder_bytes(tsri_text_decoder **out) {
    tsri_text_decode_step *s;
    return make_single(tsri_text_decode_row_named("ByteLevel"), NULL, out, &s);
}

tsr_status tsri_text_decoder_word_piece(const char *prefix, bool first, bool cleanup,
                                        tsri_text_decoder **out) {
    tsri_text_decode_step *s;
    TRY(make_single(&tsri_text_decode_word_piece, prefix, out, &s));
    s->first = first;
    s->cleanup = cleanup;
    return TSR_OK;
}

tsr_status tsri_text_decoder_sentencepiece(const char *space, bool strip_one, bool strip_all,
                                           const char *unknown, tsri_text_decoder **out) {
    tsri_text_decode_step *s;
    if (!unknown)
        unknown = " \xE2\x81\x87 ";
    TRY(make_single(&tsri_text_decode_sentencepiece, space, out, &s));
    s->strip_one = strip_one;
    s->strip_all = strip_all;
    s->unknown = tsri_base_copy_text(unknown, strlen(unknown));
    const tsr_status status =
        s->unknown ? tsri_text_pattern_new(space, s->content_size, TSRI_TEXT_LITERAL, &s->pattern)
                   : TSR_E_HOST_MEMORY;
    if (status != TSR_OK)
        tsri_text_decoder_destroy(out);
    return status;
}

void tsri_text_decoder_keep_space(tsri_text_decoder *decoder) {
    for (size_t k = 0; k < decoder->count; k++)
        if (decoder->stages[k].row == &tsri_text_decode_sentencepiece)
            decoder->stages[k].strip_one = false;
}

bool tsri_text_decoder_wants_all(const tsri_text_decoder *decoder) {
    return decoder->count && decoder->stages[0].row == &tsri_text_decode_sentencepiece;
}

bool tsri_text_decoder_has(const tsri_text_decoder *decoder, const char *type) {
    bool found = false;
    for (size_t k = 0; k < decoder->count; k++)
        found |= !strcmp(decoder->stages[k].row->type, type);
    return found;
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
        free((*decoder)->stages[k].unknown);
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
    tsri_text_allowance_grow(&d->allowance, n + 1); /* one byte for the space that joins it */
    return tsri_text_decode_pass(d, 0, piece, n, type);
}

tsr_status tsri_text_decoding_finish(tsri_text_decoding *d, tsri_bytes *out) {
    d->out = out;
    for (size_t k = 0; k < d->decoder->count; k++) {
        if (d->decoder->stages[k].row->finish)
            TRY(d->decoder->stages[k].row->finish(d, k));
        const tsri_bytes held = d->states[k].held;
        d->states[k] = (tsri_text_decode_state){.held = held};
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
