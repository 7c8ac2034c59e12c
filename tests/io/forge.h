/* io/forge.h - makes model files, good and bad, in a temporary folder that is the current one
 * during a test. */
#ifndef TEST_IO_FORGE_H
#define TEST_IO_FORGE_H

#include "base/bytes.h"
#include "io/archive.h"

#include <stdint.h>

/* For TestSuite(..., .init = forge_folder, .fini = forge_clean). */
void forge_folder(void);
void forge_clean(void);

void forge_file(const char *path, const void *data, size_t n);
/* Writes the file and opens it, which must succeed. */
tsri_io_archive *forge_open(const char *path, const tsri_bytes *file);
void forge_put(tsri_bytes *file, const void *data, size_t n);
void forge_u32(tsri_bytes *file, uint32_t value);
void forge_u64(tsri_bytes *file, uint64_t value);
void forge_zeros(tsri_bytes *file, size_t n);

/* A safetensors file: the header's length, the header, n bytes 0, 1, 2, ... of data. */
void forge_safetensors(tsri_bytes *file, const char *header, size_t data);

/* GGUF: the start of the file; a text with its length; a value's key and type; a whole value; a
 * tensor's description. */
void forge_gguf(tsri_bytes *file, uint32_t version, uint64_t tensors, uint64_t keys);
void forge_text(tsri_bytes *file, const char *text);
void forge_key(tsri_bytes *file, const char *key, uint32_t type);
void forge_kv_u32(tsri_bytes *file, const char *key, uint32_t value);
void forge_kv_u16(tsri_bytes *file, const char *key, uint16_t value);
void forge_kv_text(tsri_bytes *file, const char *key, const char *text);
void forge_tensor(tsri_bytes *file, const char *name, uint32_t type, uint64_t offset, uint32_t rank,
                  const uint64_t *dims);
/* Zeros up to a multiple of `alignment`, then n bytes of data 0, 1, 2, ... */
void forge_data(tsri_bytes *file, size_t alignment, size_t n);

/* Opens `path` and expects that status and that fragment of the message; `row` says which case it
 * is. */
void forge_refused(const char *path, tsr_status status, const char *fragment, const char *row);

/* Writes the file truncated after each of its bytes: opening it must always fail, and never crash.
 * Then with each byte changed: if it can be opened, all of it is read. */
void forge_cut(const char *path, const tsri_bytes *file);
void forge_change(const char *path, const tsri_bytes *file, size_t n);

#endif
