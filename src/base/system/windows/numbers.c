/* base/system/windows/numbers.c - numbers as the C locale has them. */
#include "base/system/system.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

typedef struct before { /* what a thread had */
    int mode;           /* whether it has a locale of its own */
    char name[256];     /* "": the C locale already */
} before;

/* Gives this thread, and no other, the numbers of the C locale. */
static before enter(void) {
    before b = {.mode = _configthreadlocale(_ENABLE_PER_THREAD_LOCALE)};
    const char *name = setlocale(LC_NUMERIC, NULL);
    if (name && strcmp(name, "C") != 0 && strlen(name) < sizeof b.name) {
        strcpy(b.name, name);
        setlocale(LC_NUMERIC, "C");
    }
    return b;
}

static void leave(const before *b) {
    if (*b->name)
        setlocale(LC_NUMERIC, b->name);
    _configthreadlocale(b->mode);
}

int tsri_system_print(char *out, size_t room, const char *format, va_list args) {
    const before b = enter();
    const int n = vsnprintf(out, room, format, args);
    leave(&b);
    return n;
}

double tsri_system_read_number(const char *text, char **end) {
    const before b = enter();
    const double value = strtod(text, end);
    leave(&b);
    return value;
}
