/* cli/shared/conversion.c - the options and the end of commands that make a new model folder. */
#include "cli/shared/conversion.h"

const tsri_cli_option *tsri_cli_source_option(tsri_cli_conversion *c) {
    static tsri_cli_option rows[2];
    rows[0] = (tsri_cli_option){"model",  'm',
                                CLI_TEXT, &c->app.model_name,
                                "MODEL",  "a folder in Hugging Face's layout, or a bundled model",
                                0,        0,
                                NULL};
    return rows;
}

const tsri_cli_option *tsri_cli_new_folder_option(tsri_cli_conversion *c) {
    static tsri_cli_option rows[2];
    rows[0] = (tsri_cli_option){"output",   'o',      CLI_TEXT,
                                &c->folder, "FOLDER", "the new folder; it must not exist",
                                0,          0,        NULL};
    return rows;
}

int tsri_cli_conversion_stop(void *data, uint64_t done, uint64_t total) {
    (void)data, (void)done, (void)total;
    return tsri_cli_signal();
}

int tsri_cli_converted(const tsri_cli_conversion *c, tsr_status status) {
    if (status == TSR_OK)
        tsri_cli_note(&c->app, "%s was written; use it as any other model: -m %s", c->folder,
                      c->folder);
    return tsri_cli_run_status(status);
}
