/* cli/base/man.c - writes manual pages, in the man macros of roff. */
#include "cli/base/man.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Roff reads a line that begins with '.' or '\'' as a request, and a bare '-' as a hyphen. */
static void escaped(const char *text, size_t n) {
    bool begins = true;
    for (size_t i = 0; i < n; i++) {
        const char c = text[i];
        if (begins && (c == '.' || c == '\''))
            fputs("\\&", stdout);
        if (c == '\\' || c == '-')
            fputs(c == '-' ? "\\-" : "\\e", stdout);
        else
            putchar(c);
        begins = c == '\n';
    }
}

void tsri_cli_man_begin(const char *name, const char *about) {
    fputs(".TH ", stdout);
    for (const char *c = name; *c; c++)
        putchar(toupper((unsigned char)*c));
    puts(" 1 \"\" \"tessera " TESSERA_VERSION "\" \"Tessera\"");
    tsri_cli_man_section("NAME");
    escaped(name, strlen(name));
    fputs(" \\- ", stdout);
    escaped(about, strlen(about));
    putchar('\n');
}

void tsri_cli_man_section(const char *title) {
    printf(".SH %s\n", title);
}

void tsri_cli_man_text(const char *text) {
    while (*text) {
        const char *end = strstr(text, "\n\n");
        const size_t n = end ? (size_t)(end - text) : strlen(text);
        escaped(text, n);
        puts(end ? "\n.PP" : "");
        text += n + (end ? 2 : 0);
    }
}

void tsri_cli_man_entry(const char *term, const char *text) {
    fputs(".TP\n\\fB", stdout);
    escaped(term, strlen(term));
    puts("\\fR");
    tsri_cli_man_text(text);
}

static void page(const char *usage, const char *about, const tsri_cli_option *const *tables) {
    tsri_cli_man_section("SYNOPSIS");
    puts(".nf");
    for (const char *line = usage; *line;) {
        const size_t n = strcspn(line, "\n");
        escaped(line, n);
        putchar('\n');
        line += n;
        line += strspn(line, "\n ");
    }
    puts(".fi");
    tsri_cli_man_section("DESCRIPTION");
    tsri_cli_man_text(about);
    tsri_cli_man_section("OPTIONS");
    for (; *tables; tables++)
        for (const tsri_cli_option *o = *tables; o->names; o++) {
            char term[160];
            tsri_cli_option_text(o, true, term, sizeof term);
            tsri_cli_man_entry(term, o->help);
        }
    tsri_cli_man_entry("-h, --help", "print the options");
}

static void heading(const char *text) {
    tsri_cli_man_section("KEYS");
    tsri_cli_man_text(text);
}

static void row(const char *name, const char *about, const char *values, const char *initial) {
    tsri_cli_man_entry(name, about);
    puts(".br");
    escaped(values, strlen(values));
    if (*initial) {
        fputs("; default ", stdout);
        escaped(initial, strlen(initial));
    }
    putchar('\n');
}

const tsri_cli_help_form tsri_cli_man = {page, heading, row};
