/* base/system/windows/libc.c - what the C library of Windows lacks, or does in the system's old encoding
 * (include/). */
#include "base/system/windows/text.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- string.h ---- */

void *tsri_windows_memmem(const void *in, size_t n, const void *what, size_t size) {
    const char *at = in, *end = at + n;
    if (!size)
        return (void *)in;
    while ((size_t)(end - at) >= size) {
        at = memchr(at, *(const char *)what, (size_t)(end - at) - size + 1);
        if (!at)
            return NULL;
        if (!memcmp(at, what, size))
            return (void *)at;
        at++;
    }
    return NULL;
}

char *tsri_windows_strndup(const char *text, size_t most) {
    const size_t n = strnlen(text, most);
    char *copy = malloc(n + 1);
    if (!copy)
        return NULL;
    memcpy(copy, text, n);
    copy[n] = 0;
    return copy;
}

char *tsri_windows_strcasestr(const char *in, const char *what) {
    const size_t n = strlen(what);
    for (; *in; in++)
        if (!strncasecmp(in, what, n))
            return (char *)in;
    return n ? NULL : (char *)in;
}

/* ---- stdlib.h ---- */

void *tsri_windows_reallocarray(void *items, size_t n, size_t size) {
    size_t bytes;
    if (!__builtin_mul_overflow(n, size, &bytes))
        return realloc(items, bytes);
    errno = ENOMEM;
    return NULL;
}

/* Values that were asked for, as UTF-8: a pointer that was given stays valid. */
static struct value {
    struct value *next;
    char *text, name[];
} * values;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static char *kept(const char *name, const wchar_t *now) {
    char *text = tsri_windows_narrow(now);
    for (struct value *v = values; text && v; v = v->next)
        if (!strcmp(v->name, name) && !strcmp(v->text, text)) {
            free(text);
            return v->text;
        }
    struct value *v = text ? malloc(sizeof *v + strlen(name) + 1) : NULL;
    if (!v) {
        free(text);
        return NULL;
    }
    strcpy(v->name, name);
    v->text = text;
    v->next = values;
    values = v;
    return text;
}

char *tsri_windows_getenv(const char *name) {
    wchar_t *wide = tsri_windows_wide(name);
    const wchar_t *now = wide ? _wgetenv(wide) : NULL;
    char *text = NULL;
    free(wide);
    if (now) {
        pthread_mutex_lock(&lock);
        text = kept(name, now);
        pthread_mutex_unlock(&lock);
    }
    return text || strcmp(name, "HOME") != 0 ? text : tsri_windows_getenv("USERPROFILE");
}

int tsri_windows_setenv(const char *name, const char *value, int replace) {
    wchar_t *wide = tsri_windows_wide(name), *to = tsri_windows_wide(value);
    int failed = !wide || !to ? -1 : 0;
    if (!failed && (replace || !_wgetenv(wide)))
        failed = _wputenv_s(wide, to) == 0 ? 0 : -1;
    free(wide);
    free(to);
    return failed;
}

/* ---- stdio.h ---- */

FILE *tsri_windows_fopen(const char *path, const char *mode) {
    const wchar_t way[] = {(wchar_t)*mode, L'b', strchr(mode, '+') ? L'+' : 0, 0};
    wchar_t *wide = tsri_windows_wide(path);
    FILE *file = wide ? _wfopen(wide, way) : NULL;
    free(wide);
    return file;
}

ssize_t tsri_windows_getline(char **line, size_t *room, FILE *from) {
    size_t n = 0;
    for (int c = 0; c != '\n';) {
        if (n + 2 > *room) {
            const size_t more = 2 * *room + 128;
            char *grown = realloc(*line, more);
            if (!grown)
                return -1;
            *line = grown;
            *room = more;
        }
        if ((c = getc(from)) == EOF)
            break;
        (*line)[n++] = (char)c;
    }
    if (!n)
        return -1;
    (*line)[n] = 0;
    return (ssize_t)n;
}
