/* text/load/sentencepiece.c - SentencePiece's tokenizer.model: one protobuf message, read by hand.
 * source  sentencepiece_model.proto; the fields used are named where they are read */
#include "base/error.h"
#include "base/memory.h"
#include "text/base/unicode.h"
#include "text/load/load.h"
#include "text/load/pieces.h"

#include <stdlib.h>
#include <string.h>

typedef struct reader {
    const unsigned char *at, *end;
} reader;

typedef struct field {
    uint64_t number, value; /* value: varint, or 32 or 64 bits */
    int wire;
    reader bytes; /* wire 2 */
} field;

enum { VARINT = 0, BITS_64 = 1, BYTES = 2, BITS_32 = 5 };
enum { UNIGRAM = 1, BPE = 2, WORD = 3, CHAR = 4 };

typedef struct content {
    tsri_text_scored *pieces;
    size_t count, capacity;
    bool trainer, normalizer;
    uint64_t type;
    bool byte_fallback;
    tsri_text_space_rules spaces;
    reader map;
    tsri_bytes surface;                 /* unk_surface; no data: not given */
    const char *names[TSRI_TEXT_ROLES]; /* of bos, eos, unk, pad */
    size_t name_sizes[TSRI_TEXT_ROLES];
} content;

static tsr_status varint(reader *r, uint64_t *value) {
    *value = 0;
    for (int shift = 0; shift < 64 && r->at < r->end; shift += 7) {
        const unsigned char byte = *r->at++;
        *value |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80)
            return TSR_OK;
    }
    return tsri_base_fail(TSR_E_FORMAT, "protobuf: a number is truncated or longer than 64 bits");
}

static tsr_status next_field(reader *r, field *f) {
    uint64_t key;
    TRY(varint(r, &key));
    f->number = key >> 3;
    f->wire = (int)(key & 7);
    const size_t left = (size_t)(r->end - r->at);
    if (f->wire == VARINT)
        return varint(r, &f->value);
    if (f->wire == BITS_64 || f->wire == BITS_32) {
        const size_t size = f->wire == BITS_64 ? 8 : 4;
        if (left < size)
            return tsri_base_fail(TSR_E_FORMAT, "protobuf: field %llu is truncated",
                                  (unsigned long long)f->number);
        f->value = 0;
        for (size_t i = size; i-- > 0;)
            f->value = f->value << 8 | r->at[i];
        r->at += size;
        return TSR_OK;
    }
    if (f->wire != BYTES)
        return tsri_base_fail(
            TSR_E_FORMAT,
            "protobuf: field %llu has the wire type %d; this is not a SentencePiece model",
            (unsigned long long)f->number, f->wire);
    uint64_t size;
    TRY(varint(r, &size));
    if (size > (size_t)(r->end - r->at))
        return tsri_base_fail(TSR_E_FORMAT, "protobuf: field %llu has %llu bytes, but %zu are left",
                              (unsigned long long)f->number, (unsigned long long)size,
                              (size_t)(r->end - r->at));
    f->bytes = (reader){r->at, r->at + size};
    r->at += size;
    return TSR_OK;
}

static tsr_status wanted(const field *f, int wire, const char *name) {
    return f->wire == wire
               ? TSR_OK
               : tsri_base_fail(TSR_E_FORMAT, "protobuf: %s has the wire type %d instead of %d",
                                name, f->wire, wire);
}

static tsr_status read_piece(reader r, content *c) {
    tsri_text_scored piece = {.text = "", .type = TSRI_TEXT_NORMAL};
    while (r.at < r.end) {
        field f;
        TRY(next_field(&r, &f));
        if (f.number == 1) {
            TRY(wanted(&f, BYTES, "piece"));
            piece.text = (const char *)f.bytes.at;
            piece.size = (size_t)(f.bytes.end - f.bytes.at);
        } else if (f.number == 2) {
            TRY(wanted(&f, BITS_32, "score"));
            const uint32_t bits = (uint32_t)f.value;
            memcpy(&piece.score, &bits, sizeof bits);
        } else if (f.number == 3) {
            TRY(wanted(&f, VARINT, "type"));
            piece.type = f.value > 255 ? 255 : (uint8_t)f.value;
        }
    }
    if (c->count >= TSRI_TEXT_IDS_LIMIT)
        return tsri_base_fail(TSR_E_FORMAT, "vocabulary: more than %d pieces", TSRI_TEXT_IDS_LIMIT);
    TRY(tsri_base_grow(&c->pieces, &c->capacity, c->count + 1, sizeof *c->pieces));
    c->pieces[c->count++] = piece;
    return TSR_OK;
}

/* What an unknown piece is decoded to; SentencePiece reads it up to a 0 byte. */
static tsr_status read_surface(reader r, tsri_bytes *out) {
    const size_t n = (size_t)(r.end - r.at);
    if (!tsri_text_utf8_valid((const char *)r.at, n))
        return tsri_base_fail(TSR_E_FORMAT, "trainer_spec: unk_surface is not UTF-8");
    out->size = 0;
    return tsri_base_bytes_append(out, r.at, n);
}

static tsr_status read_trainer(reader r, content *c) {
    c->trainer = true;
    while (r.at < r.end) {
        field f;
        TRY(next_field(&r, &f));
        if (f.number == 3 && f.wire == VARINT)
            c->type = f.value;
        else if (f.number == 24 && f.wire == VARINT)
            c->spaces.suffix = f.value != 0;
        else if (f.number == 35 && f.wire == VARINT)
            c->byte_fallback = f.value != 0;
        else if (f.number == 44 && f.wire == BYTES)
            TRY(read_surface(f.bytes, &c->surface));
        else if (f.number >= 45 && f.number <= 48 &&
                 f.wire == BYTES) { /* unk_piece, bos_, eos_, pad_ */
            static const tsri_text_role roles[] = {TSRI_TEXT_UNK, TSRI_TEXT_BOS, TSRI_TEXT_EOS,
                                                   TSRI_TEXT_PAD};
            c->names[roles[f.number - 45]] = (const char *)f.bytes.at;
            c->name_sizes[roles[f.number - 45]] = (size_t)(f.bytes.end - f.bytes.at);
        }
    }
    return TSR_OK;
}

/* *map becomes the character map, empty for "identity". */
static tsr_status read_normalizer(reader r, tsri_text_space_rules *spaces, reader *map) {
    while (r.at < r.end) {
        field f;
        TRY(next_field(&r, &f));
        if (f.number == 2 && f.wire == BYTES)
            *map = f.bytes;
        else if (f.number == 3 && f.wire == VARINT)
            spaces->add_prefix = f.value != 0;
        else if (f.number == 4 && f.wire == VARINT)
            spaces->remove_extra = f.value != 0;
        else if (f.number == 5 && f.wire == VARINT)
            spaces->escape = f.value != 0;
    }
    return TSR_OK;
}

static tsr_status read_model(reader r, content *c) {
    while (r.at < r.end) {
        field f;
        tsri_text_space_rules ignored;
        reader back = {0};
        TRY(next_field(&r, &f));
        if (f.number < 1 || f.number > 5 || f.wire != BYTES)
            continue; /* an extension */
        if (f.number == 1)
            TRY(read_piece(f.bytes, c));
        else if (f.number == 2)
            TRY(read_trainer(f.bytes, c));
        else if (f.number == 3) {
            c->normalizer = true;
            TRY(read_normalizer(f.bytes, &c->spaces, &c->map));
        } else if (f.number == 5)
            TRY(read_normalizer(f.bytes, &ignored, &back));
        if (back.at < back.end)
            return tsri_base_fail(
                TSR_E_UNSUPPORTED,
                "denormalizer_spec: a character map for decoded text is not supported");
    }
    if (c->count == 0 || !c->trainer || !c->normalizer)
        return tsri_base_fail(TSR_E_FORMAT,
                              "no %s: the file is truncated or is not a SentencePiece model",
                              c->count == 0 ? "pieces"
                              : !c->trainer ? "trainer_spec"
                                            : "normalizer_spec");
    static const char *const kinds[] = {"Unigram", "BPE", "word", "character"};
    if (c->type < UNIGRAM || c->type > CHAR)
        return tsri_base_fail(TSR_E_FORMAT, "trainer_spec: model_type is %llu; 1 to 4 are known",
                              (unsigned long long)c->type);
    if (c->type != BPE && c->type != UNIGRAM)
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "a SentencePiece model of type %s is not supported; Unigram and BPE "
                              "are",
                              kinds[c->type - 1]);
    return TSR_OK;
}

static tsr_status fill(const content *c, tsri_text_charsmap **map, tsri_text_tokenizer *t) {
    const tsri_text_scored_rules rules = {.unigram = c->type == UNIGRAM,
                                          .map = map,
                                          .spaces = c->spaces,
                                          .space = c->spaces.escape ? "\xE2\x96\x81" : " ",
                                          .surface = c->surface.data,
                                          .whole_in_model = true,
                                          .unknown = -1};
    size_t bytes = 0;
    for (size_t i = 0; i < c->count; i++)
        bytes += c->pieces[i].type == TSRI_TEXT_BYTE;
    if (bytes != (c->byte_fallback ? 256u : 0u))
        return tsri_base_fail(TSR_E_FORMAT, "vocabulary: %zu byte pieces; byte_fallback is %s",
                              bytes, c->byte_fallback ? "on" : "off");
    TRY(tsri_text_load_scored(c->pieces, c->count, &rules, t));
    if (t->roles[TSRI_TEXT_UNK] < 0)
        return tsri_base_fail(TSR_E_FORMAT, "vocabulary: no piece of type unknown");
    for (int role = 0; role < TSRI_TEXT_ROLES; role++) {
        const int32_t id =
            tsri_text_vocabulary_find(&t->vocabulary, c->names[role], c->name_sizes[role]);
        if (role != TSRI_TEXT_UNK && id >= 0 && t->types[id] == TSRI_TEXT_CONTROL)
            t->roles[role] = id;
    }
    return TSR_OK;
}

tsr_status tsri_text_from_sentencepiece(const void *bytes, size_t n, tsri_text_tokenizer **out) {
    *out = NULL;
    content c = {.type = UNIGRAM,
                 .spaces = {.add_prefix = true, .remove_extra = true, .escape = true},
                 .names = {"<s>", "</s>", "<unk>", "<pad>"},
                 .name_sizes = {3, 4, 5, 5}};
    tsri_text_charsmap *map = NULL;
    tsr_status status = n ? read_model((reader){bytes, (const unsigned char *)bytes + n}, &c)
                          : tsri_base_fail(TSR_E_FORMAT, "the file is empty");
    if (status == TSR_OK)
        status = tsri_text_tokenizer_new("SentencePiece", out);
    if (status == TSR_OK && c.map.at < c.map.end &&
        (status = tsri_text_charsmap_new(c.map.at, (size_t)(c.map.end - c.map.at), &map)) != TSR_OK)
        tsri_base_fail_within(status, "normalizer_spec");
    if (status == TSR_OK)
        status = fill(&c, &map, *out);
    if (status != TSR_OK)
        tsri_text_tokenizer_destroy(out);
    tsri_text_charsmap_destroy(&map);
    tsri_base_bytes_clear(&c.surface);
    free(c.pieces);
    return status;
}
