/* cli/commands/generate/results.c - collects the continuations of prompts, and prints them. */
#include "cli/base/json.h"
#include "cli/commands/generate/generate.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

uint32_t tsri_cli_results_count(const tsri_cli_generation *j) {
    return j->n * j->best;
}

static bool put(tsri_cli_generation *j, tsri_cli_result *r, const char *text, size_t n) {
    return j->streams ? tsri_cli_write(&j->app, text, n)
                      : tsri_cli_bytes_append(&r->text, text, n) == CLI_OK;
}

/* The call was given some of the prompts. */
static tsri_cli_result *result_of(const tsri_cli_generation *j, const tsr_generated *g) {
    return &j->results[(j->pointers[g->prompt] - j->prompts) * j->best + g->hypothesis];
}

static void put_piece(tsri_cli_generation *j, char *line, size_t room, int32_t id) {
    size_t size = 0;
    const char *piece = tsr_piece(j->app.model, id, &size);
    size_t used = 0;
    for (size_t i = 0; piece && i < size && used + 5 < room; i++) {
        const unsigned char c = (unsigned char)piece[i];
        used +=
            (size_t)snprintf(line + used, room - used, c < 0x20 || c == 0x7f ? "\\x%02x" : "%c", c);
    }
    line[used] = 0;
}

/* One line per token: id, log-probability, piece; below it the most likely tokens. */
static bool put_logprobs(tsri_cli_generation *j, const tsr_generated *g) {
    char line[512], piece[256];
    put_piece(j, piece, sizeof piece, g->id);
    int n = snprintf(line, sizeof line, "%d\t%.6f\t%s\n", (int)g->id, (double)g->logprob, piece);
    bool going = put(j, result_of(j, g), line, (size_t)n);
    for (uint32_t i = 0; going && i < g->n_candidates; i++) {
        put_piece(j, piece, sizeof piece, g->candidates[i].id);
        n = snprintf(line, sizeof line, "\t%d\t%.6f\t%s\n", (int)g->candidates[i].id,
                     (double)g->candidates[i].logprob, piece);
        going = put(j, result_of(j, g), line, (size_t)n);
    }
    return going;
}

static void add_json(tsri_cli_generation *j, const tsr_generated *g) {
    json_t *token = json_pack("{s:i}", "id", (int)g->id),
           *best = g->n_candidates ? json_array() : NULL;
    if (j->logprobs >= 0)
        tsri_cli_json_put(token, "logprob", tsri_cli_json_number(g->logprob));
    for (uint32_t i = 0; i < g->n_candidates; i++)
        tsri_cli_json_append(best,
                             json_pack("{s:i,s:o}", "id", (int)g->candidates[i].id, "logprob",
                                       tsri_cli_json_number((double)g->candidates[i].logprob)));
    if (best)
        tsri_cli_json_put(token, "best", best);
    tsri_cli_json_append(result_of(j, g)->tokens, token);
}

int tsri_cli_results_token(void *data, const tsr_generated *g) {
    tsri_cli_generation *j = data;
    bool going = true;
    if (g->id >= 0 && j->app.json)
        add_json(j, g);
    if (g->id >= 0 && j->logprobs >= 0 && !j->app.json) {
        going = put_logprobs(j, g);
    } else if (g->id >= 0 && j->print_ids && !j->app.json) {
        char number[16];
        const int n = snprintf(number, sizeof number, "%d ", (int)g->id);
        going = put(j, result_of(j, g), number, (size_t)n);
    } else if (g->text_size) {
        going = put(j, result_of(j, g), g->text, g->text_size);
    }
    if (g->finish) {
        result_of(j, g)->finish = g->finish;
        result_of(j, g)->score = g->score;
        j->windows_done += j->beams ? g->hypothesis == 0 : 1;
    }
    if (j->all)
        return !going || tsri_cli_windows_progress(&j->windows, j->windows_done, j->n);
    going = going && (!j->streams || tsri_cli_flush(&j->app));
    return !going || tsri_cli_signal();
}

int tsri_cli_results_make(tsri_cli_generation *j) {
    j->results = calloc(tsri_cli_results_count(j), sizeof *j->results);
    if (!j->results)
        return tsri_cli_fail(CLI_OTHER, "out of memory");
    for (uint32_t i = 0; i < tsri_cli_results_count(j); i++)
        j->results[i].tokens = json_array();
    return CLI_OK;
}

void tsri_cli_results_clear(tsri_cli_generation *j) {
    for (uint32_t i = 0; j->results && i < tsri_cli_results_count(j); i++) {
        free(j->results[i].text.data);
        json_decref(j->results[i].tokens);
    }
    free(j->results);
    j->results = NULL;
}

int tsri_cli_results_echo(tsri_cli_generation *j) {
    for (uint32_t i = 0; j->echo && i < tsri_cli_results_count(j); i++) {
        const tsr_prompt *p = &j->prompts[i / j->best];
        tsri_cli_result *r = &j->results[i];
        char *text = NULL;
        size_t size = p->text_size;
        if (p->ids && j->print_ids) {
            for (uint32_t k = 0; k < p->n_ids; k++) {
                char number[16];
                put(j, r, number, (size_t)snprintf(number, sizeof number, "%d ", (int)p->ids[k]));
            }
            continue;
        }
        if (p->ids) {
            const int code =
                tsri_cli_status(tsr_decode(j->app.model, p->ids, p->n_ids, 1, &text, &size));
            if (code != CLI_OK)
                return code;
        }
        put(j, r, text ? text : p->text, size);
        tsr_text_free(text);
    }
    return CLI_OK;
}

int tsri_cli_prompt_refused(const tsri_cli_generation *j, tsr_status status, uint64_t number) {
    char where[48];
    snprintf(where, sizeof where, "%s %" PRIu64, j->lines ? "line" : "prompt", number);
    return tsri_cli_status_at(status, where);
}

static json_t *result_json(const tsri_cli_generation *j, size_t i, const tsri_cli_result *r) {
    json_t *text = tsri_cli_json_text(r->text.data ? r->text.data : "", r->text.size);
    json_t *all = json_pack("{s:o,s:s,s:O}", "text", text, "finish",
                            tsri_cli_finish_name(r->finish), "tokens", r->tokens);
    if (j->beams) {
        tsri_cli_json_put(all, "prompt", json_integer((json_int_t)(i / j->best)));
        tsri_cli_json_put(all, "score", tsri_cli_json_number(r->score));
    }
    return all;
}

void tsri_cli_results_print(tsri_cli_generation *j, size_t i, size_t of, const tsri_cli_result *r) {
    j->full |= r->finish == TSR_FINISH_CONTEXT;
    if (i % j->best && !r->finish)
        return;
    if (j->app.json) {
        j->printed = j->printed ? j->printed : json_array();
        tsri_cli_json_append(j->printed, result_json(j, i, r));
        return;
    }
    const char *gap = i ? "\n" : "";
    if (j->best > 1)
        tsri_cli_print(&j->app, "%s--- %zu.%zu  score %.6f ---\n", gap, i / j->best + 1,
                       i % j->best + 1, (double)r->score);
    else if (of > 1)
        tsri_cli_print(&j->app, "%s--- %zu ---\n", gap, i + 1);
    tsri_cli_write(&j->app, r->text.data, r->text.size);
}

void tsri_cli_results_end(tsri_cli_generation *j) {
    if (j->app.json) {
        tsri_cli_json_print(&j->app, j->printed ? j->printed : json_array(), JSON_INDENT(1));
        j->printed = NULL;
    } else if (j->logprobs < 0) {
        tsri_cli_write(&j->app, "\n", 1);
    }
    if (j->full)
        tsri_cli_note(&j->app, "the context is full: generation stopped there");
    tsri_cli_flush(&j->app);
}
