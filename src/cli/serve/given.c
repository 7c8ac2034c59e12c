/* cli/serve/given.c - reads what -m of tessera serve names. */
#include "cli/serve/given.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool exists(const char *path) {
    return !access(path, F_OK);
}

static const char by_task[] = "task:";

static bool is_task(const char *text) {
    return !strncmp(text, by_task, sizeof by_task - 1);
}

/* The last + behind which an adapter is; NULL: there is none. A folder's own name may have a +. */
static char *last_plus(char *text) {
    for (char *end = text + strlen(text); end > text; end--)
        if (end[-1] == '+' && (is_task(end) || exists(end)))
            return end - 1;
    return NULL;
}

/* Takes what stands behind a +: a folder, or a task. */
static int take(const char *text, tsri_serve_given *out) {
    if (!is_task(text))
        return tsri_cli_append(&out->adapters, text);
    if (out->task)
        return tsri_cli_fail(CLI_USAGE, "-m: %s%s and %s: a model has one task", by_task, out->task,
                             text);
    out->task = text + sizeof by_task - 1;
    return CLI_OK;
}

/* Cuts adapters off the end of `text` until a model is left; the last is cut first. */
static int cut_adapters(char *text, tsri_serve_given *out) {
    while (!exists(text) && strchr(text, '+')) {
        char *plus = last_plus(text);
        if (!plus)
            return tsri_cli_fail(CLI_FILE, "-m %s: \"%s\": there is no such adapter", text,
                                 strrchr(text, '+') + 1);
        *plus = 0;
        const int code = take(plus + 1, out);
        if (code != CLI_OK)
            return code;
    }
    for (size_t i = 0, n = out->adapters.n; i < n / 2; i++) {
        const char *item = out->adapters.items[i];
        out->adapters.items[i] = out->adapters.items[n - 1 - i];
        out->adapters.items[n - 1 - i] = item;
    }
    return *text ? CLI_OK
                 : tsri_cli_fail(CLI_USAGE, "-m +%s: a model is wanted before the +",
                                 out->adapters.n ? out->adapters.items[0] : "");
}

int tsri_serve_given_read(const char *text, tsri_serve_given *out) {
    *out = (tsri_serve_given){0};
    if (!text)
        return CLI_OK;
    char *model = out->text = strdup(text);
    if (!model)
        return tsri_cli_fail(CLI_OTHER, "out of memory");
    char *equals = exists(text) ? NULL : strchr(model, '=');
    if (equals) {
        *equals = 0;
        out->name = model;
        model = equals + 1;
    }
    out->model = model;
    const int code = cut_adapters(model, out);
    out->is_path = exists(model);
    return code;
}

void tsri_serve_given_free(tsri_serve_given *given) {
    free(given->text);
    free(given->adapters.items);
    *given = (tsri_serve_given){0};
}
