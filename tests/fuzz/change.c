/* Changes an input in ways that keep the elements of text formats whole. */
#include "fuzz.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

typedef struct span {
    size_t at, n;
} span;

static uint32_t draw(uint32_t *state, uint32_t below) {
    *state = *state * 1664525u + 1013904223u;
    return below ? (*state >> 8) % below : 0;
}

/* The token at `at`: a number, a text in quotes, a bracket with its contents, a word or a line. */
static span token_at(const uint8_t *data, size_t n, size_t at) {
    const uint8_t c = data[at];
    size_t end = at + 1;
    if (c == '"') {
        while (end < n && data[end] != '"')
            end += data[end] == '\\' ? 2 : 1;
        end++;
    } else if (c == '{' || c == '[') {
        for (int depth = 1; end < n && depth; end++)
            depth += data[end] == '{' || data[end] == '['   ? 1
                     : data[end] == '}' || data[end] == ']' ? -1
                                                            : 0;
    } else if (isalnum(c) || c == '-') {
        while (end < n && (isalnum(data[end]) || strchr("+-._", data[end])))
            end++;
    }
    return (span){at, (end < n ? end : n) - at};
}

/* A token that begins at or after a random place. */
static span any_token(const uint8_t *data, size_t n, uint32_t *state) {
    size_t at = draw(state, (uint32_t)n);
    while (at > 0 && isalnum(data[at]) && isalnum(data[at - 1]))
        at--;
    while (at + 1 < n && (isspace(data[at]) || strchr(",:]}", data[at])))
        at++;
    return token_at(data, n, at);
}

/* Replaces a span by `by`. */
static size_t put(uint8_t *data, size_t n, size_t most, span old, const void *by, size_t by_n) {
    if (n - old.n + by_n > most)
        return n;
    memmove(data + old.at + by_n, data + old.at + old.n, n - old.at - old.n);
    memcpy(data + old.at, by, by_n);
    return n - old.n + by_n;
}

size_t fuzz_change(uint8_t *data, size_t n, size_t most, uint32_t seed) {
    static const char *const values[] = {"0",
                                         "1",
                                         "-1",
                                         "2",
                                         "3",
                                         "7",
                                         "8",
                                         "255",
                                         "256",
                                         "65535",
                                         "65536",
                                         "2147483647",
                                         "2147483648",
                                         "-2147483648",
                                         "4294967296",
                                         "9223372036854775807",
                                         "-9223372036854775808",
                                         "18446744073709551616",
                                         "1e308",
                                         "-1e-308",
                                         "0.5",
                                         "1e400",
                                         "null",
                                         "true",
                                         "false",
                                         "\"\"",
                                         "[]",
                                         "{}",
                                         "\"a\"",
                                         "\"\\u0000\"",
                                         "\"\\ud800\"",
                                         "[[]]",
                                         "[0]",
                                         "{\"a\":0}",
                                         "NaN",
                                         "\n",
                                         "\n====\n",
                                         "\xEF\xBB\xBF",
                                         "\xC2\x9B",
                                         "\xE2\x80\xAE",
                                         "\xFF",
                                         "../x",
                                         "/etc/passwd",
                                         "\"\",\"\"",
                                         "-0",
                                         "00",
                                         "0x1"};
    uint32_t state = seed * 2654435761u + 12345u;
    char copy[4096];
    if (n == 0)
        return put(data, n, most, (span){0, 0}, "{}", 2);
    const span one = any_token(data, n, &state), two = any_token(data, n, &state);
    const size_t held = two.n < sizeof copy ? two.n : sizeof copy;
    switch (draw(&state, 8)) {
    case 0: /* another value */
    case 1: {
        const char *value = values[draw(&state, sizeof values / sizeof *values)];
        return put(data, n, most, one, value, strlen(value));
    }
    case 2: /* removes one */
        return put(data, n, most, one, "", 0);
    case 3: /* replaces one by another */
        memcpy(copy, data + two.at, held);
        return put(data, n, most, one, copy, held);
    case 4: /* repeats one */
        memcpy(copy, data + two.at, held);
        return put(data, n, most, (span){two.at, 0}, copy, held);
    case 5: { /* a nearby number */
        long long number;
        char text[24] = "";
        memcpy(text, data + one.at, one.n < 20 ? one.n : 20);
        if (sscanf(text, "%lld", &number) != 1)
            break;
        number = draw(&state, 2) ? (long long)((unsigned long long)number * 2) : number;
        const int size = snprintf(text, sizeof text, "%lld",
                                  (long long)((unsigned long long)number + draw(&state, 3) - 1));
        return put(data, n, most, one, text, (size_t)size);
    }
    case 6: /* truncates the input */
        return draw(&state, (uint32_t)n);
    default:
        break;
    }
    for (uint32_t i = 0, times = 1 + draw(&state, 4); i < times; i++) { /* changes bytes */
        uint8_t *byte = &data[draw(&state, (uint32_t)n)];
        static const uint8_t odd[] = {0, 1, 0x7F, 0x80, 0xFF, 0xFE, '"', '\\'};
        *byte = draw(&state, 2) ? odd[draw(&state, sizeof odd)]
                                : (uint8_t)(*byte ^ 1u << draw(&state, 8));
    }
    return n;
}
