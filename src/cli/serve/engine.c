/* cli/serve/engine.c - the thread that owns the device: takes the requests that have come, lets the
 * scheduler do a step, and gives each token to whom it belongs. */
#include "base/system/system.h"
#include "cli/base/process.h"
#include "cli/serve/answers.h"
#include "cli/serve/attention.h"
#include "cli/serve/bounds.h"
#include "cli/serve/call_form.h"
#include "cli/serve/calls.h"
#include "cli/serve/choose.h"
#include "cli/serve/marks.h"
#include "cli/serve/messages.h"
#include "cli/serve/metrics.h"
#include "cli/serve/parts.h"
#include "cli/serve/texts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_CHOICES = 256, LOOK_NS = 1000000000 };

/* ---- jobs ---- */

void tsri_serve_give_back(tsri_serve_exchange *x) {
    tsri_serve_server *s = x->server;
    pthread_mutex_lock(&s->lock);
    x->job = NULL;
    tsri_serve_waits_no_more(x);
    pthread_mutex_unlock(&s->lock);
    tsri_serve_release(x, &x->engine_done);
}

/* Ends a job, with whatever of it still runs. Its exchange has its answer, or needs none. */
static void end_job(tsri_serve_job *job) {
    tsri_serve_server *s = job->x->server;
    tsri_serve_job **at = &s->jobs;
    while (*at && *at != job)
        at = &(*at)->next;
    if (*at)
        *at = job->next;
    for (uint32_t i = 0; job->choices && i < job->n; i++) {
        tsri_serve_choice *c = &job->choices[i];
        if (c->request)
            (void)tsr_scheduler_cancel(job->x->model->scheduler, c->request);
        tsri_serve_clear(&c->text);
        tsri_serve_clear(&c->reasoning);
        tsri_serve_clear(&c->arguments);
        free(c->function);
        tsr_answer_destroy(&c->answer);
        json_decref(c->logprobs);
        json_decref(c->calls);
    }
    job->x->record.prompt_tokens = job->prompt_tokens;
    job->x->record.cached_tokens = job->cached_tokens;
    job->x->record.new_tokens = job->new_tokens;
    tsri_serve_give_back(job->x);
    tsri_serve_ask_clear(&job->ask);
    free(job->choices);
    free(job);
}

/* With the lock held: the numbers of a model's requests. */
static void read_counts(tsri_serve_model *m) {
    const tsr_scheduler_counts *own = &m->metrics.own;
    tsr_scheduler_counts *c = &m->metrics.counts;
    c->struct_size = sizeof *c;
    if (!m->scheduler || tsr_scheduler_count(m->scheduler, c) != TSR_OK)
        return;
    c->finished -= own->finished;
    c->prompt_tokens -= own->prompt_tokens;
    c->new_tokens -= own->new_tokens;
    c->steps -= own->steps;
}

/* What has been answered is counted: a client may ask for the metrics next. */
static void count(tsri_serve_server *s, tsri_serve_model *m) {
    pthread_mutex_lock(&s->lock);
    read_counts(m);
    pthread_mutex_unlock(&s->lock);
}

static void fail_job(tsri_serve_job *job, const tsri_serve_failure *f) {
    tsri_serve_answer_failure(job->x, f);
    end_job(job);
}

static void finish_job(tsri_serve_job *job) {
    if (job->ask.stream) {
        if (job->ask.include_usage)
            tsri_serve_event(job->x, tsri_serve_usage_chunk(job));
        tsri_serve_end(job->x);
    } else {
        tsri_serve_answer(job->x, 200, tsri_serve_whole(job));
    }
    end_job(job);
}

/* ---- tokens ---- */

static void observe(tsri_serve_choice *c, bool ends) {
    tsri_serve_server *s = c->job->x->server;
    tsri_serve_metrics *metrics = &c->job->x->model->metrics;
    tsri_serve_record *record = &c->job->x->record;
    const uint64_t now = tsri_cli_now_ns();
    record->first_ns = record->first_ns ? record->first_ns : now;
    pthread_mutex_lock(&s->lock);
    if (c->last_ns)
        tsri_serve_observe(metrics, TSRI_SERVE_BETWEEN_TOKENS, now - c->last_ns);
    else
        tsri_serve_observe(metrics, TSRI_SERVE_FIRST_TOKEN, now - c->job->x->began_ns);
    if (ends)
        tsri_serve_observe(metrics, TSRI_SERVE_WHOLE, now - c->job->x->began_ns);
    pthread_mutex_unlock(&s->lock);
    c->last_ns = now;
}

static size_t count_characters(const char *text, size_t n) {
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += ((unsigned char)text[i] & 0xC0) != 0x80;
    return count;
}

static void count_text(tsri_serve_choice *c, const tsr_generated *g) {
    c->characters += count_characters(g->text, g->text_size);
    c->held = count_characters(g->text + g->text_size, g->held_size);
}

/* Adds a token to a list of log-probabilities, behind all text of the tokens before it. */
static void add_logprob(const tsri_serve_choice *c, json_t *logprobs, const tsr_generated *g,
                        bool known) {
    tsri_serve_add_logprob(c->job, logprobs, g, c->characters + c->held, known);
}

/* A token of the prompt, with "echo". */
static void take_prompt_token(tsri_serve_choice *c, const tsr_generated *g) {
    const bool first = !json_array_size(json_object_get(c->logprobs, "tokens"));
    add_logprob(c, c->logprobs, g, !first);
    count_text(c, g);
}

/* What a stream begins with: the role, or the prompt with "echo". */
static void begin_stream(tsri_serve_choice *c) {
    if (c->job->ask.chat)
        tsri_serve_event(c->job->x, tsri_serve_role_chunk(c));
    if (!c->job->ask.echo)
        return;
    tsri_serve_event(c->job->x, tsri_serve_chunk(c, c->text.data, c->text.size, c->logprobs));
    c->logprobs = NULL;
}

/* New text, and the end, unless calls follow. */
static void stream_text(tsri_serve_choice *c, const char *text, size_t n, json_t *logprobs) {
    if (n || (c->finish && !c->calls) || logprobs)
        tsri_serve_event(c->job->x, tsri_serve_chunk(c, text, n, logprobs));
}

/* New text of what is thought. The token's log-probability goes with it, if there is any. */
static void stream_reasoning(tsri_serve_choice *c, json_t **logprobs) {
    const size_t from = c->reasoned;
    c->reasoned = c->reasoning.size;
    if (c->reasoned == from)
        return;
    tsri_serve_event(c->job->x, tsri_serve_reasoning_chunk(c, c->reasoning.data + from,
                                                           c->reasoned - from, *logprobs));
    *logprobs = NULL;
}

/* How much of the text is content, whatever follows. */
static size_t content_of(const tsri_serve_choice *c) {
    return c->finish               ? c->content
           : c->job->ask.call_form ? tsri_serve_calls_content(c)
                                   : c->text.size;
}

/* New text outside calls, and at the end the calls, as a whole. */
static void stream_parts(tsri_serve_choice *c, json_t *logprobs) {
    const size_t from = c->streamed;
    stream_reasoning(c, &logprobs);
    c->streamed = content_of(c);
    stream_text(c, c->text.data ? c->text.data + from : "", c->streamed - from, logprobs);
    if (c->calls)
        tsri_serve_event(c->job->x, tsri_serve_calls_chunk(c));
}

static void stream_token(tsri_serve_choice *c, const tsr_generated *g, bool listed) {
    json_t *logprobs = listed ? tsri_serve_logprobs(c->job) : NULL;
    if (listed)
        add_logprob(c, logprobs, g, true);
    if (c->job->ask.calls || c->answer)
        stream_parts(c, logprobs);
    else
        stream_text(c, g->text, g->text_size, logprobs);
}

static void finish(tsri_serve_choice *c, uint32_t how) {
    const bool ended = how == TSR_FINISH_END || how == TSR_FINISH_STOP;
    c->content = c->text.size;
    const bool calls = c->job->ask.channels ? tsri_serve_parts_end(c)
                                            : c->job->ask.calls && tsri_serve_calls_take(c);
    c->finish = !ended ? "length" : calls ? "tool_calls" : "stop";
}

/* Special tokens of calls are a part of the text that is read, others are not. The one that begins a call ends what is
 * thought, whether it was closed or not. */
static void put_mark(tsri_serve_choice *c, int32_t id) {
    const tsri_serve_call_form *form = c->job->ask.call_form;
    char mark[TSRI_SERVE_MARK_ROOM];
    const size_t n = tsri_serve_mark_of(c->job->x->model->model, id, mark);
    if (!n || !tsri_serve_call_form_has(form, mark))
        return;
    if (!strncmp(form->before, mark, n))
        tsri_serve_parts_leave(c);
    if (!c->thinks)
        tsri_serve_put(&c->text, mark, n);
}

static void take_token(tsri_serve_choice *c, const tsr_generated *g) {
    tsri_serve_job *job = c->job;
    /* The token that ends an answer is among those of a completion, though its text is not. */
    const bool first = !c->last_ns, listed = g->id >= 0 && job->ask.logprobs &&
                                             (g->finish != TSR_FINISH_END || !job->ask.chat);
    observe(c, g->finish);
    job->new_tokens += g->id >= 0;
    c->tokens += g->id >= 0;
    c->logprob += (double)g->logprob;
    if (job->ask.stream && first)
        begin_stream(c);
    if (c->answer)
        tsri_serve_parts_take(c, g);
    else if (!job->ask.stream || job->ask.calls)
        tsri_serve_put(&c->text, g->text, g->text_size);
    if (job->ask.call_form && g->id >= 0 && g->finish != TSR_FINISH_END)
        put_mark(c, g->id);
    if (g->finish)
        finish(c, g->finish);
    if (job->ask.stream)
        stream_token(c, g, listed);
    else if (listed)
        add_logprob(c, c->logprobs, g, true);
    count_text(c, g);
}

/* The field that constrains the answer; NULL: none does. */
static const char *constraint_of(const tsri_serve_ask *ask) {
    return ask->calls             ? "tools"
           : ask->schema          ? "response_format"
           : ask->options.grammar ? "grammar"
                                  : NULL;
}

static int on_event(void *data, const tsr_scheduler_event *e) {
    tsri_serve_choice *c = e->data;
    tsri_serve_job *job = c->job;
    tsri_serve_failure f;
    (void)data;
    if (e->status != TSR_OK || e->generated->finish)
        count(job->x->server, job->x->model);
    if (e->status != TSR_OK) {
        c->request = 0;
        const bool no_token = e->status == TSR_E_ARGUMENT; /* is left by a grammar */
        const bool later = e->status == TSR_E_HOST_MEMORY || e->status == TSR_E_CANCELLED;
        tsri_serve_fail(&f,
                        no_token ? 400
                        : later  ? 503
                                 : 500,
                        no_token ? constraint_of(&job->ask) : NULL, "%s", e->error);
        fail_job(job, &f);
        return 0;
    }
    if (e->of_prompt) {
        take_prompt_token(c, e->generated);
        return 0;
    }
    if (!c->last_ns && c->index % job->ask.best_of == 0) {
        job->prompt_tokens += e->prompt_tokens;
        job->cached_tokens += e->cached_tokens;
    }
    take_token(c, e->generated);
    if (c->finish) {
        c->request = 0;
        if (!--job->left)
            finish_job(job);
    }
    return 0;
}

/* ---- requests for text ---- */

/* What a job's choices begin with, and the tokens that end them besides the model's own. */
typedef struct start {
    tsr_prompt prompt; /* ids */
    tsr_string text;   /* that a client gave; data NULL: it gave ids, or messages */
    const int32_t *ends;
    uint32_t n_ends;
} start;

/* The field for which the scheduler refuses a request. Its numbers were checked when they were read; what remains is a
 * grammar that names a token which the model lacks, "echo" where the model does not serve it, or the prompt. */
static const char *at_fault(const tsri_serve_job *job, tsr_status status) {
    static const char *const languages[] = {"grammar: ", "JSON schema: "};
    const char *said = tsr_error_last(), *constraint = constraint_of(&job->ask);
    for (size_t i = 0; constraint && i < sizeof languages / sizeof *languages; i++)
        if (!strncmp(said, languages[i], strlen(languages[i])))
            return constraint;
    return status == TSR_E_UNSUPPORTED && job->ask.echo ? "echo"
           : job->ask.chat                              ? "messages"
                                                        : "prompt";
}

static bool add_choice(tsri_serve_choice *c, const start *start, uint64_t seed,
                       tsri_serve_failure *f) {
    const tsri_serve_ask *ask = &c->job->ask;
    tsr_generate_options options = ask->options;
    options.seed = seed;
    options.speculate = c->job->x->server->limits.speculate;
    const tsr_request request = {.struct_size = sizeof request,
                                 .prompt = &start->prompt,
                                 .options = &options,
                                 .ends = start->ends,
                                 .n_ends = start->n_ends,
                                 .data = c,
                                 .prompt_logprobs = ask->echo && ask->logprobs};
    if (ask->logprobs && (ask->echo || !ask->stream))
        c->logprobs = tsri_serve_logprobs(c->job);
    const tsr_status status = tsr_scheduler_add(c->job->x->model->scheduler, &request, &c->request);
    return status == TSR_OK || tsri_serve_fail_status(f, status, at_fault(c->job, status));
}

/* The text that "echo" puts before each answer. */
static bool echo_text(const tsri_serve_model *m, const start *start, tsri_serve_buffer *to,
                      tsri_serve_failure *f) {
    const tsr_prompt *prompt = &start->prompt;
    char *text = NULL;
    size_t n = 0;
    if (start->text.data) {
        tsri_serve_put(to, start->text.data, start->text.size);
        return true;
    }
    const tsr_status status = tsr_decode(m->model, prompt->ids, prompt->n_ids, 1, &text, &n);
    if (status != TSR_OK)
        return tsri_serve_fail_status(f, status, "prompt");
    tsri_serve_put(to, text, n);
    tsr_text_free(text);
    return true;
}

static bool add(tsri_serve_job *job, uint32_t prompt_number, const start *start,
                tsri_serve_failure *f) {
    const uint32_t each = (uint32_t)job->ask.best_of;
    if (!tsri_serve_bound_prompt(job, prompt_number, start->prompt.n_ids, f))
        return false;
    for (uint32_t i = 0; i < each; i++) {
        tsri_serve_choice *c = &job->choices[prompt_number * each + i];
        *c = (tsri_serve_choice){.job = job, .index = (uint32_t)(c - job->choices)};
        /* Without a seed, equal prompts have different answers, too. */
        const uint64_t seed = job->ask.options.seed + (job->ask.has_seed ? i : c->index);
        if ((job->ask.echo && !echo_text(job->x->model, start, &c->text, f)) ||
            !add_choice(c, start, seed, f))
            return false;
    }
    return true;
}

static bool make_choices(tsri_serve_job *job, const json_t *body, size_t prompts,
                         tsri_serve_failure *f) {
    const size_t n = prompts * (size_t)job->ask.best_of;
    if (!n || n > MOST_CHOICES)
        return tsri_serve_fail(f, 400, "n",
                               "%zu prompts with %d answers each: from 1 to %d answers "
                               "are written for a request",
                               prompts, (int)job->ask.best_of, MOST_CHOICES);
    if (!tsri_serve_bound_answers(job, body, n, f))
        return false;
    job->choices = calloc(n, sizeof *job->choices);
    job->n = job->left = (uint32_t)n;
    return job->choices || tsri_serve_fail(f, 503, NULL, "out of memory");
}

/* Encodes a text once, for all answers. */
static bool add_text(tsri_serve_job *job, uint32_t number, tsr_string text, tsri_serve_failure *f) {
    int32_t *ids = NULL;
    size_t n = 0;
    const tsr_status status =
        tsr_encode(job->x->model->model, text.data, text.size,
                   TSR_ENCODE_ADD_SPECIAL | TSR_ENCODE_PARSE_SPECIAL, &ids, &n);
    if (status != TSR_OK)
        return tsri_serve_fail_status(f, status, "prompt");
    const start start = {
        .prompt = {.struct_size = sizeof start.prompt, .ids = ids, .n_ids = (uint32_t)n},
        .text = text};
    const bool fine = add(job, number, &start, f);
    tsr_ids_free(ids);
    return fine;
}

/* A text, or a list of token ids. */
static bool add_prompt(tsri_serve_job *job, uint32_t number, const json_t *value,
                       tsri_serve_failure *f) {
    if (json_is_string(value)) {
        const tsr_string text = {json_string_value(value), json_string_length(value)};
        return add_text(job, number, text, f);
    }
    int32_t *ids;
    size_t n;
    if (!tsri_serve_ids(value, "prompt", "a text, a list of token ids, or a list of either", &ids,
                        &n, f))
        return false;
    const start tokens = {
        .prompt = {.struct_size = sizeof tokens.prompt, .ids = ids, .n_ids = (uint32_t)n}};
    const bool fine = add(job, number, &tokens, f);
    free(ids);
    return fine;
}

static bool add_prompts(tsri_serve_job *job, const json_t *body, tsri_serve_failure *f) {
    const json_t *prompt = json_object_get(body, "prompt"),
                 *first = json_is_array(prompt) ? json_array_get(prompt, 0) : NULL;
    const bool several = json_is_string(first) || json_is_array(first);
    const size_t n = several ? json_array_size(prompt) : 1;
    if (!prompt || (json_is_array(prompt) && !first))
        return tsri_serve_fail(f, 400, "prompt", "prompt: a text is wanted");
    if (!make_choices(job, body, n, f))
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (!add_prompt(job, i, several ? json_array_get(prompt, i) : prompt, f))
            return false;
    return true;
}

/* Adds the choices behind a conversation that the template has written once, for all of them. */
static bool add_written(tsri_serve_job *job, const tsr_chat_prompt *written,
                        tsri_serve_failure *f) {
    start start = {.prompt = {.struct_size = sizeof start.prompt}};
    start.prompt.ids = tsr_chat_prompt_ids(written, &start.prompt.n_ids);
    start.ends = tsr_chat_prompt_ends(written, &start.n_ends);
    return add(job, 0, &start, f) && tsri_serve_parts_begin(job, written, f);
}

/* The field for which a conversation could not be written. */
static const char *messages_at_fault(const char *said) {
    static const char variables[] = "template_kwargs";
    return strncmp(said, variables, strlen(variables)) ? "messages" : "chat_template_kwargs";
}

static bool add_messages(tsri_serve_job *job, const json_t *body, tsri_serve_failure *f) {
    const tsri_serve_model *m = job->x->model;
    json_t *messages = json_object_get(body, "messages");
    if (!m->chats && !job->ask.tools_text) /* some models have a template for tools alone */
        return tsri_serve_fail(
            f, 400, "messages",
            "messages: the model \"%s\" has no chat template that can be used: "
            "name a model that has one (\"chat\" of GET /v1/models), or start the "
            "server with one (--chat-template)",
            m->name);
    if (!tsri_serve_plain_messages(job->x->model, messages, f) || !make_choices(job, body, 1, f))
        return false;
    const tsr_chat_options chat = {.struct_size = sizeof chat,
                                   .template_text = m->template_text,
                                   .tools = job->ask.tools_text,
                                   .template_kwargs = job->ask.variables};
    char *text = json_dumps(messages, JSON_COMPACT);
    if (!text)
        return tsri_serve_fail(f, 503, NULL, "out of memory");
    tsr_chat_prompt *written = NULL;
    const tsr_status status = tsr_chat_prompt_create(m->model, &chat, text, &written);
    const bool fine = status == TSR_OK
                          ? add_written(job, written, f)
                          : tsri_serve_fail_status(f, status, messages_at_fault(tsr_error_last()));
    tsr_chat_prompt_destroy(&written);
    free(text);
    return fine;
}

static bool begin_job(tsri_serve_job *job, const json_t *body, bool chat, tsri_serve_failure *f) {
    tsri_serve_model *m = tsri_serve_choose(job->x, body, TSRI_SERVE_TEXT, f);
    if (!m || !tsri_serve_ask_read(m, body, chat, &job->ask, f))
        return false;
    snprintf(job->id, sizeof job->id, "%s-%" PRIu64, chat ? "chatcmpl" : "cmpl",
             ++job->x->server->numbers);
    job->created = (int64_t)time(NULL);
    return chat ? add_messages(job, body, f) : add_prompts(job, body, f);
}

/* From here on the scheduler's counts have the request: --queue forgets it at no time. */
static void begun(tsri_serve_exchange *x) {
    tsri_serve_server *s = x->server;
    pthread_mutex_lock(&s->lock);
    read_counts(x->model);
    tsr_scheduler_counts *c = &x->model->metrics.counts;
    const uint32_t room = c->slots - c->running, n = c->waiting < room ? c->waiting : room;
    c->waiting -= n; /* these get a place in the step that follows */
    c->running += n;
    tsri_serve_waits_no_more(x);
    pthread_mutex_unlock(&s->lock);
}

static void take_job(tsri_serve_exchange *x, bool chat) {
    tsri_serve_failure f = {0};
    json_t *body = tsri_serve_body(x);
    tsri_serve_job *job = body ? calloc(1, sizeof *job) : NULL;
    if (!job) {
        if (body)
            tsri_serve_answer(x, 503, NULL);
        json_decref(body);
        tsri_serve_give_back(x);
        return;
    }
    job->x = x;
    x->job = job;
    job->next = x->server->jobs;
    x->server->jobs = job;
    if (begin_job(job, body, chat, &f)) {
        begun(x);
    } else {
        tsri_serve_answer_failure(x, &f);
        end_job(job);
    }
    json_decref(body);
}

void tsri_serve_completions(tsri_serve_exchange *x) {
    take_job(x, false);
}

void tsri_serve_chat(tsri_serve_exchange *x) {
    take_job(x, true);
}

/* ---- the loop ---- */

/* *gone: whether its client has left. NULL: none waits. */
static tsri_serve_exchange *take_waiting(tsri_serve_server *s, bool *gone) {
    pthread_mutex_lock(&s->lock);
    tsri_serve_exchange *x = s->first_waiting;
    *gone = x && x->gone;
    if (x) {
        s->first_waiting = x->waiting;
        if (!s->first_waiting)
            s->last_waiting = NULL;
    }
    pthread_mutex_unlock(&s->lock);
    return x;
}

/* Whether a model has requests. Those of the first step are nobody's. */
static bool runs(const tsri_serve_model *m) {
    tsr_scheduler_counts c = {.struct_size = sizeof c};
    return m->scheduler && tsr_scheduler_count(m->scheduler, &c) == TSR_OK &&
           (c.running || c.waiting);
}

static bool any_runs(const tsri_serve_server *s) {
    bool any = false;
    for (size_t i = 0; i < s->n_models; i++)
        any |= runs(&s->models[i]);
    return any;
}

/* Waits for something to do. Now and then it looks at the clients in any case. */
static bool wait_for_work(tsri_serve_server *s) {
    const bool busy = s->texts || any_runs(s);
    pthread_mutex_lock(&s->lock);
    if (!s->first_waiting && !s->stopping && !busy && !tsri_serve_attention_waits(s)) {
        (void)tsri_system_wait_until(&s->wake, &s->lock, tsri_cli_now_ns() + LOOK_NS);
    }
    const bool stopping = s->stopping;
    pthread_mutex_unlock(&s->lock);
    return !stopping;
}

static void take_requests(tsri_serve_server *s) {
    tsri_serve_exchange *x;
    bool gone;
    while ((x = take_waiting(s, &gone)) != NULL) {
        if (gone)
            tsri_serve_give_back(x);
        else
            x->route->handle(x);
    }
}

static void drop_gone(tsri_serve_server *s) {
    for (tsri_serve_job *job = s->jobs, *next; job; job = next) {
        next = job->next;
        tsri_serve_model *m = job->x->model;
        pthread_mutex_lock(&s->lock);
        const bool gone = job->x->gone;
        pthread_mutex_unlock(&s->lock);
        if (!gone)
            continue;
        end_job(job);
        count(s, m);
    }
}

/* A step of each model that has requests: they take turns. */
static void step(tsri_serve_server *s) {
    for (size_t i = 0; i < s->n_models; i++) {
        tsri_serve_model *m = &s->models[i];
        if (runs(m) && tsr_scheduler_step(m->scheduler, on_event, NULL) != TSR_OK)
            tsri_cli_note(s->app, "a step failed: %s", tsr_error_last());
        count(s, m);
    }
}

static void drop_errands(tsri_serve_server *s, bool all) {
    tsri_serve_errands_drop(s, &s->texts, all);
    tsri_serve_errands_drop(s, &s->looks, all);
}

void *tsri_serve_engine(void *server) {
    tsri_serve_server *s = server;
    while (wait_for_work(s)) {
        take_requests(s);
        step(s);
        tsri_serve_texts_step(s, any_runs(s));
        tsri_serve_attention_step(s);
        tsri_serve_http_look(s);
        drop_gone(s);
        drop_errands(s, false);
    }
    /* Whoever is left has an answer: tsri_serve_http_give_up */
    bool gone;
    for (tsri_serve_exchange *x; (x = take_waiting(s, &gone)) != NULL;)
        tsri_serve_give_back(x);
    drop_errands(s, true);
    tsri_serve_attention_end(s);
    while (s->jobs)
        end_job(s->jobs);
    return NULL;
}
