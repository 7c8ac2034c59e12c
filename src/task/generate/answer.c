/* task/generate/answer.c - splits an answer, as its tokens come, into what the model thinks, what it says and
 * what it calls: by tags (<think>...</think>), or by the channels of gpt-oss (its form is called harmony). */
#include "task/generate/answer.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/structs.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

/* The tags around what models think, in the order in which they are looked for. */
typedef struct tags {
    const char *open, *close;
} tags;
#define TAG(open, close) {open, close},
static const tags known_tags[] = {TSR_THOUGHT_TAGS(TAG)};
#undef TAG
enum { TAGS = sizeof known_tags / sizeof *known_tags };

/* The special tokens of channels. An answer goes on behind the prompt's START. */
typedef enum sign { START, CHANNEL, CONSTRAIN, MESSAGE, END, CALL, RETURN, SIGNS } sign;
static const char *const signs[SIGNS] = {
    [START] = "<|start|>",     [CHANNEL] = "<|channel|>", [CONSTRAIN] = "<|constrain|>",
    [MESSAGE] = "<|message|>", [END] = "<|end|>",         [CALL] = "<|call|>",
    [RETURN] = "<|return|>"};

typedef enum state {
    /* by tags */
    AT_BEGIN, /* nothing but blanks and a part of a tag has come */
    THINKING,
    BEHIND, /* between what is thought and what is said */
    SAYING,
    /* by channels */
    HEADER, /* before MESSAGE */
    BODY,
    BETWEEN /* behind a message */
} state;

struct tsr_answer {
    const tsri_model *model;
    state state;
    const tags *tag;
    tsri_bytes held; /* bytes that have not been given; in HEADER, the header */
    uint32_t kind;   /* of a BODY, as is `function` */
    char *function;
    bool given[TSR_PART_CALL + 1]; /* by kind: whether there was a part of it */
    tsr_part_fn part;              /* as is `data`, of the call of tsr_answer_take */
    void *data;
};

static bool is_word(const char *text, size_t n, const char *word) {
    return strlen(word) == n && !memcmp(word, text, n);
}

/* ---- parts ---- */

static tsr_status give(tsr_answer *a, uint32_t kind, const char *text, size_t n) {
    const tsr_part part = {.struct_size = sizeof part,
                           .kind = kind,
                           .text = n ? text : "",
                           .text_size = n,
                           .function = kind == TSR_PART_CALL ? a->function : NULL};
    if (!n && kind != TSR_PART_CALL)
        return TSR_OK;
    a->given[kind] = true;
    return a->part && a->part(a->data, &part)
               ? tsri_base_fail(TSR_E_CANCELLED, "the answer was cancelled")
               : TSR_OK;
}

static void drop(tsr_answer *a, size_t n) {
    if (!n)
        return;
    a->held.size -= n;
    memmove(a->held.data, a->held.data + n, a->held.size);
}

static void drop_blanks(tsr_answer *a) {
    drop(a, tsri_base_blank_begin(a->held.data, a->held.size));
}

/* Gives n of the bytes that are held, and drops them. */
static tsr_status give_held(tsr_answer *a, uint32_t kind, size_t n) {
    const tsr_status status = give(a, kind, a->held.data, n);
    drop(a, n);
    return status;
}

/* ---- tags ---- */

/* The tag that a text begins with, blanks before it left out. *whole: else it may still become one. NULL:
 * none. */
static const tags *find_open(const char *text, size_t n, bool *whole) {
    const size_t blanks = tsri_base_blank_begin(text, n);
    text += blanks;
    n -= blanks;
    for (int i = 0; i < TAGS; i++) {
        const size_t size = strlen(known_tags[i].open);
        *whole = n >= size;
        if (!memcmp(text, known_tags[i].open, *whole ? size : n))
            return &known_tags[i];
    }
    return NULL;
}

/* How many bytes at the end of a text are blanks, or the beginning of `word` (NULL: of none), or the one and
 * then the other. */
static size_t unsure(const char *text, size_t n, const char *word) {
    size_t begun = word ? strlen(word) - 1 : 0;
    begun = begun < n ? begun : n;
    while (begun && memcmp(text + n - begun, word, begun))
        begun--;
    return begun + tsri_base_blank_end(text, n - begun);
}

/* Each returns whether another state goes on with the bytes that are held. */

static bool begin(tsr_answer *a, bool end) {
    bool whole = false;
    a->tag = find_open(a->held.size ? a->held.data : "", a->held.size, &whole);
    if (a->tag && !whole && !end)
        return false;
    a->state = a->tag && whole ? THINKING : SAYING;
    if (a->state == THINKING) {
        drop_blanks(a);
        drop(a, strlen(a->tag->open));
    }
    return true;
}

static bool think(tsr_answer *a, bool end, tsr_status *status) {
    if (!a->given[TSR_PART_REASONING])
        drop_blanks(a);
    const char *text = a->held.size ? a->held.data : "",
               *close = memmem(text, a->held.size, a->tag->close, strlen(a->tag->close));
    size_t n = close ? (size_t)(close - text) : a->held.size;
    const size_t behind = close ? n + strlen(a->tag->close) : 0;
    n -= unsure(text, n, close || end ? NULL : a->tag->close);
    const size_t rest = close ? behind - n : end ? a->held.size - n : 0;
    *status = give_held(a, TSR_PART_REASONING, n);
    drop(a, rest);
    a->state = close ? BEHIND : THINKING;
    return close;
}

static bool leave(tsr_answer *a) {
    drop_blanks(a);
    a->state = a->held.size ? SAYING : BEHIND;
    return a->held.size;
}

static tsr_status split(tsr_answer *a, bool end) {
    tsr_status status = TSR_OK;
    bool more = true;
    while (more && status == TSR_OK)
        switch (a->state) {
        case AT_BEGIN:
            more = begin(a, end);
            break;
        case THINKING:
            more = think(a, end, &status);
            break;
        case BEHIND:
            more = leave(a);
            break;
        default:
            more = false;
            status = give_held(a, TSR_PART_TEXT, a->held.size);
        }
    return status;
}

static bool is_tag(const char *name, size_t n) {
    bool found = false;
    for (int i = 0; i < TAGS; i++)
        found |= is_word(name, n, known_tags[i].open) || is_word(name, n, known_tags[i].close);
    return found;
}

/* ---- channels ---- */

/* Where the name of the called function begins in a header, and its size; NULL: it is not a call. */
static const char *find_function(const char *header, size_t *n) {
    static const char to[] = "to=", functions[] = "functions.";
    const char *name = strstr(header, to);
    if (!name)
        return NULL;
    name += strlen(to);
    if (!strncmp(name, functions, strlen(functions)))
        name += strlen(functions);
    *n = strcspn(name, " \t\r\n<");
    const bool person = is_word(name, *n, "assistant") || is_word(name, *n, "user");
    return *n && !person ? name : NULL;
}

static uint32_t kind_of(const char *header) {
    static const char analysis[] = "analysis";
    const char *channel = strstr(header, signs[CHANNEL]);
    if (!channel)
        return TSR_PART_TEXT;
    channel += strlen(signs[CHANNEL]);
    channel += tsri_base_blank_begin(channel, strlen(channel));
    return strncmp(channel, analysis, strlen(analysis)) ? TSR_PART_TEXT : TSR_PART_REASONING;
}

/* The header is whole. */
static tsr_status open_body(tsr_answer *a) {
    size_t n = 0;
    TRY(tsri_base_bytes_append(&a->held, "", 1));
    const char *name = find_function(a->held.data, &n);
    free(a->function);
    a->function = name ? tsri_base_copy_text(name, n) : NULL;
    a->kind = name ? TSR_PART_CALL : kind_of(a->held.data);
    a->held.size = 0;
    a->state = BODY;
    if (name)
        return a->function ? give(a, TSR_PART_CALL, "", 0) : TSR_E_HOST_MEMORY;
    return a->given[a->kind] ? give(a, a->kind, "\n\n", 2) : TSR_OK;
}

static tsr_status take_sign(tsr_answer *a, sign which) {
    if (a->state != HEADER && (which == MESSAGE || which == CONSTRAIN)) /* of headers alone */
        return TSR_OK;
    if (which == MESSAGE)
        return open_body(a);
    if (which == START || which > MESSAGE || a->state != HEADER)
        a->held.size = 0;
    a->state = which > MESSAGE ? BETWEEN : HEADER;
    return a->state == HEADER && which != START
               ? tsri_base_bytes_append(&a->held, signs[which], strlen(signs[which]))
               : TSR_OK;
}

static tsr_status take_channel_text(tsr_answer *a, const char *text, size_t n) {
    if (a->state == BODY && n)
        return give(a, a->kind, text, n);
    return a->state == HEADER ? tsri_base_bytes_append(&a->held, text, n) : TSR_OK;
}

/* An answer that never came to a message is given as it is. */
static tsr_status end_channels(tsr_answer *a) {
    bool any = false;
    for (int i = 0; i <= TSR_PART_CALL; i++)
        any |= a->given[i];
    return a->state == HEADER && !any ? give_held(a, TSR_PART_TEXT, a->held.size) : TSR_OK;
}

/* ---- tokens ---- */

static bool by_channels(const tsr_answer *a) {
    return a->state >= HEADER;
}

static tsr_status take_special(tsr_answer *a, int32_t id) {
    const tsri_text_tokenizer *tokenizer = a->model->tokenizer;
    size_t n = 0;
    const char *name = id >= 0 && tsri_text_is_special(tokenizer, id)
                           ? tsri_text_piece_of(tokenizer, id, &n)
                           : NULL;
    if (!name)
        return TSR_OK;
    for (int i = 0; by_channels(a) && i < SIGNS; i++)
        if (is_word(name, n, signs[i]))
            return take_sign(a, (sign)i);
    return a->state <= THINKING && is_tag(name, n) ? tsri_base_bytes_append(&a->held, name, n)
                                                   : TSR_OK;
}

static tsr_status take(tsr_answer *a, const tsr_generated *g) {
    if (by_channels(a)) {
        TRY(take_channel_text(a, g->text, g->text_size));
        TRY(take_special(a, g->id));
        return g->finish ? end_channels(a) : TSR_OK;
    }
    TRY(tsri_base_bytes_append(&a->held, g->text, g->text_size));
    TRY(take_special(a, g->id));
    return split(a, g->finish != TSR_FINISH_NONE);
}

tsr_status tsr_answer_take(tsr_answer *answer, const tsr_generated *generated, tsr_part_fn part,
                           void *data) {
    TRY(NEED(answer));
    TRY(NEED(generated));
    tsr_generated known;
    TRY(tsri_base_adopt("tsr_generated", generated, &known, sizeof known));
    answer->part = part;
    answer->data = data;
    return take(answer, &known);
}

/* ---- creation ---- */

/* The tag that stands open at the end of a prompt; NULL: none. */
static const tags *open_tag(const char *text, size_t n) {
    n -= tsri_base_blank_end(text, n);
    for (int i = 0; i < TAGS; i++)
        if (tsri_base_bytes_end_with(text, n, known_tags[i].open))
            return &known_tags[i];
    return NULL;
}

/* -1: the tokenizer has no such special token. */
static int32_t id_of(const tsri_text_tokenizer *tokenizer, sign which) {
    const int32_t id = tsri_text_id_of(tokenizer, signs[which], strlen(signs[which]));
    return tsri_text_is_special(tokenizer, id) ? id : -1;
}

/* Whether the tokenizer has all tokens that answers in channels can't do without. */
static bool has_channels(const tsri_text_tokenizer *tokenizer) {
    return tokenizer && id_of(tokenizer, START) >= 0 && id_of(tokenizer, CHANNEL) >= 0 &&
           id_of(tokenizer, MESSAGE) >= 0 && id_of(tokenizer, END) >= 0;
}

int32_t tsri_task_end_of_calls(const tsri_text_tokenizer *tokenizer) {
    return has_channels(tokenizer) ? id_of(tokenizer, CALL) : -1;
}

tsr_status tsri_task_answer_create(const tsri_model *model, const char *prompt, size_t n,
                                   tsr_answer **out) {
    tsr_answer *a;
    TRY(tsri_base_new(1, sizeof *a, &a));
    a->model = model;
    a->tag = open_tag(prompt, n);
    a->state = a->tag ? THINKING : AT_BEGIN;
    if (tsri_base_bytes_end_with(prompt, n, "<|start|>assistant") && has_channels(model->tokenizer))
        a->state = HEADER;
    *out = a;
    return TSR_OK;
}

tsr_status tsr_answer_create(const tsr_model *model, const char *prompt, size_t size,
                             tsr_answer **out) {
    TRY(NEED(out));
    *out = NULL;
    TRY(NEED(model));
    TRY(NEED_ARRAY(prompt, size));
    const tsri_model *m = tsri_model_of(model);
    if (!m->tokenizer)
        return tsri_base_fail(TSR_E_STATE, "%s has no tokenizer: its answers have no text",
                              m->path);
    return tsri_task_answer_create(m, prompt ? prompt : "", size, out);
}

uint32_t tsr_answer_has_channels(const tsr_answer *answer) {
    return answer && by_channels(answer);
}

void tsr_answer_destroy(tsr_answer **answer) {
    tsr_answer *a = answer ? *answer : NULL;
    if (!a)
        return;
    tsri_base_bytes_clear(&a->held);
    free(a->function);
    free(a);
    *answer = NULL;
}
