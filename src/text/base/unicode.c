/* text/base/unicode.c - reads UTF-8 strictly, repairs what is not UTF-8, and classifies
 * characters. */
#include "text/base/unicode.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

static const char replacement[] = "\xEF\xBF\xBD";

/* How many bytes from text[0] on begin some character: its length when *complete, otherwise the
 * maximal truncated sequence (at least 1). The range of the second byte depends on the first
 * (Unicode, table 3-7). */
static size_t sequence(const unsigned char *text, size_t n, bool *complete) {
    const unsigned char lead = text[0];
    *complete = lead < 0x80;
    if (lead < 0xC2 || lead > 0xF4)
        return 1;
    const size_t want = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    unsigned char low = 0x80, high = 0xBF;
    if (lead == 0xE0)
        low = 0xA0;
    else if (lead == 0xED)
        high = 0x9F;
    else if (lead == 0xF0)
        low = 0x90;
    else if (lead == 0xF4)
        high = 0x8F;
    size_t have = 1;
    while (have < want && have < n && text[have] >= low && text[have] <= high) {
        have++;
        low = 0x80;
        high = 0xBF;
    }
    *complete = have == want;
    return have;
}

size_t tsri_text_utf8_next(const char *text, size_t n, int32_t *out) {
    const unsigned char *at = (const unsigned char *)text;
    if (at[0] < 0x80) {
        *out = at[0];
        return 1;
    }
    bool complete;
    const size_t size = sequence(at, n, &complete);
    if (!complete) {
        *out = -1;
        return 1;
    }
    int32_t c = at[0] & (0x7F >> size);
    for (size_t i = 1; i < size; i++)
        c = c << 6 | (at[i] & 0x3F);
    *out = c;
    return size;
}

size_t tsri_text_utf8_before(const char *text, size_t at) {
    do
        at--;
    while (at > 0 && ((unsigned char)text[at] & 0xC0) == 0x80);
    return at;
}

size_t tsri_text_utf8_put(int32_t c, char out[4]) {
    return (size_t)utf8proc_encode_char(c, (utf8proc_uint8_t *)out);
}

bool tsri_text_utf8_valid(const char *text, size_t n) {
    for (size_t i = 0; i < n;) {
        int32_t c;
        i += tsri_text_utf8_next(text + i, n - i, &c);
        if (c < 0)
            return false;
    }
    return true;
}

bool tsri_text_utf8_cut(const char *text, size_t n) {
    bool complete;
    const unsigned char lead = n ? (unsigned char)text[0] : 0;
    return lead >= 0xC2 && lead <= 0xF4 &&
           sequence((const unsigned char *)text, n, &complete) == n && !complete;
}

tsr_status tsri_text_utf8_repair(const char *text, size_t n, tsri_bytes *out) {
    size_t good = 0;
    for (size_t i = 0; i < n;) {
        int32_t c;
        const size_t size = tsri_text_utf8_next(text + i, n - i, &c);
        if (c < 0) {
            TRY(tsri_base_bytes_append(out, text + good, i - good));
            TRY(tsri_base_bytes_append(out, replacement, 3));
            good = i + size;
        }
        i += size;
    }
    return tsri_base_bytes_append(out, text + good, n - good);
}

tsr_status tsri_text_utf8_lossy(const char *text, size_t n, bool last, tsri_bytes *out,
                                size_t *used) {
    size_t good = 0, i = 0;
    if (n == 0) /* text may be NULL, to which nothing may be added */
        text = "";
    while (i < n) {
        bool complete;
        const size_t size = sequence((const unsigned char *)text + i, n - i, &complete);
        if (!complete) {
            if (!last && tsri_text_utf8_cut(text + i, n - i))
                break;
            TRY(tsri_base_bytes_append(out, text + good, i - good));
            TRY(tsri_base_bytes_append(out, replacement, 3));
            good = i + size;
        }
        i += size;
    }
    *used = i;
    return tsri_base_bytes_append(out, text + good, i - good);
}

bool tsri_text_is_letter(int32_t c) {
    if (c < 0x80)
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const utf8proc_category_t k = utf8proc_category(c);
    return k >= UTF8PROC_CATEGORY_LU && k <= UTF8PROC_CATEGORY_LO;
}

bool tsri_text_is_number(int32_t c) {
    if (c < 0x80)
        return c >= '0' && c <= '9';
    const utf8proc_category_t k = utf8proc_category(c);
    return k >= UTF8PROC_CATEGORY_ND && k <= UTF8PROC_CATEGORY_NO;
}

bool tsri_text_is_space(int32_t c) {
    return (c >= 9 && c <= 13) || c == ' ' || c == 0x85 || c == 0xA0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F ||
           c == 0x205F || c == 0x3000;
}

/* Alphabetic (letters, letter numbers, the circled and squared letters), marks, decimal digits,
 * connectors, joiners. */
bool tsri_text_is_word(int32_t c) {
    if (c < 0x80)
        return tsri_text_is_letter(c) || tsri_text_is_number(c) || c == '_';
    switch (utf8proc_category(c)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_PC:
        return true;
    default:
        return c == 0x200C || c == 0x200D || (c >= 0x24B6 && c <= 0x24E9) ||
               (c >= 0x1F130 && c <= 0x1F149) || (c >= 0x1F150 && c <= 0x1F169) ||
               (c >= 0x1F170 && c <= 0x1F189);
    }
}

bool tsri_text_is_punctuation(int32_t c) {
    if (c < 0x80)
        return c > ' ' && c < 0x7F && !tsri_text_is_letter(c) && !tsri_text_is_number(c);
    const utf8proc_category_t k = utf8proc_category(c);
    return k >= UTF8PROC_CATEGORY_PC && k <= UTF8PROC_CATEGORY_PO;
}

bool tsri_text_is_mark(int32_t c) {
    if (c < 0x80)
        return false;
    const utf8proc_category_t k = utf8proc_category(c);
    return k >= UTF8PROC_CATEGORY_MN && k <= UTF8PROC_CATEGORY_ME;
}

/* The library takes marks from Unicode 9, and these for other characters; found by trying every
 * character on tokenizers 0.23.3. */
bool tsri_text_is_accent(int32_t c) {
    static const struct {
        int32_t first, last;
    } later[] = {{0x7FD, 0x7FD},     {0x898, 0x8D3},     {0x9FE, 0x9FE},     {0xAFA, 0xAFF},
                 {0xB55, 0xB55},     {0xC04, 0xC3C},     {0xCF3, 0xD00},     {0xD3B, 0xD3C},
                 {0xD81, 0xD81},     {0xEBA, 0xEBA},     {0xECE, 0xECE},     {0x1715, 0x1715},
                 {0x180F, 0x180F},   {0x1ABF, 0x1ACE},   {0x1CF7, 0x1CF7},   {0x1DF6, 0x1DFA},
                 {0xA82C, 0xA82C},   {0xA8FF, 0xA8FF},   {0x10D24, 0x10F85}, {0x11070, 0x11074},
                 {0x110C2, 0x110C2}, {0x11145, 0x11146}, {0x111C9, 0x111C9}, {0x111CE, 0x111CF},
                 {0x11241, 0x11241}, {0x1133B, 0x1133B}, {0x1145E, 0x1145E}, {0x1182C, 0x11A99},
                 {0x11D31, 0x13455}, {0x16F4F, 0x16F4F}, {0x16F7F, 0x16F87}, {0x16FE4, 0x16FF1},
                 {0x1CF00, 0x1CF46}, {0x1E08F, 0x1E4EF}};
    if (c == 0x1CF2 || c == 0x1CF3) /* marks only then */
        return true;
    for (size_t i = 0; c >= later[0].first && i < sizeof later / sizeof *later; i++)
        if (c >= later[i].first && c <= later[i].last)
            return false;
    return tsri_text_is_mark(c);
}

bool tsri_text_is_lower(int32_t c) {
    return c < 0x80 ? c >= 'a' && c <= 'z' : utf8proc_category(c) == UTF8PROC_CATEGORY_LL;
}

bool tsri_text_is_upper(int32_t c) {
    if (c < 0x80)
        return c >= 'A' && c <= 'Z';
    const utf8proc_category_t k = utf8proc_category(c);
    return k == UTF8PROC_CATEGORY_LU || k == UTF8PROC_CATEGORY_LT;
}

bool tsri_text_is_printable(int32_t c) {
    if (c < 0x80)
        return c >= ' ' && c < 0x7F;
    switch (utf8proc_category(c)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
    case UTF8PROC_CATEGORY_ZS:
        return false;
    default:
        return true;
    }
}

size_t tsri_text_grapheme(const char *text, size_t n) {
    utf8proc_int32_t state = 0;
    int32_t c, next;
    size_t end = tsri_text_utf8_next(text, n, &c);
    while (end < n) {
        const size_t size = tsri_text_utf8_next(text + end, n - end, &next);
        if ((c < 0x80 && c != '\r' && next < 0x80) ||
            utf8proc_grapheme_break_stateful(c, next, &state))
            break;
        end += size;
        c = next;
    }
    return end;
}

/* 0 for a mark that the library doesn't know: it stays where it is. */
static int combining_class(int32_t c) {
    const int k = utf8proc_get_property(c)->combining_class;
    return k && !tsri_text_is_accent(c) ? 0 : k;
}

/* Sorts a run of marks by combining class: stable, by counting, because utf8proc's own exchange
 * sort is quadratic in the run. */
static void order_marks(int32_t *marks, size_t n, int32_t *scratch) {
    size_t first[257] = {0};
    for (size_t i = 0; i < n; i++)
        first[combining_class(marks[i]) + 1]++;
    for (size_t k = 1; k < 257; k++)
        first[k] += first[k - 1];
    for (size_t i = 0; i < n; i++)
        scratch[first[combining_class(marks[i])]++] = marks[i];
    memcpy(marks, scratch, n * sizeof *marks);
}

/* The tokenizers library normalizes by Unicode 9: compatibility decompositions that were added later
 * are not in it. */
static bool is_compatible_later(int32_t c) {
    static const struct {
        int32_t first, last;
    } later[] = {{0x32FF, 0x32FF},   {0xA7F1, 0xA7F4},   {0xAB69, 0xAB69},   {0x10781, 0x107BA},
                 {0x1CCD6, 0x1CCF9}, {0x1E030, 0x1E06D}, {0x1F16C, 0x1F16C}, {0x1FBF0, 0x1FBF9}};
    for (size_t i = 0; c >= later[0].first && i < sizeof later / sizeof *later; i++)
        if (c >= later[i].first && c <= later[i].last)
            return true;
    return false;
}

static tsr_status decompose(const char *text, size_t n, utf8proc_option_t options, int32_t **out,
                            size_t *count) {
    enum { MOST = 32 }; /* the longest decomposition of one character is 18 */
    int32_t *points = NULL;
    size_t capacity = 0, used = 0;
    int last_class = 0;
    for (size_t i = 0; i < n;) {
        int32_t c;
        i += tsri_text_utf8_next(text + i, n - i, &c);
        const tsr_status status = tsri_base_grow(&points, &capacity, used + MOST, sizeof *points);
        const utf8proc_option_t of =
            is_compatible_later(c) ? options & ~(unsigned)UTF8PROC_COMPAT : options;
        const utf8proc_ssize_t got =
            status == TSR_OK ? utf8proc_decompose_char(c, points + used, MOST, of, &last_class)
                             : -1;
        if (got < 0 || got > MOST) {
            free(points);
            return status != TSR_OK
                       ? status
                       : tsri_base_fail(TSR_E_INTERNAL, "U+%04X does not decompose", (unsigned)c);
        }
        used += (size_t)got;
    }
    *out = points;
    *count = used;
    return TSR_OK;
}

tsr_status tsri_text_normal_form(tsri_text_form form, const char *text, size_t n, tsri_bytes *out) {
    bool plain = true;
    for (size_t i = 0; i < n && plain; i++)
        plain = (unsigned char)text[i] < 0x80;
    if (plain)
        return tsri_base_bytes_append(out, text, n);
    const bool compose = form == TSRI_TEXT_NFC || form == TSRI_TEXT_NFKC;
    const bool compatible = form == TSRI_TEXT_NFKC || form == TSRI_TEXT_NFKD;
    const utf8proc_option_t options = UTF8PROC_DECOMPOSE | (compatible ? UTF8PROC_COMPAT : 0);
    int32_t *points = NULL, *scratch = NULL;
    size_t count = 0;
    tsr_status status = decompose(text, n, options, &points, &count);
    if (status == TSR_OK)
        status = tsri_base_new(count, sizeof *scratch, &scratch);
    if (status != TSR_OK)
        goto out;
    for (size_t i = 0; i < count;) {
        size_t end = i;
        while (end < count && combining_class(points[end]) != 0)
            end++;
        if (end - i > 1)
            order_marks(points + i, end - i, scratch);
        i = end + 1;
    }
    if (compose)
        count = (size_t)utf8proc_normalize_utf32(points, (utf8proc_ssize_t)count,
                                                 UTF8PROC_STABLE | UTF8PROC_COMPOSE);
    for (size_t i = 0; i < count && status == TSR_OK; i++) {
        char bytes[4];
        status = tsri_base_bytes_append(out, bytes, tsri_text_utf8_put(points[i], bytes));
    }
out:
    free(points);
    free(scratch);
    return status;
}

tsr_status tsri_text_lowercase(const char *text, size_t n, tsri_bytes *out) {
    for (size_t i = 0; i < n;) {
        int32_t c;
        i += tsri_text_utf8_next(text + i, n - i, &c);
        char bytes[4];
        if (c == 0x130) { /* the only character whose lower case is two characters */
            TRY(tsri_base_bytes_append(out, "i\xCC\x87", 3));
            continue;
        }
        TRY(tsri_base_bytes_append(out, bytes, tsri_text_utf8_put(utf8proc_tolower(c), bytes)));
    }
    return TSR_OK;
}
