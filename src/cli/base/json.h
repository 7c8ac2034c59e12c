/* cli/base/json.h - results as JSON. They are printed completely, or the command reports that there
 * was no memory and ends with CLI_OTHER. */
#ifndef TESSERA_CLI_BASE_JSON_H
#define TESSERA_CLI_BASE_JSON_H

#include "cli/base/app.h"

#include <jansson.h>

/* Both take ownership of `value`. If it is NULL or cannot be added, the next dump reports it. */
void tsri_cli_json_put(json_t *object, const char *key, json_t *value);
void tsri_cli_json_append(json_t *list, json_t *value);

/* A JSON string from any bytes: each byte that is not UTF-8 becomes U+FFFD. */
json_t *tsri_cli_json_text(const char *text, size_t n);
json_t *tsri_cli_json_string(const char *text); /* the same of a text that ends with a 0 byte */

/* json_loadb; but a whole number outside of 64 bits, as an id or a schema may have it, is read as a real. */
json_t *tsri_cli_json_load(const char *text, size_t n, size_t flags, json_error_t *error);

/* A JSON number; null where it is not finite, which JSON cannot express. */
json_t *tsri_cli_json_number(double value);

/* Returns the text of a value, with its length in *n; the caller frees it with free(). Returns NULL
 * where there is or was no memory; the error was printed then, and nothing more is written. */
char *tsri_cli_json_dump(tsri_cli_app *app, const json_t *value, size_t flags, size_t *n);

/* Prints a value with a line end, and releases it. */
void tsri_cli_json_print(tsri_cli_app *app, json_t *value, size_t flags);

#endif
