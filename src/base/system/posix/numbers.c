/* base/system/posix/numbers.c - numbers as the C locale has them. */
#include "base/system/system.h"

#include <locale.h>
#include <stdlib.h>
#ifdef __APPLE__
#include <xlocale.h>
#endif

static locale_t c_locale;

static void make(void) {
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

/* Gives this thread the C locale, and returns the one that it had. */
static locale_t enter(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make);
    return uselocale(c_locale);
}

int tsri_system_print(char *out, size_t room, const char *format, va_list args) {
    const locale_t before = enter();
    const int n = vsnprintf(out, room, format, args);
    uselocale(before);
    return n;
}

double tsri_system_read_number(const char *text, char **end) {
    const locale_t before = enter();
    const double value = strtod(text, end);
    uselocale(before);
    return value;
}
