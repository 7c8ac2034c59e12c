/* cli/commands/generate/windows.c - continues many prompts, some at a time, on all ranks. */
#include "cli/base/json.h"
#include "cli/commands/generate/generate.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { READ, WRITTEN, FAILED }; /* of windows.counts: tokens, tokens, prompts */

/* Before the ids or the text of a prompt in a window. */
typedef struct prompt_head {
    uint64_t seed; /* rank 0's, which may have been drawn */
    uint64_t is_ids;
} prompt_head;

static int add_prompt(const tsri_cli_generation *j, tsri_cli_window *window, const tsr_prompt *p,
                      uint64_t number) {
    const prompt_head head = {.seed = j->options->seed, .is_ids = p->ids != NULL};
    tsri_cli_bytes bytes = {0};
    int code = tsri_cli_bytes_append(&bytes, &head, sizeof head);
    if (code == CLI_OK)
        code = p->ids ? tsri_cli_bytes_append(&bytes, p->ids, p->n_ids * sizeof *p->ids)
                      : tsri_cli_bytes_append(&bytes, p->text, p->text_size);
    const tsri_cli_line line = {.text = bytes.data, .size = bytes.size, .number = number};
    if (code == CLI_OK)
        code = tsri_cli_window_add(window, &line);
    free(bytes.data);
    return code;
}

static int fill(void *data, size_t most, tsri_cli_window *window) {
    enum { MOST = 32 }; /* prompts at once: each takes a context of memory */
    tsri_cli_generation *j = data;
    int code = CLI_OK;
    most = tsri_cli_windows_share(&j->windows, most < MOST ? most : MOST, j->n_all - j->given, 1);
    for (size_t i = 0; i < most && j->given < j->n_all && code == CLI_OK; i++) {
        const tsr_prompt *p = &j->all[j->given++];
        code = add_prompt(j, window, p, j->given);
    }
    return code;
}

/* Ids are copied to new memory; a text of no size would end at its 0 byte. */
static int read_prompt(const tsr_string *from, tsr_prompt *p) {
    prompt_head head;
    memcpy(&head, from->data, sizeof head);
    const char *data = from->data + sizeof head;
    const size_t size = from->size - sizeof head;
    *p = (tsr_prompt){.struct_size = sizeof *p, .text = size ? data : "", .text_size = size};
    if (!head.is_ids)
        return CLI_OK;
    int32_t *ids = malloc(size + 1);
    if (!ids)
        return tsri_cli_fail(CLI_OTHER, "out of memory");
    memcpy(ids, data, size);
    p->text = NULL;
    p->text_size = 0;
    p->ids = ids;
    p->n_ids = (uint32_t)(size / sizeof *ids);
    return CLI_OK;
}

static int read_prompts(tsri_cli_generation *j) {
    const tsri_cli_window *w = &j->windows.window;
    prompt_head head;
    int code = CLI_OK;
    memcpy(&head, w->texts[0].data, sizeof head);
    j->options->seed = head.seed;
    j->n = (uint32_t)w->n;
    j->prompts = calloc(w->n, sizeof *j->prompts);
    j->pointers = calloc(w->n, sizeof *j->pointers);
    if (!j->prompts || !j->pointers)
        return tsri_cli_fail(CLI_OTHER, "out of memory");
    for (size_t i = 0; i < w->n && code == CLI_OK; i++) {
        code = read_prompt(&w->texts[i], &j->prompts[i]);
        j->pointers[i] = &j->prompts[i];
    }
    return code;
}

void tsri_cli_prompts_clear(tsr_prompt *prompts, size_t n) {
    for (size_t i = 0; prompts && i < n; i++)
        free((void *)(uintptr_t)prompts[i].ids);
    free(prompts);
}

/* Before the text of a result and its tokens in JSON. */
typedef struct result_head {
    uint64_t size, tokens;
    uint32_t finish;
    float score;
} result_head;

static int capture(tsri_cli_generation *j, const tsri_cli_result *r) {
    size_t n = 0;
    char *tokens = j->app.json ? tsri_cli_json_dump(&j->app, r->tokens, JSON_COMPACT, &n) : NULL;
    const result_head head = {
        .size = r->text.size, .tokens = n, .finish = r->finish, .score = r->score};
    const bool kept = tsri_cli_write(&j->app, &head, sizeof head) &&
                      tsri_cli_write(&j->app, r->text.data, r->text.size) &&
                      tsri_cli_write(&j->app, tokens, n);
    free(tokens);
    return kept ? CLI_OK : CLI_OTHER;
}

/* Leaves a prompt out, whose results stay empty. Of ranks that all have the window, the first says
 * why. */
static void leave_out(tsri_cli_generation *j, uint32_t at, uint32_t n) {
    const size_t i = (size_t)(j->pointers[at] - j->prompts);
    tsri_cli_clear_progress(&j->app);
    if (!(j->app.split_layers && j->app.rank))
        (void)tsri_cli_prompt_refused(j, TSR_E_ARGUMENT, j->windows.window.first + i);
    for (size_t k = 0; k < j->best; k++)
        j->results[i * j->best + k].text.size = 0;
    memmove(j->pointers + at, j->pointers + at + 1, (n - at - 1) * sizeof *j->pointers);
    j->windows.counts[FAILED]++;
    j->windows_done++;
}

/* Of --lines, each line that can't be continued is left out; the library finds it before it
 * begins any prompt. */
static int continue_prompts(tsri_cli_generation *j, tsr_generate_stats *stats) {
    for (uint32_t n = j->n;; n--) {
        const tsr_status status = tsr_generate(j->app.model, j->pointers, n, j->options,
                                               tsri_cli_results_token, j, stats);
        if (status != TSR_E_ARGUMENT || !stats->refused)
            return tsri_cli_windows_status(&j->windows, status);
        if (!j->lines)
            return tsri_cli_prompt_refused(j, status, j->windows.window.first + stats->refused - 1);
        leave_out(j, stats->refused - 1, n);
    }
}

static int generate_window(void *data) {
    tsri_cli_generation *j = data;
    tsr_generate_stats stats = {.struct_size = sizeof stats};
    j->windows_done = 0;
    int code = read_prompts(j);
    if (code == CLI_OK)
        code = tsri_cli_results_make(j);
    if (code == CLI_OK)
        code = tsri_cli_results_echo(j);
    if (code == CLI_OK)
        code = continue_prompts(j, &stats);
    for (uint32_t i = 0; code == CLI_OK && i < tsri_cli_results_count(j); i++)
        code = capture(j, &j->results[i]);
    j->windows.counts[READ] += stats.prompt_tokens;
    j->windows.counts[WRITTEN] += stats.new_tokens;
    tsri_cli_results_clear(j);
    tsri_cli_prompts_clear(j->prompts, j->n);
    free(j->pointers);
    j->prompts = NULL;
    j->pointers = NULL;
    return code;
}

static int take_results(void *data, const char *bytes, size_t n) {
    tsri_cli_generation *j = data;
    for (const char *end = bytes + n; bytes < end; j->taken++) {
        result_head head;
        memcpy(&head, bytes, sizeof head);
        bytes += sizeof head;
        const tsri_cli_result r = {
            .text = {.data = (char *)(uintptr_t)bytes, .size = head.size},
            .finish = head.finish,
            .score = head.score,
            .tokens =
                head.tokens ? json_loadb(bytes + head.size, head.tokens, 0, NULL) : json_array()};
        tsri_cli_results_print(j, j->taken, j->n_all * j->best, &r);
        json_decref(r.tokens);
        bytes += head.size + head.tokens;
    }
    return CLI_OK;
}

int tsri_cli_generate_windows(tsri_cli_generation *j) {
    tsri_cli_windows *w = &j->windows;
    w->progress = (tsri_cli_progress){.app = &j->app, .doing = "generating", .unit = "prompts"};
    w->fill = fill;
    w->work = generate_window;
    w->take = take_results;
    w->always = true;
    w->data = j;
    w->total = j->n_all;
    const int code = tsri_cli_windows_run(w);
    if (code != CLI_OK || j->app.rank > 0)
        return code;
    tsri_cli_results_end(j);
    tsri_cli_note(&j->app, "%" PRIu64 " tokens read, %" PRIu64 " written", w->sums[READ],
                  w->sums[WRITTEN]);
    return !w->sums[FAILED]
               ? CLI_OK
               : tsri_cli_fail(CLI_MISS, "%" PRIu64 " of %zu lines have no continuation",
                               w->sums[FAILED], j->n_all);
}
