/* The places where long lines are cut. */
#include "task/translate/sentences.h"

#include <criterion/criterion.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The text with '|' after each sentence. */
static char *cut(const char *text) {
    static char out[512];
    const size_t n = strlen(text);
    size_t used = 0;
    for (size_t at = 0; at < n;) {
        const size_t size = tsri_task_sentence(text + at, n - at);
        cr_assert(size > 0 && size <= n - at);
        memcpy(out + used, text + at, size);
        used += size;
        out[used++] = '|';
        at += size;
    }
    out[used] = 0;
    return out;
}

Test(sentences, ends) {
    static const char *const wanted[] = {
        "One. |Two! |Three? |Four",
        "Am 3. Mai kam Dr. Meier zu J. S. Bach. |Er blieb.",
        "Er sagte: \u201eGeh!\u201c |Dann ging er.",
        "\"Really?\" |He nodded... |Then 3.14 was said (twice). |End.",
        "z.B. dies, d.h. das usw. und mehr. |Ja.",
        "\u4f60\u597d\u3002|\u518d\u89c1\uff01|",
        "no end at all",
        "...",
        ". |. |.",
        "What?! |Yes.  |No.",
        "a.b.c",
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        char text[256], all[256];
        size_t n = 0;
        for (const char *c = wanted[i]; *c; c++)
            if (*c != '|')
                text[n++] = *c;
        text[n] = 0;
        const bool closed = wanted[i][strlen(wanted[i]) - 1] == '|';
        snprintf(all, sizeof all, "%s%s", wanted[i], closed ? "" : "|");
        cr_expect_str_eq(cut(text), all);
    }
}

Test(sentences, any_bytes) {
    for (unsigned seed = 1; seed < 3000; seed++) {
        static const char alphabet[] = ".!? \"'a3\xe3\x80\x82\xff\xc3\0,;";
        char text[40];
        unsigned state = seed * 2654435761u;
        const size_t n = 1 + seed % 39;
        for (size_t i = 0; i < n; i++, state = state * 1664525u + 1013904223u)
            text[i] = alphabet[(state >> 16) % (sizeof alphabet - 1)];
        char *exact = malloc(n); /* so that a sanitizer sees a read past the end */
        memcpy(exact, text, n);
        size_t at = 0;
        while (at < n) {
            const size_t size = tsri_task_sentence(exact + at, n - at);
            cr_assert(size > 0 && size <= n - at);
            at += size;
        }
        const size_t middle = tsri_task_sentence_middle(exact, n);
        cr_assert(n == 1 || (middle > 0 && middle < n), "seed %u: %zu of %zu", seed, middle, n);
        free(exact);
    }
}

Test(sentences, middle) {
    const char clause[] = "so it went, and so on";
    cr_expect(tsri_task_sentence_middle(clause, strlen(clause)) == 12);
    const char words[] = "aaaa bbbb cccc dddd";
    cr_expect(tsri_task_sentence_middle(words, strlen(words)) == 10);
    const char wide[] = "\u4f60\u597d\u4f60";
    cr_expect(tsri_task_sentence_middle(wide, strlen(wide)) % 3 == 0);
}
