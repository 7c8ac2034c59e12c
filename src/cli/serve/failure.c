/* cli/serve/failure.c - why a request failed: a sentence, and the error of OpenAI's interface. */
#include "cli/serve/server.h"

#include <string.h>

bool tsri_serve_fail(tsri_serve_failure *f, unsigned status, const char *param, const char *format,
                     ...) {
    va_list args;
    va_start(args, format);
    f->status = status;
    f->param = param;
    vsnprintf(f->message, sizeof f->message, format, args);
    va_end(args);
    f->message[tsr_plain_text(f->message, strlen(f->message))] = 0;
    return false;
}

bool tsri_serve_fail_status(tsri_serve_failure *f, tsr_status status, const char *param) {
    const bool input =
        status == TSR_E_ARGUMENT || status == TSR_E_FORMAT || status == TSR_E_UNSUPPORTED;
    const bool later = status == TSR_E_HOST_MEMORY || status == TSR_E_CANCELLED;
    return tsri_serve_fail(f,
                           input   ? 400
                           : later ? 503
                                   : 500,
                           input ? param : NULL, "%s", tsr_error_last());
}

json_t *tsri_serve_failure_json(const tsri_serve_failure *f) {
    const char *type = f->status == 401   ? "authentication_error"
                       : f->status == 404 ? "not_found_error"
                       : f->status < 500  ? "invalid_request_error"
                                          : "server_error";
    return json_pack("{s:{s:s,s:s,s:s?,s:n}}", "error", "message", f->message, "type", type,
                     "param", f->param, "code");
}
