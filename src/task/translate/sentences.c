/* task/translate/sentences.c - finds where a sentence ends, and where a long one may be cut. */
#include "task/translate/sentences.h"

#include "base/text.h"

#include <stdbool.h>
#include <string.h>

typedef struct mark {
    const char *text;
    size_t size;
} mark;

#define MARK(text) \
    { text, sizeof(text) - 1 }

static const mark ends[] = {MARK("."), MARK("!"), MARK("?"), MARK("\u2026")};
static const mark wide_ends[] = {MARK("\u3002"), MARK("\uff01"), MARK("\uff1f"), MARK("\u0964")};
static const mark closers[] = {MARK("\""),     MARK("'"),      MARK(")"),      MARK("]"),
                               MARK("\u201d"), MARK("\u2019"), MARK("\u201c"), MARK("\u00bb"),
                               MARK("\u00ab"), MARK("\u300d"), MARK("\uff09")};
static const mark clauses[] = {MARK(","), MARK(";"), MARK(":"), MARK("\uff0c"), MARK("\u3001")};
static const char *const abbreviations[] = {
    "Abb", "bzw",  "ca", "Dr",  "Fr",  "Hr",   "Jr",  "Mr",   "Mrs", "Ms",   "Mt",
    "Nr",  "Prof", "Sr", "St",  "Str", "bspw", "etc", "evtl", "ggf", "inkl", "vgl",
    "vs",  "cf",   "eg", "e.g", "i.e", "z.B",  "d.h", "u.a",  "No",  "Rev",  "Gen"};

enum {
    N_ENDS = sizeof ends / sizeof *ends,
    N_WIDE = sizeof wide_ends / sizeof *wide_ends,
    N_CLOSERS = sizeof closers / sizeof *closers,
    N_CLAUSES = sizeof clauses / sizeof *clauses,
    N_ABBREVIATIONS = sizeof abbreviations / sizeof *abbreviations
};

/* The size of the mark that the text begins with; 0: it begins with none of them. */
static size_t starts(const mark *marks, size_t count, const char *text, size_t n) {
    for (size_t i = 0; i < count; i++)
        if (n >= marks[i].size && memcmp(text, marks[i].text, marks[i].size) == 0)
            return marks[i].size;
    return 0;
}

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (unsigned char)c >= 0x80;
}

/* Whether the full stop at `at` belongs to an abbreviation or a number before it. */
static bool shortens(const char *text, size_t at) {
    size_t begin = at;
    while (begin > 0 && !tsri_base_is_blank(text[begin - 1]) && !strchr("(\"'", text[begin - 1]))
        begin--;
    const size_t size = at - begin;
    size_t digits = 0;
    while (digits < size && text[begin + digits] >= '0' && text[begin + digits] <= '9')
        digits++;
    if (size == 0 || digits == size || (size == 1 && is_letter(text[begin])))
        return size > 0;
    for (size_t i = 0; i < N_ABBREVIATIONS; i++)
        if (strlen(abbreviations[i]) == size && memcmp(text + begin, abbreviations[i], size) == 0)
            return true;
    return false;
}

/* The end of the sentence whose mark of `size` bytes is at `at`; 0: the sentence goes on. *past is
 * set to the end of the marks. */
static size_t end_at(const char *text, size_t n, size_t at, size_t size, bool wide, size_t *past) {
    size_t end = at + size, more;
    while ((more = starts(ends, N_ENDS, text + end, n - end)) ||
           (more = starts(wide_ends, N_WIDE, text + end, n - end)) ||
           (more = starts(closers, N_CLOSERS, text + end, n - end)))
        end += more;
    *past = end;
    const size_t blank = tsri_base_blank_begin(text + end, n - end);
    if (end == n || wide)
        return end + blank;
    if (!blank)
        return 0;
    const char next = end + blank < n ? text[end + blank] : 0;
    const bool single = text[at] == '.' && end == at + 1;
    if ((single && shortens(text, at)) || (text[at] == '.' && next >= 'a' && next <= 'z'))
        return 0;
    return end + blank;
}

size_t tsri_task_sentence(const char *text, size_t n) {
    for (size_t at = 0; at < n;) {
        const size_t narrow = starts(ends, N_ENDS, text + at, n - at);
        const size_t wide = narrow ? 0 : starts(wide_ends, N_WIDE, text + at, n - at);
        size_t past = at + 1;
        const size_t end = narrow || wide ? end_at(text, n, at, narrow + wide, wide > 0, &past) : 0;
        if (end)
            return end;
        at = past;
    }
    return n;
}

/* Whether a cut at `at` is of this kind: 2 after a clause, 1 after white space, 0 between two
 * characters. */
static bool cuts(const char *text, size_t n, size_t at, int kind) {
    if (kind == 0)
        return ((unsigned char)text[at] & 0xc0) != 0x80;
    if (!tsri_base_is_blank(text[at - 1]) || tsri_base_is_blank(text[at]))
        return false;
    const size_t word = at - tsri_base_blank_end(text, at);
    for (size_t i = 0; kind == 2 && i < N_CLAUSES; i++)
        if (word >= clauses[i].size &&
            starts(&clauses[i], 1, text + word - clauses[i].size, n - word + clauses[i].size))
            return true;
    return kind == 1;
}

size_t tsri_task_sentence_middle(const char *text, size_t n) {
    const size_t middle = n / 2;
    for (int kind = 2; kind >= 0; kind--) {
        const size_t reach =
            kind == 2 ? n / 4 : n; /* the end of a clause is not a good place near either end */
        for (size_t away = 0; away <= reach && away <= middle; away++) {
            if (middle > away && cuts(text, n, middle - away, kind))
                return middle - away;
            if (middle + away > 0 && middle + away < n && cuts(text, n, middle + away, kind))
                return middle + away;
        }
    }
    return middle;
}
