/* io/format.h - how the readers of src/io fill an archive. A reader adds what it finds and stops at
 * the first fault; then tsri_io_open seals the archive, or frees all of it. */
#ifndef TSRI_IO_FORMAT_H
#define TSRI_IO_FORMAT_H

#include "io/archive.h"

/* GGUF's numbers for the types of metadata; the other formats use the same numbers for their
 * values. */
typedef enum tsri_io_item {
    TSRI_IO_ITEM_U8,
    TSRI_IO_ITEM_I8,
    TSRI_IO_ITEM_U16,
    TSRI_IO_ITEM_I16,
    TSRI_IO_ITEM_U32,
    TSRI_IO_ITEM_I32,
    TSRI_IO_ITEM_F32,
    TSRI_IO_ITEM_BOOL,
    TSRI_IO_ITEM_TEXT,
    TSRI_IO_ITEM_LIST,
    TSRI_IO_ITEM_U64,
    TSRI_IO_ITEM_I64,
    TSRI_IO_ITEM_F64,
    TSRI_IO_ITEMS
} tsri_io_item;

/* Numbers stay in `data` as in the file (little-endian) and are decoded when they are asked for.
 * Texts are in `data` one after the other, each followed by a 0 byte: text i is at starts[i], and
 * starts[count] is the end. */
struct tsri_io_value {
    char *key;
    tsri_io_item item; /* of the value itself, or of a list's items */
    bool is_list;
    size_t count; /* 1 where it is not a list */
    char *data;
    size_t *starts;
};

/* How many bytes a number of that type has; 0 for texts and lists. */
size_t tsri_io_item_bytes(tsri_io_item item);

/* Opens a file and adds it to the archive, which owns it from then on. A git-lfs pointer is refused
 * by a sentence that says what it is. */
tsr_status tsri_io_add_file(tsri_io_archive *archive, const char *path, tsri_file **out);
/* Adds a copy of the array and its name (n bytes). type_name is borrowed: it is a literal. */
tsr_status tsri_io_add_array(tsri_io_archive *archive, const tsri_io_array *array, const char *name,
                             size_t n);
/* Adds a new empty value with that key; *out is valid until the next value is added. */
tsr_status tsri_io_add_value(tsri_io_archive *archive, const char *key, size_t n,
                             tsri_io_value **out);
/* Adds a value that is one item. */
tsr_status tsri_io_add_text(tsri_io_archive *archive, const char *key, const char *text, size_t n);
tsr_status tsri_io_add_number(tsri_io_archive *archive, const char *key, tsri_io_item item,
                              const void *number);
/* Removes the values from index `first` on. */
void tsri_io_drop_values(tsri_io_archive *archive, size_t first);
/* Sorts the names and keys; TSR_E_FORMAT where one occurs twice. May be called again after more was
 * added. */
tsr_status tsri_io_seal(tsri_io_archive *archive);

/* Frees all contents of the archive, with its path, and leaves an empty archive of the same
 * format. */
void tsri_io_clear(tsri_io_archive *archive);

/* Sets elements to the product of dims. Refuses an overflow even where a dim of 0 hides it; `what`
 * begins the sentence. */
tsr_status tsri_io_count_elements(tsri_io_array *array, const char *what);

/* The readers. Each opens `path` itself. */
tsr_status tsri_io_read_safetensors(tsri_io_archive *archive, const char *path);
tsr_status tsri_io_read_index(tsri_io_archive *archive, const char *path);
tsr_status tsri_io_read_gguf(tsri_io_archive *archive, const char *path);
tsr_status tsri_io_read_llama2c(tsri_io_archive *archive, const char *path);
tsr_status tsri_io_read_ctranslate2(tsri_io_archive *archive, const char *path);

/* Makes the bytes `first` to first + n - 1, both multiples of 4, of an array that tsri_io_random
 * described. */
void tsri_io_random_read(const tsri_io_archive *archive, const tsri_io_array *array, uint64_t first,
                         size_t n, float *out);

/* Bytes `first` to first + n - 1 of what the rows of an array that is made are in the dtype `to`: f32, f16,
 * bf16, or the array's own. */
tsr_status tsri_io_made_read(const tsri_io_archive *archive, const tsri_io_array *array,
                             tsr_dtype to, uint64_t first, uint64_t n, void *out);

/* Whether the first n bytes of a file can be the header of a llama2.c checkpoint ("ak42" of any
 * version, or seven plausible numbers). */
bool tsri_io_is_llama2c(const unsigned char *head, size_t n);

/* Whether they can be the first bytes of a CTranslate2 model: a small version, then a short text of
 * letters. */
bool tsri_io_is_ctranslate2(const unsigned char *head, size_t n);

#endif
