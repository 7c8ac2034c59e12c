/* Conversations on the reference backend: where a template is found in a model's files, turns that must
 * give the same as one prompt, what templates refuse, and errors. */
#include "task/fixture.h"
#include "task/generate/template.h"

#include <stdio.h>
#include <string.h>

static tsr_model *model;
static tsr_generate_options options = {.struct_size = sizeof options};
static bool keeps_nothing; /* each turn is computed anew */

static void set_up(void) {
    open_chat_model(&model);
    OK(tsr_generate_defaults(model, &options));
    options.temperature = 0;
    options.max_new_tokens = 6;
}

static void tear_down(void) {
    close_chat_model(&model);
}

TestSuite(chat, .init = set_up, .fini = tear_down);

/* ---- the model's files ---- */

static void expect_template(bool tools, const char *wanted) {
    tsri_bytes text = {0};
    OK(tsri_task_template_text(tsri_model_of(model), tools, &text));
    cr_expect(wanted ? text.data && !strcmp(text.data, wanted) : !text.size, "%s, wanted %s",
              text.data, wanted);
    tsri_base_bytes_clear(&text);
}

Test(chat, template_in_a_folder) {
    char *text = NULL;
    tsr_chat *chat = NULL;
    OK(tsr_chat_template_of(model, &text, NULL));
    cr_expect(text == NULL);
    cr_expect(tsr_chat_create(model, NULL, &options, &chat) == TSR_E_UNSUPPORTED && !chat);
    cr_expect(strstr(tsr_error_last(), "--chat-template FILE"), "%s", tsr_error_last());
    write_chat_file("chat_template.json", "{\"chat_template\": \"a processor's\"}");
    expect_template(false, "a processor's");
    write_chat_file("tokenizer_config.json", "{\"chat_template\": \"a text\"}");
    expect_template(false, "a text");
    write_chat_file("tokenizer_config.json",
                    "{\"chat_template\": [{\"name\": \"tool_use\", \"template\": \"tools\"}, "
                    "{\"name\": \"default\", \"template\": \"plain\"}]}");
    expect_template(false, "plain");
    expect_template(true, "tools");
    write_chat_file("chat_template.jinja", "a file");
    expect_template(true, "a file");
    size_t n = 0;
    OK(tsr_chat_template_of(model, &text, &n));
    cr_expect(n == 6 && !strcmp(text, "a file"));
    tsr_text_free(text);
}

/* A model that is named by its file has the template of its folder. */
Test(chat, template_beside_a_file) {
    char path[256], *text = NULL;
    tsr_model *of_file = NULL;
    size_t n = 0;
    write_chat_file("chat_template.jinja", "a file");
    snprintf(path, sizeof path, "%s/model.safetensors", chat_folder);
    OK(tsr_model_open(path, NULL, NULL, &of_file));
    OK(tsr_chat_template_of(of_file, &text, &n));
    cr_expect(n == 6 && !strcmp(text, "a file"));
    tsr_text_free(text);
    tsr_model_close(&of_file);
}

Test(chat, bad_templates) {
    static const struct {
        const char *file, *said;
        tsr_status status;
    } cases[] = {{"{\"chat_template\": [{\"name\": \"tools\", \"template\": \"x\"}]}",
                  "none is named \"default\"", TSR_E_UNSUPPORTED},
                 {"{\"chat_template\": 7}", "neither a text nor a list", TSR_E_FORMAT},
                 {"{\"chat_template\": ", "tokenizer_config.json", TSR_E_FORMAT},
                 {"{\"chat_template\": \"{% if %}\"}", "chat template, line 1", TSR_E_FORMAT},
                 {"{\"chat_template\": \"{% include 'x' %}\"}", "include", TSR_E_UNSUPPORTED}};
    tsr_chat *chat = NULL;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_chat_file("tokenizer_config.json", cases[i].file);
        cr_expect(tsr_chat_create(model, NULL, &options, &chat) == cases[i].status && !chat, "%s",
                  cases[i].file);
        cr_expect(strstr(tsr_error_last(), cases[i].said), "%s", tsr_error_last());
    }
    const tsr_chat_options tools = {
        .struct_size = sizeof tools, .template_text = "x", .tools = "{}"};
    cr_expect(tsr_chat_create(model, &tools, &options, &chat) == TSR_E_FORMAT && !chat &&
                  strstr(tsr_error_last(), "the tools are not a list"),
              "%s", tsr_error_last());
}

Test(chat, rendered) {
    const tsr_chat_options how = {.struct_size = sizeof how,
                                  .template_text =
                                      "{% for m in messages %}{{ m.content }}</s>"
                                      "{% endfor %}{{ '>' if add_generation_prompt }}"};
    const char *const messages = "[{\"role\": \"user\", \"content\": \"a\"}]";
    char *text = NULL;
    size_t n = 0;
    OK(tsr_chat_render(model, &how, messages, 1, &text, &n));
    cr_expect(n == 6 && !strcmp(text, "a</s>>"), "%s", text);
    tsr_text_free(text);
    OK(tsr_chat_render(model, &how, messages, 0, &text, NULL));
    cr_expect(!strcmp(text, "a</s>"), "%s", text);
    tsr_text_free(text);
    cr_expect(tsr_chat_render(model, &how, "[]", 0, &text, NULL) == TSR_E_ARGUMENT && !text);
    cr_expect(tsr_chat_render(model, &how, "[", 0, &text, NULL) == TSR_E_FORMAT && !text);
}

/* A template is told of the special tokens that tokenizer_config.json has, as in transformers; the model's own config knows
 * bos by its id. */
Test(chat, special_tokens_of_the_context) {
    static const struct {
        const char *config, *map, *text;
    } cases[] = {{"{\"bos_token\": \"<s>\", \"eos_token\": \"</s>\"}", "{}", "<s>a</s>"},
                 {"{\"bos_token\": null, \"eos_token\": \"</s>\"}", "{}", "a</s>"},
                 {"{\"eos_token\": \"</s>\"}", "{}", "<s>a</s>"},
                 {"{\"tokenizer_class\": \"PreTrainedTokenizerFast\", \"eos_token\": \"</s>\"}",
                  "{}", "a</s>"},
                 {"{\"tokenizer_class\": \"PreTrainedTokenizerFast\", \"eos_token\": \"</s>\"}",
                  "{\"bos_token\": {\"content\": \"<s>\"}}", "<s>a</s>"},
                 {"{\"bos_token\": null, \"eos_token\": \"</s>\", \"added_tokens_decoder\": {}}",
                  "{\"bos_token\": \"<s>\"}", "a</s>"}};
    const tsr_chat_options how = {.struct_size = sizeof how,
                                  .template_text =
                                      "{{ bos_token }}{{ messages[0].content }}{{ eos_token }}"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tsr_model *other = NULL;
        char *text = NULL;
        write_chat_file("tokenizer_config.json", cases[i].config);
        write_chat_file("special_tokens_map.json", cases[i].map);
        OK(tsr_model_open(chat_folder, device, NULL, &other));
        OK(tsr_chat_render(other, &how, "[{\"role\": \"user\", \"content\": \"a\"}]", 1, &text,
                           NULL));
        cr_expect_str_eq(text, cases[i].text, "%s: %s", cases[i].config, text);
        tsr_text_free(text);
        tsr_model_close(&other);
    }
}

/* What a folder's template doesn't write is not put before a conversation, though the tokenizer puts <s> before a text. */
Test(chat, begins_as_the_template_does) {
    static const char *const templates[] = {"{{ messages[0].content }}</s>",
                                            "<s>{{ messages[0].content }}</s>"};
    const char *const messages = "[{\"role\": \"user\", \"content\": \"a\"}]";
    int32_t *text = NULL;
    size_t n = 0;
    OK(tsr_encode(model, "<s>a</s>", 8, TSR_ENCODE_PARSE_SPECIAL, &text, &n));
    cr_assert_eq(n, 3);
    for (size_t i = 0; i < 2; i++) {
        const tsr_chat_options how = {.struct_size = sizeof how, .template_text = templates[i]};
        tsr_chat_prompt *prompt = NULL;
        uint32_t n_ids = 0;
        OK(tsr_chat_prompt_create(model, &how, messages, &prompt));
        const int32_t *ids = tsr_chat_prompt_ids(prompt, &n_ids);
        cr_expect(n_ids == 2 + i && !memcmp(ids, text + 1 - i, n_ids * sizeof *ids), "%u ids",
                  n_ids);
        tsr_chat_prompt_destroy(&prompt);
    }
    tsr_ids_free(text);
}

/* Written once, a conversation has the text that is rendered, the tokens that its messages give a request, and what
 * ends an answer. A name of a special token that a message says is text. */
Test(chat, written_once) {
    const tsr_chat_options how = {.struct_size = sizeof how,
                                  .template_text =
                                      "{% for m in messages %}{{ m.content }}</s>"
                                      "{% endfor %}{{ '>' if add_generation_prompt }}"};
    const char *const messages = "[{\"role\": \"user\", \"content\": \"a</s>\"}]";
    tsr_chat_prompt *prompt = NULL;
    char *text = NULL;
    int32_t *end = NULL, *name = NULL;
    uint32_t n_ids = 0, n_ends = 0;
    size_t n = 0, size = 0, n_end = 0, n_name = 0;
    OK(tsr_encode(model, "</s>", 4, TSR_ENCODE_PARSE_SPECIAL, &end, &n_end));
    OK(tsr_encode(model, "</s>", 4, 0, &name, &n_name));
    OK(tsr_chat_render(model, &how, messages, 1, &text, &n));
    OK(tsr_chat_prompt_create(model, &how, messages, &prompt));
    cr_expect_str_eq(tsr_chat_prompt_text(prompt, &size), text);
    cr_expect_eq(size, n);
    const int32_t *ids = tsr_chat_prompt_ids(prompt, &n_ids),
                  *ends = tsr_chat_prompt_ends(prompt, &n_ends);
    uint32_t special = 0;
    for (uint32_t i = 0; i < n_ids; i++)
        special += ids[i] == end[0];
    cr_expect(n_end == 1 && n_name > 1 && n_ids > n_name && special == 1);
    cr_expect(n_ends == 1 && ends[0] == end[0]);
    tsr_chat_prompt_destroy(&prompt);
    tsr_chat_prompt_destroy(&prompt);
    tsr_text_free(text);
    tsr_ids_free(end);
    tsr_ids_free(name);
    cr_expect(tsr_chat_prompt_create(model, &how, "[]", &prompt) == TSR_E_ARGUMENT && !prompt);
    cr_expect(!tsr_chat_prompt_ids(NULL, &n_ids) && !n_ids &&
              !strcmp(tsr_chat_prompt_text(NULL, NULL), ""));
}

/* What a caller adds to a template's variables. */
Test(chat, variables) {
    static const struct {
        const char *variables, *text;
    } cases[] = {{NULL, "a[]</s>"},
                 {"{}", "a[]</s>"},
                 {"{\"enable_thinking\": true}", "a[]</s>"},
                 {"{\"enable_thinking\": false, \"effort\": \"low\", \"other\": [1]}",
                  "a<think></think>[low]</s>"},
                 {" {\"documents\": [{\"text\": \"sea\"}], \"effort\": 2}\n", "a[2]sea</s>"}};
    static const struct {
        const char *variables, *said;
        tsr_status status;
    } bad[] = {{"", "template_kwargs is empty", TSR_E_FORMAT},
               {"{\"a\": ", "template_kwargs: line 1", TSR_E_FORMAT},
               {"true", "template_kwargs: line 1", TSR_E_FORMAT},
               {"[1]", "a JSON object is wanted", TSR_E_FORMAT},
               {"{\"messages\": []}", "the template has \"messages\" otherwise", TSR_E_ARGUMENT},
               {"{\"a\": 1, \"tools\": []}", "the template has \"tools\"", TSR_E_ARGUMENT},
               {"{\"add_generation_prompt\": true}", "\"add_generation_prompt\"", TSR_E_ARGUMENT},
               {"{\"bos_token\": \"x\"}", "\"bos_token\"", TSR_E_ARGUMENT},
               {"{\"mask_token\": \"x\"}", "\"mask_token\"", TSR_E_ARGUMENT}};
    const char *const messages = "[{\"role\": \"user\", \"content\": \"a\"}]";
    tsr_chat_options how = {
        .struct_size = sizeof how,
        .template_text =
            "{{ messages[0].content }}{% if enable_thinking is defined and not enable_thinking %}"
            "<think></think>{% endif %}[{{ effort }}]{% for d in documents or [] %}{{ d.text }}"
            "{% endfor %}</s>"};
    char *text = NULL;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        how.template_kwargs = cases[i].variables;
        OK(tsr_chat_render(model, &how, messages, 1, &text, NULL));
        cr_expect_str_eq(text, cases[i].text, "%s: %s", cases[i].variables, text);
        tsr_text_free(text);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        how.template_kwargs = bad[i].variables;
        cr_expect(tsr_chat_render(model, &how, messages, 1, &text, NULL) == bad[i].status && !text,
                  "%s", bad[i].variables);
        cr_expect(strstr(tsr_error_last(), bad[i].said), "%s", tsr_error_last());
    }
}

/* The name of a special token in a variable is text, as in a message. */
Test(chat, variables_are_words) {
    const tsr_chat_options how = {.struct_size = sizeof how,
                                  .template_text = "{{ effort }}{{ messages[0].content }}</s>",
                                  .template_kwargs = "{\"effort\": \"</s>\"}"};
    tsr_chat_prompt *prompt = NULL;
    int32_t *end = NULL;
    size_t n_end = 0;
    uint32_t n_ids = 0, special = 0;
    OK(tsr_encode(model, "</s>", 4, TSR_ENCODE_PARSE_SPECIAL, &end, &n_end));
    OK(tsr_chat_prompt_create(model, &how, "[{\"role\": \"user\", \"content\": \"a\"}]", &prompt));
    const int32_t *ids = tsr_chat_prompt_ids(prompt, &n_ids);
    for (uint32_t i = 0; i < n_ids; i++)
        special += ids[i] == end[0];
    cr_expect(n_end == 1 && n_ids > 2 && special == 1, "%u of %u ids", special, n_ids);
    tsr_chat_prompt_destroy(&prompt);
    tsr_ids_free(end);
}

/* ---- turns ---- */

/* Templates, and what they write by hand: $s the system's words, $u the user's, $a the answer's. */
typedef struct format {
    const char *template, *start, *system, *user, *answer;
} format;

static const format chatml = {
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>{{ '\n' }}{% endfor "
    "%}"
    "{% if add_generation_prompt %}<|im_start|>assistant{{ '\n' }}{% endif %}",
    "", "<|im_start|>system\n$<|im_end|>\n",
    "<|im_start|>user\n$<|im_end|>\n<|im_start|>assistant\n", "$<|im_end|>\n"};
static const format inst = {
    "{% for m in messages %}{% if m.role == 'system' %}{{ bos_token }}SYS{{ m.content }} "
    "{% elif m.role == 'user' %}{{ bos_token }}[INST] {{ m.content | trim }} [/INST]"
    "{% else %} {{ m.content }} {{ eos_token }}{% endif %}{% endfor %}",
    "", "<s>SYS$ ", "<s>[INST] $ [/INST]", " $ </s>"};
/* Like templates that drop the thoughts of earlier answers. */
static const format forgetful = {
    "{% for m in messages %}{% if m.role == 'user' %}<|im_start|>{{ m.content }}|{% else %}"
    "{{ m.content[:2] }}<|im_end|>{% endif %}{% endfor %}",
    "", "", "<|im_start|>$|", NULL};

static tsr_chat_options how_of(const format *f, const char *system) {
    return (tsr_chat_options){
        .struct_size = sizeof(tsr_chat_options), .template_text = f->template, .system = system};
}

typedef struct script {
    char text[MOST_TEXT];
    size_t n;
} script;

static void add(script *s, const char *form, const char *words) {
    const size_t n = strcspn(form, "$");
    s->n += (size_t)snprintf(s->text + s->n, sizeof s->text - s->n, "%.*s%s%s", (int)n, form, words,
                             form[n] ? form + n + 1 : "");
}

typedef struct ids {
    int32_t data[MOST_IDS];
    size_t n;
} ids;

static void encode(const script *s, ids *out) {
    int32_t *encoded;
    OK(tsr_encode(model, s->text, s->n, TSR_ENCODE_PARSE_SPECIAL, &encoded, &out->n));
    memcpy(out->data, encoded, out->n * sizeof *encoded);
    tsr_ids_free(encoded);
}

static void expect_one_shot(const script *s, const collected *answer) {
    ids prompt;
    encode(s, &prompt);
    const tsr_prompt one = {
        .struct_size = sizeof one, .ids = prompt.data, .n_ids = (uint32_t)prompt.n};
    const tsr_prompt *const prompts[] = {&one};
    collected whole = {0};
    OK(tsr_generate(model, prompts, 1, &options, collect, &whole, NULL));
    /* In a conversation <|im_end|> ends an answer; in one prompt it is a token like any other. */
    cr_expect(answer->finish == TSR_FINISH_END ? answer->n <= whole.n : answer->n == whole.n);
    cr_expect(memcmp(whole.ids, answer->ids, answer->n * sizeof *whole.ids) == 0);
    cr_expect(strncmp(whole.text, answer->text, answer->size) == 0, "%s, wanted %s", answer->text,
              whole.text);
}

/* What the slot holds after an answer: the prompt, and the answer but for its last token. */
static void hold(const script *s, const collected *answer, ids *held) {
    encode(s, held);
    memcpy(held->data + held->n, answer->ids, (answer->n - 1) * sizeof *answer->ids);
    held->n += answer->n - 1;
}

static size_t fed_of(const script *s, const ids *held) {
    ids prompt;
    size_t same = 0;
    encode(s, &prompt);
    while (!keeps_nothing && same < held->n && same + 1 < prompt.n &&
           held->data[same] == prompt.data[same])
        same++;
    return prompt.n - same;
}

static void talk_three_turns(const format *f, const char *system) {
    static const char *const said[] = {"hello", "are you there?", "ok"};
    const tsr_chat_options how = how_of(f, system);
    tsr_chat *chat = NULL;
    script s = {0};
    ids held = {0};
    OK(tsr_chat_create(model, &how, &options, &chat));
    add(&s, f->start, "");
    if (system)
        add(&s, f->system, system);
    for (size_t i = 0; i < 3; i++) {
        collected answer = {0};
        tsr_generate_stats stats = {.struct_size = sizeof stats};
        add(&s, f->user, said[i]);
        OK(tsr_chat_say(chat, said[i], strlen(said[i]), collect, &answer, &stats));
        cr_expect(stats.prompt_tokens == fed_of(&s, &held), "%llu, wanted %zu",
                  (unsigned long long)stats.prompt_tokens, fed_of(&s, &held));
        expect_one_shot(&s, &answer);
        hold(&s, &answer, &held);
        if (!f->answer)
            answer.text[2] = 0;
        add(&s, f->answer ? f->answer : "$<|im_end|>", answer.text);
    }
    tsr_chat_destroy(&chat);
    cr_expect(chat == NULL);
}

Test(chat, turns_are_one_prompt) {
    talk_three_turns(&chatml, NULL);
    talk_three_turns(&chatml, "be brief");
    talk_three_turns(&inst, "be brief");
    talk_three_turns(&forgetful, NULL);
}

/* With dynamic scaling a key depends on the length of the run that it was computed in. */
Test(chat, turns_are_one_prompt_where_positions_depend_on_the_length) {
    json_t *config = read_json(chat_folder, "config.json");
    json_t *rope = json_pack("{s:s,s:f}", "rope_type", "dynamic", "factor", 64.0);
    cr_assert(json_object_set_new(config, "rope_scaling", rope) == 0 &&
              json_object_set_new(config, "max_position_embeddings", json_integer(16)) == 0);
    char *text = json_dumps(config, 0);
    write_chat_file("config.json", text);
    tsr_model_close(&model);
    OK(tsr_model_open(chat_folder, device, NULL, &model));
    keeps_nothing = true;
    talk_three_turns(&chatml, NULL);
    free(text);
    json_decref(config);
}

Test(chat, penalty_sees_all_turns) {
    options.repeat_penalty = 1.5f;
    talk_three_turns(&chatml, NULL);
}

/* What the options point to may be gone once the conversation is there. */
Test(chat, options_are_copied) {
    struct {
        char stop[8];
        const char *stops[1];
        int32_t suppress[2];
        tsr_logit_bias bias[1];
    } *lent = malloc(sizeof *lent);
    const tsr_chat_options how = how_of(&chatml, NULL);
    tsr_chat *chat = NULL;
    collected got = {0};
    cr_assert(lent);
    snprintf(lent->stop, sizeof lent->stop, "qzqz");
    lent->stops[0] = lent->stop;
    lent->suppress[0] = 40, lent->suppress[1] = 41;
    lent->bias[0] = (tsr_logit_bias){42, 1000};
    options.max_new_tokens = 5;
    options.stop = lent->stops, options.n_stop = 1;
    options.suppress = lent->suppress, options.n_suppress = 2;
    options.logit_bias = lent->bias, options.n_logit_bias = 1;
    OK(tsr_chat_create(model, &how, &options, &chat));
    memset(lent, 0, sizeof *lent);
    free(lent);
    OK(tsr_chat_say(chat, "hi", 2, collect, &got, NULL));
    cr_assert(got.n == 5);
    for (size_t i = 0; i < got.n; i++)
        cr_expect(got.ids[i] == 42);
    tsr_chat_destroy(&chat);
}

Test(chat, ends_with_the_turn) {
    /* At a high temperature, some seed ends an answer with <|im_end|>, which is not an end token in
     * the model's files. */
    const tsr_chat_options how = how_of(&chatml, NULL);
    const tsr_prompt message = {.struct_size = sizeof message, .text = "hi"};
    const tsr_prompt *const messages[] = {&message};
    bool ended = false;
    options.temperature = 50;
    options.top_k = 0;
    options.top_p = 1;
    options.min_p = 0;
    options.max_new_tokens = 120;
    for (options.seed = 1; options.seed < 12 && !ended; options.seed++) {
        tsr_chat *chat = NULL;
        collected answer = {0}, one = {0};
        OK(tsr_chat_create(model, &how, &options, &chat));
        OK(tsr_chat_say(chat, "hi", 2, collect, &answer, NULL));
        ended = answer.finish == TSR_FINISH_END && answer.ids[answer.n - 1] == IM_END;
        for (size_t i = 0; i + 1 < answer.n; i++)
            cr_expect(answer.ids[i] != IM_END);
        cr_expect(!strstr(answer.text, "im_end"));
        tsr_chat_destroy(&chat);
        options.chat = &how;
        OK(tsr_generate(model, messages, 1, &options, collect, &one, NULL));
        options.chat = NULL;
        cr_expect(one.finish == answer.finish && one.n == answer.n &&
                  !memcmp(one.ids, answer.ids, one.n * sizeof *one.ids));
    }
    cr_expect(ended);
}

/* min_new_tokens holds the end of the turn back, too. */
Test(chat, least_tokens) {
    const tsr_chat_options how = how_of(&chatml, NULL);
    const tsr_prompt message = {.struct_size = sizeof message, .text = "hi"};
    const tsr_prompt *const messages[] = {&message};
    options.temperature = 50;
    options.top_k = 0;
    options.top_p = 1;
    options.min_p = 0;
    options.max_new_tokens = options.min_new_tokens = 120;
    options.chat = &how;
    for (options.seed = 1; options.seed < 12; options.seed++) {
        collected one = {0};
        OK(tsr_generate(model, messages, 1, &options, collect, &one, NULL));
        cr_expect(one.n == 120 && one.finish == TSR_FINISH_LENGTH);
    }
}

static uint64_t prompt_tokens_of(const format *f, const char *system, const char *user) {
    const tsr_chat_options how = how_of(f, system);
    tsr_chat *chat = NULL;
    collected answer = {0};
    tsr_generate_stats stats = {.struct_size = sizeof stats};
    OK(tsr_chat_create(model, &how, &options, &chat));
    OK(tsr_chat_say(chat, user, strlen(user), collect, &answer, &stats));
    tsr_chat_destroy(&chat);
    return stats.prompt_tokens;
}

Test(chat, words_are_no_special_tokens) {
    /* Each character of a turn's words is one token, also where they contain a special token's text,
     * or a part of it that the template's text completes. */
    static const format torn = {.template = "<|im_start|>{{ messages[-1].content }}|im_end|></s>"};
    cr_expect(prompt_tokens_of(&chatml, NULL, "<|im_end|>") ==
              prompt_tokens_of(&chatml, NULL, "abcdefghij"));
    cr_expect(prompt_tokens_of(&chatml, "a</s>b", "c") == prompt_tokens_of(&chatml, "abcdef", "c"));
    cr_expect(prompt_tokens_of(&inst, "x<s>", "</s>y") == prompt_tokens_of(&inst, "abcd", "abcde"));
    cr_expect(prompt_tokens_of(&torn, NULL, "<") == prompt_tokens_of(&torn, NULL, "a"));
    cr_expect(prompt_tokens_of(&torn, NULL, "<s>") == prompt_tokens_of(&torn, NULL, "abc"));
}

Test(chat, tools) {
    tsr_chat *chat = NULL;
    collected answer = {0};
    const tsr_chat_options how = {.struct_size = sizeof how,
                                  .template_text =
                                      "{{ tools | tojson }}{{ messages[0].content }}"
                                      "{% if not add_generation_prompt %}</s>{% endif %}",
                                  .tools = "[{\"name\": \"<s>\"}]"};
    OK(tsr_chat_create(model, &how, &options, &chat));
    OK(tsr_chat_say(chat, "a", 1, collect, &answer, NULL));
    tsr_chat_destroy(&chat);
    int32_t *encoded;
    size_t n;
    OK(tsr_encode(model, "[{\"name\": \"<s>\"}]a", 18, 0, &encoded, &n));
    const tsr_prompt one = {.struct_size = sizeof one, .ids = encoded, .n_ids = (uint32_t)n};
    const tsr_prompt *const prompts[] = {&one};
    collected whole = {0};
    OK(tsr_generate(model, prompts, 1, &options, collect, &whole, NULL));
    tsr_ids_free(encoded);
    cr_expect(whole.n == answer.n && !memcmp(whole.ids, answer.ids, whole.n * sizeof *whole.ids));
}

/* A refusal is the template's own sentence, and the conversation is as it was. */
Test(chat, refused) {
    static const format picky = {
        .template =
            "{% for m in messages %}{% if m.content == 'no' %}{{ raise_exception('say yes') "
            "}}{% endif %}<|im_start|>{{ m.content }}<|im_end|>{% endfor %}"};
    const tsr_chat_options how = how_of(&picky, NULL);
    tsr_chat *chat = NULL;
    collected none = {0}, first = {0}, again = {0};
    tsr_generate_stats stats = {.struct_size = sizeof stats};
    OK(tsr_chat_create(model, &how, &options, &chat));
    cr_expect(tsr_chat_say(chat, "no", 2, collect, &none, NULL) == TSR_E_ARGUMENT && !none.n);
    cr_expect(strstr(tsr_error_last(), "the chat template says: say yes"), "%s", tsr_error_last());
    OK(tsr_chat_say(chat, "yes", 3, collect, &first, &stats));
    cr_expect(stats.prompt_tokens == 5, "%llu", (unsigned long long)stats.prompt_tokens);
    tsr_chat_destroy(&chat);
    OK(tsr_chat_create(model, &how, &options, &chat));
    OK(tsr_chat_say(chat, "yes", 3, collect, &again, NULL));
    cr_expect(first.n == again.n && !memcmp(first.ids, again.ids, first.n * sizeof *first.ids));
    tsr_chat_destroy(&chat);
}

Test(chat, cancelled) {
    const tsr_chat_options how = how_of(&chatml, NULL);
    tsr_chat *chat = NULL;
    collected answer = {.cancel_after = 3}, second = {0};
    script s = {0};
    OK(tsr_chat_create(model, &how, &options, &chat));
    cr_expect(tsr_chat_say(chat, "hello", 5, collect, &answer, NULL) == TSR_E_CANCELLED);
    cr_expect(answer.n == 3);
    add(&s, chatml.start, "");
    add(&s, chatml.user, "hello");
    add(&s, chatml.answer, answer.text);
    add(&s, chatml.user, "again");
    OK(tsr_chat_say(chat, "again", 5, collect, &second, NULL));
    expect_one_shot(&s, &second);
    tsr_chat_destroy(&chat);
}

static int add_part(void *data, const tsr_part *part) {
    script *s = data;
    cr_assert(part->kind == TSR_PART_REASONING && s->n + part->text_size < sizeof s->text);
    memcpy(s->text + s->n, part->text, part->text_size);
    s->n += part->text_size;
    return 0;
}

/* The template opens the thoughts, and at the next turn it is told of them beside the content. */
Test(chat, thoughts_are_kept_apart) {
    static script thought;
    static collected answer;
    const tsr_chat_options how = {
        .struct_size = sizeof how,
        .template_text = "{% if messages | length > 1 %}{{ raise_exception('[' ~ "
                         "messages[1].reasoning_content ~ '|' ~ messages[1].content ~ ']') }}"
                         "{% endif %}<s>a<think>",
        .part = add_part,
        .part_data = &thought};
    tsr_chat *chat = NULL;
    char wanted[MOST_TEXT];
    options.max_new_tokens = 20;
    OK(tsr_chat_create(model, &how, &options, &chat));
    OK(tsr_chat_say(chat, "a", 1, collect, &answer, NULL));
    cr_assert(thought.n && answer.size >= thought.n);
    snprintf(wanted, sizeof wanted, "[%.*s|]", (int)thought.n, thought.text);
    cr_expect(tsr_chat_say(chat, "a", 1, NULL, NULL, NULL) == TSR_E_ARGUMENT);
    cr_expect(strstr(tsr_error_last(), wanted), "%s in %s", wanted, tsr_error_last());
    tsr_chat_destroy(&chat);
}

Test(chat, past_the_context) {
    const tsr_chat_options how = how_of(&chatml, NULL);
    char text[128] = "";
    tsr_chat *chat = NULL;
    collected answer = {0};
    script s = {0};
    ids prompt;
    options.context = 64;
    memset(text, 'a', 100);
    OK(tsr_chat_create(model, &how, &options, &chat));
    cr_expect(tsr_chat_say(chat, text, 100, collect, &answer, NULL) == TSR_E_ARGUMENT);
    add(&s, chatml.start, "");
    add(&s, chatml.user, text);
    encode(&s, &prompt);
    char number[32];
    snprintf(number, sizeof number, "%zu tokens", prompt.n);
    cr_expect(strstr(tsr_error_last(), number) && strstr(tsr_error_last(), "holds 64"), "%s",
              tsr_error_last());
    cr_expect(answer.n == 0);
    s.n = 0; /* the refused turn doesn't count: the conversation begins with the next one */
    add(&s, chatml.start, "");
    add(&s, chatml.user, "hello");
    OK(tsr_chat_say(chat, "hello", 5, collect, &answer, NULL));
    expect_one_shot(&s, &answer);
    tsr_chat_destroy(&chat);
}

Test(chat, needs_device_tokenizer_and_end) {
    const tsr_chat_options how = how_of(&chatml, NULL);
    tsr_chat *chat = NULL;
    tsr_model *other = NULL;
    OK(tsr_model_open(chat_folder, NULL, NULL, &other));
    cr_expect(tsr_chat_create(other, &how, &options, &chat) == TSR_E_STATE && !chat);
    tsr_model_close(&other);
    OK(tsr_model_open(TESSERA_SOURCE_DIR "/tests/golden/models/llama-tiny", device, NULL, &other));
    cr_expect(tsr_chat_create(other, &how, &options, &chat) == TSR_E_STATE &&
                  strstr(tsr_error_last(), "tokenizer"),
              "%s", tsr_error_last());
    tsr_model_close(&other);
    options.top_p = 2;
    cr_expect(tsr_chat_create(model, &how, &options, &chat) == TSR_E_ARGUMENT);
}

/* The model's settings may ask for beams; an answer has one. */
Test(chat, is_not_searched) {
    const tsr_chat_options how = how_of(&chatml, NULL);
    tsr_chat *chat = NULL;
    tsr_model *other = NULL;
    write_chat_file("generation_config.json", "{\"num_beams\": 4, \"eos_token_id\": 2}");
    OK(tsr_model_open(chat_folder, device, NULL, &other));
    OK(tsr_chat_create(other, &how, NULL, &chat));
    tsr_chat_destroy(&chat);
    OK(tsr_generate_defaults(other, &options));
    cr_expect(options.num_beams == 4 &&
              tsr_chat_create(other, &how, &options, &chat) == TSR_E_UNSUPPORTED && !chat);
    cr_expect(strstr(tsr_error_last(), "num_beams is 4"), "%s", tsr_error_last());
    options.num_beams = 1;
    OK(tsr_chat_create(other, &how, &options, &chat));
    tsr_chat_destroy(&chat);
    tsr_model_close(&other);
}

/* max_length counts the whole conversation, where the number of new tokens is not given. */
Test(chat, longest) {
    const tsr_chat_options how = how_of(&chatml, NULL);
    tsr_chat *chat = NULL;
    collected c = {0};
    options.max_length = 30;
    options.max_new_tokens = -1;
    options.ignore_eos = 1;
    OK(tsr_chat_create(model, &how, &options, &chat));
    cr_expect(tsr_chat_say(chat, "a b c d e f g h i j k l m n", 27, collect, &c, NULL) ==
              TSR_E_ARGUMENT);
    cr_expect(strstr(tsr_error_last(), "holds 30"), "%s", tsr_error_last());
    OK(tsr_chat_say(chat, "a", 1, collect, &c, NULL));
    cr_expect(c.n > 0 && c.n < 30 && c.finish != TSR_FINISH_END, "%zu", c.n);
    tsr_chat_destroy(&chat);
}
