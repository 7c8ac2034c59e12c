/* text/jinja/lex.c - a template as tokens, with white space controlled as by trim_blocks and
 * lstrip_blocks. Kinds: 't' text, '{' and '}' begin and end of a print, '<' and '>' of a block,
 * 'n' name, 's' string (unescaped), 'i' integer, 'f' float, 'o' operator, 'e' the end. */
#include "text/base/unicode.h"
#include "text/jinja/parts.h"

#include <ctype.h>
#include <stdlib.h>

typedef struct lexer {
    jinja_arena *arena;
    const char *text;
    size_t n, at, count, room;
    int line;
    jinja_token *tokens;
} lexer;

static tsr_status add(lexer *x, char kind, const char *text, size_t n) {
    if (x->count == x->room) {
        const size_t room = 2 * x->room + 64;
        jinja_token *grown;
        TRY(tsri_jinja_alloc(x->arena, room * sizeof *grown, &grown));
        if (x->count)
            memcpy(grown, x->tokens, x->count * sizeof *grown);
        x->tokens = grown;
        x->room = room;
    }
    x->tokens[x->count++] = (jinja_token){kind, text, n, x->line};
    return TSR_OK;
}

static size_t space_at(const char *text, size_t n) {
    int32_t c;
    if (!n)
        return 0;
    const size_t size = tsri_text_utf8_next(text, n, &c);
    return tsri_jinja_space(c) ? size : 0;
}

static size_t strip_end(const char *text, size_t n) {
    while (n) {
        const size_t at = tsri_text_utf8_before(text, n);
        if (!space_at(text + at, n - at))
            break;
        n = at;
    }
    return n;
}

static void skip_space(lexer *x) {
    for (size_t n; (n = space_at(x->text + x->at, x->n - x->at)) != 0; x->at += n)
        x->line += x->text[x->at] == '\n';
}

static bool here(const lexer *x, const char *s) {
    const size_t n = strlen(s);
    return x->n - x->at >= n && !memcmp(x->text + x->at, s, n);
}

static tsr_status wrong(const lexer *x, const char *what) {
    return tsri_base_fail(TSR_E_FORMAT, "chat template, line %d: %s", x->line, what);
}

/* After the end of a block or comment: "-" takes all white space, else its line end goes. */
static void after(lexer *x, char sign) {
    if (sign == '-')
        skip_space(x);
    else if (sign != '+' && x->at < x->n && x->text[x->at] == '\n') {
        x->at++;
        x->line++;
    }
}

static tsr_status unescape(lexer *x, const char *s, size_t n) {
    char *out;
    size_t used = 0;
    TRY(tsri_jinja_alloc(x->arena, 2 * n + 4, &out));
    for (size_t i = 0; i < n; i++) {
        static const char from[] = "ntrabfv\\'\"", to[] = "\n\t\r\a\b\f\v\\'\"";
        if (s[i] != '\\' || i + 1 >= n) {
            out[used++] = s[i];
            continue;
        }
        const char c = s[++i];
        const char *known = strchr(from, c);
        const size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
        if (known && c) {
            out[used++] = to[known - from];
        } else if (c >= '0' && c <= '7') {
            int32_t code = 0;
            size_t k = 0;
            for (; k < 3 && i + k < n && s[i + k] >= '0' && s[i + k] <= '7'; k++)
                code = code * 8 + s[i + k] - '0';
            i += k - 1;
            used += tsri_text_utf8_put(code, out + used);
        } else if (digits) {
            uint32_t code = 0;
            for (size_t k = 1; k <= digits; k++) {
                if (i + k >= n || !isxdigit((unsigned char)s[i + k]))
                    return wrong(x, "an escape in a string lacks hexadecimal digits");
                const char d[2] = {s[i + k], 0};
                code = code * 16 + (uint32_t)strtoul(d, NULL, 16);
            }
            if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000))
                return wrong(x, "an escape in a string does not stand for a character");
            i += digits;
            used += tsri_text_utf8_put((int32_t)code, out + used);
        } else if (c != '\n') {
            out[used++] = '\\';
            out[used++] = c;
        }
    }
    return add(x, 's', out, used);
}

static tsr_status string(lexer *x) {
    const char quote = x->text[x->at];
    size_t end = x->at + 1;
    while (end < x->n && x->text[end] != quote)
        end += x->text[end] == '\\' ? 2 : 1;
    if (end >= x->n)
        return wrong(x, "a string has no end");
    TRY(unescape(x, x->text + x->at + 1, end - x->at - 1));
    for (; x->at <= end; x->at++)
        x->line += x->text[x->at] == '\n';
    return TSR_OK;
}

/* The base of a number such as 0x1f, 0o17 or 0b11; 0: it is not written in this way. */
static int base_of(const char *s, size_t left) {
    if (left < 3 || s[0] != '0')
        return 0;
    const char kind = (char)tolower((unsigned char)s[1]);
    return kind == 'x' ? 16 : kind == 'o' ? 8 : kind == 'b' ? 2 : 0;
}

static bool is_digit(char c, int base) {
    return base == 16 ? isxdigit((unsigned char)c) != 0 : c >= '0' && c < '0' + base;
}

/* Such a number becomes a decimal one; of one above 64 bits, the largest that these hold without a sign. */
static tsr_status based(lexer *x, int base) {
    char *digits;
    const char *s = x->text + x->at;
    size_t n = 2, used = 0;
    const size_t left = x->n - x->at;
    while (n < left &&
           (is_digit(s[n], base) || (s[n] == '_' && n + 1 < left && is_digit(s[n + 1], base))))
        n++;
    TRY(tsri_jinja_alloc(x->arena, n + 32, &digits));
    for (size_t i = 2; i < n; i++)
        if (s[i] != '_')
            digits[used++] = s[i];
    digits[used] = 0;
    const int size = sprintf(digits, "%llu", strtoull(digits, NULL, base));
    x->at += n;
    return add(x, 'i', digits, (size_t)size);
}

static tsr_status number(lexer *x) {
    const char *s = x->text + x->at;
    size_t n = 0, used = 0;
    const size_t left = x->n - x->at;
    bool real = false;
    const int base = base_of(s, left);
    if (base && (is_digit(s[2], base) || (s[2] == '_' && left > 3 && is_digit(s[3], base))))
        return based(x, base);
    while (n < left && (isdigit((unsigned char)s[n]) || (s[n] == '_' && n)))
        n++;
    if (n + 1 < left && s[n] == '.' && isdigit((unsigned char)s[n + 1])) {
        real = true;
        for (n++; n < left && (isdigit((unsigned char)s[n]) || s[n] == '_');)
            n++;
    }
    if (n < left && (s[n] == 'e' || s[n] == 'E')) {
        const size_t sign = n + 1 < left && (s[n + 1] == '+' || s[n + 1] == '-');
        if (n + 1 + sign < left && isdigit((unsigned char)s[n + 1 + sign])) {
            real = true;
            for (n += 1 + sign; n < left && isdigit((unsigned char)s[n]);)
                n++;
        }
    }
    char *digits;
    TRY(tsri_jinja_alloc(x->arena, n + 1, &digits));
    for (size_t i = 0; i < n; i++)
        if (s[i] != '_')
            digits[used++] = s[i];
    digits[used] = 0;
    x->at += n;
    return add(x, real ? 'f' : 'i', digits, used);
}

/* The tokens of a block or a print up to its end, in which brackets are balanced. */
static tsr_status inside(lexer *x, bool block, char *sign) {
    static const char *const two[] = {"//", "**", "==", "!=", ">=", "<=", NULL};
    int open = 0;
    for (;;) {
        skip_space(x);
        if (x->at >= x->n)
            return wrong(x, "a tag has no end");
        const char c = x->text[x->at];
        const size_t signed_ = c == '-' || (block && c == '+');
        if (!open && x->n - x->at >= 2 + signed_ &&
            !memcmp(x->text + x->at + signed_, block ? "%}" : "}}", 2)) {
            *sign = signed_ ? c : 0;
            x->at += 2 + signed_;
            return add(x, block ? '>' : '}', "", 0);
        }
        if (c == '\'' || c == '"') {
            TRY(string(x));
        } else if (isdigit((unsigned char)c)) {
            TRY(number(x));
        } else if (isalpha((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80) {
            size_t n = 1;
            while (x->at + n < x->n &&
                   (isalnum((unsigned char)x->text[x->at + n]) || x->text[x->at + n] == '_' ||
                    (unsigned char)x->text[x->at + n] >= 0x80))
                n++;
            TRY(add(x, 'n', x->text + x->at, n));
            x->at += n;
        } else if (strchr("+-/*%~[](){}=<>.:|,;!", c) && c) {
            size_t n = 1;
            for (size_t i = 0; two[i]; i++)
                n = here(x, two[i]) ? 2 : n;
            open += (c == '(' || c == '[' || c == '{') - (c == ')' || c == ']' || c == '}');
            if (open < 0 || (c == '!' && n == 1))
                return wrong(x, "a bracket or sign has no meaning here");
            TRY(add(x, 'o', x->text + x->at, n));
            x->at += n;
        } else {
            return wrong(x, "a character has no meaning here");
        }
    }
}

/* The text before a tag, less what the tag's sign or lstrip_blocks takes. */
static tsr_status text_before(lexer *x, size_t from, bool line_start, char kind, char sign) {
    size_t end = x->at;
    if (sign == '-') {
        end = from + strip_end(x->text + from, end - from);
    } else if (sign != '+' && kind != '{') {
        size_t start = end;
        while (start > from && x->text[start - 1] != '\n')
            start--;
        if ((start > from || line_start) && strip_end(x->text + start, end - start) == 0)
            end = start;
    }
    return end > from ? add(x, 't', x->text + from, end - from) : TSR_OK;
}

/* {% raw %}: what it holds is text. True where this block is one. */
static tsr_status raw(lexer *x, bool *is) {
    const size_t start = x->at;
    const int line = x->line;
    skip_space(x);
    *is = here(x, "raw");
    if (*is) {
        x->at += 3;
        skip_space(x);
        *is = here(x, "%}") || here(x, "-%}");
    }
    if (!*is) {
        x->at = start;
        x->line = line;
        return TSR_OK;
    }
    const bool strip = here(x, "-%}");
    x->at += 2 + strip;
    if (strip)
        skip_space(x);
    for (const size_t from = x->at; x->at < x->n; x->at++) {
        x->line += x->text[x->at] == '\n';
        if (!here(x, "{%"))
            continue;
        const char sign = x->at + 2 < x->n ? x->text[x->at + 2] : 0;
        lexer ahead = *x;
        ahead.at += 2 + (sign == '-' || sign == '+');
        skip_space(&ahead);
        if (!here(&ahead, "endraw"))
            continue;
        ahead.at += 6;
        skip_space(&ahead);
        const char last = ahead.at < ahead.n ? ahead.text[ahead.at] : 0;
        ahead.at += last == '-' || last == '+';
        if (!here(&ahead, "%}"))
            continue;
        TRY(text_before(x, from, false, '%', sign));
        x->at = ahead.at + 2;
        x->line = ahead.line;
        after(x, last);
        return TSR_OK;
    }
    return wrong(x, "{% raw %} has no {% endraw %}");
}

static tsr_status comment(lexer *x) {
    for (; x->at + 1 < x->n; x->at++) {
        x->line += x->text[x->at] == '\n';
        if (here(x, "#}")) {
            const char sign = x->text[x->at - 1];
            x->at += 2;
            after(x, sign);
            return TSR_OK;
        }
    }
    return wrong(x, "a comment has no end");
}

tsr_status tsri_jinja_lex(jinja_arena *a, const char *text, size_t n, jinja_token **out,
                          size_t *count) {
    lexer x = {.arena = a, .text = text, .n = n, .line = 1};
    while (x.at < n) {
        const size_t from = x.at;
        const bool line_start = !from || text[from - 1] == '\n';
        while (x.at < n && !(here(&x, "{{") || here(&x, "{%") || here(&x, "{#")))
            x.line += text[x.at++] == '\n';
        if (x.at >= n) {
            TRY(add(&x, 't', text + from, n - from));
            break;
        }
        const char kind = text[x.at + 1], next = x.at + 2 < n ? text[x.at + 2] : 0;
        const bool has_sign = next == '-' || next == '+';
        TRY(text_before(&x, from, line_start, kind, next));
        x.at += 2 + has_sign;
        char sign = 0;
        bool is_raw = false;
        if (kind == '#') {
            x.at -= has_sign && here(&x, "#}");
            TRY(comment(&x));
            continue;
        }
        if (kind == '%')
            TRY(raw(&x, &is_raw));
        if (is_raw)
            continue;
        TRY(add(&x, kind == '%' ? '<' : '{', "", 0));
        TRY(inside(&x, kind == '%', &sign));
        if (kind == '%')
            after(&x, sign);
        else if (sign == '-')
            skip_space(&x);
    }
    TRY(add(&x, 'e', "", 0));
    *out = x.tokens;
    *count = x.count;
    return TSR_OK;
}
