/* How much a tokenizer of a few KB may make from a text, and how long its regular expressions may
 * take: limits in proportion to the text, with the part in the message. */
#include "golden.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/system/system.h"
#include "support/cases.h"
#include "support/limit.h"
#include "text/load/load.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define VOCABULARY                                                                          \
    "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"<u>\":0,\"a\":1,\"b\":2,\"<s>\":3},"         \
    "\"merges\":[],\"unk_token\":\"<u>\"},\"added_tokens\":[{\"id\":3,\"content\":\"<s>\"," \
    "\"special\":true,\"normalized\":false}]"

/* A tokenizer.json with `part` set to a Sequence of `count` times `step` and then `last`. */
static tsri_text_tokenizer *with_steps(const char *part, const char *list, const char *step,
                                       int count, const char *last) {
    tsri_bytes text = {0};
    tsri_base_bytes_printf(&text, VOCABULARY ",\"%s\":{\"type\":\"Sequence\",\"%s\":[", part, list);
    for (int i = 0; i < count; i++)
        tsri_base_bytes_printf(&text, "%s,", step);
    cr_assert_eq(tsri_base_bytes_printf(&text, "%s]}}", last), TSR_OK);
    tsri_text_tokenizer *t = NULL;
    cr_assert_eq(tsri_text_from_json_text(text.data, text.size, "tokenizer.json", &t), TSR_OK, "%s",
                 tsri_base_reported());
    tsri_base_bytes_clear(&text);
    return t;
}

/* `text`, repeated `times` times. */
static tsri_bytes repeated(const char *text, size_t times) {
    tsri_bytes all = {0};
    for (size_t i = 0; i < times; i++)
        cr_assert_eq(tsri_base_bytes_append(&all, text, strlen(text)), TSR_OK);
    return all;
}

static void encoding_is_refused(const tsri_text_tokenizer *t, const char *text, size_t times,
                                const char *fragment) {
    tsri_bytes all = repeated(text, times);
    tsri_text_ids ids = {0};
    const uint64_t before = tsri_system_resident_peak();
    const tsr_status status =
        tsri_text_encode(t, all.data, all.size, TSRI_TEXT_PARSE_SPECIAL, &ids);
    cr_expect_eq(status, TSR_E_FORMAT, "%zu times \"%s\": %d, %s", times, text, status,
                 tsri_base_reported());
    cr_expect_not_null(strstr(tsri_base_reported(), fragment), "\"%s\" is missing: %s", fragment,
                       tsri_base_reported());
    cr_expect_lt(tsri_system_resident_peak() - before, (uint64_t)256 << 20, "%s", fragment);
    tsri_text_ids_clear(&ids);
    tsri_base_bytes_clear(&all);
}

static void encoding_is_served(const tsri_text_tokenizer *t, const char *text, size_t times,
                               size_t count) {
    tsri_bytes all = repeated(text, times);
    tsri_text_ids ids = {0};
    cr_expect_eq(tsri_text_encode(t, all.data, all.size, TSRI_TEXT_PARSE_SPECIAL, &ids), TSR_OK,
                 "%s", tsri_base_reported());
    cr_expect_eq(ids.count, count, "%zu", ids.count);
    tsri_text_ids_clear(&ids);
    tsri_base_bytes_clear(&all);
}

#define EIGHTFOLD "{\"type\":\"Replace\",\"pattern\":{\"String\":\"a\"},\"content\":\"aaaaaaaa\"}"
#define TO_NOTHING "{\"type\":\"Replace\",\"pattern\":{\"String\":\"a\"},\"content\":\"\"}"

Test(text, a_normalizer_that_expands_is_stopped) {
    limit_processor(60);
    tsri_text_tokenizer *t = with_steps("normalizer", "normalizers", EIGHTFOLD, 11, EIGHTFOLD);
    encoding_is_refused(t, "a", 1, "normalizer Replace");
    encoding_is_refused(t, "a", 100000, "normalizer Replace");
    tsri_text_tokenizer_destroy(&t);
    /* the limit also holds if nothing is left in the end */
    t = with_steps("normalizer", "normalizers", EIGHTFOLD, 11, TO_NOTHING);
    encoding_is_refused(t, "a", 1, "normalizer Replace");
    tsri_text_tokenizer_destroy(&t);
    /* the limit is for the whole text, not for each part between added tokens */
    t = with_steps("normalizer", "normalizers", EIGHTFOLD, 4, EIGHTFOLD);
    encoding_is_served(t, "a<s>", 1, 32768 + 1);
    encoding_is_refused(t, "a<s>", 200, "normalizer Replace");
    tsri_text_tokenizer_destroy(&t);
    t = with_steps("normalizer", "normalizers", EIGHTFOLD, 5, TO_NOTHING);
    encoding_is_served(t, "a<s>", 1, 1);
    encoding_is_refused(t, "a<s>", 200, "normalizer Replace");
    tsri_text_tokenizer_destroy(&t);
    t = with_steps("normalizer", "normalizers", EIGHTFOLD, 0,
                   "{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"BAAAAAAAAAA=\"}");
    encoding_is_served(t, "a", 1000, 1000);
    tsri_text_tokenizer_destroy(&t);
}

Test(text, what_normal_forms_expand_is_served) {
    tsri_text_tokenizer *t =
        with_steps("normalizer", "normalizers", "{\"type\":\"NFKD\"}", 1, "{\"type\":\"NFKC\"}");
    /* the longest decomposition that Unicode has: 18 characters for one */
    encoding_is_served(t, "\xEF\xB7\xBA", 100000, 1800000);
    tsri_text_tokenizer_destroy(&t);
}

Test(text, a_pre_tokenizer_that_expands_is_stopped) {
    limit_processor(60);
    tsri_text_tokenizer *t =
        with_steps("pre_tokenizer", "pretokenizers", "{\"type\":\"ByteLevel\",\"use_regex\":false}",
                   30, "{\"type\":\"ByteLevel\",\"use_regex\":false}");
    encoding_is_refused(t, "\xC3\xA9", 1, "pre_tokenizer ByteLevel");
    encoding_is_refused(t, "\xC3\xA9<s>", 10000, "pre_tokenizer ByteLevel");
    tsri_text_tokenizer_destroy(&t);
}

static void decoding_is_refused(const tsri_text_tokenizer *t, size_t times, const char *fragment) {
    const int32_t a = 1;
    tsri_bytes out = {0};
    tsri_text_stream *stream = NULL;
    const uint64_t before = tsri_system_resident_peak();
    cr_assert_eq(tsri_text_stream_new(t, false, &stream), TSR_OK);
    tsr_status status = TSR_OK;
    for (size_t i = 0; i < times && status == TSR_OK; i++)
        status = tsri_text_stream_push(stream, a, &out);
    if (status == TSR_OK)
        status = tsri_text_stream_finish(stream, &out);
    cr_expect_eq(status, TSR_E_FORMAT, "%zu pieces: %d, %s", times, status, tsri_base_reported());
    cr_expect_not_null(strstr(tsri_base_reported(), fragment), "\"%s\" is missing: %s", fragment,
                       tsri_base_reported());
    cr_expect_lt(tsri_system_resident_peak() - before, (uint64_t)256 << 20);
    tsri_text_stream_destroy(&stream);
    tsri_base_bytes_clear(&out);
}

Test(text, a_decoder_that_expands_is_stopped) {
    limit_processor(60);
    tsri_text_tokenizer *t = with_steps("decoder", "decoders", EIGHTFOLD, 11, EIGHTFOLD);
    decoding_is_refused(t, 1, "decoder Replace");
    tsri_text_tokenizer_destroy(&t);
    t = with_steps("decoder", "decoders", EIGHTFOLD, 11, TO_NOTHING);
    decoding_is_refused(t, 1, "decoder Replace");
    tsri_text_tokenizer_destroy(&t);
    t = with_steps("decoder", "decoders", EIGHTFOLD, 4, TO_NOTHING); /* a little, but many times */
    decoding_is_refused(t, 100000, "decoder Replace");
    tsri_text_tokenizer_destroy(&t);
}

Test(text, a_template_that_repeats_is_refused) {
    tsri_bytes text = {0};
    tsri_text_tokenizer *t = NULL;
    tsri_base_bytes_printf(&text, VOCABULARY
                           ",\"post_processor\":{\"type\":\"TemplateProcessing\",\"pair\":[],"
                           "\"single\":[");
    for (int i = 0; i < 33; i++)
        tsri_base_bytes_printf(&text, "%s{\"Sequence\":{\"id\":\"A\"}}", i ? "," : "");
    tsri_base_bytes_printf(&text, "]}}");
    cr_expect_eq(tsri_text_from_json_text(text.data, text.size, "tokenizer.json", &t),
                 TSR_E_FORMAT);
    cr_expect_not_null(strstr(tsri_base_reported(), "TemplateProcessing: more than 32"), "%s",
                       tsri_base_reported());
    tsri_text_tokenizer_destroy(&t);
    /* 300 times a token of 300 ids */
    text.size = 0;
    tsri_base_bytes_printf(&text, VOCABULARY
                           ",\"post_processor\":{\"type\":\"TemplateProcessing\",\"pair\":[],"
                           "\"special_tokens\":{\"x\":{\"ids\":[1");
    for (int i = 1; i < 300; i++)
        tsri_base_bytes_printf(&text, ",1");
    tsri_base_bytes_printf(&text, "]}},\"single\":[");
    for (int i = 0; i < 300; i++)
        tsri_base_bytes_printf(&text, "%s{\"SpecialToken\":{\"id\":\"x\"}}", i ? "," : "");
    tsri_base_bytes_printf(&text, "]}}");
    cr_expect_eq(tsri_text_from_json_text(text.data, text.size, "tokenizer.json", &t),
                 TSR_E_FORMAT);
    cr_expect_not_null(strstr(tsri_base_reported(), "more than 65536 tokens"), "%s",
                       tsri_base_reported());
    tsri_text_tokenizer_destroy(&t);
    tsri_base_bytes_clear(&text);
}

#define SPLIT(regex) \
    "{\"type\":\"Split\",\"pattern\":{\"Regex\":\"" regex "\"},\"behavior\":\"Isolated\"}"

Test(text, a_regular_expression_has_steps_for_a_text) {
    limit_processor(60);
    static const struct {
        const char *step, *text;
        size_t times;
    } rows[] = {
        /* each start is below any sane limit */
        {SPLIT("(a|a)+[bd]"), "aaaaaaaaaaaaaaaaaaaac", 1000},
        {SPLIT("a*+[bd]"), "a", 1000000}, /* no backtracking, but quadratic all the same */
        {SPLIT("(?:a*+b)|\\\\s"), "a", 1000000},
        {SPLIT("(?=(a+))\\\\1[bd]"), "a", 1000000},
        /* the limit is not one for each piece between tokens */
        {SPLIT("(a|a)+[bd]"), "<s>aaaaaaaaaaaaaaaaaaaac", 1000},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tsri_text_tokenizer *t =
            with_steps("pre_tokenizer", "pretokenizers", rows[i].step, 0, rows[i].step);
        encoding_is_refused(t, rows[i].text, rows[i].times, "regular expression");
        tsri_text_tokenizer_destroy(&t);
    }
    tsri_text_tokenizer *t = with_steps(
        "normalizer", "normalizers",
        "{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"(a|a)+[bd]\"},\"content\":\"\"}", 0,
        "{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"(a|a)+[bd]\"},\"content\":\"\"}");
    encoding_is_refused(t, "aaaaaaaaaaaaaaaaaaaac", 1000, "normalizer Replace");
    tsri_text_tokenizer_destroy(&t);
}

Test(text, a_usual_regular_expression_takes_any_text) {
    limit_processor(60);
    static const char step[] =
        SPLIT("\\\\p{N}{1,3}| ?[^\\\\s\\\\p{L}\\\\p{N}]+|[\\\\p{L}\\\\p{M}]+|"
              "\\\\s*[\\\\r\\\\n]+|\\\\s+(?!\\\\S)|\\\\s+");
    tsri_text_tokenizer *t = with_steps("pre_tokenizer", "pretokenizers", step, 10, step);
    const size_t n = cases_wanted() == TEST_SMOKE ? 100000 : 1000000;
    encoding_is_served(t, " ", n, n);
    encoding_is_served(t, "a", n, n);
    encoding_is_served(t, "\n!1a  ab", n / 10, n / 10 * 8);
    tsri_text_tokenizer_destroy(&t);
}
