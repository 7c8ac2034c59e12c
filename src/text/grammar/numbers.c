/* text/grammar/numbers.c - the decimal digits of numbers between two bounds. */
#include "text/grammar/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { DIGITS = 16, ROOM = 24 };
static const int64_t UNBOUNDED = 9999999999999999; /* DIGITS digits */

static int32_t digits(tsri_text_tree *t, char first, char last) {
    const tsri_text_characters range = {first, last};
    return tsri_text_class(t, &range, 1, false);
}

static int32_t any_digits(tsri_text_tree *t, size_t n) {
    return tsri_text_repeat(t, digits(t, '0', '9'), (int32_t)n, (int32_t)n);
}

static int32_t after(tsri_text_tree *t, char digit, int32_t rest) {
    return tsri_text_sequence(t, tsri_text_literal(t, &digit, 1), rest);
}

/* As many digits as `bound` has, which are at least it, or at most it. */
static int32_t on_one_side(tsri_text_tree *t, const char *bound, bool at_least) {
    const size_t n = strlen(bound);
    if (!n)
        return tsri_text_literal(t, "", 0);
    const char first = at_least ? (char)(bound[0] + 1) : '0',
               last = at_least ? '9' : (char)(bound[0] - 1);
    return tsri_text_choice(t, after(t, bound[0], on_one_side(t, bound + 1, at_least)),
                            tsri_text_sequence(t, digits(t, first, last), any_digits(t, n - 1)));
}

/* low and high have the same number of digits. */
static int32_t as_long(tsri_text_tree *t, const char *low, const char *high) {
    size_t same = 0;
    while (low[same] && low[same] == high[same])
        same++;
    const int32_t begins = tsri_text_literal(t, low, same);
    if (!low[same])
        return begins;
    const size_t n = strlen(low + same + 1);
    int32_t rest = tsri_text_choice(t, after(t, low[same], on_one_side(t, low + same + 1, true)),
                                    after(t, high[same], on_one_side(t, high + same + 1, false)));
    rest = tsri_text_choice(
        t, rest,
        tsri_text_sequence(t, digits(t, (char)(low[same] + 1), (char)(high[same] - 1)),
                           any_digits(t, n)));
    return tsri_text_sequence(t, begins, rest);
}

/* From low to high, both >= 0. */
static int32_t from_to(tsri_text_tree *t, uint64_t low, uint64_t high) {
    int32_t all = tsri_text_class(t, NULL, 0, false);
    while (low <= high) {
        char first[ROOM], last[ROOM];
        uint64_t end = 9;
        while (end < low && end < UINT64_MAX / 10)
            end = end * 10 + 9;
        end = end < low || end > high ? high : end;
        snprintf(first, sizeof first, "%" PRIu64, low);
        snprintf(last, sizeof last, "%" PRIu64, end);
        all = tsri_text_choice(t, all, as_long(t, first, last));
        low = end + 1;
    }
    return all;
}

static int32_t negative(tsri_text_tree *t, int32_t number) {
    return tsri_text_sequence(t, tsri_text_word(t, "-"), number);
}

static uint64_t size_of(int64_t value) {
    return value < 0 ? -(uint64_t)value : (uint64_t)value;
}

/* The bounds, where one is missing, that leave numbers of DIGITS digits. */
static void complete(tsri_text_bound *low, tsri_text_bound *high) {
    if (!low->given)
        low->value = high->given && high->value <= -UNBOUNDED / 10 ? INT64_MIN : -UNBOUNDED;
    if (!high->given)
        high->value = low->given && low->value >= UNBOUNDED / 10 ? INT64_MAX : UNBOUNDED;
}

int32_t tsri_text_json_whole(tsri_text_tree *t, tsri_text_bound low, tsri_text_bound high) {
    complete(&low, &high);
    int32_t all = tsri_text_class(t, NULL, 0, false);
    if ((low.exclusive && low.value == INT64_MAX) || (high.exclusive && high.value == INT64_MIN))
        return all;
    const int64_t first = low.value + low.exclusive, last = high.value - high.exclusive;
    if (first <= last && first < 0)
        all = negative(t, from_to(t, last < 0 ? size_of(last) : 1, size_of(first)));
    if (first <= last && last >= 0)
        all = tsri_text_choice(t, all, from_to(t, first > 0 ? (uint64_t)first : 0, (uint64_t)last));
    return all;
}

static int32_t fraction(tsri_text_tree *t, int32_t places) {
    return tsri_text_sequence(t, tsri_text_word(t, "."), places);
}

/* Numbers >= 0 with a fraction; low < high, or both are the same and not exclusive. */
static int32_t size_between(tsri_text_tree *t, uint64_t low, bool above, uint64_t high,
                            bool below) {
    const int32_t some = fraction(t, tsri_text_repeat(t, digits(t, '0', '9'), 1, DIGITS)),
                  zeros = fraction(t, tsri_text_repeat(t, digits(t, '0', '0'), 1, DIGITS));
    int32_t all = tsri_text_class(t, NULL, 0, false);
    if (low < high) {
        int32_t places = tsri_text_sequence(
            t, tsri_text_repeat(t, digits(t, '0', '0'), 0, DIGITS / 2 - 1), digits(t, '1', '9'));
        places =
            tsri_text_sequence(t, places, tsri_text_repeat(t, digits(t, '0', '9'), 0, DIGITS / 2));
        const int32_t behind = above ? fraction(t, places) : tsri_text_repeat(t, some, 0, 1);
        all = tsri_text_choice(t, all, tsri_text_sequence(t, from_to(t, low, low), behind));
    }
    if (low + 1 < high)
        all = tsri_text_choice(
            t, all,
            tsri_text_sequence(t, from_to(t, low + 1, high - 1), tsri_text_repeat(t, some, 0, 1)));
    if (!below && (low < high || !above))
        all = tsri_text_choice(
            t, all,
            tsri_text_sequence(t, from_to(t, high, high), tsri_text_repeat(t, zeros, 0, 1)));
    return all;
}

int32_t tsri_text_json_between(tsri_text_tree *t, tsri_text_bound low, tsri_text_bound high) {
    complete(&low, &high);
    int32_t all = tsri_text_class(t, NULL, 0, false);
    if (low.value > high.value)
        return all;
    if (low.value < 0) {
        const bool to_zero = high.value >= 0; /* -0 is left to the other side */
        all =
            negative(t, size_between(t, to_zero ? 0 : size_of(high.value),
                                     to_zero || high.exclusive, size_of(low.value), low.exclusive));
    }
    if (high.value >= 0)
        all = tsri_text_choice(t, all,
                               size_between(t, low.value < 0 ? 0 : (uint64_t)low.value,
                                            low.value >= 0 && low.exclusive, (uint64_t)high.value,
                                            high.exclusive));
    return all;
}
