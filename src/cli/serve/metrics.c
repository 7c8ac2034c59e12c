/* cli/serve/metrics.c - counters and histograms, in Prometheus' text format. */
#include "cli/serve/metrics.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { LABEL = 520 }; /* a name, each byte of which may be escaped */

static const double bounds[TSRI_SERVE_BUCKETS] = {
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120};
static const struct {
    const char *name, *help;
} times[TSRI_SERVE_TIMES] = {
    {"time_to_first_token_seconds", "From a request to its first token."},
    {"inter_token_latency_seconds", "Between two tokens of a request."},
    {"e2e_request_latency_seconds", "From a request to the end of its answer."}};

void tsri_serve_observe(tsri_serve_metrics *m, tsri_serve_time which, uint64_t ns) {
    const double seconds = (double)ns / 1e9;
    int i = 0;
    while (i < TSRI_SERVE_BUCKETS && seconds > bounds[i])
        i++;
    m->times[which].counts[i]++;
    m->times[which].n++;
    m->times[which].sum += seconds;
}

__attribute__((format(PRINTF, 2, 3))) static void line(tsri_serve_buffer *out, const char *format,
                                                       ...) {
    char text[1024];
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (n > 0)
        tsri_serve_put(out, text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
}

static void head(tsri_serve_buffer *out, const char *name, const char *type, const char *help) {
    line(out, "# HELP tessera_%s %s\n# TYPE tessera_%s %s\n", name, help, name, type);
}

/* A label's value: quotes, backslashes and line ends are escaped. */
static void escape(const char *text, char *to, size_t room) {
    size_t n = 0;
    for (; *text && n + 3 < room; text++) {
        if (*text == '"' || *text == '\\' || *text == '\n')
            to[n++] = '\\';
        to[n++] = *text == '\n' ? 'n' : *text;
    }
    to[n] = 0;
}

static void write_times(const tsri_serve_model *m, tsri_serve_time which, tsri_serve_buffer *out) {
    const char *name = times[which].name;
    char label[LABEL];
    uint64_t below = 0;
    escape(m->name, label, sizeof label);
    for (int i = 0; i < TSRI_SERVE_BUCKETS; i++) {
        below += m->metrics.times[which].counts[i];
        line(out, "tessera_%s_bucket{model_name=\"%s\",le=\"%g\"} %" PRIu64 "\n", name, label,
             bounds[i], below);
    }
    const uint64_t n = m->metrics.times[which].n;
    line(out, "tessera_%s_bucket{model_name=\"%s\",le=\"+Inf\"} %" PRIu64 "\n", name, label, n);
    line(out, "tessera_%s_sum{model_name=\"%s\"} %.9g\n", name, label, m->metrics.times[which].sum);
    line(out, "tessera_%s_count{model_name=\"%s\"} %" PRIu64 "\n", name, label, n);
}

typedef enum counter {
    RUNNING,
    WAITING,
    USAGE,
    QUERIES,
    HITS,
    PROMPT_TOKENS,
    NEW_TOKENS,
    FINISHED,
    CANCELLED,
    FAILED,
    LEFT,
    EMBEDDED,
    RANKED,
    STEPS,
    PUT_BACK,
    DRAFTS,
    DRAFTED,
    ACCEPTED,
    COUNTERS
} counter;

static const struct {
    const char *name, *type, *help;
} counters[COUNTERS] = {
    [RUNNING] = {"num_requests_running", "gauge", "Requests that have a place."},
    [WAITING] = {"num_requests_waiting", "gauge", "Requests that wait for a place."},
    [USAGE] = {"kv_cache_usage_perc", "gauge",
               "Share of the memory for keys and values in use, from 0 to 1."},
    [QUERIES] = {"prefix_cache_queries", "counter", "Tokens of prompts that were looked up."},
    [HITS] = {"prefix_cache_hits", "counter",
              "Tokens of prompts whose keys and values were there already."},
    [PROMPT_TOKENS] = {"prompt_tokens_total", "counter", "Tokens of prompts."},
    [NEW_TOKENS] = {"generation_tokens_total", "counter", "Tokens that were generated."},
    [FINISHED] = {"requests_finished_total", "counter", "Requests that came to their end."},
    [CANCELLED] = {"requests_cancelled_total", "counter", "Requests that were cancelled."},
    [FAILED] = {"requests_failed_total", "counter", "Requests that failed while they ran."},
    [LEFT] = {"clients_left_total", "counter",
              "Clients that hung up before the end of their answer."},
    [EMBEDDED] = {"texts_embedded_total", "counter", "Texts whose vectors were given."},
    [RANKED] = {"documents_ranked_total", "counter", "Documents whose relevance was given."},
    [STEPS] = {"steps_total", "counter", "Steps of the scheduler."},
    [PUT_BACK] = {"num_preemptions_total", "counter",
                  "How often a running request had to wait again, for want of memory."},
    [DRAFTS] = {"spec_decode_num_drafts_total", "counter",
                "How often tokens of a request were guessed."},
    [DRAFTED] = {"spec_decode_num_draft_tokens_total", "counter", "Tokens that were guessed."},
    [ACCEPTED] = {"spec_decode_num_accepted_tokens_total", "counter",
                  "Guessed tokens that were right."},
};

static double value_of(const tsri_serve_server *s, const tsri_serve_model *m, counter which) {
    const tsr_scheduler_counts *c = &m->metrics.counts;
    const double room = (double)c->kv_tokens;
    /* Whose the requests are that the engine has not seen yet is not known: they count for the first. */
    const double unseen = m == s->models ? (double)s->n_waiting : 0;
    const double values[COUNTERS] = {
        [RUNNING] = (double)(c->running + m->metrics.errands.running),
        [WAITING] = (double)(c->waiting + m->metrics.errands.waiting) + unseen,
        [USAGE] = room > 0 ? (double)c->kv_used / room : 0,
        [QUERIES] = (double)c->prompt_tokens,
        [HITS] = (double)c->cached_tokens,
        [PROMPT_TOKENS] = (double)(c->prompt_tokens + m->metrics.errands.tokens),
        [NEW_TOKENS] = (double)c->new_tokens,
        [FINISHED] = (double)(c->finished + m->metrics.errands.finished),
        [CANCELLED] = (double)c->cancelled,
        [FAILED] = (double)(c->failed + m->metrics.errands.failed),
        [LEFT] = (double)m->metrics.left,
        [EMBEDDED] = (double)m->metrics.embedded,
        [RANKED] = (double)m->metrics.ranked,
        [STEPS] = (double)c->steps,
        [PUT_BACK] = (double)c->put_back,
        [DRAFTS] = (double)c->drafts,
        [DRAFTED] = (double)c->drafted_tokens,
        [ACCEPTED] = (double)c->accepted_tokens};
    return values[which];
}

uint64_t tsri_serve_waiting(const tsri_serve_server *s) {
    uint64_t n = s->n_waiting;
    for (size_t i = 0; i < s->n_models; i++)
        n += s->models[i].metrics.counts.waiting + s->models[i].metrics.errands.waiting;
    return n;
}

void tsri_serve_metrics_write(const tsri_serve_server *s, tsri_serve_buffer *out) {
    char label[LABEL];
    for (int i = 0; i < COUNTERS; i++) {
        head(out, counters[i].name, counters[i].type, counters[i].help);
        for (size_t k = 0; k < s->n_models; k++) {
            escape(s->models[k].name, label, sizeof label);
            line(out, "tessera_%s{model_name=\"%s\"} %.17g\n", counters[i].name, label,
                 value_of(s, &s->models[k], (counter)i));
        }
    }
    for (int i = 0; i < TSRI_SERVE_TIMES; i++) {
        head(out, times[i].name, "histogram", times[i].help);
        for (size_t k = 0; k < s->n_models; k++)
            write_times(&s->models[k], (tsri_serve_time)i, out);
    }
}
