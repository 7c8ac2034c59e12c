/* cli/base/help.c - prints a command's help as text. */
#include "cli/base/help.h"
#include "cli/base/names.h"

#include <stdio.h>
#include <string.h>

static void add(char *out, size_t room, const char *format, ...)
    __attribute__((format(PRINTF, 3, 4)));
static void add(char *out, size_t room, const char *format, ...) {
    const size_t used = strlen(out);
    va_list args;
    va_start(args, format);
    vsnprintf(out + used, room - used, format, args);
    va_end(args);
}

void tsri_cli_option_text(const tsri_cli_option *o, bool all, char *out, size_t room) {
    const char *at = o->names;
    char name[CLI_NAME_ROOM];
    out[0] = 0;
    if (o->letter)
        add(out, room, "-%c, ", o->letter);
    for (bool first = true; (first || all) && tsri_cli_next_name(&at, name); first = false)
        add(out, room, "%s--%s", first ? "" : ", ", name);
    if (o->kind == CLI_MAYBE)
        add(out, room, "[=%s]", o->value);
    else if (o->kind != CLI_FLAG)
        add(out, room, " %s", o->value);
}

static void show_option(const tsri_cli_option *o) {
    char text[128];
    tsri_cli_option_text(o, false, text, sizeof text);
    printf("  %s%-*s %s", o->letter ? "" : "    ", o->letter ? 32 : 28, text, o->help);
    const char *at = o->names;
    char name[CLI_NAME_ROOM];
    tsri_cli_next_name(&at, name); /* it was shown */
    printf("%s", *at ? " (also" : "");
    while (tsri_cli_next_name(&at, name))
        printf(" --%s", name);
    puts(strchr(o->names, '|') ? ")" : "");
}

static void page(const char *usage, const char *about, const tsri_cli_option *const *tables) {
    printf("usage: %s\n\n%s\n\n", usage, about);
    for (; *tables; tables++)
        for (const tsri_cli_option *o = *tables; o->names; o++)
            show_option(o);
    printf("  %-32s %s\n", "-h, --help", "this text");
}

static void heading(const char *text) {
    printf("\n%s:\n", text);
}

static void row(const char *name, const char *about, const char *values, const char *initial) {
    printf("  %-29s %s\n%32s%s%s%s\n", name, about, "", values, *initial ? "; default " : "",
           initial);
}

static const tsri_cli_help_form text = {page, heading, row}, *form = &text;

const tsri_cli_help_form *tsri_cli_help(void) {
    return form;
}

void tsri_cli_help_as(const tsri_cli_help_form *other) {
    form = other;
}
