/* train/run/progress.c - tells the caller what happens in a run, and learns whether it is to stop.
 */
#include "train/run/job.h"

#include <stdarg.h>
#include <stdio.h>

bool tsri_train_tell(tsri_train_job *job, tsr_train_event event) {
    event.struct_size = sizeof event;
    const int asked =
        job->options->progress ? job->options->progress(job->options->progress_data, &event) : 0;
    job->stop |= asked != 0;
    job->asked = job->asked ? job->asked : asked;
    return job->stop;
}

void tsri_train_say(tsri_train_job *job, tsr_train_event_kind kind, const char *format, ...) {
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    (void)tsri_train_tell(job, (tsr_train_event){.kind = kind, .text = text});
}
