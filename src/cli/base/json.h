/* cli/base/json.h - results as JSON: they are printed whole, or the command says that memory is
 * out and ends with CLI_OTHER. */
#ifndef TESSERA_CLI_BASE_JSON_H
#define TESSERA_CLI_BASE_JSON_H

#include "cli/base/app.h"

#include <jansson.h>

/* Both own `value`. What cannot be put, or is NULL, is kept in mind until a value is dumped. */
void tsri_cli_json_put(json_t *object, const char *key, json_t *value);
void tsri_cli_json_append(json_t *list, json_t *value);

/* Text that may be any bytes: each that is not UTF-8 becomes U+FFFD. */
json_t *tsri_cli_json_text(const char *text, size_t n);

/* Its text and *n, the caller's to free(). NULL where memory is, or was, out: then it was said,
 * and nothing more is written. */
char *tsri_cli_json_dump(tsri_cli_app *app, const json_t *value, size_t flags, size_t *n);

/* Prints it with a line end, and releases it. */
void tsri_cli_json_print(tsri_cli_app *app, json_t *value, size_t flags);

#endif
