/* cli/base/build.h - how this program was built. */
#ifndef TESSERA_CLI_BASE_BUILD_H
#define TESSERA_CLI_BASE_BUILD_H

typedef struct tsri_cli_build {
    const char *commit; /* "" where it is not known */
    const char *compiler, *flags, *type;
} tsri_cli_build;

extern const tsri_cli_build tsri_cli_built;

/* What `commit` points at; the build writes it. */
extern const char tsri_cli_commit[];

#endif
