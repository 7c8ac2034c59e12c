/* text/base/json_scan.c - the values, members and strings of a JSON text. */
#include "text/base/json_scan.h"

#include "base/error.h"
#include "text/base/unicode.h"

#include <string.h>

tsr_status tsri_text_scan_unusual(void) {
    return tsri_base_fail(TSR_E_FORMAT, "the JSON text is not read directly");
}

const char *tsri_text_scan_space(const char *at, const char *end) {
    while (at < end && (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r'))
        at++;
    return at;
}

/* Behind the string that begins at `at`; NULL where it has no end. */
static const char *skip_string(const char *at, const char *end) {
    for (at++; at < end; at++)
        if (*at == '"')
            return at + 1;
        else if (*at == '\\')
            at++;
    return NULL;
}

const char *tsri_text_scan_value(const char *at, const char *end, size_t *count) {
    const char *inside = tsri_text_scan_space(at + 1, end);
    int depth = 0;
    if (*at == '"')
        return skip_string(at, end);
    if (*at != '[' && *at != '{') {
        while (at < end && *at != ',' && *at != ']' && *at != '}')
            at++;
        return at;
    }
    *count = inside < end && *inside != ']' && *inside != '}';
    for (; at < end; at++) {
        if (*at == '"') {
            if (!(at = skip_string(at, end)))
                return NULL;
            at--;
            continue;
        }
        depth += *at == '[' || *at == '{';
        depth -= *at == ']' || *at == '}';
        *count += depth == 1 && *at == ',';
        if (depth == 0)
            return at + 1;
    }
    return NULL;
}

bool tsri_text_scan_is_key(const char *key, size_t n, const char *name) {
    return n == strlen(name) + 2 && memcmp(key + 1, name, n - 2) == 0;
}

bool tsri_text_scan_object(const char **at, const char *end,
                           bool (*see)(void *data, const char *key, size_t n, const char **value),
                           void *data) {
    const char *p = *at + 1;
    for (bool first = true;; first = false) {
        p = tsri_text_scan_space(p, end);
        if (p < end && *p == '}' && first)
            break;
        if (p >= end || *p != '"')
            return false;
        const char *key = p;
        if (!(p = skip_string(p, end)))
            return false;
        const size_t n = (size_t)(p - key);
        p = tsri_text_scan_space(p, end);
        if (p >= end || *p++ != ':')
            return false;
        p = tsri_text_scan_space(p, end);
        if (p >= end || !see(data, key, n, &p))
            return false;
        p = tsri_text_scan_space(p, end);
        if (p >= end || (*p != ',' && *p != '}'))
            return false;
        if (*p == '}')
            break;
        p++;
    }
    *at = p + 1;
    return true;
}

static bool read_hex(const char *at, const char *end, uint32_t *out) {
    *out = 0;
    for (int i = 0; i < 4; i++, at++) {
        const int digit = at >= end                  ? -1
                          : *at >= '0' && *at <= '9' ? *at - '0'
                          : *at >= 'a' && *at <= 'f' ? *at - 'a' + 10
                          : *at >= 'A' && *at <= 'F' ? *at - 'A' + 10
                                                     : -1;
        if (digit < 0)
            return false;
        *out = *out << 4 | (uint32_t)digit;
    }
    return true;
}

/* Appends the character of the escape at *at, which it moves behind it. */
static tsr_status unescape(const char **at, const char *end, tsri_bytes *out) {
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    uint32_t code, low;
    char utf8[4];
    const char *p = *at + 1, *name = p < end && *p ? strchr(names, *p) : NULL;
    if (name) {
        *at = p + 1;
        return tsri_base_bytes_append(out, &values[name - names], 1);
    }
    if (p >= end || *p != 'u' || !read_hex(p + 1, end, &code))
        return tsri_text_scan_unusual();
    p += 5;
    if (code >= 0xD800 && code < 0xDC00) { /* the first half of a surrogate pair */
        if (end - p < 6 || p[0] != '\\' || p[1] != 'u' || !read_hex(p + 2, end, &low) ||
            low < 0xDC00 || low > 0xDFFF)
            return tsri_text_scan_unusual();
        code = 0x10000 + ((code - 0xD800) << 10 | (low - 0xDC00));
        p += 6;
    }
    if (code >= 0xD800 && code <= 0xDFFF)
        return tsri_text_scan_unusual();
    *at = p;
    return tsri_base_bytes_append(out, utf8, tsri_text_utf8_put((int32_t)code, utf8));
}

tsr_status tsri_text_scan_text(const char **at, const char *end, tsri_bytes *own, const char **text,
                               size_t *size) {
    const char *begin = *at + 1, *p = begin, *kept = begin;
    own->size = 0;
    while (p < end && *p != '"') {
        if ((unsigned char)*p < ' ')
            return tsri_text_scan_unusual();
        if (*p != '\\') {
            p++;
            continue;
        }
        TRY(tsri_base_bytes_append(own, kept, (size_t)(p - kept)));
        TRY(unescape(&p, end, own));
        kept = p;
    }
    if (p >= end)
        return tsri_text_scan_unusual();
    if (kept != begin)
        TRY(tsri_base_bytes_append(own, kept, (size_t)(p - kept)));
    *text = kept != begin ? own->data : begin;
    *size = kept != begin ? own->size : (size_t)(p - begin);
    *at = p + 1;
    return TSR_OK;
}

typedef struct cutting {
    const char *name, *end;
    tsri_text_span *span;
} cutting;

static bool see_member(void *data, const char *key, size_t n, const char **value) {
    const cutting *c = data;
    const char *begin = *value;
    size_t count = 0;
    if (!(*value = tsri_text_scan_value(begin, c->end, &count)))
        return false;
    if (!tsri_text_scan_is_key(key, n, c->name))
        return true;
    if (c->span->text || (*begin != '[' && *begin != '{'))
        return false;
    *c->span = (tsri_text_span){begin, (size_t)(*value - begin), count};
    return true;
}

tsr_status tsri_text_scan_cut(const char *text, size_t n, const char *name, tsri_text_span *span,
                              tsri_bytes *rest) {
    cutting c = {name, text + n, span};
    const char *at = tsri_text_scan_space(text, c.end);
    if (at >= c.end || *at != '{' || !tsri_text_scan_object(&at, c.end, see_member, &c) ||
        !span->text)
        return tsri_text_scan_unusual();
    TRY(tsri_base_bytes_append(rest, text, (size_t)(span->text + 1 - text)));
    at = span->text + span->size - 1;
    return tsri_base_bytes_append(rest, at, (size_t)(c.end - at));
}
