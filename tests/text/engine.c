/* Properties: hand-written scanners compared with PCRE2, round trips of random text, long runs of
 * one character. */
#include "golden.h"

#include "base/error.h"
#include "support/cases.h"
#include "support/limit.h"
#include "text/base/byte_level.h"
#include "text/base/matcher.h"
#include "text/base/patterns.h"
#include "text/base/unicode.h"
#include "text/load/load.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* A small separate generator: the texts stay the same whatever else draws random numbers. */
static uint32_t draw(uint64_t *state, uint32_t below) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33) % below;
}

static size_t random_text(uint64_t *state, char *text, size_t most) {
    static const char *const atoms[] = {"a",
                                        "B",
                                        "\xC3\xA9",
                                        "\xE4\xB8\xAD",
                                        " ",
                                        " ",
                                        "  ",
                                        "\n",
                                        "\r\n",
                                        "\t",
                                        "'",
                                        "'s",
                                        "'LL",
                                        "'\xC5\xBF",
                                        "'re",
                                        "'V",
                                        "1",
                                        "23",
                                        "\xC2\xBD",
                                        "\xD9\xA3",
                                        ".",
                                        ",!",
                                        "_",
                                        "\xCC\x81",
                                        "\xC2\xA0",
                                        "\xE3\x80\x80",
                                        "\xF0\x9F\x98\x80",
                                        "\xE2\x80\x8D",
                                        "\xC2\x85",
                                        "\xE2\x80\xA8",
                                        "\xE2\x85\xA7",
                                        "-",
                                        "/",
                                        "AB",
                                        "Cd",
                                        "\xC3\x89",      /* a capital letter, */
                                        "\xC7\x85",      /* a title-case letter, */
                                        "\xCA\xB0",      /* a modifier letter */
                                        "\xE0\xA4\xBE"}; /* and a spacing mark */
    size_t n = 0;
    const uint32_t atoms_wanted = draw(state, 24);
    for (uint32_t i = 0; i < atoms_wanted; i++) {
        const char *atom = atoms[draw(state, sizeof atoms / sizeof *atoms)];
        if (n + strlen(atom) > most)
            break;
        memcpy(text + n, atom, strlen(atom));
        n += strlen(atom);
    }
    return n;
}

/* A pattern of a tokenizer.json is written for Oniguruma, where cl100k's means something else. */
static void compare_scanners(tsri_text_syntax syntax) {
    const char *const patterns[] = {tsri_text_pattern_gpt2,   tsri_text_pattern_llama3,
                                    tsri_text_pattern_qwen2,  tsri_text_pattern_o200k,
                                    tsri_text_pattern_tekken, tsri_text_pattern_cl100k};
    uint64_t state = 7;
    const size_t count = sizeof patterns / sizeof *patterns - (syntax == TSRI_TEXT_ONIGURUMA);
    for (size_t k = 0; k < count; k++) {
        tsri_text_pattern *by_hand = NULL, *by_pcre2 = NULL;
        char other[600];
        const int size =
            /* its text is no longer a known one */
            snprintf(other, sizeof other, "%s|Q{9}", patterns[k]);
        cr_assert_eq(tsri_text_pattern_new(patterns[k], strlen(patterns[k]), syntax, &by_hand),
                     TSR_OK);
        cr_assert_eq(tsri_text_pattern_new(other, (size_t)size, syntax, &by_pcre2), TSR_OK);
        cr_assert_str_eq(tsri_text_pattern_kind(by_pcre2), "PCRE2");
        cr_assert_str_neq(tsri_text_pattern_kind(by_hand), "PCRE2");
        for (int round = 0; round < 20000; round++) {
            char text[128];
            const size_t n = random_text(&state, text, sizeof text);
            uint64_t steps = 100000;
            tsri_text_ranges a = {0}, b = {0};
            cr_assert_eq(tsri_text_pattern_cover(by_hand, text, n, &steps, &a), TSR_OK);
            cr_assert_eq(tsri_text_pattern_cover(by_pcre2, text, n, &steps, &b), TSR_OK);
            bool same = a.count == b.count;
            for (size_t i = 0; same && i < a.count; i++)
                same = a.items[i].start == b.items[i].start && a.items[i].end == b.items[i].end &&
                       b.items[i].match;
            cr_assert(same, "%s cuts \"%.*s\" otherwise", tsri_text_pattern_kind(by_hand), (int)n,
                      text);
            tsri_text_ranges_clear(&a);
            tsri_text_ranges_clear(&b);
        }
        tsri_text_pattern_destroy(&by_hand);
        tsri_text_pattern_destroy(&by_pcre2);
    }
}

Test(text, scanners_match_what_pcre2_matches) {
    compare_scanners(TSRI_TEXT_PCRE2);
    compare_scanners(TSRI_TEXT_ONIGURUMA);
}

static tsri_text_tokenizer *own_tokenizer(const char *name) {
    tsri_bytes file = golden_own(name);
    tsri_text_tokenizer *t = NULL;
    cr_assert_eq(tsri_text_from_json_text(file.data, file.size, "tokenizer.json", &t), TSR_OK, "%s",
                 tsri_base_reported());
    tsri_base_bytes_clear(&file);
    return t;
}

static void expect_round_trip(const tsri_text_tokenizer *t, const char *text, size_t n) {
    tsri_text_ids ids = {0};
    tsri_bytes repaired = {0}, back = {0};
    cr_assert_eq(tsri_text_encode(t, text, n, 0, &ids), TSR_OK, "%s", tsri_base_reported());
    cr_assert_eq(tsri_text_decode(t, ids.data, ids.count, false, &back), TSR_OK);
    cr_assert_eq(tsri_text_utf8_repair(text, n, &repaired), TSR_OK);
    cr_expect(back.size == repaired.size &&
              (n == 0 || memcmp(back.data, repaired.data, back.size) == 0));
    tsri_text_ids_clear(&ids);
    tsri_base_bytes_clear(&repaired);
    tsri_base_bytes_clear(&back);
}

Test(text, byte_level_gives_any_text_back) {
    tsri_text_tokenizer *t = own_tokenizer("byte.json");
    uint64_t state = 11;
    for (int round = 0; round < 20000; round++) {
        char text[64];
        size_t n = random_text(&state, text, sizeof text);
        if (round % 2) { /* any bytes: invalid ones come back as U+FFFD */
            n = draw(&state, sizeof text);
            for (size_t i = 0; i < n; i++)
                text[i] = (char)draw(&state, 256);
        }
        expect_round_trip(t, text, n);
    }
    tsri_text_tokenizer_destroy(&t);
}

/* 72: each of these takes well under a second; with a quadratic engine they would not end. */
Test(text, long_runs_of_one_character) {
    static const char *const atoms[] = {"a",  " ",   "\n", "\xF0\x9F\x98\x80", "\xCC\x81\xCC\x96",
                                        "x'", "\xff"};
    static const char *const files[] = {"byte.json", "char.json"};
    const size_t bytes = cases_wanted() == TEST_SMOKE ? 1 << 17 : 1 << 20;
    char *text = malloc(bytes);
    limit_processor(120);
    cr_assert_not_null(text);
    for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
        tsri_text_tokenizer *t = own_tokenizer(files[k]);
        for (size_t i = 0; i < sizeof atoms / sizeof *atoms; i++) {
            const size_t size = strlen(atoms[i]), n = bytes / size * size;
            for (size_t at = 0; at < n; at += size)
                memcpy(text + at, atoms[i], size);
            expect_round_trip(t, text, n);
        }
        tsri_text_tokenizer_destroy(&t);
    }
    free(text);
}

/* Every character takes part in 12 merges, so a text of 2^20 characters becomes 2^8 ids. */
Test(text, a_long_run_that_merges) {
    enum { LEVELS = 13, BYTES = 1 << 20 };
    char *text = malloc(BYTES);
    tsri_bytes file = {0};
    tsri_text_tokenizer *t = NULL;
    tsri_text_ids ids = {0};
    limit_processor(60);
    cr_assert_not_null(text);
    memset(text, 'a', BYTES);
    cr_assert_eq(tsri_base_bytes_printf(&file, "{\"model\":{\"type\":\"BPE\",\"vocab\":{"), TSR_OK);
    for (int k = 0; k < LEVELS; k++)
        cr_assert_eq(tsri_base_bytes_printf(&file, "%s\"%.*s\":%d", k ? "," : "", 1 << k, text, k),
                     TSR_OK);
    cr_assert_eq(tsri_base_bytes_printf(&file, "},\"merges\":["), TSR_OK);
    for (int k = 0; k + 1 < LEVELS; k++)
        cr_assert_eq(tsri_base_bytes_printf(&file, "%s\"%.*s %.*s\"", k ? "," : "", 1 << k, text,
                                            1 << k, text),
                     TSR_OK);
    cr_assert_eq(tsri_base_bytes_printf(&file, "]}}"), TSR_OK);
    cr_assert_eq(tsri_text_from_json_text(file.data, file.size, "tokenizer.json", &t), TSR_OK, "%s",
                 tsri_base_reported());
    cr_assert_eq(tsri_text_encode(t, text, BYTES, 0, &ids), TSR_OK);
    cr_assert_eq(ids.count, BYTES >> (LEVELS - 1));
    cr_expect(ids.data[0] == LEVELS - 1 && ids.data[ids.count - 1] == LEVELS - 1);
    free(text);
    tsri_base_bytes_clear(&file);
    tsri_text_ids_clear(&ids);
    tsri_text_tokenizer_destroy(&t);
}

Test(text, normal_forms_take_long_runs_of_marks) {
    enum { MARKS = 500000 };
    char *text = malloc(4 * MARKS);
    tsri_bytes out = {0};
    cr_assert_not_null(text);
    for (size_t i = 0; i < MARKS; i++)
        memcpy(text + 4 * i, "\xCC\x81\xCC\x96", 4);
    cr_assert_eq(tsri_text_normal_form(TSRI_TEXT_NFD, text, 4 * MARKS, &out), TSR_OK);
    cr_assert_eq(out.size, 4 * (size_t)MARKS);
    cr_expect(memcmp(out.data, "\xCC\x96\xCC\x96", 4) == 0 &&
                  memcmp(out.data + out.size - 4, "\xCC\x81\xCC\x81", 4) == 0,
              "marks below go before marks above");
    tsri_base_bytes_clear(&out);
    free(text);
}

Test(text, utf8_is_read_strictly) {
    static const struct {
        const char *text, *repaired, *lossy;
    } rows[] = {
        {"a\xC3\xA9", "a\xC3\xA9", "a\xC3\xA9"},
        {"\xC0\xAF", "\xEF\xBF\xBD\xEF\xBF\xBD", "\xEF\xBF\xBD\xEF\xBF\xBD"},
        {"\xED\xA0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD",
         "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
        {"\xE2\x82", "\xEF\xBF\xBD\xEF\xBF\xBD", "\xEF\xBF\xBD"},
        {"\xF0\x9F\x98z", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBDz", "\xEF\xBF\xBDz"},
        {"\xF4\x90\x80\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD",
         "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
        {"\xF4\x8F\xBF\xBF", "\xF4\x8F\xBF\xBF", "\xF4\x8F\xBF\xBF"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tsri_bytes repaired = {0}, lossy = {0};
        size_t used;
        cr_assert_eq(tsri_text_utf8_repair(rows[i].text, strlen(rows[i].text), &repaired), TSR_OK);
        cr_assert_eq(tsri_text_utf8_lossy(rows[i].text, strlen(rows[i].text), true, &lossy, &used),
                     TSR_OK);
        cr_expect_str_eq(repaired.data, rows[i].repaired, "row %zu", i);
        cr_expect_str_eq(lossy.data, rows[i].lossy, "row %zu", i);
        tsri_base_bytes_clear(&repaired);
        tsri_base_bytes_clear(&lossy);
    }
}

Test(text, byte_alphabet_is_its_own_inverse) {
    tsri_bytes characters = {0}, back = {0};
    char bytes[256];
    for (int i = 0; i < 256; i++)
        bytes[i] = (char)i;
    cr_assert_eq(tsri_text_bytes_to_characters(bytes, 256, &characters), TSR_OK);
    cr_expect(tsri_text_utf8_valid(characters.data, characters.size));
    cr_expect_eq(memcmp(characters.data, "\xC4\x80\xC4\x81", 4), 0, "the byte 0 is U+0100");
    cr_assert_eq(tsri_text_characters_to_bytes(characters.data, characters.size, &back), TSR_OK);
    cr_expect(back.size == 256 && memcmp(back.data, bytes, 256) == 0);
    back.size = 0;
    cr_assert_eq(tsri_text_characters_to_bytes("<\xE4\xB8\xAD>", 5, &back), TSR_OK);
    cr_expect_str_eq(back.data, "<\xE4\xB8\xAD>", "text outside the alphabet stays");
    tsri_base_bytes_clear(&characters);
    tsri_base_bytes_clear(&back);
}

/* Each '-' is a match in "the-final--countdown"; the pieces are joined by '|'. */
Test(text, the_five_behaviors) {
    static const char *const wanted[] = {"the|final|countdown", "the|-|final|-|-|countdown",
                                         "the-|final-|-|countdown", "the|-final|-|-countdown",
                                         "the|-|final|--|countdown"};
    static const char text[] = "the-final--countdown";
    tsri_text_pattern *dash = NULL;
    cr_assert_eq(tsri_text_pattern_new("-", 1, TSRI_TEXT_LITERAL, &dash), TSR_OK);
    for (int behavior = TSRI_TEXT_REMOVED; behavior <= TSRI_TEXT_CONTIGUOUS; behavior++) {
        uint64_t steps = 100;
        tsri_text_ranges cover = {0};
        tsri_text_splits out = {0};
        tsri_bytes joined = {0};
        cr_assert_eq(tsri_text_pattern_cover(dash, text, strlen(text), &steps, &cover), TSR_OK);
        cr_assert_eq(tsri_text_cut(text, &cover, (tsri_text_behavior)behavior, true, &out), TSR_OK);
        for (size_t i = 0; i < out.count; i++) {
            cr_assert_eq(tsri_base_bytes_printf(&joined, "%s%.*s", i ? "|" : "",
                                                (int)out.items[i].size,
                                                out.text.data + out.items[i].start),
                         TSR_OK);
            cr_expect_eq(out.items[i].first, i == 0);
        }
        cr_expect_str_eq(joined.data, wanted[behavior]);
        tsri_text_ranges_clear(&cover);
        tsri_text_splits_clear(&out);
        tsri_base_bytes_clear(&joined);
    }
    tsri_text_pattern_destroy(&dash);
}

Test(text, of_equal_merges_the_leftmost_goes_first) {
    static const char file[] =
        "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"aa\":1},\"merges\":[\"a a\"]}}";
    tsri_text_tokenizer *t = NULL;
    tsri_text_ids ids = {0};
    cr_assert_eq(tsri_text_from_json_text(file, sizeof file - 1, "tokenizer.json", &t), TSR_OK);
    cr_assert_eq(tsri_text_encode(t, "aaa", 3, 0, &ids), TSR_OK);
    cr_expect(ids.count == 2 && ids.data[0] == 1 && ids.data[1] == 0);
    tsri_text_ids_clear(&ids);
    tsri_text_tokenizer_destroy(&t);
}

Test(text, the_best_score_joins_first_whatever_its_sign) {
    static const tsri_text_piece pieces[] = {{"a", 1}, {"b", 1}, {"c", 1}, {"ab", 2}, {"bc", 2}};
    static const float scores[][5] = {
        {0, 0, 0, 1, 2}, {0, 0, 0, -2, -1}, {0, 0, 0, -1, 1}, {0, 0, 0, -1, 0}};
    for (size_t k = 0; k < sizeof scores / sizeof *scores; k++) {
        tsri_text_gguf g = tsri_text_gguf_unstated;
        g.model = "llama";
        g.tokens = pieces;
        g.token_count = 5;
        g.scores = scores[k];
        g.score_count = 5;
        g.add_space_prefix = 0;
        tsri_text_tokenizer *t = NULL;
        tsri_text_ids ids = {0};
        cr_assert_eq(tsri_text_from_gguf(&g, &t), TSR_OK, "%s", tsri_base_reported());
        cr_assert_eq(tsri_text_encode(t, "abc", 3, 0, &ids), TSR_OK);
        cr_expect(ids.count == 2 && ids.data[0] == 0 && ids.data[1] == 4, "scores %zu", k);
        tsri_text_ids_clear(&ids);
        tsri_text_tokenizer_destroy(&t);
    }
}

Test(text, the_longest_added_string_wins) {
    tsri_text_matcher m = {0};
    int32_t value = -1;
    cr_assert_eq(tsri_text_matcher_add(&m, "<a", 2, 1), TSR_OK);
    cr_assert_eq(tsri_text_matcher_add(&m, "<a><b>", 6, 2), TSR_OK);
    cr_assert_eq(tsri_text_matcher_add(&m, "<a><b>", 6, 3), TSR_OK);
    cr_expect_eq(tsri_text_matcher_longest(&m, "<a><b>!", 7, &value), 6);
    cr_expect_eq(value, 2, "the first of two alike");
    cr_expect_eq(tsri_text_matcher_longest(&m, "<a><b", 5, &value), 2);
    cr_expect_eq(value, 1);
    cr_expect_eq(tsri_text_matcher_longest(&m, "a", 1, &value), 0);
    cr_expect_eq(tsri_text_matcher_longest(&m, "", 0, &value), 0);
    tsri_text_matcher_clear(&m);
}

enum { STRINGS = 400, LONGEST = 600 };
static char strings[STRINGS][LONGEST + 1];

/* The number of the first of n strings that is the text's longest beginning among them; -1: none. */
static int32_t longest_beginning(const char *text, int32_t n, size_t *size) {
    int32_t best = -1;
    *size = 0;
    for (int32_t i = 0; i < n; i++) {
        const size_t own = strlen(strings[i]);
        if (own > *size && !strncmp(text, strings[i], own)) {
            best = i;
            *size = own;
        }
    }
    return best;
}

/* Strings of two letters share all lengths of beginnings, and some are longer than a tail. */
Test(text, a_matcher_finds_what_a_search_through_all_strings_finds) {
    tsri_text_matcher m = {0};
    uint64_t state = 5;
    for (int32_t i = 0; i < STRINGS; i++) {
        const uint32_t n = 1 + draw(&state, i % 9 ? 12 : LONGEST);
        const uint32_t shared = i ? draw(&state, n + 1) : 0; /* with the string before */
        for (uint32_t k = 0; k < n; k++) {
            const char c = (char)('a' + draw(&state, 2));
            strings[i][k] = k < shared && strings[i - 1][k] ? strings[i - 1][k] : c;
        }
        cr_assert_eq(tsri_text_matcher_add(&m, strings[i], n, i), TSR_OK);
        for (int32_t k = 0; k <= i; k += 1 + i / 40) {
            size_t size;
            int32_t value = -1;
            const int32_t wanted = longest_beginning(strings[k], i + 1, &size);
            cr_assert_eq(tsri_text_matcher_longest(&m, strings[k], strlen(strings[k]), &value),
                         size);
            cr_assert_eq(value, wanted, "string %d of %d", k, i);
        }
        char text[16] = {0};
        for (int k = 0; k < 15; k++)
            text[k] = (char)('a' + draw(&state, 3));
        size_t size;
        int32_t value = -1;
        const int32_t wanted = longest_beginning(text, i + 1, &size);
        cr_assert_eq(tsri_text_matcher_longest(&m, text, 15, &value), size);
        cr_assert_eq(value, wanted);
    }
    tsri_text_matcher_clear(&m);
}

/* A string without a value has a node, wherever it ends. */
Test(text, a_string_without_a_value_is_a_node) {
    tsri_text_matcher m = {0};
    int32_t value = -1;
    cr_assert_eq(tsri_text_matcher_add(&m, "##ing", 5, 1), TSR_OK);
    cr_assert_eq(tsri_text_matcher_add(&m, "##", 2, -1), TSR_OK);
    cr_assert_eq(tsri_text_matcher_add(&m, "##ing", 5, -1), TSR_OK);
    cr_assert_eq(tsri_text_matcher_add(&m, "none", 4, -1), TSR_OK);
    cr_assert_eq(tsri_text_matcher_add(&m, "none", 4, 2), TSR_OK);
    const uint32_t node =
        tsri_text_matcher_step(&m, tsri_text_matcher_step(&m, TSRI_TEXT_ROOT, '#'), '#');
    cr_expect_neq(node, 0);
    cr_expect_eq(tsri_text_matcher_value(&m, node), -1);
    cr_expect_eq(tsri_text_matcher_longest_from(&m, node, "ing", 3, &value), 3);
    cr_expect_eq(value, 1);
    cr_expect_eq(tsri_text_matcher_longest(&m, "none", 4, &value), 4);
    cr_expect_eq(value, 2);
    tsri_text_matcher_clear(&m);
}

Test(text, special_names_are_text_unless_asked_for) {
    tsri_text_tokenizer *t = own_tokenizer("byte.json");
    tsri_text_ids with = {0}, without = {0};
    cr_assert_eq(tsri_text_encode(t, "<s>", 3, TSRI_TEXT_PARSE_SPECIAL, &with), TSR_OK);
    cr_assert_eq(tsri_text_encode(t, "<s>", 3, 0, &without), TSR_OK);
    cr_assert_eq(with.count, 1);
    cr_expect(tsri_text_is_special(t, with.data[0]));
    cr_expect_eq(with.data[0], tsri_text_id_of(t, "<s>", 3));
    cr_expect_gt(without.count, 1);
    cr_expect_not(tsri_text_is_special(t, -1));
    cr_expect_not(tsri_text_is_special(t, INT32_MAX));
    expect_round_trip(t, "<s>", 3);
    tsri_text_ids_clear(&with);
    tsri_text_ids_clear(&without);
    tsri_text_tokenizer_destroy(&t);
}

Test(text, ids_without_a_piece_decode_to_nothing) {
    tsri_text_tokenizer *t = own_tokenizer("byte.json");
    const int32_t ids[] = {-1, 320, INT32_MAX, INT32_MIN};
    tsri_bytes out = {0};
    cr_assert_eq(tsri_text_decode(t, ids, 4, false, &out), TSR_OK);
    cr_expect_eq(out.size, 0);
    tsri_text_tokenizer_destroy(&t);
    tsri_base_bytes_clear(&out);
}

Test(text, description_names_the_parts) {
    tsri_text_tokenizer *t = own_tokenizer("char.json");
    tsri_bytes out = {0};
    cr_assert_eq(tsri_text_describe(t, &out), TSR_OK);
    cr_expect_not_null(strstr(out.data, "model: BPE, "));
    cr_expect_not_null(strstr(out.data, "byte fallback"));
    cr_expect_not_null(strstr(out.data, "normalizer: Prepend, Replace"));
    cr_expect_not_null(strstr(out.data, "decoder: Replace, ByteFallback, Fuse, Strip"));
    tsri_text_tokenizer_destroy(&t);
    tsri_base_bytes_clear(&out);
}
