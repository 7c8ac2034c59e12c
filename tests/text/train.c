/* Tokenizers that are trained here: the library's merges to the last tie, characters, refusals; and
 * the pieces that long texts are read in. */
#include "golden.h"

#include "base/error.h"
#include "text/base/reader.h"
#include "text/base/unicode.h"
#include "text/train/train.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_SPECIALS = 8 };

/* The text is fed in pieces of whole lines, each of `step` bytes or more. */
static tsr_status make(const tsr_tokenizer_training *options, const char *text, size_t n,
                       size_t step, tsri_bytes *json) {
    tsri_text_trainer *trainer = NULL;
    tsr_tokenizer_trained done;
    tsr_status status = tsri_text_trainer_new(options, &trainer);
    for (size_t at = 0; at < n && status == TSR_OK;) {
        size_t end = at + step < n ? at + step : n;
        while (end < n && text[end - 1] != '\n')
            end++;
        status = tsri_text_trainer_feed(trainer, text + at, end - at);
        at = end;
    }
    if (status == TSR_OK)
        status = tsri_text_trainer_finish(trainer, json, &done);
    tsri_text_trainer_destroy(&trainer);
    return status;
}

static void learns(const json_t *row, size_t step) {
    const char *specials[MOST_SPECIALS];
    const json_t *names = json_object_get(row, "specials"), *text = json_object_get(row, "text");
    for (size_t i = 0; i < json_array_size(names); i++)
        specials[i] = json_string_value(json_array_get(names, i));
    const tsr_tokenizer_training options = {
        .specials = specials,
        .n_specials = json_array_size(names),
        .vocab_size = json_integer_value(json_object_get(row, "vocab_size")),
        .min_frequency = json_integer_value(json_object_get(row, "min_frequency"))};
    tsri_bytes bytes = {0};
    cr_assert_eq(make(&options, json_string_value(text), json_string_length(text), step, &bytes),
                 TSR_OK, "%s", tsri_base_reported());
    json_t *got = golden_json(&bytes), *model = json_object_get(got, "model"),
           *merges = json_object_get(row, "merges"), *pieces = json_object_get(row, "pieces");
    cr_expect(json_equal(json_object_get(model, "merges"), merges), "merges");
    cr_expect_eq(json_object_size(json_object_get(model, "vocab")), 256 + json_array_size(pieces));
    for (size_t i = 0; i < json_array_size(pieces); i++)
        cr_expect_eq(
            json_integer_value(json_object_get(json_object_get(model, "vocab"),
                                               json_string_value(json_array_get(pieces, i)))),
            256 + (json_int_t)i, "the id of \"%s\"", json_string_value(json_array_get(pieces, i)));
    tsri_text_tokenizer *t = golden_from_json(got);
    tsri_text_ids ids = {0};
    tsri_bytes back = {0};
    cr_assert_eq(tsri_text_encode(t, json_string_value(text), json_string_length(text), 0, &ids),
                 TSR_OK);
    cr_assert_eq(tsri_text_decode(t, ids.data, ids.count, false, &back), TSR_OK);
    cr_expect_str_eq(back.data, json_string_value(text));
    tsri_base_bytes_clear(&back);
    tsri_text_ids_clear(&ids);
    tsri_text_tokenizer_destroy(&t);
    json_decref(got);
    tsri_base_bytes_clear(&bytes);
}

Test(text_train, merges_equal_the_library) {
    json_t *rows = golden_own_json("trained.json");
    cr_assert_geq(json_array_size(rows), 8);
    for (size_t i = 0; i < json_array_size(rows); i++)
        for (size_t step = 1; step < 10000; step *= 20)
            learns(json_array_get(rows, i), step);
    json_decref(rows);
}

Test(text_train, characters) {
    static const char text[] = "b\xC3\xA9\n\xE6\x97\xA5 \xF0\x9F\x91\x8D"
                               "a";
    const char *specials[] = {"<unk>", "</s>", "a"};
    const tsr_tokenizer_training options = {.type = TSR_TOKENIZER_CHAR,
                                            .specials = specials,
                                            .n_specials = 3,
                                            .unknown = "<unk>",
                                            .begin = "a",
                                            .end = "</s>"};
    tsri_bytes bytes = {0}, back = {0};
    tsri_text_ids ids = {0};
    cr_assert_eq(make(&options, text, sizeof text - 1, 100, &bytes), TSR_OK);
    json_t *json = golden_json(&bytes);
    tsri_text_tokenizer *t = golden_from_json(json);
    /* specials, then \n, space, b, é, 日, 👍; "a" is a special token already */
    const int32_t wanted[] = {2, 5, 6, 0, 3, 7, 4, 8, 2, 1};
    cr_assert_eq(tsri_text_vocabulary_size(t), 9);
    cr_assert_eq(tsri_text_encode(t,
                                  "b\xC3\xA9z\n\xE6\x97\xA5 \xF0\x9F\x91\x8D"
                                  "a",
                                  14, TSRI_TEXT_ADD_SPECIAL, &ids),
                 TSR_OK);
    cr_assert_eq(ids.count, 10);
    cr_assert(!memcmp(ids.data, wanted, sizeof wanted));
    cr_assert_eq(tsri_text_decode(t, ids.data + 1, 2, true, &back), TSR_OK);
    cr_assert_str_eq(back.data, "b\xC3\xA9");
    tsri_text_tokenizer_destroy(&t);
    json_decref(json);
    tsri_text_ids_clear(&ids);
    tsri_base_bytes_clear(&back);
    tsri_base_bytes_clear(&bytes);
}

Test(text_train, refusals) {
    const char *twice[] = {"<s>", "<s>"}, *blank[] = {""}, *bad[] = {"\xff"}, *one[] = {"<s>"};
    const struct {
        tsr_tokenizer_training options;
        const char *text, *why;
        tsr_status status;
    } rows[] = {
        {{.vocab_size = 255},
         "a",
         "256 bytes and 0 special tokens need at least 256",
         TSR_E_ARGUMENT},
        {{.vocab_size = 256, .specials = one, .n_specials = 1},
         "a",
         "at least 257",
         TSR_E_ARGUMENT},
        {{.vocab_size = -1}, "a", "a vocabulary of -1", TSR_E_ARGUMENT},
        {{.min_frequency = -1}, "a", "-1 times", TSR_E_ARGUMENT},
        {{.type = 2}, "a", "type 2", TSR_E_ARGUMENT},
        {{.type = TSR_TOKENIZER_CHAR, .min_frequency = 1},
         "a",
         "a minimum frequency of 1",
         TSR_E_ARGUMENT},
        {{.specials = twice, .n_specials = 2}, "a", "\"<s>\" was given twice", TSR_E_ARGUMENT},
        {{.specials = blank, .n_specials = 1}, "a", "special token 1 has 0 bytes", TSR_E_ARGUMENT},
        {{.specials = bad, .n_specials = 1}, "a", "UTF-8", TSR_E_ARGUMENT},
        {{.specials = one, .n_specials = 1, .end = "x"},
         "a",
         "the end token \"x\"",
         TSR_E_ARGUMENT},
        {{.specials = one, .n_specials = 1, .unknown = "<s>"}, "a", "byte-level", TSR_E_ARGUMENT},
        {{0}, "", "no text", TSR_E_FORMAT},
        {{.type = TSR_TOKENIZER_CHAR}, "", "no text", TSR_E_FORMAT},
        {{.type = TSR_TOKENIZER_CHAR, .vocab_size = 2},
         "abc",
         "3 different characters",
         TSR_E_FORMAT},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tsri_bytes json = {0};
        cr_expect_eq(make(&rows[i].options, rows[i].text, strlen(rows[i].text), 1, &json),
                     rows[i].status, "row %zu", i);
        cr_expect(strstr(tsri_base_reported(), rows[i].why), "row %zu: %s", i,
                  tsri_base_reported());
        cr_expect_eq(json.size, 0);
    }
}

Test(text_train, rare_words_are_forgotten_past_the_limit) {
    tsri_text_word_counts words = {.most = 100};
    char word[16];
    for (int i = 0; i < 10000; i++) {
        const int n = snprintf(word, sizeof word, "w%d", i);
        cr_assert_eq(tsri_text_word_counts_add(&words, word, (size_t)n), TSR_OK);
        cr_assert_eq(tsri_text_word_counts_add(&words, "often", 5), TSR_OK);
        cr_assert_leq(words.count, 100);
    }
    cr_assert_eq(words.pruned + words.count, 10001);
    size_t found = 0;
    for (size_t i = 0; i < words.count; i++)
        if (words.items[i].size == 5 &&
            !memcmp(words.text.data + words.items[i].start, "often", 5)) {
            cr_expect_eq(words.items[i].count, 10000);
            found++;
        }
    cr_assert_eq(found, 1);
    tsri_text_word_counts_clear(&words);
}

static void write_file(const char *path, const void *data, size_t n) {
    FILE *file = fopen(path, "wb");
    cr_assert(file && fwrite(data, 1, n, file) == n && fclose(file) == 0);
}

/* Text with line ends, spaces and characters of several bytes everywhere. */
static size_t make_text(char *text, size_t n) {
    static const char *const bits[] = {"a",  "bc", " ",    "\n",           "\n\n", "  ",      "'s",
                                       "12", "!",  "\r\n", "\xE3\x80\x80", "\t",   "\xC3\xA9"};
    size_t at = 0;
    for (uint32_t state = 1; at + 4 < n;) {
        state = state * 1664525u + 1013904223u;
        const char *bit = bits[(state >> 8) % (sizeof bits / sizeof *bits)];
        memcpy(text + at, bit, strlen(bit));
        at += strlen(bit);
    }
    return at;
}

Test(text_train, pieces_are_the_text_and_tokenize_as_it_does) {
    enum { ROOM = 3 * TSRI_TEXT_PIECE_WANTED };
    char path[] = "/tmp/tessera-reader-XXXXXX", *text = malloc(ROOM), *piece;
    const int fd = mkstemp(path);
    const size_t n = make_text(text, ROOM);
    size_t got, at = 0, pieces = 0;
    uint64_t line = 1;
    cr_assert(fd >= 0);
    close(fd);
    write_file(path, text, n);
    tsri_bytes file = golden_own("byte.json");
    json_t *json = golden_json(&file);
    tsri_text_tokenizer *t = golden_from_json(json);
    tsri_text_ids whole = {0}, parts = {0};
    tsri_text_reader *reader = NULL;
    cr_assert_eq(tsri_text_reader_open(path, &reader), TSR_OK);
    for (;; pieces++) {
        cr_assert_eq(tsri_text_reader_piece(reader, TSRI_TEXT_CUT_WORDS, &piece, &got), TSR_OK);
        if (!got)
            break;
        cr_assert(!memcmp(piece, text + at, got));
        cr_assert_eq(tsri_text_reader_number(reader), line);
        cr_assert_eq(tsri_text_encode(t, piece, got, 0, &parts), TSR_OK);
        for (size_t i = 0; i < got; i++)
            line += piece[i] == '\n';
        at += got;
    }
    cr_assert_eq(at, n);
    cr_assert_geq(pieces, 3);
    cr_assert_eq(tsri_text_encode(t, text, n, 0, &whole), TSR_OK);
    cr_assert_eq(whole.count, parts.count);
    cr_assert(!memcmp(whole.data, parts.data, whole.count * sizeof *whole.data));
    /* Cutting at any place gives the same ids. */
    for (size_t end = 1; end < 3000; end++) {
        const size_t cut = tsri_text_cut_place(text, end, TSRI_TEXT_CUT_WORDS);
        whole.count = parts.count = 0;
        cr_assert_leq(cut, end);
        cr_assert_eq(tsri_text_encode(t, text, cut, 0, &parts), TSR_OK);
        cr_assert_eq(tsri_text_encode(t, text + cut, 3100 - cut, 0, &parts), TSR_OK);
        cr_assert_eq(tsri_text_encode(t, text, 3100, 0, &whole), TSR_OK);
        cr_assert(end < 200 || (whole.count == parts.count &&
                                !memcmp(whole.data, parts.data, whole.count * sizeof *whole.data)),
                  "cut at %zu of %zu", cut, end);
    }
    tsri_text_reader_close(&reader);
    tsri_text_ids_clear(&whole);
    tsri_text_ids_clear(&parts);
    tsri_text_tokenizer_destroy(&t);
    json_decref(json);
    tsri_base_bytes_clear(&file);
    free(text);
    unlink(path);
}

Test(text_train, lines_and_what_is_no_text) {
    char path[] = "/tmp/tessera-reader-XXXXXX", *line;
    const int fd = mkstemp(path);
    static const char text[] = "\xEF\xBB\xBFone\r\n\n  two \nlast";
    static const char *const wanted[] = {"one", "", "  two ", "last"};
    tsri_text_reader *reader = NULL;
    size_t n;
    cr_assert(fd >= 0);
    close(fd);
    write_file(path, text, sizeof text - 1);
    cr_assert_eq(tsri_text_reader_open(path, &reader), TSR_OK);
    for (size_t i = 0; i < 4; i++) {
        cr_assert_eq(tsri_text_reader_line(reader, &line, &n), TSR_OK);
        cr_assert(line && n == strlen(wanted[i]) && !memcmp(line, wanted[i], n), "line %zu", i);
        cr_assert_eq(tsri_text_reader_number(reader), i + 1);
    }
    cr_assert_eq(tsri_text_reader_line(reader, &line, &n), TSR_OK);
    cr_assert_null(line);
    tsri_text_reader_close(&reader);

    static const struct {
        const char *text, *why;
    } rows[] = {{"a\nb\xff\n", "line 2: byte 2 of it (0xff)"},
                {"\n\n\xC3", "line 3: byte 1 of it (0xc3)"},
                {"\xED\xA0\x80", "line 1: byte 1 of it (0xed)"},
                {"", "is empty"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        write_file(path, rows[i].text, strlen(rows[i].text));
        tsr_status status = tsri_text_reader_open(path, &reader);
        do {
            if (status == TSR_OK)
                status = tsri_text_reader_line(reader, &line, &n);
        } while (status == TSR_OK && line);
        cr_expect_eq(status, TSR_E_FORMAT, "row %zu", i);
        cr_expect(strstr(tsri_base_reported(), rows[i].why), "row %zu: %s", i,
                  tsri_base_reported());
        tsri_text_reader_close(&reader);
    }
    unlink(path);
}
