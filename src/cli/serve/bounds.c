/* cli/serve/bounds.c - --max-prompt-tokens and --max-new-tokens. */
#include "cli/serve/bounds.h"

#include <inttypes.h>

bool tsri_serve_bound_prompt(const tsri_serve_job *job, uint32_t number, uint32_t n,
                             tsri_serve_failure *f) {
    const int64_t most = job->x->server->limits.prompt_tokens;
    const char *param = job->ask.chat ? "messages" : "prompt";
    return !most || n <= most ||
           tsri_serve_fail(f, 400, param,
                           "%s: prompt %" PRIu32 " has %" PRIu32 " tokens, but this server reads "
                           "at most %" PRId64 " (--max-prompt-tokens): shorten it",
                           param, number + 1, n, most);
}

static const char *named_field(const json_t *body) {
    static const char *const fields[] = {"max_tokens", "max_completion_tokens"};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (json_is_integer(json_object_get(body, fields[i])))
            return fields[i];
    return NULL;
}

bool tsri_serve_bound_answers(tsri_serve_job *job, const json_t *body, size_t answers,
                              tsri_serve_failure *f) {
    const int64_t most = job->x->server->limits.new_tokens, share = most / (int64_t)answers;
    tsr_generate_options *o = &job->ask.options;
    const char *named = named_field(body);
    if (!most || (o->max_new_tokens >= 0 && o->max_new_tokens <= share))
        return true;
    if (named)
        return tsri_serve_fail(
            f, 400, named,
            "%s: up to %" PRId64 " tokens for each of %zu answers are asked for, but "
            "this server writes at most %" PRId64 " for a request (--max-new-tokens)",
            named, o->max_new_tokens, answers, most);
    if (!share)
        return tsri_serve_fail(
            f, 400, "n",
            "n: %zu answers are asked for, but this server writes at most %" PRId64
            " tokens for a request (--max-new-tokens)",
            answers, most);
    if (o->max_new_tokens < 0) /* this bound of both holds only where there is none of new ones */
        o->context = o->max_length;
    o->max_new_tokens = share;
    return true;
}
