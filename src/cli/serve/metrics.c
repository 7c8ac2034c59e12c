/* cli/serve/metrics.c - counters and histograms, in Prometheus' text format. */
#include "cli/serve/metrics.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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

__attribute__((format(printf, 2, 3))) static void line(tsri_serve_buffer *out, const char *format,
                                                       ...) {
    char text[512];
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

static void write_times(const tsri_serve_server *s, tsri_serve_time which, const char *label,
                        tsri_serve_buffer *out) {
    const char *name = times[which].name;
    uint64_t below = 0;
    head(out, name, "histogram", times[which].help);
    for (int i = 0; i < TSRI_SERVE_BUCKETS; i++) {
        below += s->metrics->times[which].counts[i];
        line(out, "tessera_%s_bucket{model_name=\"%s\",le=\"%g\"} %" PRIu64 "\n", name, label,
             bounds[i], below);
    }
    const uint64_t n = s->metrics->times[which].n;
    line(out, "tessera_%s_bucket{model_name=\"%s\",le=\"+Inf\"} %" PRIu64 "\n", name, label, n);
    line(out, "tessera_%s_sum{model_name=\"%s\"} %.9g\n", name, label,
         s->metrics->times[which].sum);
    line(out, "tessera_%s_count{model_name=\"%s\"} %" PRIu64 "\n", name, label, n);
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

void tsri_serve_metrics_write(const tsri_serve_server *s, tsri_serve_buffer *out) {
    const tsri_serve_metrics *m = s->metrics;
    const tsr_scheduler_counts *c = &m->counts;
    const double room = (double)c->slots * (double)c->context;
    const struct {
        const char *name, *type, *help;
        double value;
    } rows[] = {
        {"num_requests_running", "gauge", "Requests that have a place.", c->running},
        {"num_requests_waiting", "gauge", "Requests that wait for a place.",
         (double)c->waiting + (double)s->n_waiting},
        {"kv_cache_usage_perc", "gauge",
         "Share of the memory for keys and values in use, from 0 to 1.",
         room > 0 ? (double)c->tokens / room : 0},
        {"prefix_cache_queries", "counter", "Tokens of prompts that were looked up.",
         (double)c->prompt_tokens},
        {"prefix_cache_hits", "counter",
         "Tokens of prompts whose keys and values were there already.", (double)c->cached_tokens},
        {"prompt_tokens_total", "counter", "Tokens of prompts.", (double)c->prompt_tokens},
        {"generation_tokens_total", "counter", "Tokens that were generated.",
         (double)c->new_tokens},
        {"requests_finished_total", "counter", "Requests that came to their end.",
         (double)c->finished},
        {"requests_cancelled_total", "counter", "Requests that were cancelled.",
         (double)c->cancelled},
        {"requests_failed_total", "counter", "Requests that failed while they ran.",
         (double)c->failed},
        {"clients_left_total", "counter", "Clients that hung up before the end of their answer.",
         (double)m->left},
        {"texts_embedded_total", "counter", "Texts whose vectors were given.", (double)m->embedded},
        {"steps_total", "counter", "Steps of the scheduler.", (double)c->steps},
    };
    char label[256];
    escape(s->name, label, sizeof label);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        head(out, rows[i].name, rows[i].type, rows[i].help);
        line(out, "tessera_%s{model_name=\"%s\"} %.17g\n", rows[i].name, label, rows[i].value);
    }
    for (int i = 0; i < TSRI_SERVE_TIMES; i++)
        write_times(s, (tsri_serve_time)i, label, out);
}
