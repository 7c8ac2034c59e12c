/* Conversations on the reference backend: how a template is recognised in a model's folder, turns
 * that must give the same as one prompt, and errors. */
#include "task/fixture.h"
#include "task/generate/templates.h"

#include <stdio.h>
#include <string.h>

static tsr_model *model;
static tsr_generate_options options = {.struct_size = sizeof options};

static void set_up(void) {
    make_chat_folder();
    open_reference();
    OK(tsr_model_open(chat_folder, device, NULL, &model));
    OK(tsr_generate_defaults(model, &options));
    options.temperature = 0;
    options.max_new_tokens = 6;
}

static void tear_down(void) {
    tsr_model_close(&model);
    close_reference();
    remove_chat_folder();
}

TestSuite(chat, .init = set_up, .fini = tear_down);

/* ---- recognition ---- */

/* The chatml template of tests/golden/chat/make_chat.py, escaped for JSON. */
#define CHATML                                                                                  \
    "{% for m in messages %}<|im_start|>{{ m.role }}\\n{{ m.content }}<|im_end|>{{ '\\n' }}{% " \
    "endfor %}"                                                                                 \
    "{% if add_generation_prompt %}<|im_start|>assistant{{ '\\n' }}{% endif %}"

Test(chat, none) {
    const char *name = "";
    tsr_chat *chat = NULL;
    OK(tsr_chat_template_of(model, &name));
    cr_expect(name == NULL);
    cr_expect(tsr_chat_create(model, NULL, NULL, &options, &chat) == TSR_E_UNSUPPORTED && !chat);
    cr_expect(strstr(tsr_error_last(), "chatml, llama2, llama3, mistral, gemma, phi3"), "%s",
              tsr_error_last());
}

Test(chat, recognised) {
    static const char *const files[] = {
        "{\"chat_template\": \"" CHATML "\"}", "{\"chat_template\": \"" CHATML "\\n\"}",
        "{\"chat_template\": [{\"name\": \"tools\", \"template\": \"x\"}, {\"name\": \"default\", "
        "\"template\": \"" CHATML "\"}]}"};
    const char *name = NULL;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        write_chat_file("tokenizer_config.json", files[i]);
        OK(tsr_chat_template_of(model, &name));
        cr_expect(name && strcmp(name, "chatml") == 0);
    }
    write_chat_file("chat_template.jinja",
                    "{{ messages }}"); /* takes precedence over the other file */
    cr_expect(tsr_chat_template_of(model, &name) == TSR_E_UNSUPPORTED && name == NULL);
}

Test(chat, not_recognised) {
    static const struct {
        const char *file, *said;
        tsr_status status;
    } cases[] = {{"{\"chat_template\": \"{{ messages }}\"}",
                  "chatml, llama2, llama3, mistral, gemma, phi3", TSR_E_UNSUPPORTED},
                 {"{\"chat_template\": [{\"name\": \"tools\", \"template\": \"x\"}]}",
                  "none is named \"default\"", TSR_E_UNSUPPORTED},
                 {"{\"chat_template\": 7}", "neither a text nor a list", TSR_E_FORMAT},
                 {"{\"chat_template\": ", "tokenizer_config.json", TSR_E_FORMAT}};
    const char *name;
    tsr_chat *chat = NULL;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_chat_file("tokenizer_config.json", cases[i].file);
        cr_expect(tsr_chat_template_of(model, &name) == cases[i].status && name == NULL, "%s",
                  cases[i].file);
        cr_expect(strstr(tsr_error_last(), cases[i].said), "%s", tsr_error_last());
        cr_expect(tsr_chat_create(model, NULL, NULL, &options, &chat) == cases[i].status && !chat);
    }
    OK(tsr_chat_create(model, "chatml", NULL, &options,
                       &chat)); /* a given name takes precedence over the files */
    tsr_chat_destroy(&chat);
    cr_expect(tsr_chat_create(model, "vicuna", NULL, &options, &chat) == TSR_E_UNSUPPORTED &&
              strstr(tsr_error_last(), "vicuna"));
    cr_expect(tsr_chat_create(model, "gemma", NULL, &options, &chat) == TSR_E_UNSUPPORTED &&
                  strstr(tsr_error_last(), "<end_of_turn>"),
              "%s", tsr_error_last());
}

/* ---- turns ---- */

typedef struct ids {
    int32_t data[MOST_IDS];
    size_t n;
} ids;

static void add_turn(const char *name, bool first, const char *system, const char *user, ids *out) {
    const tsri_task_turn turn = {.first = first,
                                 .system = system,
                                 .user = user,
                                 .user_size = strlen(user),
                                 .bos = "<s>",
                                 .eos = "</s>",
                                 .date = ""};
    tsri_task_written written = {0};
    int32_t *encoded;
    size_t n;
    OK(tsri_task_template_write(tsri_task_template_named(name), &turn, &written));
    OK(tsr_encode(model, written.text.data, written.text.size, TSR_ENCODE_PARSE_SPECIAL, &encoded,
                  &n));
    if (first && encoded[0] != 1)
        out->data[out->n++] = 1; /* <s>: this tokenizer adds it */
    memcpy(out->data + out->n, encoded, n * sizeof *encoded);
    out->n += n;
    tsr_ids_free(encoded);
    tsri_base_bytes_clear(&written.text);
}

static void add_answer(const collected *answer, ids *out) {
    const size_t n = answer->n - (answer->finish == TSR_FINISH_END);
    memcpy(out->data + out->n, answer->ids, n * sizeof *answer->ids);
    out->n += n;
}

static void expect_one_shot(const ids *prompt, const collected *answer) {
    const tsr_prompt one = {
        .struct_size = sizeof one, .ids = prompt->data, .n_ids = (uint32_t)prompt->n};
    const tsr_prompt *const prompts[] = {&one};
    collected whole = {0};
    OK(tsr_generate(model, prompts, 1, &options, collect, &whole, NULL));
    /* In a conversation <|im_end|> ends an answer; in one prompt it is a token like any other. */
    cr_expect(answer->finish == TSR_FINISH_END ? answer->n <= whole.n : answer->n == whole.n);
    cr_expect(memcmp(whole.ids, answer->ids, answer->n * sizeof *whole.ids) == 0);
    cr_expect(strncmp(whole.text, answer->text, answer->size) == 0, "%s, wanted %s", answer->text,
              whole.text);
}

static void talk_three_turns(const char *name, const char *system) {
    static const char *const said[] = {"hello", "are you there?", " ok "};
    tsr_chat *chat = NULL;
    ids prompt = {0};
    bool unfed = false;
    OK(tsr_chat_create(model, name, system, &options, &chat));
    for (size_t i = 0; i < 3; i++) {
        collected answer = {0};
        ids turn = {0};
        tsr_generate_stats stats = {.struct_size = sizeof stats};
        add_turn(name, i == 0, system, said[i], &turn);
        memcpy(prompt.data + prompt.n, turn.data, turn.n * sizeof *turn.data);
        prompt.n += turn.n;
        OK(tsr_chat_say(chat, said[i], strlen(said[i]), collect, &answer, &stats));
        /* Only new tokens were fed: the turn, and the last token of an answer that was ended by its
         * length. */
        cr_expect(stats.prompt_tokens == turn.n + unfed, "%llu, wanted %zu",
                  (unsigned long long)stats.prompt_tokens, turn.n + unfed);
        expect_one_shot(&prompt, &answer);
        unfed = answer.finish == TSR_FINISH_LENGTH;
        add_answer(&answer, &prompt);
    }
    tsr_chat_destroy(&chat);
    cr_expect(chat == NULL);
}

Test(chat, turns_are_one_prompt) {
    talk_three_turns("chatml", NULL);
    talk_three_turns("chatml", "be brief");
    talk_three_turns("llama2", "be brief");
    talk_three_turns("mistral", "be brief");
}

Test(chat, penalty_sees_all_turns) {
    options.repeat_penalty = 1.5f;
    talk_three_turns("chatml", NULL);
}

Test(chat, ends_with_the_turn) {
    /* At a high temperature, some seed ends an answer with <|im_end|>, which is not an end token in
     * the model's files. */
    bool ended = false;
    options.temperature = 50;
    options.top_k = 0;
    options.top_p = 1;
    options.min_p = 0;
    options.max_new_tokens = 120;
    for (options.seed = 1; options.seed < 12 && !ended; options.seed++) {
        tsr_chat *chat = NULL;
        collected answer = {0}, second = {0};
        ids turn = {0};
        tsr_generate_stats stats = {.struct_size = sizeof stats};
        OK(tsr_chat_create(model, "chatml", NULL, &options, &chat));
        OK(tsr_chat_say(chat, "hi", 2, collect, &answer, NULL));
        ended = answer.finish == TSR_FINISH_END && answer.ids[answer.n - 1] == IM_END;
        for (size_t i = 0; i + 1 < answer.n; i++)
            cr_expect(answer.ids[i] != IM_END);
        cr_expect(!strstr(answer.text, "im_end"));
        if (ended) { /* the end token is fed once, by the template */
            add_turn("chatml", false, NULL, "more", &turn);
            cr_expect(turn.data[0] == IM_END);
            OK(tsr_chat_say(chat, "more", 4, collect, &second, &stats));
            cr_expect(stats.prompt_tokens == turn.n);
        }
        tsr_chat_destroy(&chat);
    }
    cr_expect(ended);
}

static uint64_t prompt_tokens_of(const char *name, const char *system, const char *user) {
    tsr_chat *chat = NULL;
    collected answer = {0};
    tsr_generate_stats stats = {.struct_size = sizeof stats};
    OK(tsr_chat_create(model, name, system, &options, &chat));
    OK(tsr_chat_say(chat, user, strlen(user), collect, &answer, &stats));
    tsr_chat_destroy(&chat);
    return stats.prompt_tokens;
}

Test(chat, words_are_no_special_tokens) {
    /* Each character of a turn's words is one token, also where they contain a special token's
     * text.
     */
    cr_expect(prompt_tokens_of("chatml", NULL, "<|im_end|>") ==
              prompt_tokens_of("chatml", NULL, "abcdefghij"));
    cr_expect(prompt_tokens_of("chatml", "a</s>b", "c") ==
              prompt_tokens_of("chatml", "abcdef", "c"));
    cr_expect(prompt_tokens_of("llama2", "x<s>", "</s>y") ==
              prompt_tokens_of("llama2", "abcd", "abcde"));
}

Test(chat, cancelled) {
    tsr_chat *chat = NULL;
    collected answer = {.cancel_after = 3}, second = {0};
    ids prompt = {0};
    OK(tsr_chat_create(model, "chatml", NULL, &options, &chat));
    cr_expect(tsr_chat_say(chat, "hello", 5, collect, &answer, NULL) == TSR_E_CANCELLED);
    cr_expect(answer.n == 3);
    add_turn("chatml", true, NULL, "hello", &prompt);
    add_answer(&answer, &prompt);
    add_turn("chatml", false, NULL, "again", &prompt);
    OK(tsr_chat_say(chat, "again", 5, collect, &second, NULL));
    expect_one_shot(&prompt, &second);
    tsr_chat_destroy(&chat);
}

Test(chat, past_the_context) {
    char text[128] = "";
    tsr_chat *chat = NULL;
    collected answer = {0};
    ids prompt = {0};
    options.context = 64;
    memset(text, 'a', 100);
    OK(tsr_chat_create(model, "chatml", NULL, &options, &chat));
    cr_expect(tsr_chat_say(chat, text, 100, collect, &answer, NULL) == TSR_E_ARGUMENT);
    add_turn("chatml", true, NULL, text, &prompt);
    char number[32];
    snprintf(number, sizeof number, "%zu tokens", prompt.n);
    cr_expect(strstr(tsr_error_last(), number) && strstr(tsr_error_last(), "holds 64"), "%s",
              tsr_error_last());
    cr_expect(answer.n == 0);
    prompt.n = 0; /* the refused turn doesn't count: the conversation begins with the next one */
    add_turn("chatml", true, NULL, "hello", &prompt);
    OK(tsr_chat_say(chat, "hello", 5, collect, &answer, NULL));
    expect_one_shot(&prompt, &answer);
    tsr_chat_destroy(&chat);
}

Test(chat, needs_device_and_tokenizer) {
    tsr_chat *chat = NULL;
    tsr_model *other = NULL;
    OK(tsr_model_open(chat_folder, NULL, NULL, &other));
    cr_expect(tsr_chat_create(other, "chatml", NULL, &options, &chat) == TSR_E_STATE && !chat);
    tsr_model_close(&other);
    OK(tsr_model_open(TESSERA_SOURCE_DIR "/tests/golden/models/llama-tiny", device, NULL, &other));
    cr_expect(tsr_chat_create(other, "chatml", NULL, &options, &chat) == TSR_E_STATE &&
                  strstr(tsr_error_last(), "tokenizer"),
              "%s", tsr_error_last());
    tsr_model_close(&other);
    options.top_p = 2;
    cr_expect(tsr_chat_create(model, "chatml", NULL, &options, &chat) == TSR_E_ARGUMENT);
}

/* max_length counts the whole conversation, where the number of new tokens is not given. */
Test(chat, longest) {
    tsr_chat *chat = NULL;
    collected c = {0};
    options.max_length = 30;
    options.max_new_tokens = -1;
    options.ignore_eos = 1;
    OK(tsr_chat_create(model, "chatml", NULL, &options, &chat));
    cr_expect(tsr_chat_say(chat, "a b c d e f g h i j k l m n", 27, collect, &c, NULL) ==
              TSR_E_ARGUMENT);
    cr_expect(strstr(tsr_error_last(), "holds 30"), "%s", tsr_error_last());
    OK(tsr_chat_say(chat, "a", 1, collect, &c, NULL));
    cr_expect(c.n > 0 && c.n < 30 && c.finish != TSR_FINISH_END, "%zu", c.n);
    tsr_chat_destroy(&chat);
}
