/* io/format.h - between the readers of src/io: filling an archive. A reader adds what it finds and
 * stops at the first fault; tsri_io_open then seals the archive, or frees it whole. */
#ifndef TSRI_IO_FORMAT_H
#define TSRI_IO_FORMAT_H

#include "io/archive.h"

/* GGUF's numbers for the types of metadata; the other formats use the same for their values. */
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

/* Numbers stay in `data` as the file has them (little-endian) and are decoded when they are asked
 * for. Texts lie in `data` one after another, each with a 0 byte after it: text i is at starts[i],
 * starts[count] is the end. */
struct tsri_io_value {
    char *key;
    tsri_io_item item; /* of the value itself, or of a list's items */
    bool is_list;
    size_t count; /* 1 where no list */
    char *data;
    size_t *starts;
};

/* Bytes of a number of that type; 0 for texts and lists. */
size_t tsri_io_item_bytes(tsri_io_item item);

/* Opens a file and puts it into the archive, which owns it from then on. A git-lfs pointer is
 * refused as what it is. */
tsr_status tsri_io_add_file(tsri_io_archive *archive, const char *path, tsri_file **out);
/* Copies the array and its name (n bytes). type_name is borrowed: a literal. */
tsr_status tsri_io_add_array(tsri_io_archive *archive, const tsri_io_array *array, const char *name,
                             size_t n);
/* A new empty value under that key, in *out until the next one is added. */
tsr_status tsri_io_add_value(tsri_io_archive *archive, const char *key, size_t n,
                             tsri_io_value **out);
/* A whole value of one item. */
tsr_status tsri_io_add_text(tsri_io_archive *archive, const char *key, const char *text, size_t n);
tsr_status tsri_io_add_number(tsri_io_archive *archive, const char *key, tsri_io_item item,
                              const void *number);
/* Forgets the values from index `first` on. */
void tsri_io_drop_values(tsri_io_archive *archive, size_t first);
/* Sorts the names and keys; TSR_E_FORMAT where one is there twice. May be called again after more
 * was added. */
tsr_status tsri_io_seal(tsri_io_archive *archive);

/* Frees all that the archive holds, its path too, and leaves an empty one of the same format. */
void tsri_io_clear(tsri_io_archive *archive);

/* elements = product of dims, refusing an overflow even where a dim of 0 hides it. `what` begins
 * the sentence. */
tsr_status tsri_io_count_elements(tsri_io_array *array, const char *what);

/* The readers. Each opens `path` itself. */
tsr_status tsri_io_read_safetensors(tsri_io_archive *archive, const char *path);
tsr_status tsri_io_read_index(tsri_io_archive *archive, const char *path);
tsr_status tsri_io_read_gguf(tsri_io_archive *archive, const char *path);
tsr_status tsri_io_read_llama2c(tsri_io_archive *archive, const char *path);
tsr_status tsri_io_read_ctranslate2(tsri_io_archive *archive, const char *path);

/* Bytes `first` to first + n - 1, multiples of 4, of an array that tsri_io_random made. */
void tsri_io_random_read(const tsri_io_archive *archive, const tsri_io_array *array, uint64_t first,
                         size_t n, float *out);

/* Whether the first n bytes of a file can be the header of a llama2.c checkpoint ("ak42" of any
 * version, or seven plausible numbers). */
bool tsri_io_is_llama2c(const unsigned char *head, size_t n);

/* Whether they can begin a CTranslate2 model: a small version, a short text of letters. */
bool tsri_io_is_ctranslate2(const unsigned char *head, size_t n);

#endif
