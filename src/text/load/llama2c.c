/* text/load/llama2c.c - llama2.c's tokenizer.bin: int32 longest, then for each piece float32 score,
 * int32 size, bytes; all little-endian. The file gives neither types nor the number of pieces:
 * <unk>, bos and eos come first, then the 256 bytes, if there are any. Without them, as in
 * vocabularies of characters, a character that has no piece is unknown. llama2.c writes bos and eos
 * with a line end before and behind them ("\n<s>\n"), which is not part of their names. */
#include "base/error.h"
#include "base/memory.h"
#include "text/load/load.h"
#include "text/load/pieces.h"

#include <stdlib.h>
#include <string.h>

enum { BOS = 1, EOS = 2, FIRST_BYTE = 3, FIRST_TEXT = 259 };

static uint32_t little(const unsigned char *at) {
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

/* Whether piece FIRST_BYTE is the first byte's. */
static bool is_first_byte(const tsri_text_scored *piece) {
    return piece->size == 6 && memcmp(piece->text, "<0x00>", 6) == 0;
}

static void drop_line_ends(tsri_text_scored *piece) {
    if (piece->size > 2 && piece->text[0] == '\n' && piece->text[piece->size - 1] == '\n') {
        piece->text++;
        piece->size -= 2;
    }
}

static tsr_status read_pieces(const unsigned char *bytes, size_t n, size_t count,
                              tsri_text_scored *pieces) {
    size_t at = 4;
    bool bytes_follow = false;
    for (size_t i = 0; i < count; i++) {
        if (n - at < 8)
            return tsri_base_fail(
                TSR_E_FORMAT, "the file ends at byte %zu, within piece %zu of %zu", n, i, count);
        const uint32_t bits = little(bytes + at), size = little(bytes + at + 4);
        at += 8;
        if (size > n - at)
            return tsri_base_fail(TSR_E_FORMAT,
                                  "piece %zu of %zu has %u bytes, but the file has only %zu more",
                                  i, count, size, n - at);
        memcpy(&pieces[i].score, &bits, sizeof bits);
        pieces[i].text = (const char *)bytes + at;
        pieces[i].size = size;
        bytes_follow = i == FIRST_BYTE ? is_first_byte(&pieces[i]) : bytes_follow;
        pieces[i].type = i == 0                           ? TSRI_TEXT_UNKNOWN
                         : i < FIRST_BYTE                 ? TSRI_TEXT_CONTROL
                         : bytes_follow && i < FIRST_TEXT ? TSRI_TEXT_BYTE
                                                          : TSRI_TEXT_NORMAL;
        if (pieces[i].type == TSRI_TEXT_CONTROL)
            drop_line_ends(&pieces[i]);
        at += size;
    }
    if (bytes_follow && count < FIRST_TEXT)
        return tsri_base_fail(TSR_E_FORMAT,
                              "the vocabulary of %zu pieces ends within the 256 bytes, which begin "
                              "with piece %d",
                              count, FIRST_BYTE);
    return at == n ? TSR_OK
                   : tsri_base_fail(TSR_E_FORMAT, "%zu bytes follow the last of %zu pieces", n - at,
                                    count);
}

static tsr_status load(const unsigned char *bytes, size_t n, size_t count, tsri_text_tokenizer *t) {
    tsri_text_scored *pieces = NULL;
    TRY(tsri_base_new(count, sizeof *pieces, &pieces));
    const tsri_text_scored_rules rules = {
        .spaces = {.add_prefix = true}, .space = " ", .duplicates = true, .unknown = -1};
    tsr_status status = read_pieces(bytes, n, count, pieces);
    if (status == TSR_OK)
        status = tsri_text_load_scored(pieces, count, &rules, t);
    free(pieces);
    TRY(status);
    TRY(tsri_text_set_role(t, TSRI_TEXT_BOS, BOS));
    TRY(tsri_text_set_role(t, TSRI_TEXT_EOS, EOS));
    return tsri_text_set_affixes(t, true, false);
}

tsr_status tsri_text_from_llama2c(const void *bytes, size_t n, int64_t V,
                                  tsri_text_tokenizer **out) {
    *out = NULL;
    if (V <= FIRST_BYTE || V > TSRI_TEXT_IDS_LIMIT)
        return tsri_base_fail(TSR_E_FORMAT,
                              "a vocabulary of %lld pieces; a tokenizer.bin has %d to %d",
                              (long long)V, FIRST_BYTE + 1, TSRI_TEXT_IDS_LIMIT);
    if (n < 4 || (n - 4) / 8 < (uint64_t)V)
        return tsri_base_fail(TSR_E_FORMAT, "%zu bytes are too few for a vocabulary of %lld pieces",
                              n, (long long)V);
    TRY(tsri_text_tokenizer_new("llama2.c tokenizer.bin", out));
    const tsr_status status = load(bytes, n, (size_t)V, *out);
    if (status != TSR_OK)
        tsri_text_tokenizer_destroy(out);
    return status;
}
