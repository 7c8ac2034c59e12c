/* Continuations that follow a grammar: every way to choose tokens obeys it, and it decides where the text
 * ends. The model's tokens are single characters, without { and digits. */
#include "task/fixture.h"

#include <string.h>

static tsr_model *model;
static tsr_generate_options options = {.struct_size = sizeof options};

static void set_up(void) {
    open_chat_model(&model);
    OK(tsr_generate_defaults(model, &options));
    options.max_new_tokens = 24;
}

static void tear_down(void) {
    close_chat_model(&model);
}

TestSuite(grammar_of_text, .init = set_up, .fini = tear_down);

static tsr_status try(collected *got) {
    const tsr_prompt prompt = {.struct_size = sizeof prompt, .text = "the fox"};
    const tsr_prompt *const prompts[] = {&prompt};
    *got = (collected){0};
    return tsr_generate(model, prompts, 1, &options, collect, got, NULL);
}

static collected go_on(void) {
    collected got;
    OK(try(&got));
    return got;
}

static size_t count(const char *text, const char *characters) {
    return strspn(text, characters);
}

Test(grammar_of_text, is_obeyed) {
    for (int kind = 0; kind < 6; kind++) {
        OK(tsr_generate_defaults(model, &options));
        options.grammar = "root ::= \"<\" [a-c]{3,5} \"|\" [x-z ]{4} \">\"";
        options.max_new_tokens = 24;
        options.seed = (uint64_t)kind;
        options.temperature = kind == 0 ? 0 : 1.5f;
        options.top_k = kind == 1 ? 0 : 40;
        options.repeat_penalty = kind == 2 ? 1.5f : 1;
        options.logprobs = kind == 3 ? 2 : 0;
        options.ignore_eos = kind == 4;
        options.min_new_tokens = kind == 5 ? 20 : 0; /* the grammar decides nevertheless */
        const collected got = go_on();
        const size_t n = count(got.text + 1, "abc");
        cr_expect(got.text[0] == '<' && n >= 3 && n <= 5 && got.text[n + 1] == '|' &&
                      count(got.text + n + 2, "xyz ") == 4 && !strcmp(got.text + n + 6, ">"),
                  "%d: %s", kind, got.text);
        cr_expect(got.finish == TSR_FINISH_END && got.n == got.size, "%d: %s", kind, got.text);
    }
}

Test(grammar_of_text, may_end_or_go_on) {
    static const tsr_logit_bias end = {.id = 2, .bias = 1e6f}, more = {.id = 5, .bias = 1e6f};
    options.temperature = 0;
    options.grammar = "root ::= \"a\"*";
    options.logit_bias = &more;
    options.n_logit_bias = 1;
    collected got = go_on();
    cr_expect(got.finish == TSR_FINISH_LENGTH && count(got.text, "a") == 24, "%s", got.text);
    options.logit_bias = &end;
    got = go_on();
    cr_expect(got.finish == TSR_FINISH_END && got.size == 0, "%s", got.text);
    options.min_new_tokens = 3;
    got = go_on();
    cr_expect(got.finish == TSR_FINISH_END && !strcmp(got.text, "aaa"), "%s", got.text);
    options.min_new_tokens = 0;
    options.grammar = "root ::= \"ab\" \"c\"?";
    got = go_on();
    cr_expect(got.finish == TSR_FINISH_END && !strcmp(got.text, "ab"), "%s", got.text);
}

Test(grammar_of_text, ends_at_once) {
    options.temperature = 0;
    options.grammar = "root ::= \"yes\"";
    options.max_new_tokens = 3; /* the text is whole, so it was not cut */
    const collected got = go_on();
    cr_expect(got.finish == TSR_FINISH_END && !strcmp(got.text, "yes") && got.n == 3);
}

Test(grammar_of_text, refused) {
    collected got;
    options.grammar = "root ::= \"{\"";
    cr_expect(try(&got) == TSR_E_ARGUMENT && strstr(tsr_error_last(), "(such as a grammar) forbid"),
              "%s", tsr_error_last());
    options.grammar = "root ::= ";
    OK(try(&got)); /* the empty text alone */
    cr_expect(got.finish == TSR_FINISH_END && got.size == 0);
    options.grammar = "root ::= \"a";
    cr_expect(try(&got) == TSR_E_ARGUMENT && strstr(tsr_error_last(), "grammar: line 1: "));
    options.grammar = "root ::= \"a\"";
    options.num_beams = 2;
    cr_expect(try(&got) == TSR_E_ARGUMENT && strstr(tsr_error_last(), "at most 1 with a grammar"));
    OK(tsr_grammar_check(options.grammar));
    cr_expect(tsr_grammar_check("root ::= root") == TSR_E_ARGUMENT);
}
