/* CSV as RFC 4180 describes it, and files that do not follow it. */
#include "base/csv.h"

#include <criterion/criterion.h>
#include <string.h>

/* A text as its events: bytes as they are, | for the end of a field, / for that of a row. */
static const char *read_as(const char *text, char between, bool *stray) {
    static char out[256];
    tsri_csv csv = {.between = between};
    size_t n = 0;
    tsri_base_csv_begin_row(&csv);
    for (; *text; text++)
        switch (tsri_base_csv_feed(&csv, *text)) {
        case TSRI_CSV_BYTE:
            out[n++] = *text;
            break;
        case TSRI_CSV_FIELD:
            out[n++] = '|';
            break;
        case TSRI_CSV_ROW:
            out[n++] = '/';
            break;
        case TSRI_CSV_NOTHING:
            break;
        }
    out[n] = 0;
    *stray = csv.stray;
    return out;
}

Test(csv, rows_are_read_as_rfc_4180_says) {
    static const struct {
        const char *text, *wanted;
        char between;
        bool stray;
    } rows[] = {{"a,b\n", "a|b/", ',', false},
                {"\"a,b\",c\n", "a,b|c/", ',', false},
                {"\"a \"\"b\"\"\"\n", "a \"b\"/", ',', false},
                {"\"a\r\nb\",c\n", "a\r\nb|c/", ',', false},
                {"a \"b\" c,d\n", "a \"b\" c|d/", ',', false},
                {",\"\",\n", "||/", ',', false},
                {"a,b\tc\n", "a,b|c/", '\t', false},
                {"\"a\"b,c\n", "ab|c/", ',', true}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bool stray;
        cr_expect_str_eq(read_as(rows[i].text, rows[i].between, &stray), rows[i].wanted);
        cr_expect_eq(stray, rows[i].stray, "%s", rows[i].text);
    }
}
