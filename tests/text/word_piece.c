/* WordPiece and BERT's parts for which there are no goldens of the library: vocab.txt, words at
 * their limits, words that have no pieces. */
#include "golden.h"

#include "base/error.h"
#include "text/load/load.h"
#include "text/stages/bert.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { ALL = TSRI_TEXT_ADD_SPECIAL | TSRI_TEXT_PARSE_SPECIAL };

static const char vocabulary[] =
    "[PAD]\n[UNK]\r\n[CLS]\n[SEP]\n[MASK]\n\nun\n##want\n##ed\nrun\n##ning\n,\nwant\na\n##a\n##";

static tsri_text_tokenizer *tokenizer_of(const char *text, const tsri_text_bert *options) {
    tsri_text_tokenizer *t = NULL;
    cr_assert_eq(tsri_text_from_bert_vocabulary(text, strlen(text), options, &t), TSR_OK, "%s",
                 tsri_base_reported());
    return t;
}

static void expect_ids(const tsri_text_tokenizer *t, const char *text, const char *wanted) {
    json_t *ids = json_loads(wanted, 0, NULL);
    cr_assert_not_null(ids);
    golden_encodes(t, text, strlen(text), ALL, ids);
    json_decref(ids);
}

Test(text, vocab_txt_is_a_tokenizer) {
    const tsri_text_bert options = {.lowercase = true, .strip_accents = true, .chinese = true};
    tsri_text_tokenizer *t = tokenizer_of(vocabulary, &options);
    expect_ids(t, "", "[2, 3]");
    expect_ids(t,
               "UNwant\xC3\xA9"
               "d,running",
               "[2, 6, 7, 8, 11, 9, 10, 3]");
    expect_ids(t, "unwanted [MASK] a", "[2, 6, 7, 8, 4, 13, 3]");
    expect_ids(t, "runner", "[2, 1, 3]"); /* a word is unknown as a whole */
    expect_ids(t, "##a", "[2, 1, 1, 13, 3]");
    cr_expect_eq(tsri_text_vocabulary_size(t), 16);
    cr_expect_eq(tsri_text_role_id(t, TSRI_TEXT_MASK), 4);
    cr_expect_eq(tsri_text_role_id(t, TSRI_TEXT_CLS), 2);
    cr_expect_eq(tsri_text_role_id(t, TSRI_TEXT_SEP), 3);
    cr_expect_eq(tsri_text_role_id(t, TSRI_TEXT_BOS), -1);
    tsri_text_ids ids = {0}, types = {0};
    cr_assert_eq(tsri_text_encode_pair(t, "a", 1, "run", 3, ALL, &ids, &types), TSR_OK);
    cr_expect(ids.count == 5 && ids.data[3] == 9 && types.data[2] == 0 && types.data[4] == 1);
    tsri_text_ids_clear(&ids);
    tsri_text_ids_clear(&types);
    tsri_text_tokenizer_destroy(&t);
}

Test(text, vocab_txt_names_its_special_tokens) {
    const tsri_text_bert options = {
        .names = {[TSRI_TEXT_UNK] = "<unk>", [TSRI_TEXT_CLS] = "<s>", [TSRI_TEXT_SEP] = "</s>"}};
    tsri_text_tokenizer *t = tokenizer_of("<s>\n</s>\n<unk>\nA\n##\xC3\x81", &options);
    expect_ids(t,
               "A"
               "\xC3\x81 \xC3\x81",
               "[0, 3, 4, 2, 1]");
    cr_expect_eq(tsri_text_role_id(t, TSRI_TEXT_MASK), -1);
    tsri_text_tokenizer_destroy(&t);
}

Test(text, a_vocab_txt_without_pieces_is_refused) {
    const tsri_text_bert options = {0};
    static const struct {
        const char *text, *fragment;
    } rows[] = {{"", "no pieces"}, {"\n\n\n", "no pieces"}, {"a\n\xff\n", "id 1 is not UTF-8"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tsri_text_tokenizer *t = NULL;
        cr_expect_eq(
            tsri_text_from_bert_vocabulary(rows[i].text, strlen(rows[i].text), &options, &t),
            TSR_E_FORMAT);
        cr_expect_null(t);
        cr_expect_not_null(strstr(tsri_base_reported(), rows[i].fragment), "%s",
                           tsri_base_reported());
    }
}

Test(text, an_unknown_word_without_an_unknown_piece_is_an_error) {
    const tsri_text_bert options = {0};
    tsri_text_tokenizer *t = tokenizer_of("a", &options);
    tsri_text_ids ids = {0};
    cr_expect_eq(tsri_text_encode(t, "a b", 3, ALL, &ids), TSR_E_FORMAT);
    cr_expect_not_null(strstr(tsri_base_reported(), "\"b\" has no pieces"));
    cr_expect_eq(ids.count, 0);
    tsri_text_tokenizer_destroy(&t);
}

/* 100 characters are a word and 101 are not, however many bytes they have; and the time is
 * linear. */
Test(text, the_longest_word_counts_characters) {
    const tsri_text_bert options = {0};
    tsri_text_tokenizer *t = tokenizer_of("[UNK]\n\xC3\xA9\n##\xC3\xA9", &options);
    enum { LONG = 1 << 20 };
    char *text = malloc(2 * LONG);
    cr_assert_not_null(text);
    for (size_t i = 0; i < LONG; i++)
        memcpy(text + 2 * i, "\xC3\xA9", 2);
    const struct { size_t characters, ids; } rows[] = {{1, 1}, {100, 100}, {101, 1}, {LONG, 1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tsri_text_ids ids = {0};
        cr_assert_eq(tsri_text_encode(t, text, 2 * rows[i].characters, 0, &ids), TSR_OK);
        cr_expect_eq(ids.count, rows[i].ids, "%zu characters", rows[i].characters);
        tsri_text_ids_clear(&ids);
    }
    free(text);
    tsri_text_tokenizer_destroy(&t);
}

Test(text, bert_knows_the_categories_of_unicode_8) {
    static const struct {
        int32_t c;
        bool punctuation;
    } rows[] = {{'!', true},     {'a', false},     {'$', true},     {0xBF, true},
                {0x166D, true},  {0x2E42, true},   {0x2E43, false}, {0x61D, false},
                {0x111C9, true}, {0x11C41, false}, {0x1F600, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        cr_expect_eq(tsri_text_bert_is_punctuation(rows[i].c), rows[i].punctuation, "U+%04X",
                     (unsigned)rows[i].c);
}

Test(text, bert_cleans_what_it_says) {
    static const struct {
        tsri_text_bert_rules rules;
        const char *text, *wanted;
    } rows[] = {
        {{.clean = true}, "a\tb\nc\rd\x01\x7F\xEF\xBF\xBD\xC2\x85\xC2\xA0z", "a b c d z"},
        {{.chinese = true},
         "a\xE4\xB8\xAD"
         "b\t",
         "a \xE4\xB8\xAD b\t"},
        {{.strip_accents = true},
         "\xC3\x89"
         "e\xCC\x81\xE0\xBD\xB1",
         "Ee"},
        {{.lowercase = true}, "\xC3\x89\xC4\xB0Z", "\xC3\xA9i\xCC\x87z"},
        {{0}, "\xC3\x89Z\t", "\xC3\x89Z\t"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tsri_bytes out = {0};
        cr_assert_eq(
            tsri_text_bert_normalize(&rows[i].rules, rows[i].text, strlen(rows[i].text), &out),
            TSR_OK);
        cr_expect_str_eq(out.data, rows[i].wanted, "row %zu: %s", i, out.data);
        tsri_base_bytes_clear(&out);
    }
}

/* U+2E43 was added in Unicode 9. */
Test(text, the_punctuation_pre_tokenizer_knows_unicode_8_too) {
    static const char file[] =
        "{\"model\":{\"type\":\"WordLevel\",\"unk_token\":\"?\",\"vocab\":{\"?\":0,\"a\":1,\"b\":2,"
        "\"a\xE2\xB9\x83"
        "b\":3,\"\xE2\xB9\x82\":4}},\"pre_tokenizer\":{\"type\":\"Punctuation\"}}";
    tsri_text_tokenizer *t = NULL;
    cr_assert_eq(tsri_text_from_json_text(file, sizeof file - 1, "tokenizer.json", &t), TSR_OK,
                 "%s", tsri_base_reported());
    expect_ids(t,
               "a\xE2\xB9\x83"
               "b",
               "[3]");
    expect_ids(t,
               "a\xE2\xB9\x82"
               "b",
               "[1, 4, 2]");
    tsri_text_tokenizer_destroy(&t);
}
