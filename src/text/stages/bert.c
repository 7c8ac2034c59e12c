/* text/stages/bert.c - cleans a text as BERT does and finds the ends of its words. */
#include "text/stages/bert.h"

#include "base/error.h"
#include "text/base/unicode.h"

#include <stddef.h>
#include <utf8proc.h>

/* Hugging Face's BERT parts use the categories of Unicode 8. Marks, punctuation and format
 * characters that were added later lie in these ranges and do not count there; found by trying
 * every character on tokenizers 0.23.3. */
static const struct {
    int32_t first, last;
} after_unicode_8[] = {
    {0x61D, 0x61D},     {0x7FD, 0x7FD},     {0x890, 0x8E2},     {0x9FD, 0x9FE},
    {0xA76, 0xA76},     {0xAFA, 0xAFF},     {0xB55, 0xB55},     {0xC04, 0xC3C},
    {0xC77, 0xC77},     {0xC84, 0xC84},     {0xD00, 0xD00},     {0xD3B, 0xD3C},
    {0xD81, 0xD81},     {0xEBA, 0xEBA},     {0xECE, 0xECE},     {0x180F, 0x1886},
    {0x1ABF, 0x1ACE},   {0x1B7D, 0x1B7E},   {0x1DF6, 0x1DFB},   {0x2E43, 0x2E5D},
    {0xA82C, 0xA82C},   {0xA8C5, 0xA8C5},   {0xA8FF, 0xA8FF},   {0xA9BD, 0xA9BD},
    {0x10D24, 0x10F89}, {0x11070, 0x11074}, {0x110C2, 0x110CD}, {0x111C9, 0x111C9},
    {0x111CF, 0x111CF}, {0x1123E, 0x11241}, {0x1133B, 0x1133B}, {0x11438, 0x1145E},
    {0x11660, 0x1166C}, {0x116B9, 0x116B9}, {0x1182F, 0x11FFF}, {0x12FF1, 0x13455},
    {0x16E97, 0x16F4F}, {0x16FE2, 0x16FE4}, {0x1CF00, 0x1CF46}, {0x1E000, 0x1E4EF},
    {0x1E944, 0x1E95F},
};

static bool is_later(int32_t c) {
    size_t low = 0, high = sizeof after_unicode_8 / sizeof *after_unicode_8;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (c > after_unicode_8[middle].last)
            low = middle + 1;
        else
            high = middle;
    }
    return low < sizeof after_unicode_8 / sizeof *after_unicode_8 &&
           c >= after_unicode_8[low].first;
}

static bool is_removed(int32_t c) {
    if (c < 0x80)
        return (c < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7F;
    const utf8proc_category_t k = utf8proc_category(c);
    return c == 0xFFFD || k == UTF8PROC_CATEGORY_CC || k == UTF8PROC_CATEGORY_CO ||
           (k == UTF8PROC_CATEGORY_CF && !is_later(c));
}

/* The third block from the end begins where the library has it, not where Unicode has it. */
static bool is_chinese(int32_t c) {
    return (c >= 0x3400 && c <= 0x4DBF) || (c >= 0x4E00 && c <= 0x9FFF) ||
           (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x20000 && c <= 0x2A6DF) ||
           (c >= 0x2A700 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
           (c >= 0x2F800 && c <= 0x2FA1F);
}

static bool is_accent(int32_t c) {
    if (c < 0x300)
        return false;
    return c == 0x1734 || (utf8proc_category(c) == UTF8PROC_CATEGORY_MN && !is_later(c));
}

bool tsri_text_bert_is_punctuation(int32_t c) {
    if (c < 0x80)
        return tsri_text_is_punctuation(c);
    return c == 0x166D || c == 0x111C9 || (tsri_text_is_punctuation(c) && !is_later(c));
}

/* The steps that go character by character, for a text without ASCII characters. */
static tsr_status separate(const tsri_text_bert_rules *rules, const char *text, size_t n,
                           tsri_bytes *out) {
    for (size_t i = 0, size; i < n; i += size) {
        int32_t c;
        size = tsri_text_utf8_next(text + i, n - i, &c);
        if (rules->clean && is_removed(c))
            continue;
        if (rules->clean && tsri_text_is_space(c)) {
            TRY(tsri_base_bytes_append(out, " ", 1));
            continue;
        }
        const bool apart = rules->chinese && is_chinese(c);
        if (apart)
            TRY(tsri_base_bytes_append(out, " ", 1));
        TRY(tsri_base_bytes_append(out, text + i, size));
        if (apart)
            TRY(tsri_base_bytes_append(out, " ", 1));
    }
    return TSR_OK;
}

static tsr_status without_accents(const char *text, size_t n, tsri_bytes *out) {
    tsri_bytes apart = {0};
    tsr_status status = tsri_text_normal_form(TSRI_TEXT_NFD, text, n, &apart);
    for (size_t i = 0, size; i < apart.size && status == TSR_OK; i += size) {
        int32_t c;
        size = tsri_text_utf8_next(apart.data + i, apart.size - i, &c);
        if (!is_accent(c))
            status = tsri_base_bytes_append(out, apart.data + i, size);
    }
    tsri_base_bytes_clear(&apart);
    return status;
}

static tsr_status normalize_run(const tsri_text_bert_rules *rules, const char *text, size_t n,
                                tsri_bytes *out) {
    tsri_bytes separated = {0}, stripped = {0};
    tsr_status status = separate(rules, text, n, &separated);
    tsri_bytes *now = &separated;
    if (status == TSR_OK && rules->strip_accents && separated.size) {
        status = without_accents(separated.data, separated.size, &stripped);
        now = &stripped;
    }
    if (status == TSR_OK && now->size)
        status = rules->lowercase ? tsri_text_lowercase(now->data, now->size, out)
                                  : tsri_base_bytes_append(out, now->data, now->size);
    tsri_base_bytes_clear(&separated);
    tsri_base_bytes_clear(&stripped);
    return status;
}

/* ASCII needs none of the tables, and no rule joins an ASCII character with one before or after it,
 * so runs of ASCII are normalized apart. */
static tsr_status normalize_ascii(const tsri_text_bert_rules *rules, const char *text, size_t n,
                                  tsri_bytes *out) {
    char some[256];
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        char c = text[i];
        if (rules->clean && is_removed(c))
            continue;
        if (rules->clean && (c == '\t' || c == '\n' || c == '\r'))
            c = ' ';
        else if (rules->lowercase && c >= 'A' && c <= 'Z')
            c = (char)(c - 'A' + 'a');
        some[kept++] = c;
        if (kept == sizeof some) {
            TRY(tsri_base_bytes_append(out, some, kept));
            kept = 0;
        }
    }
    return tsri_base_bytes_append(out, some, kept);
}

tsr_status tsri_text_bert_normalize(const tsri_text_bert_rules *rules, const char *text, size_t n,
                                    tsri_bytes *out) {
    for (size_t i = 0; i < n;) {
        const bool ascii = (unsigned char)text[i] < 0x80;
        size_t end = i + 1;
        while (end < n && ((unsigned char)text[end] < 0x80) == ascii)
            end++;
        TRY(ascii ? normalize_ascii(rules, text + i, end - i, out)
                  : normalize_run(rules, text + i, end - i, out));
        i = end;
    }
    return TSR_OK;
}
