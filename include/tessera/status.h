/* tessera/status.h - what a call answers, and the sentence behind a failure. */
#ifndef TESSERA_STATUS_H
#define TESSERA_STATUS_H

#include <stddef.h>

#if defined(__GNUC__)
#define TSR_API __attribute__((visibility("default")))
#else
#define TSR_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** Grouped by what a caller can do about it. The sentence is in tsr_error_last(). Never renumbered.
 */
typedef enum tsr_status {
    TSR_OK = 0,
    TSR_E_ARGUMENT = 1,      /**< the call itself is wrong: fix the caller */
    TSR_E_UNSUPPORTED = 2,   /**< valid, but not served by this build, backend or device */
    TSR_E_HOST_MEMORY = 3,   /**< malloc failed, or the host budget does not allow it */
    TSR_E_DEVICE_MEMORY = 4, /**< the device has too little memory; a smaller request may work */
    TSR_E_DEVICE = 5,        /**< the device or its driver failed; this device object is lost */
    TSR_E_BUILD = 6,         /**< a kernel does not build; another row may */
    TSR_E_FORMAT = 7,        /**< a file or text breaks its format's rules */
    TSR_E_IO = 8,            /**< a file cannot be opened, read or written */
    TSR_E_STATE = 9,         /**< the object is not in a state that allows the call */
    TSR_E_CANCELLED = 10,    /**< a callback asked to stop */
    TSR_E_INTERNAL = 11      /**< a defect in Tessera */
} tsr_status;

/**
 * The sentence of this thread's last failed call: what was given, what was wanted, what to do.
 *
 * owner   the library; valid until this thread's next failing call. Never NULL; "" before the
 * first. thread  one record a thread
 */
TSR_API const char *tsr_error_last(void);

/**
 * Makes text safe to be shown on a terminal, in place: control characters (but line ends and tabs),
 * C1 controls, what overrides the direction of text, line and paragraph separators, and bytes that
 * are not UTF-8 each become '?'. Sentences of errors are safe already.
 *
 * units  n bytes; returns how many are left
 */
TSR_API size_t tsr_plain_text(char *text, size_t n);

/** The library's version, "0.1.0": it may be another than the one that a program was built with. */
TSR_API const char *tsr_version(void);

/** "ok", "argument", "unsupported", ...; "unknown" for a number that is none. */
TSR_API const char *tsr_status_name(tsr_status status);

/**
 * Of the n names the one that was probably meant, for the sentence that refuses what was typed;
 * NULL where none is near. Insertions, deletions, replacements and swaps count; '_' is '-', and
 * letters of either case are the same.
 *
 * owner   one of `names`
 * thread  any
 */
TSR_API const char *tsr_name_nearest(const char *typed, const char *const *names, size_t n);

#ifdef __cplusplus
}
#endif
#endif
