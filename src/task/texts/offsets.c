/* task/texts/offsets.c - finds the place of each token in its text. */
#include "task/texts/offsets.h"

#include "base/error.h"
#include "base/memory.h"
#include "text/base/unicode.h"

#include <stdlib.h>
#include <string.h>

enum {
    SEARCHED = 64, /* how many bytes ahead a piece is searched that isn't at the cursor */
    TOGETHER = 6   /* the most tokens that share characters, in byte-level tokenizers */
};

/* A text in lower case and without accents, and for each of its bytes the original character. */
typedef struct folded {
    tsri_bytes bytes;
    size_t *begin, *end; /* [bytes.size] */
    size_t begin_room, end_room;
} folded;

static bool is_chinese(int32_t c) {
    return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) ||
           (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x20000 && c <= 0x2FA1F);
}

static bool is_word(int32_t c) {
    return c >= 0 && !is_chinese(c) &&
           (tsri_text_is_letter(c) || tsri_text_is_number(c) || tsri_text_is_mark(c));
}

/* Appends one character, given in UTF-8. */
static tsr_status fold_character(const char *text, size_t n, int32_t c, tsri_bytes *room,
                                 tsri_bytes *out) {
    if (c < 0 || c < 0x20 || tsri_text_is_space(c))
        return tsri_base_bytes_append(out, " ", 1);
    if (c < 0x80) {
        const char lower = (char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
        return tsri_base_bytes_append(out, &lower, 1);
    }
    room->size = 0;
    TRY(tsri_text_normal_form(TSRI_TEXT_NFKD, text, n, room));
    for (size_t at = 0; at < room->size;) {
        int32_t part;
        const size_t bytes = tsri_text_utf8_next(room->data + at, room->size - at, &part);
        if (!tsri_text_is_mark(part))
            TRY(tsri_text_lowercase(room->data + at, bytes, out));
        at += bytes;
    }
    return TSR_OK;
}

static tsr_status fold(const char *text, size_t n, folded *out) {
    tsri_bytes room = {0};
    tsr_status status = tsri_base_bytes_append(&out->bytes, "", 0);
    for (size_t at = 0; status == TSR_OK && at < n;) {
        int32_t c;
        const size_t bytes = tsri_text_utf8_next(text + at, n - at, &c), from = out->bytes.size;
        status = fold_character(text + at, bytes, c, &room, &out->bytes);
        if (status == TSR_OK)
            status =
                tsri_base_grow(&out->begin, &out->begin_room, out->bytes.size, sizeof *out->begin);
        if (status == TSR_OK)
            status = tsri_base_grow(&out->end, &out->end_room, out->bytes.size, sizeof *out->end);
        for (size_t i = from; status == TSR_OK && i < out->bytes.size; i++) {
            out->begin[i] = at;
            out->end[i] = at + bytes;
        }
        /* A combining accent belongs to the letter before it. */
        for (size_t i = from; status == TSR_OK && out->bytes.size == from && i > 0 &&
                              out->begin[i - 1] == out->begin[from - 1];
             i--)
            out->end[i - 1] = at + bytes;
        at += bytes;
    }
    tsri_base_bytes_clear(&room);
    return status;
}

static void fold_clear(folded *f) {
    tsri_base_bytes_clear(&f->bytes);
    free(f->begin);
    free(f->end);
    *f = (folded){0};
}

/* ---- pieces ---- */

typedef struct aligner {
    const tsri_text_tokenizer *tokenizer;
    const char *text;
    size_t size;
    folded whole, piece;
    size_t cursor; /* in whole.bytes */
    bool marked;   /* WordPiece: a piece that continues a word begins with "##" */
} aligner;

/* The folded text of n tokens together, without leading blanks; *marked: the first begins with
 * "##".
 */
static tsr_status fold_pieces(aligner *a, const int32_t *ids, size_t n, bool *marked) {
    size_t size = 0;
    const char *piece = tsri_text_piece_of(a->tokenizer, ids[0], &size);
    tsri_bytes decoded = {0};
    *marked = a->marked && piece && size > 2 && !memcmp(piece, "##", 2);
    a->piece.bytes.size = 0;
    tsr_status status = TSR_OK;
    if (!a->marked) {
        status = tsri_text_decode(a->tokenizer, ids, n, TSRI_TEXT_UNCLEANED, &decoded);
        piece = decoded.data;
        size = decoded.size;
    } else if (*marked) {
        piece += 2;
        size -= 2;
    }
    while (piece && size && *piece == ' ') {
        piece++;
        size--;
    }
    if (status == TSR_OK)
        status = fold(piece ? piece : "", piece ? size : 0, &a->piece);
    tsri_base_bytes_clear(&decoded);
    return status;
}

static int32_t character_at(const aligner *a, size_t at, size_t *n) {
    int32_t c = -1;
    *n = at < a->size ? tsri_text_utf8_next(a->text + at, a->size - at, &c) : 0;
    return c;
}

/* The end of the word, or of the single other character, at the cursor. */
static size_t word_end(const aligner *a, size_t begin) {
    size_t at = begin, n;
    while (is_word(character_at(a, at, &n)))
        at += n;
    if (at == begin)
        character_at(a, at, &n);
    return at > begin ? at : begin + n;
}

static void skip_blanks(aligner *a) {
    while (a->cursor < a->whole.bytes.size && a->whole.bytes.data[a->cursor] == ' ')
        a->cursor++;
}

/* Moves the cursor past the piece, which must begin at most `ahead` bytes after it. */
static bool match(aligner *a, size_t ahead, tsri_task_offset *out) {
    const char *whole = a->whole.bytes.data;
    const size_t n = a->piece.bytes.size, left = a->whole.bytes.size - a->cursor;
    const char *found = NULL;
    if (n && n <= left)
        found =
            memmem(whole + a->cursor, left < n + ahead ? left : n + ahead, a->piece.bytes.data, n);
    if (!found)
        return false;
    a->cursor = (size_t)(found - whole) + n;
    out->begin = a->whole.begin[a->cursor - n];
    out->end = a->whole.end[a->cursor - 1];
    return true;
}

static bool is_blank(const tsri_bytes *text) {
    size_t i = 0;
    while (i < text->size && text->data[i] == ' ')
        i++;
    return i == text->size;
}

/* How many of the tokens make up the characters at the cursor: one, or several that share them; 0:
 * none does. */
static tsr_status find(aligner *a, const int32_t *ids, size_t left, bool *marked,
                       tsri_task_offset *out, size_t *used) {
    bool ignored;
    *used = 0;
    TRY(fold_pieces(a, ids, 1, marked));
    if (is_blank(&a->piece.bytes))
        return TSR_OK;
    if (match(a, 0, out)) {
        *used = 1;
        return TSR_OK;
    }
    for (size_t n = 2; !a->marked && n <= TOGETHER && n <= left; n++) {
        TRY(fold_pieces(a, ids, n, &ignored));
        if (match(a, 0, out)) {
            *used = n;
            return TSR_OK;
        }
    }
    TRY(fold_pieces(a, ids, 1, marked));
    *used = match(a, SEARCHED, out);
    return TSR_OK;
}

static bool goes_on(const aligner *a, const tsri_task_offset *before, size_t begin, bool marked) {
    size_t last = begin, n;
    if (!before || before->end != begin || before->end == before->begin)
        return false;
    if (a->marked)
        return marked;
    do
        last--;
    while (last > before->begin && ((unsigned char)a->text[last] & 0xc0) == 0x80);
    return is_word(character_at(a, last, &n)) && is_word(character_at(a, begin, &n));
}

/* Finds the places of the first tokens: of *used of them, at least one. */
static tsr_status place(aligner *a, const int32_t *ids, size_t left, const tsri_task_offset *before,
                        tsri_task_offset *out, size_t *used) {
    bool marked = false;
    skip_blanks(a);
    const size_t end = a->whole.bytes.size,
                 here = a->cursor < end ? a->whole.begin[a->cursor] : a->size;
    out[0] = (tsri_task_offset){.begin = here, .end = here};
    *used = 1;
    if (ids[0] == tsri_text_role_id(a->tokenizer, TSRI_TEXT_UNK)) {
        out[0].end = word_end(a, here);
        while (a->cursor < end && a->whole.begin[a->cursor] < out[0].end)
            a->cursor++;
    } else {
        TRY(find(a, ids, left, &marked, out, used));
    }
    out[0].continues = out[0].end > out[0].begin
                           ? goes_on(a, before, out[0].begin, marked)
                           : before != NULL; /* an empty token does not end a word */
    for (size_t i = 1; i < *used; i++)
        out[i] = (tsri_task_offset){.begin = out[0].begin, .end = out[0].end, .continues = true};
    *used = *used ? *used : 1;
    return TSR_OK;
}

tsr_status tsri_task_offsets(const tsri_text_tokenizer *tokenizer, const char *text, size_t size,
                             const int32_t *ids, size_t n, tsri_task_offset *out) {
    aligner a = {.tokenizer = tokenizer,
                 .text = text,
                 .size = size,
                 .marked = tsri_text_id_of(tokenizer, "##s", 3) >= 0 &&
                           tsri_text_id_of(tokenizer, "[UNK]", 5) >= 0};
    tsr_status status = fold(text, size, &a.whole);
    const tsri_task_offset *last = NULL; /* the last token that has text */
    for (size_t i = 0, used = 0; status == TSR_OK && i < n; i += used) {
        status = place(&a, ids + i, n - i, last, &out[i], &used);
        last = out[i].end > out[i].begin ? &out[i + used - 1] : last;
    }
    fold_clear(&a.whole);
    fold_clear(&a.piece);
    return status;
}
