/* tessera/status.h - what a call returns, and the sentence that explains a failure.
 *
 * Rules for every public function, which the contract of each does not repeat
 *   - Arguments are borrowed for the call, unless the contract says that something is kept.
 *   - A pointer may be NULL only where the contract says so; the `data` of a callback always may. A
 *     function that returns a status answers TSR_E_ARGUMENT for any other NULL.
 *   - Where a struct begins with struct_size, the caller sets that to the sizeof of the struct
 *     before the call, in structs for results too. Less than 4 is TSR_E_ARGUMENT. Where a struct
 *     that is read is longer than this version knows, and a byte beyond that is not zero, it is
 *     TSR_E_UNSUPPORTED. In a struct for results, what is beyond becomes zero.
 *   - Any call that needs memory may fail with TSR_E_HOST_MEMORY.
 *   - A creator that fails leaves nothing to destroy: *out is NULL, or as it was before the call.
 */
#ifndef TESSERA_STATUS_H
#define TESSERA_STATUS_H

#include <stddef.h>
#if defined(_WIN32)
#define TSR_API __declspec(dllexport)
#elif defined(__GNUC__)
#define TSR_API __attribute__((visibility("default")))
#else
#define TSR_API
#endif
#ifdef __cplusplus
extern "C" {
#endif

/** Failures, grouped by what a caller can do about them. tsr_error_last() has the sentence. The
 * numbers never change. */
typedef enum tsr_status {
    TSR_OK = 0,
    TSR_E_ARGUMENT = 1,      /**< the call itself is wrong: fix the caller */
    TSR_E_UNSUPPORTED = 2,   /**< valid, but not supported by this build, backend or device */
    TSR_E_HOST_MEMORY = 3,   /**< malloc failed, or the host budget does not allow it */
    TSR_E_DEVICE_MEMORY = 4, /**< the device has too little memory; a smaller request may work */
    TSR_E_DEVICE = 5,        /**< the device or its driver failed; this device object is lost */
    TSR_E_BUILD = 6,         /**< a kernel does not build; another kernel variant may */
    TSR_E_FORMAT = 7,        /**< a file or text breaks its format's rules */
    TSR_E_IO = 8,            /**< a file cannot be opened, read or written */
    TSR_E_STATE = 9,         /**< the object is not in a state that allows the call */
    TSR_E_CANCELLED = 10,    /**< a callback asked to stop */
    TSR_E_INTERNAL = 11,     /**< a defect in Tessera */
    TSR_E_PEER = 12          /**< another rank failed or does not answer: start all ranks again */
} tsr_status;

/**
 * The sentence of this thread's last failed call: what was given, what is wrong, what to do.
 *
 * owner   the library; valid until this thread's next failing call. Never NULL; "" before the first
 *         failure
 * thread  each thread has its own sentence
 */
TSR_API const char *tsr_error_last(void);

/**
 * Makes text safe to show on a terminal, in place: control characters (except line ends and tabs),
 * C1 controls, characters that override the direction of text, line and paragraph separators, and
 * bytes that are not UTF-8 each become '?'. Error sentences are already safe.
 *
 * units   n: bytes; returns how many bytes are left
 * owner   text: the caller's, changed in place
 * thread  any
 */
TSR_API size_t tsr_plain_text(char *text, size_t n);

/**
 * The version of the library, "0.1.0". A program may have been built with another one's headers.
 *
 * owner   the library; valid forever
 * thread  any
 */
TSR_API const char *tsr_version(void);

/**
 * The name of a status: "ok", "argument", "unsupported", ...; "unknown" for any other number.
 *
 * owner   the library; valid forever
 * thread  any
 */
TSR_API const char *tsr_status_name(tsr_status status);

/**
 * The one of n names that was probably meant by `typed`, for an error sentence; NULL where none is
 * near. Counts insertions, deletions, replacements and swaps of neighbours; takes '_' for '-', and
 * ignores case.
 *
 * owner   one of `names`
 * thread  any
 */
TSR_API const char *tsr_name_nearest(const char *typed, const char *const *names, size_t n);

#ifdef __cplusplus
}
#endif
#endif
