/* base/system/system.h - what Tessera asks of an operating system beyond the C library and files.
 * posix/ and windows/ implement it; CMake takes one of them. Threads and locks are those of
 * <pthread.h>, which MinGW has, too; threads begin by tsri_system_thread. Other programs: child.h. */
#ifndef TSRI_BASE_SYSTEM_SYSTEM_H
#define TSRI_BASE_SYSTEM_SYSTEM_H

#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* ---- the process ---- */

/* The first call of main: makes the arguments UTF-8, and lets the standard streams pass bytes as
 * they are. */
void tsri_system_begin(int *argc, char ***argv);
/* The path of the running program, with '/'; false where the system doesn't tell it or `room` is too
 * small. */
bool tsri_system_program(char *path, size_t room);
/* The path of the library or program that has `address` in it, likewise. It may be a bare name. */
bool tsri_system_module(const void *address, char *path, size_t room);
/* Bytes that nobody can guess, at most 256; false where there are none. */
bool tsri_system_random(void *out, size_t n);
/* How much memory the process holds, and the most that it held; 0 where the system doesn't tell. */
uint64_t tsri_system_resident(void);
uint64_t tsri_system_resident_peak(void);
/* Writes out what waits in a stream, unless another thread is using it. */
void tsri_system_flush_if_free(FILE *stream);

/* ---- the machine ---- */

/* Bytes of memory; 0 where the system doesn't tell. */
uint64_t tsri_system_memory(void);
/* Cores that are switched on; and those of them that this process may use. 0: it is not known. */
unsigned tsri_system_cores(void);
unsigned tsri_system_cores_allowed(void);
/* "Linux 6.1.0 x86_64"; "" where the system doesn't tell. */
void tsri_system_name(char *out, size_t room);

/* ---- memory ---- */

/* Bytes of a page: the system maps memory, and takes it back, in whole pages. */
size_t tsri_system_page_size(void);
/* Memory that begins at a multiple of `alignment`, a power of two that divides `bytes`; NULL where there is too
 * little. It is given back by tsri_system_free_aligned. */
void *tsri_system_new_aligned(size_t alignment, size_t bytes);
void tsri_system_free_aligned(void *memory);
/* Memory in large pages, to be freed with free; NULL where `bytes` is not a multiple of such a page, and on systems
 * that have none for everyone. */
void *tsri_system_new_large_pages(size_t bytes);

/* ---- threads, signals ---- */

/* As pthread_create; the thread gets no signals but those of its own crash. */
int tsri_system_thread(pthread_t *thread, void *(*run)(void *data), void *data);
/* As pthread_cond_init, for tsri_system_wait_until. */
int tsri_system_condition(pthread_cond_t *condition);
/* As pthread_cond_timedwait, until a time of CLOCK_MONOTONIC in nanoseconds, which changes of the date don't
 * move; false where it has come. */
bool tsri_system_wait_until(pthread_cond_t *condition, pthread_mutex_t *lock, uint64_t end_ns);
/* Calls the handlers when no other thread holds what they lock: before a fork, and after it. */
void tsri_system_mind_forks(void (*before)(void), void (*after)(void));
/* Calls `handler` at the first Ctrl-C or request to end, from wherever the process is; a second one
 * ends the process. Writing to a closed pipe is an error and no signal. */
void tsri_system_on_stop(void (*handler)(int number));
/* Calls `handler` when the process crashes; afterwards it ends as if that had not been caught. Does
 * nothing where the system has no such signals. */
void tsri_system_on_crash(void (*handler)(int number));
/* "INT" for SIGINT; "?" for a number without a name. May be called by a signal handler. */
const char *tsri_system_signal_name(int number);

/* Wakes a thread. Begins as TSRI_SYSTEM_NO_WAKER. */
typedef struct tsri_system_waker {
    intptr_t ends[2];
} tsri_system_waker;
#define TSRI_SYSTEM_NO_WAKER \
    {                        \
        { -1, -1 }           \
    }
bool tsri_system_waker_open(tsri_system_waker *waker);
/* May be called by a signal handler. Does nothing before the waker is open. */
void tsri_system_wake(const tsri_system_waker *waker);
/* Returns when it was woken, or after so many milliseconds; below 0: no limit. */
void tsri_system_wait(const tsri_system_waker *waker, int milliseconds);

/* ---- shared libraries ---- */

/* How a plugin's file name ends. */
#ifdef _WIN32
#define TSRI_SYSTEM_LIBRARY_SUFFIX ".dll"
#else
#define TSRI_SYSTEM_LIBRARY_SUFFIX ".so"
#endif

/* NULL where it can't be loaded; tsri_system_library_error() says why, until the next call. */
void *tsri_system_library_open(const char *path);
/* The same; a name that the library lacks is missed only when it is called. */
void *tsri_system_library_open_lazily(const char *path);
const char *tsri_system_library_error(void);
/* The address of a symbol, or NULL. */
void *tsri_system_library_symbol(void *library, const char *name);
void tsri_system_library_close(void *library);
/* Keeps the code of an open library mapped after it is closed. */
void tsri_system_library_pin(const char *path);

/* ---- numbers ---- */

/* As vsnprintf and strtod in the C locale: with a decimal point, whatever locale the program has set. Other
 * threads keep their locale. */
int tsri_system_print(char *out, size_t room, const char *format, va_list args);
double tsri_system_read_number(const char *text, char **end);

/* ---- SHA-256 ---- */

/* NULL where there is too little memory. */
void *tsri_system_sha256_begin(void);
void tsri_system_sha256_add(void *hash, const void *data, size_t n);
/* Frees the hash. */
void tsri_system_sha256_end(void *hash, unsigned char digest[32]);

/* ---- encodings ---- */

/* A converter of texts to UTF-8; NULL where the encoding is not known. */
typedef struct tsri_system_converter tsri_system_converter;
tsri_system_converter *tsri_system_converter_open(const char *encoding);
/* Moves *from, *n, *out and *room on, as iconv does; returns 0, or -1 with errno: EILSEQ where a byte is
 * wrong, EINVAL where the bytes end within a character, E2BIG where there is no room. */
int tsri_system_convert(tsri_system_converter *converter, char **from, size_t *n, char **out,
                        size_t *room);
void tsri_system_converter_close(tsri_system_converter *converter);

#endif
