/* task/measure/bleu.c - BLEU as sacrebleu computes it: words by the rules of mteval-v13a, n-grams
 * up to four, exponential smoothing for orders without a match. */
#include "base/bytes.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/structs.h"
#include "task/measure/ngrams.h"
#include "tessera/evaluate.h"
#include "text/base/unicode.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ORDERS = 4 };

typedef struct word {
    const char *text;
    size_t size;
    int32_t place; /* its number in the line; the reference's words follow the translation's */
} word;

typedef struct counting {
    tsri_bytes texts[2]; /* a translation and its reference, with words separated by blanks */
    tsri_bytes spare;
    word *words;
    size_t n, room;
    int32_t *ids; /* by place */
    size_t ids_room;
    tsri_task_ngrams sequences[2];
} counting;

/* ---- words ---- */

static tsr_status put(tsri_bytes *out, const char *text, size_t n) {
    return tsri_base_bytes_append(out, text, n);
}

/* Shortens the text: each `from`, left to right, becomes `to`, which is no longer. */
static void replace(tsri_bytes *text, const char *from, const char *to) {
    const size_t n = strlen(from), m = strlen(to);
    size_t kept = 0;
    for (size_t at = 0; at < text->size;) {
        const bool found = text->size - at >= n && !memcmp(text->data + at, from, n);
        if (found)
            memcpy(text->data + kept, to, m);
        else
            text->data[kept] = text->data[at];
        kept += found ? m : 1;
        at += found ? n : 1;
    }
    text->size = kept;
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_stop(char c) {
    return c == '.' || c == ',';
}

/* ASCII signs that are always words of their own. */
static bool stands_alone(char c) {
    return c >= ' ' && c < 127 && !strchr("',-.", c) && !is_digit(c) && !(c >= 'A' && c <= 'Z') &&
           !(c >= 'a' && c <= 'z');
}

/* Whether a pair of bytes matches a rule. */
typedef bool (*is_pair_fn)(char a, char b);
static bool stop_behind_no_digit(char a, char b) {
    return !is_digit(a) && is_stop(b);
}
static bool stop_before_no_digit(char a, char b) {
    return is_stop(a) && !is_digit(b);
}
static bool dash_behind_digit(char a, char b) {
    return is_digit(a) && b == '-';
}
typedef struct rule {
    is_pair_fn is_pair;
    const char *before, *behind; /* written around the pair; a blank is always put into it */
} rule;
/* Bytes can stand for characters, because rules only ask whether one is a certain ASCII sign. */
static const rule rules[] = {
    {stop_behind_no_digit, "", " "}, {stop_before_no_digit, " ", ""}, {dash_behind_digit, "", " "}};

/* Pairs do not overlap: the bytes of a match are not looked at again. */
static tsr_status apply(const rule *r, const tsri_bytes *in, tsri_bytes *out) {
    out->size = 0;
    for (size_t i = 0; i < in->size; i++) {
        const char *c = in->data + i;
        if (i + 1 == in->size || !r->is_pair(c[0], c[1])) {
            TRY(put(out, c, 1));
            continue;
        }
        TRY(put(out, r->before, strlen(r->before)));
        TRY(put(out, c, 1));
        TRY(put(out, " ", 1));
        TRY(put(out, c + 1, 1));
        TRY(put(out, r->behind, strlen(r->behind)));
        i++;
    }
    return TSR_OK;
}

static size_t without_blank_end(const char *text, size_t n) {
    while (n) {
        int32_t c;
        const size_t at = tsri_text_utf8_before(text, n);
        tsri_text_utf8_next(text + at, n - at, &c);
        if (!tsri_task_splits(c))
            break;
        n = at;
    }
    return n;
}

/* Writes the line with blanks around each word. */
static tsr_status tokenize(counting *c, const tsr_string *line, tsri_bytes *out) {
    tsri_bytes *spare = &c->spare;
    spare->size = 0;
    TRY(put(spare, line->data, without_blank_end(line->data, line->size)));
    replace(spare, "<skipped>", "");
    replace(spare, "-\n", "");
    replace(spare, "\n", " ");
    replace(spare, "&quot;", "\"");
    replace(spare, "&amp;", "&");
    replace(spare, "&lt;", "<");
    replace(spare, "&gt;", ">");
    out->size = 0;
    TRY(put(out, " ", 1));
    for (size_t i = 0; i < spare->size; i++) {
        const bool alone = stands_alone(spare->data[i]);
        TRY(put(out, " ", alone));
        TRY(put(out, spare->data + i, 1));
        TRY(put(out, " ", alone));
    }
    TRY(put(out, " ", 1));
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        TRY(apply(&rules[i], out, spare));
        const tsri_bytes swapped = *out;
        *out = *spare;
        *spare = swapped;
    }
    return TSR_OK;
}

static tsr_status add_words(counting *c, const tsri_bytes *text) {
    size_t begin = 0;
    for (size_t at = 0; at < text->size;) {
        int32_t code;
        const size_t n = tsri_text_utf8_next(text->data + at, text->size - at, &code);
        const bool splits = tsri_task_splits(code);
        if (splits && at > begin) {
            TRY(tsri_base_grow(&c->words, &c->room, c->n + 1, sizeof *c->words));
            c->words[c->n] = (word){text->data + begin, at - begin, (int32_t)c->n};
            c->n++;
        }
        at += n;
        begin = splits ? at : begin;
    }
    return TSR_OK; /* the last byte is a blank */
}

static int by_text(const void *a, const void *b) {
    const word *p = a, *q = b;
    const size_t n = p->size < q->size ? p->size : q->size;
    const int order = memcmp(p->text, q->text, n);
    return order ? order : p->size < q->size ? -1 : p->size > q->size;
}

/* Numbers the words; equal words get equal numbers. */
static tsr_status number_words(counting *c, size_t split) {
    TRY(tsri_base_grow(&c->ids, &c->ids_room, c->n + 1, sizeof *c->ids));
    if (c->n)
        qsort(c->words, c->n, sizeof *c->words, by_text);
    for (size_t i = 0, id = 0; i < c->n; i++) {
        id += i && by_text(&c->words[i - 1], &c->words[i]) != 0;
        c->ids[c->words[i].place] = (int32_t)id;
    }
    for (int side = 0; side < 2; side++) {
        tsri_task_ngrams_empty(&c->sequences[side]);
        for (size_t i = side ? split : 0; i < (side ? c->n : split); i++)
            TRY(tsri_task_ngrams_add(&c->sequences[side], c->ids[i]));
        TRY(tsri_task_ngrams_sort(&c->sequences[side]));
    }
    return TSR_OK;
}

/* ---- the score ---- */

static tsr_status add_line(counting *c, const tsr_string *translation, const tsr_string *reference,
                           tsr_bleu *b) {
    TRY(tokenize(c, translation, &c->texts[0]));
    TRY(tokenize(c, reference, &c->texts[1]));
    c->n = 0;
    TRY(add_words(c, &c->texts[0]));
    const size_t split = c->n;
    TRY(add_words(c, &c->texts[1]));
    TRY(number_words(c, split));
    b->length += split;
    b->reference_length += c->n - split;
    for (int n = 1; n <= ORDERS; n++) {
        b->matches[n - 1] += tsri_task_ngrams_common(&c->sequences[0], &c->sequences[1], n);
        b->ngrams[n - 1] += tsri_task_ngrams_count(&c->sequences[0], n);
    }
    return TSR_OK;
}

static void finish(tsr_bleu *b) {
    double sum = 0, smooth = 1;
    b->brevity_penalty = b->length >= b->reference_length ? 1
                         : b->length ? exp(1 - (double)b->reference_length / (double)b->length)
                                     : 0;
    if (!b->matches[0]) /* then no higher order has a match either */
        return;
    for (int i = 0; i < ORDERS && b->ngrams[i]; i++) {
        smooth *= b->matches[i] ? 1 : 2;
        b->precision[i] = b->matches[i] ? 100.0 * (double)b->matches[i] / (double)b->ngrams[i]
                                        : 100.0 / (smooth * (double)b->ngrams[i]);
    }
    for (int i = 0; i < ORDERS; i++)
        sum += b->precision[i] > 0 ? log(b->precision[i]) : -INFINITY;
    b->score = b->brevity_penalty * exp(sum / ORDERS);
}

tsr_status tsr_evaluate_bleu(const tsr_string *translations, const tsr_string *references, size_t n,
                             tsr_bleu *out) {
    counting c = {0};
    tsr_bleu b = {.struct_size = sizeof b};
    TRY(NEED_ARRAY(translations, n));
    TRY(NEED_ARRAY(references, n));
    TRY(NEED(out));
    TRY(tsri_base_check_out("tsr_bleu", out));
    tsr_status status = tsri_task_check_lines(translations, references, n);
    for (size_t i = 0; i < n && status == TSR_OK; i++)
        status = add_line(&c, &translations[i], &references[i], &b);
    for (int side = 0; side < 2; side++) {
        tsri_base_bytes_clear(&c.texts[side]);
        tsri_task_ngrams_clear(&c.sequences[side]);
    }
    tsri_base_bytes_clear(&c.spare);
    free(c.words);
    free(c.ids);
    if (status != TSR_OK)
        return status;
    finish(&b);
    tsri_base_give(&b, sizeof b, out);
    return TSR_OK;
}

const char *tsr_bleu_signature(void) {
    return "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:tessera-" TESSERA_VERSION;
}
