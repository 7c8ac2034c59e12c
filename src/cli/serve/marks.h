/* cli/serve/marks.h - special tokens in the texts of calls: a mark stands for each, because answers do not have their
 * names, and because a model may write the same letters without meaning the token. */
#ifndef TESSERA_CLI_SERVE_MARKS_H
#define TESSERA_CLI_SERVE_MARKS_H

#include "cli/serve/server.h"

/* A mark is this byte, which UTF-8 does not have, the token's id, and the byte again. */
#define TSRI_SERVE_MARK '\xFF'
enum { TSRI_SERVE_MARK_ROOM = 16 };

/* The mark of a token. Returns its size; 0: the token is not special. */
size_t tsri_serve_mark_of(const tsr_model *model, int32_t id, char mark[TSRI_SERVE_MARK_ROOM]);
/* A text with marks in place of the names of special tokens, in new memory. NULL: out of memory. */
char *tsri_serve_with_marks(const tsr_model *model, const char *text);
/* The id of a mark, and behind the mark. */
int32_t tsri_serve_mark_read(const char *mark, const char **behind);

#endif
