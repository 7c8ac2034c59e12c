/* cli/serve/fields.c - the fields of completions and chat completions: each is a row of a table, which says
 * how it is read. A field without a row is refused by name, so that no client believes it was heard. */
#include "cli/serve/fields.h"
#include "cli/serve/calls.h"
#include "cli/serve/parts.h"

#include "cli/base/names.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { COMPLETION = 1, CHAT = 2, BOTH = 3 };
typedef enum kind {
    REAL, /* float of the options */
    I32,
    I64,
    FLAG,    /* bool of the ask */
    FLAG32,  /* uint32_t of the options */
    TAKEN,   /* by its own function */
    IGNORED, /* it does not change the answer */
    NEUTRAL  /* served only with a value that changes nothing */
} kind;

typedef bool take_fn(const json_t *value, tsri_serve_ask *ask, tsri_serve_failure *f);
static take_fn take_stop, take_seed, take_stream_options, take_logprobs, take_top_logprobs,
    take_logit_bias, take_response_format, take_grammar, take_tools, take_tool_choice,
    take_template_kwargs, take_reasoning_effort;

#define OPTION(field) offsetof(tsri_serve_ask, options.field)
#define ASK(field) offsetof(tsri_serve_ask, field)

static const struct row {
    const char *name;
    int where;
    kind kind;
    size_t at;
    double lowest, highest;
    take_fn *take;
    const char *neutral; /* as JSON, with '|' between */
} rows[] = {
    {"model", BOTH, IGNORED, 0, 0, 0, NULL, NULL}, /* read by tsri_serve_choose */
    {"prompt", COMPLETION, IGNORED, 0, 0, 0, NULL, NULL},
    {"messages", CHAT, IGNORED, 0, 0, 0, NULL, NULL},
    {"max_tokens", BOTH, I64, OPTION(max_new_tokens), 0, 1e9, NULL, NULL},
    {"max_completion_tokens", CHAT, I64, OPTION(max_new_tokens), 0, 1e9, NULL, NULL},
    {"temperature", BOTH, REAL, OPTION(temperature), 0, 1e6, NULL, NULL},
    {"top_p", BOTH, REAL, OPTION(top_p), 1e-9, 1, NULL, NULL},
    {"top_k", BOTH, I32, OPTION(top_k), 0, 1e9, NULL, NULL},
    {"min_p", BOTH, REAL, OPTION(min_p), 0, 1, NULL, NULL},
    {"repetition_penalty", BOTH, REAL, OPTION(repeat_penalty), 1e-3, 1e3, NULL, NULL},
    {"presence_penalty", BOTH, REAL, OPTION(presence_penalty), -2, 2, NULL, NULL},
    {"frequency_penalty", BOTH, REAL, OPTION(frequency_penalty), -2, 2, NULL, NULL},
    {"logit_bias", BOTH, TAKEN, 0, 0, 0, take_logit_bias, NULL},
    {"min_tokens", BOTH, I64, OPTION(min_new_tokens), 0, 1e9, NULL, NULL},
    {"ignore_eos", BOTH, FLAG32, OPTION(ignore_eos), 0, 0, NULL, NULL},
    {"n", BOTH, I64, ASK(n), 1, TSRI_SERVE_CHOICES, NULL, NULL},
    {"stream", BOTH, FLAG, ASK(stream), 0, 0, NULL, NULL},
    {"stream_options", BOTH, TAKEN, 0, 0, 0, take_stream_options, NULL},
    {"stop", BOTH, TAKEN, 0, 0, 0, take_stop, NULL},
    {"seed", BOTH, TAKEN, 0, 0, 0, take_seed, NULL},
    {"logprobs", BOTH, TAKEN, 0, 0, 0, take_logprobs, NULL},
    {"top_logprobs", CHAT, TAKEN, 0, 0, 0, take_top_logprobs, NULL},
    {"response_format", CHAT, TAKEN, 0, 0, 0, take_response_format, NULL},
    {"grammar", BOTH, TAKEN, 0, 0, 0, take_grammar, NULL},
    {"tools", CHAT, TAKEN, 0, 0, 0, take_tools, NULL},
    {"tool_choice", CHAT, TAKEN, 0, 0, 0, take_tool_choice, NULL},
    {"chat_template_kwargs", CHAT, TAKEN, 0, 0, 0, take_template_kwargs, NULL},
    {"reasoning_effort", CHAT, TAKEN, 0, 0, 0, take_reasoning_effort, NULL},
    {"user", BOTH, IGNORED, 0, 0, 0, NULL, NULL},
    {"metadata", CHAT, IGNORED, 0, 0, 0, NULL, NULL},
    {"best_of", COMPLETION, I64, ASK(best_of), 1, TSRI_SERVE_CHOICES, NULL, NULL},
    {"echo", COMPLETION, FLAG, ASK(echo), 0, 0, NULL, NULL},
    {"suffix", COMPLETION, NEUTRAL, 0, 0, 0, NULL, "\"\""},
    {"store", CHAT, NEUTRAL, 0, 0, 0, NULL, "false"},
    {"parallel_tool_calls", CHAT, FLAG, ASK(parallel_calls), 0, 0, NULL, NULL},
};

static bool wrong(tsri_serve_failure *f, const char *param, const char *wanted) {
    return tsri_serve_fail(f, 400, param, "%s: %s is wanted", param, wanted);
}

/* ---- fields with a function of their own ---- */

static bool take_stop(const json_t *value, tsri_serve_ask *ask, tsri_serve_failure *f) {
    const size_t n = json_is_string(value) ? 1 : json_array_size(value);
    if (!json_is_string(value) && !json_is_array(value))
        return wrong(f, "stop", "a text or a list of texts");
    if (n > TSRI_SERVE_STOPS)
        return wrong(f, "stop", "a list of at most 16 texts");
    for (size_t i = 0; i < n; i++) {
        const json_t *one = json_is_string(value) ? value : json_array_get(value, i);
        if (!json_is_string(one) || !json_string_length(one) ||
            strlen(json_string_value(one)) != json_string_length(one))
            return wrong(f, "stop", "texts of at least one character and without a 0 byte");
        ask->stops[i] = json_string_value(one);
    }
    ask->options.stop = ask->stops;
    ask->options.n_stop = (uint32_t)n;
    return true;
}

static bool take_seed(const json_t *value, tsri_serve_ask *ask, tsri_serve_failure *f) {
    if (!json_is_integer(value))
        return wrong(f, "seed", "a whole number from -2^63 to 2^63-1");
    ask->options.seed = (uint64_t)json_integer_value(value);
    ask->has_seed = true;
    return true;
}

static bool take_stream_options(const json_t *value, tsri_serve_ask *ask, tsri_serve_failure *f) {
    const char *key;
    json_t *one;
    if (!json_is_object(value))
        return wrong(f, "stream_options", "an object");
    json_object_foreach((json_t *)value, key, one) {
        if (json_is_null(one))
            continue;
        if (strcmp(key, "include_usage"))
            return tsri_serve_fail(f, 400, "stream_options", "stream_options.%s is not served",
                                   key);
        if (!json_is_boolean(one))
            return wrong(f, "stream_options.include_usage", "true or false");
        ask->include_usage = json_is_true(one);
    }
    return true;
}

static bool take_top(const json_t *value, const char *param, tsri_serve_ask *ask,
                     tsri_serve_failure *f) {
    if (!json_is_integer(value) || json_integer_value(value) < 0 ||
        json_integer_value(value) > TSRI_SERVE_TOP)
        return wrong(f, param, "a whole number from 0 to 20");
    ask->options.logprobs = (uint32_t)json_integer_value(value);
    return true;
}

static bool take_logprobs(const json_t *value, tsri_serve_ask *ask, tsri_serve_failure *f) {
    if (ask->chat && !json_is_boolean(value))
        return wrong(f, "logprobs", "true or false");
    if (!ask->chat && !take_top(value, "logprobs", ask, f))
        return false;
    ask->logprobs = !ask->chat || json_is_true(value);
    ask->options.return_logprob = ask->logprobs;
    return true;
}

static bool take_top_logprobs(const json_t *value, tsri_serve_ask *ask, tsri_serve_failure *f) {
    return take_top(value, "top_logprobs", ask, f);
}

static bool take_logit_bias(const json_t *value, tsri_serve_ask *ask, tsri_serve_failure *f) {
    const char *key;
    json_t *one;
    uint32_t n = 0;
    if (!json_is_object(value) || json_object_size(value) > TSRI_SERVE_BIASES)
        return wrong(f, "logit_bias", "an object with at most 300 token ids");
    json_object_foreach((json_t *)value, key, one) {
        char *end;
        const long id = strtol(key, &end, 10);
        const double bias = json_number_value(one);
        if (end == key || *end || id < 0 || id > INT32_MAX || !json_is_number(one) || bias < -100 ||
            bias > 100)
            return wrong(f, "logit_bias", "an object of token ids with numbers from -100 to 100");
        ask->biases[n++] = (tsr_logit_bias){.id = (int32_t)id, .bias = (float)bias};
    }
    ask->options.logit_bias = ask->biases;
    ask->options.n_logit_bias = n;
    return true;
}

static bool take_grammar(const json_t *value, tsri_serve_ask *ask, tsri_serve_failure *f) {
    const char *text = json_string_value(value);
    if (!text || strlen(text) != json_string_length(value))
        return wrong(f, "grammar", "a text in GBNF");
    ask->options.grammar = text;
    return tsr_grammar_check(text) == TSR_OK ||
           tsri_serve_fail(f, 400, "grammar", "%s", tsr_error_last());
}

static bool only_of_format(const json_t *value, const char *const *known, size_t n,
                           tsri_serve_failure *f) {
    const bool fine = tsri_serve_only(value, known, n, f);
    if (!fine)
        f->param = "response_format";
    return fine;
}

static bool take_schema(const json_t *schema, tsri_serve_ask *ask, tsri_serve_failure *f) {
    ask->schema = json_dumps(schema, JSON_COMPACT);
    if (!ask->schema)
        return tsri_serve_fail(f, 503, NULL, "out of memory");
    return tsr_json_schema_check(ask->schema) == TSR_OK ||
           tsri_serve_fail(f, 400, "response_format", "%s", tsr_error_last());
}

/* The schema of "json_object", which may be missing. */
static bool take_object_format(const json_t *schema, tsri_serve_ask *ask, tsri_serve_failure *f) {
    if (json_is_object(schema))
        return take_schema(schema, ask, f);
    if (schema && !json_is_null(schema))
        return wrong(f, "response_format", "an object as the \"schema\"");
    ask->schema = strdup("{\"type\": \"object\"}");
    return ask->schema || tsri_serve_fail(f, 503, NULL, "out of memory");
}

/* {"name", "description", "schema", "strict"} */
static bool take_schema_format(const json_t *value, tsri_serve_ask *ask, tsri_serve_failure *f) {
    static const char *const known[] = {"name", "description", "schema", "strict"};
    const json_t *schema = json_object_get(value, "schema");
    if (!json_is_object(schema))
        return wrong(f, "response_format", "an object \"json_schema\" with a \"schema\"");
    return only_of_format(value, known, sizeof known / sizeof *known, f) &&
           take_schema(schema, ask, f);
}

/* The types of "response_format", and the key beside "type" that each reads. */
static const struct format {
    const char *type, *key;
    take_fn *take; /* of the key's value, which may be NULL */
} formats[] = {{"text", "", NULL},
               {"json_object", "schema", take_object_format},
               {"json_schema", "json_schema", take_schema_format}};
enum { FORMATS = sizeof formats / sizeof *formats };

/* Whether a format has no key that its type does not read. */
static bool fits_type(const json_t *value, const struct format *format, tsri_serve_failure *f) {
    static const char *const known[] = {"type", "schema", "json_schema"};
    if (!only_of_format(value, known, sizeof known / sizeof *known, f))
        return false;
    for (size_t i = 0; i < FORMATS; i++) {
        const json_t *other = json_object_get(value, formats[i].key);
        if (&formats[i] != format && other && !json_is_null(other))
            return tsri_serve_fail(f, 400, "response_format",
                                   "response_format: \"%s\" has no effect with the type \"%s\": "
                                   "leave it out",
                                   formats[i].key, format->type);
    }
    return true;
}

static bool take_response_format(const json_t *value, tsri_serve_ask *ask, tsri_serve_failure *f) {
    const char *type = json_string_value(json_object_get(value, "type"));
    const struct format *format = formats;
    while (format < formats + FORMATS && (!type || strcmp(format->type, type) != 0))
        format++;
    if (format == formats + FORMATS)
        return wrong(f, "response_format",
                     "an object whose \"type\" is \"text\", \"json_object\" or \"json_schema\"");
    return fits_type(value, format, f) &&
           (!format->take || format->take(json_object_get(value, format->key), ask, f));
}

static bool take_tools(const json_t *value, tsri_serve_ask *ask, tsri_serve_failure *f) {
    (void)f;
    ask->tools = value;
    return true;
}

static bool take_tool_choice(const json_t *value, tsri_serve_ask *ask, tsri_serve_failure *f) {
    (void)f;
    ask->tool_choice = value;
    return true;
}

static bool take_template_kwargs(const json_t *value, tsri_serve_ask *ask, tsri_serve_failure *f) {
    ask->template_kwargs = value;
    return json_is_object(value) || wrong(f, "chat_template_kwargs", "an object");
}

static bool take_reasoning_effort(const json_t *value, tsri_serve_ask *ask, tsri_serve_failure *f) {
    ask->reasoning_effort = value;
    return json_is_string(value) || wrong(f, "reasoning_effort", "a text");
}

/* Makes one object of both. Most templates that have a switch of thoughts call it enable_thinking. */
static bool join_variables(tsri_serve_ask *ask, tsri_serve_failure *f) {
    static const char effort[] = "reasoning_effort", thinking[] = "enable_thinking";
    const json_t *given = ask->template_kwargs, *other = json_object_get(given, effort);
    json_t *wanted = (json_t *)ask->reasoning_effort;
    if (!given && !wanted)
        return true;
    if (wanted && other && !json_is_null(other) && !json_equal(wanted, other))
        return tsri_serve_fail(f, 400, effort,
                               "reasoning_effort: chat_template_kwargs has it, too, with another "
                               "value: give one of them");
    json_t *all = given ? json_copy((json_t *)given) : json_object();
    bool fine = all && (!wanted || !json_object_set(all, effort, wanted));
    const json_t *switched = json_object_get(all, thinking);
    if (fine && wanted && !strcmp(json_string_value(wanted), "none") &&
        (!switched || json_is_null(switched)))
        fine = !json_object_set_new(all, thinking, json_false());
    ask->variables = fine ? json_dumps(all, JSON_COMPACT) : NULL;
    json_decref(all);
    return ask->variables || tsri_serve_fail(f, 503, NULL, "out of memory");
}

/* ---- the table ---- */

static bool is_neutral(const json_t *value, const char *neutral) {
    char text[CLI_NAME_ROOM], one[CLI_NAME_ROOM];
    const size_t n = json_dumpb(value, text, sizeof text - 1, JSON_COMPACT | JSON_ENCODE_ANY);
    if (n >= sizeof text)
        return false;
    text[n] = 0;
    while (tsri_cli_next_name(&neutral, one))
        if (!strcmp(one, text))
            return true;
    return false;
}

static bool take_number(const struct row *row, const json_t *value, void *to,
                        tsri_serve_failure *f) {
    const bool whole = row->kind != REAL;
    const double number = json_number_value(value);
    if (!(whole ? json_is_integer(value) : json_is_number(value)) ||
        !(number >= row->lowest && number <= row->highest))
        return tsri_serve_fail(f, 400, row->name, "%s: a %s from %g to %g is wanted", row->name,
                               whole ? "whole number" : "number", row->lowest, row->highest);
    switch (row->kind) {
    case REAL:
        *(float *)to = (float)number;
        break;
    case I32:
        *(int32_t *)to = (int32_t)json_integer_value(value);
        break;
    default:
        *(int64_t *)to = json_integer_value(value);
        break;
    }
    return true;
}

static bool take_row(const struct row *row, const json_t *value, tsri_serve_ask *ask,
                     tsri_serve_failure *f) {
    void *to = (char *)ask + row->at;
    switch (row->kind) {
    case REAL:
    case I32:
    case I64:
        return take_number(row, value, to, f);
    case FLAG:
    case FLAG32:
        if (!json_is_boolean(value))
            return wrong(f, row->name, "true or false");
        if (row->kind == FLAG)
            *(bool *)to = json_is_true(value);
        else
            *(uint32_t *)to = json_is_true(value);
        return true;
    case TAKEN:
        return row->take(value, ask, f);
    case IGNORED:
        return true;
    case NEUTRAL:
        break;
    }
    return is_neutral(value, row->neutral) ||
           tsri_serve_fail(f, 400, row->name, "%s is not served yet: leave it out", row->name);
}

static bool take_field(const char *key, const json_t *value, tsri_serve_ask *ask,
                       tsri_serve_failure *f) {
    if (json_is_null(value))
        return true;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].where & (ask->chat ? CHAT : COMPLETION) && !strcmp(rows[i].name, key))
            return take_row(&rows[i], value, ask, f);
    return tsri_serve_fail(f, 400, key, "the field \"%s\" is not served", key);
}

static bool check_best_of(tsri_serve_ask *ask, tsri_serve_failure *f) {
    if (!ask->best_of)
        ask->best_of = ask->n;
    if (ask->best_of < ask->n)
        return tsri_serve_fail(f, 400, "best_of",
                               "best_of is %d, but %d answers (n) are asked for: at least as many "
                               "are wanted",
                               (int)ask->best_of, (int)ask->n);
    if (ask->best_of > ask->n && ask->stream)
        return tsri_serve_fail(f, 400, "best_of",
                               "best_of: the best answers are known at their end, so they are not "
                               "streamed: leave out \"stream\"");
    ask->options.return_logprob |= ask->best_of > ask->n;
    return true;
}

/* Both names of the same bound may be given, but not different numbers. */
static bool check_max_tokens(const json_t *body, tsri_serve_failure *f) {
    const json_t *old = json_object_get(body, "max_tokens"),
                 *new = json_object_get(body, "max_completion_tokens");
    return !json_is_integer(old) || !json_is_integer(new) || json_equal(old, new) ||
           tsri_serve_fail(f, 400, "max_completion_tokens",
                           "max_completion_tokens is %lld, but max_tokens, which means the same, "
                           "is %lld: give one of them",
                           (long long)json_integer_value(new), (long long)json_integer_value(old));
}

static bool check_biases(const tsri_serve_model *model, const tsri_serve_ask *ask,
                         tsri_serve_failure *f) {
    tsr_model_info info = {.struct_size = sizeof info};
    const tsr_status status = tsr_model_info_get(model->model, &info);
    if (status != TSR_OK)
        return tsri_serve_fail_status(f, status, NULL);
    for (uint32_t i = 0; i < ask->options.n_logit_bias; i++)
        if (ask->biases[i].id >= info.vocab)
            return tsri_serve_fail(
                f, 400, "logit_bias",
                "logit_bias: %d is not a token id of the model \"%s\", which has "
                "the ids 0 to %lld",
                (int)ask->biases[i].id, model->name, (long long)info.vocab - 1);
    return true;
}

static bool check_constraints(tsri_serve_model *model, tsri_serve_ask *ask, tsri_serve_failure *f) {
    const bool free_form = !ask->options.grammar;
    ask->channels = ask->chat && free_form && tsri_serve_has_channels(model);
    if (!tsri_serve_calls_ask(model, ask, f))
        return false;
    /* A grammar leaves no room for thoughts, but for that of channels. */
    ask->split = ask->chat && free_form && (ask->channels || (!ask->schema && !ask->must_call));
    if (ask->calls) /* a schema of the answer is a part of their grammar */
        return true;
    if (ask->schema && ask->channels)
        return tsri_serve_calls_schema(model, ask, f);
    if (ask->schema && ask->options.grammar)
        return tsri_serve_fail(f, 400, "grammar",
                               "grammar: beside it, \"response_format\" is to be left out");
    ask->options.json_schema = ask->schema;
    return true;
}

void tsri_serve_ask_clear(tsri_serve_ask *ask) {
    free(ask->schema);
    free(ask->call_grammar);
    free(ask->tools_text);
    free(ask->variables);
    json_decref(ask->functions);
    ask->functions = NULL;
    ask->schema = ask->call_grammar = ask->tools_text = ask->variables = NULL;
}

bool tsri_serve_ask_read(tsri_serve_model *model, const json_t *body, bool chat,
                         tsri_serve_ask *ask, tsri_serve_failure *f) {
    const char *key;
    json_t *value;
    *ask = (tsri_serve_ask){.chat = chat, .n = 1, .parallel_calls = true};
    ask->options.struct_size = sizeof ask->options;
    const tsr_status status = tsr_generate_defaults(model->model, &ask->options);
    if (status != TSR_OK)
        return tsri_serve_fail_status(f, status, NULL);
    if (!chat)
        ask->options.max_new_tokens = 16;
    ask->options.num_beams = 1;
    json_object_foreach((json_t *)body, key,
                        value) if (!take_field(key, value, ask, f)) return false;
    if (!check_max_tokens(body, f) || !check_biases(model, ask, f) || !check_best_of(ask, f) ||
        !check_constraints(model, ask, f) || !join_variables(ask, f))
        return false;
    if (ask->include_usage && !ask->stream)
        return tsri_serve_fail(f, 400, "stream_options", "stream_options needs \"stream\": true");
    if (chat && ask->options.logprobs && !ask->logprobs)
        return tsri_serve_fail(f, 400, "top_logprobs", "top_logprobs needs \"logprobs\": true");
    if (!ask->has_seed)
        ask->options.seed = tsri_serve_random();
    return true;
}

uint64_t tsri_serve_random(void) {
    uint64_t number;
    return getrandom(&number, sizeof number, GRND_NONBLOCK) < 0 ? tsri_cli_now_ns() : number;
}

bool tsri_serve_ids(const json_t *list, const char *param, const char *wanted, int32_t **ids,
                    size_t *n, tsri_serve_failure *f) {
    bool fine = json_is_array(list);
    *n = json_array_size(list);
    *ids = calloc(*n ? *n : 1, sizeof **ids);
    if (!*ids)
        return tsri_serve_fail(f, 503, NULL, "out of memory");
    for (size_t i = 0; i < *n && fine; i++) {
        const json_t *one = json_array_get(list, i);
        fine = json_is_integer(one) && json_integer_value(one) >= 0 &&
               json_integer_value(one) <= INT32_MAX;
        (*ids)[i] = (int32_t)json_integer_value(one);
    }
    if (fine)
        return true;
    free(*ids);
    return wrong(f, param, wanted);
}

bool tsri_serve_only(const json_t *body, const char *const *known, size_t n,
                     tsri_serve_failure *f) {
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)body, key, value) {
        bool found = json_is_null(value);
        for (size_t i = 0; i < n && !found; i++)
            found = !strcmp(key, known[i]);
        if (!found)
            return tsri_serve_fail(f, 400, key, "the field \"%s\" is not served", key);
    }
    return true;
}
