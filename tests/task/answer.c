/* The parts of answers: what is thought, said and called, whatever pieces the text comes in. */
#include "task/fixture.h"

#include <stdio.h>
#include <string.h>

static tsr_model *model;

static const char *const signs[] = {"<|start|>",   "<|channel|>", "<|constrain|>",
                                    "<|message|>", "<|end|>",     "<|call|>",
                                    "<|return|>",  "[THINK]",     "[/THINK]"};
enum { SIGNS = sizeof signs / sizeof *signs, FIRST = 61 - SIGNS };

/* The tokenizer's last ids are these special tokens. */
static void setup(void) {
    make_chat_folder();
    json_t *tokenizer = read_json(chat_folder, "tokenizer.json"),
           *vocab = json_object_get(json_object_get(tokenizer, "model"), "vocab"),
           *added = json_object_get(tokenizer, "added_tokens"), *id;
    const char *key;
    void *next;
    json_object_foreach_safe(vocab, next, key, id) if (json_integer_value(id) >= FIRST)
        json_object_del(vocab, key);
    for (int i = 0; i < SIGNS; i++) {
        json_object_set_new(vocab, signs[i], json_integer(FIRST + i));
        json_array_append_new(added, json_pack("{s:i,s:s,s:b,s:b,s:b,s:b,s:b}", "id", FIRST + i,
                                               "content", signs[i], "single_word", 0, "lstrip", 0,
                                               "rstrip", 0, "normalized", 0, "special", 1));
    }
    char *text = json_dumps(tokenizer, 0);
    write_chat_file("tokenizer.json", text);
    free(text);
    json_decref(tokenizer);
    open_reference();
    OK(tsr_model_open(chat_folder, device, NULL, &model));
}

static void teardown(void) {
    tsr_model_close(&model);
    close_reference();
    remove_chat_folder();
}

TestSuite(answer, .init = setup, .fini = teardown);

/* Parts as one text: a letter for the kind where it changes, and the function of a call. */
typedef struct written {
    char text[MOST_TEXT];
    size_t size;
    uint32_t kind;
} written;

static int write_part(void *data, const tsr_part *part) {
    written *w = data;
    char *to = w->text + w->size;
    const size_t room = sizeof w->text - w->size;
    int n = 0;
    if (part->kind == TSR_PART_CALL && !part->text_size)
        n = snprintf(to, room, "{C %s}", part->function);
    else if (part->kind != w->kind)
        n = snprintf(to, room, "{%c}", "TRC"[part->kind]);
    w->size += (size_t)n;
    w->kind = part->kind;
    cr_assert(!part->function == (part->kind != TSR_PART_CALL));
    memcpy(w->text + w->size, part->text, part->text_size);
    w->size += part->text_size;
    return 0;
}

/* The sign that a text begins with; -1: none. */
static int sign_at(const char *text) {
    for (int i = 0; i < SIGNS; i++)
        if (!strncmp(text, signs[i], strlen(signs[i])))
            return i;
    return -1;
}

/* Feeds an answer, pieces of its text and its signs as tokens. special: a sign is a token. */
static void feed(const char *prompt, const char *answer, size_t piece, bool special, written *w) {
    tsr_answer *a = NULL;
    *w = (written){.kind = UINT32_MAX};
    OK(tsr_answer_create(model, prompt, strlen(prompt), &a));
    while (*answer) {
        const int sign = special ? sign_at(answer) : -1;
        tsr_generated g = {
            .struct_size = sizeof g, .id = sign < 0 ? 5 : FIRST + sign, .text = answer};
        size_t n = sign < 0 ? 0 : strlen(signs[sign]);
        while (sign < 0 && n < piece && answer[n] && (!special || !n || sign_at(answer + n) < 0))
            n++;
        g.text_size = sign < 0 ? n : 0;
        OK(tsr_answer_take(a, &g, write_part, w));
        answer += n;
    }
    const tsr_generated end = {
        .struct_size = sizeof end, .id = -1, .text = "", .finish = TSR_FINISH_END};
    OK(tsr_answer_take(a, &end, write_part, w));
    w->text[w->size] = 0;
    tsr_answer_destroy(&a);
}

typedef struct case_of {
    const char *prompt, *answer, *parts;
    bool special;
} case_of;

static void check(const case_of *cases, size_t n) {
    for (size_t i = 0; i < n; i++)
        for (size_t piece = 1; piece < 40; piece++) {
            written w;
            feed(cases[i].prompt, cases[i].answer, piece, cases[i].special, &w);
            cr_assert_str_eq(w.text, cases[i].parts, "%s, pieces of %zu: %s", cases[i].answer,
                             piece, w.text);
        }
}

Test(answer, tags) {
    static const case_of cases[] = {
        {"A ", "plain", "{T}plain", false},
        {"A ", " \n x <think>y</think> ", "{T} \n x <think>y</think> ", false},
        {"A ", "<thin", "{T}<thin", false},
        {"A ", "", "", false},
        {"A ", " \n", "{T} \n", false},
        {"A ", "<think>\na b\n</think>\n\nc d ", "{R}a b{T}c d ", false},
        {"A ", "\n<think>a</think>", "{R}a", false},
        {"A ", "<think>\n\n</think>\n\nc", "{T}c", false},
        {"A ", "<think>a </thin b </think>c</think>", "{R}a </thin b{T}c</think>", false},
        {"A ", "<think>a \n", "{R}a", false},
        {"A ", "<think>a</thi", "{R}a</thi", false},
        {"A <think>\n", "a\n</think>\nc", "{R}a{T}c", false},
        {"A <think>\n", "a", "{R}a", false},
        {"A <think>\n\n</think>\n\n", "a", "{T}a", false},
        {"A ", "<seed:think>a</seed:think>c", "{R}a{T}c", false},
        {"A ", "<|START_THINKING|>a</think><|END_THINKING|>c", "{R}a</think>{T}c", false},
        {"A ", "[THINK]a[/THINK]c[/THINK]d[THINK]e", "{R}a{T}cde", true},
        {"A ", "[THINK]a[/THINK]c", "{R}a{T}c", false},
        {"A ", "<|channel|>final<|message|>a", "{T}finala", true}};
    check(cases, sizeof cases / sizeof *cases);
}

Test(answer, channels) {
#define THOUGHT "<|channel|>analysis<|message|>"
#define NEXT "<|end|><|start|>assistant"
    static const case_of cases[] = {
        {"<|start|>assistant", "<|channel|>final<|message|>a b<|return|>", "{T}a b", true},
        {"<|start|>assistant", THOUGHT " a" NEXT "<|channel|>final<|message|>b", "{R} a{T}b", true},
        {"<|start|>assistant", THOUGHT "a" NEXT THOUGHT "b" NEXT "<|message|>c", "{R}a\n\nb{T}c",
         true},
        {"<|start|>assistant",
         "<|channel|>commentary<|message|>I look" NEXT
         "<|channel|>commentary to=functions.look <|constrain|>json<|message|>{\"n\": 7}<|call|>",
         "{T}I look{C look}{\"n\": 7}", true},
        {"<|start|>assistant", " to=functions.f<|channel|>commentary json<|message|>{}<|call|>",
         "{C f}{}", true},
        {"<|start|>assistant",
         "<|channel|>commentary to=functions.f<|message|>{" NEXT
         "<|channel|>commentary to=functions.f<|message|>[]<|call|>",
         "{C f}{{C f}[]", true},
        {"<|start|>assistant", "<|channel|>analysis to=python<|message|>1<|call|>", "{C python}1",
         true},
        {"<|start|>assistant", "<|channel|>analysis to=assistant<|message|>1", "{R}1", true},
        {"<|start|>assistant", THOUGHT "<think>a</think><|end|>lost", "{R}<think>a</think>", true},
        {"<|start|>assistant", THOUGHT "a<|constrain|>b<|message|>c", "{R}abc", true},
        {"<|start|>assistant", "no channel", "{T}no channel", true},
        {"<|start|>assistant", THOUGHT, "", true},
        {"<|start|>assistant", "", "", true}};
    check(cases, sizeof cases / sizeof *cases);
}

/* Files of such models may name <|return|> alone as their end. */
Test(answer, ends_behind_a_call) {
    static collected told;
    const tsr_logit_bias call = {.id = FIRST + 5, .bias = 100};
    const tsr_chat_options how = {
        .struct_size = sizeof how,
        .template_text = "{% for m in messages %}{{ m.content }}<|return|>{% endfor %}"};
    const tsr_generate_options options = {.struct_size = sizeof options,
                                          .max_new_tokens = 4,
                                          .repeat_penalty = 1,
                                          .top_p = 1,
                                          .logit_bias = &call,
                                          .n_logit_bias = 1};
    tsr_chat *chat = NULL;
    OK(tsr_chat_create(model, &how, &options, &chat));
    OK(tsr_chat_say(chat, "a", 1, collect, &told, NULL));
    cr_expect(told.n == 1 && told.finish == TSR_FINISH_END, "%zu tokens", told.n);
    tsr_chat_destroy(&chat);
}

static int cancel(void *data, const tsr_part *part) {
    (void)part;
    return ++*(int *)data;
}

Test(answer, what_is_refused) {
    const tsr_generated g = {.struct_size = sizeof g, .id = 5, .text = "ab", .text_size = 2};
    tsr_answer *a = NULL;
    int calls = 0;
    cr_expect(tsr_answer_create(NULL, "", 0, &a) == TSR_E_ARGUMENT && !a);
    cr_expect(tsr_answer_create(model, NULL, 1, &a) == TSR_E_ARGUMENT && !a);
    OK(tsr_answer_create(model, NULL, 0, &a));
    cr_expect(tsr_answer_take(a, &g, cancel, &calls) == TSR_E_CANCELLED && calls == 1);
    OK(tsr_answer_take(a, &g, NULL, NULL));
    cr_expect(tsr_answer_take(a, NULL, NULL, NULL) == TSR_E_ARGUMENT);
    tsr_answer_destroy(&a);
    tsr_answer_destroy(&a);
    tsr_answer_destroy(NULL);
}
