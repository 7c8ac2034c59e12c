/* Files are written whole or not at all. */
#include "base/files.h"

#include "base/error.h"
#include "base/folder.h"
#include "base/text.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "files-XXXXXX";

static void make_folder(void) {
    cr_assert_not_null(mkdtemp(folder));
    cr_assert_eq(chdir(folder), 0);
}

static void remove_folder(void) {
    cr_assert_eq(chdir(".."), 0);
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    cr_assert_eq(system(command), 0);
}

TestSuite(files, .init = make_folder, .fini = remove_folder);

static int entries(void) {
    int n = 0;
    DIR *d = opendir(".");
    cr_assert_not_null(d);
    for (struct dirent *e; (e = readdir(d));)
        n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

Test(files, what_is_written_is_read) {
    tsri_bytes bytes = {0};
    cr_assert_eq(tsri_base_write_whole("a", "first text", 10), TSR_OK);
    cr_assert_eq(tsri_base_write_whole("a", "hello", 5), TSR_OK);
    cr_assert_eq(tsri_base_read_whole("a", 5, &bytes), TSR_OK);
    cr_assert_eq(bytes.size, 5);
    cr_assert_str_eq(bytes.data, "hello");
    tsri_base_bytes_clear(&bytes);
    cr_assert_eq(tsri_base_read_whole("a", 4, &bytes), TSR_E_FORMAT);
    cr_assert_str_eq(tsri_base_reported(), "a has 5 bytes; at most 4 are read");
    cr_assert_eq(entries(), 1, "no temporary is left");
}

Test(files, links_and_permissions_stay) {
    tsri_bytes bytes = {0};
    struct stat facts;
    cr_assert_eq(tsri_base_make_folders("inner"), TSR_OK);
    cr_assert_eq(tsri_base_write_whole("inner/a", "old", 3), TSR_OK);
    cr_assert_eq(chmod("inner/a", 0640), 0);
    cr_assert_eq(symlink("inner/a", "link"), 0);
    cr_assert_eq(symlink("link", "again"), 0);
    cr_expect_eq(tsri_base_write_whole("again", "new", 3), TSR_OK);
    cr_expect(lstat("link", &facts) == 0 && S_ISLNK(facts.st_mode));
    cr_expect(lstat("again", &facts) == 0 && S_ISLNK(facts.st_mode));
    cr_assert(lstat("inner/a", &facts) == 0 && S_ISREG(facts.st_mode));
    cr_expect_eq(facts.st_mode & 0777, 0640);
    cr_assert_eq(tsri_base_read_whole("inner/a", 9, &bytes), TSR_OK);
    cr_expect_str_eq(bytes.data, "new");
    tsri_base_bytes_clear(&bytes);
    cr_assert_eq(symlink("nowhere", "lost"), 0);
    cr_expect_eq(tsri_base_write_whole("lost", "new", 3), TSR_E_IO);
    cr_expect_str_eq(tsri_base_reported(),
                     "lost: cannot follow the link: No such file or directory");
    cr_expect_eq(entries(), 4, "no temporary is left");
}

Test(files, an_abandoned_write_leaves_the_old_file) {
    tsri_file_writer *writer = NULL;
    tsri_bytes bytes = {0};
    cr_assert_eq(tsri_base_write_whole("a", "old", 3), TSR_OK);
    cr_assert_eq(tsri_base_writer_begin("a", &writer), TSR_OK);
    cr_assert_eq(tsri_base_writer_write(writer, "new", 3), TSR_OK);
    tsri_base_writer_abandon(&writer);
    cr_assert_null(writer);
    cr_assert_eq(tsri_base_read_whole("a", 10, &bytes), TSR_OK);
    cr_assert_str_eq(bytes.data, "old");
    tsri_base_bytes_clear(&bytes);
    cr_assert_eq(entries(), 1);
}

/* Its file is closed behind the writer's back. */
Test(files, what_cannot_be_synced_takes_no_files_place) {
    tsri_file_writer *writer = NULL;
    tsri_bytes bytes = {0};
    const int next = dup(0); /* the number that the writer's file gets */
    cr_assert_eq(tsri_base_write_whole("a", "old", 3), TSR_OK);
    cr_assert(next >= 0 && close(next) == 0);
    cr_assert_eq(tsri_base_writer_begin("a", &writer), TSR_OK);
    cr_assert_eq(tsri_base_writer_write(writer, "new", 3), TSR_OK);
    cr_assert_eq(close(next), 0);
    cr_expect_eq(tsri_base_writer_commit(&writer), TSR_E_IO);
    cr_assert_eq(tsri_base_read_whole("a", 10, &bytes), TSR_OK);
    cr_expect_str_eq(bytes.data, "old");
    tsri_base_bytes_clear(&bytes);
    cr_expect_eq(entries(), 1, "no temporary is left");
}

Test(files, a_leftover_temporary_is_no_obstacle) {
    tsri_bytes name = {0};
    cr_assert_eq(tsri_base_bytes_printf(&name, "a.%ld-0.tmp", (long)getpid()), TSR_OK);
    cr_assert_eq(tsri_base_write_whole(name.data, "x", 1), TSR_OK);
    cr_assert_eq(tsri_base_write_whole("a", "y", 1), TSR_OK);
    tsri_base_bytes_clear(&name);
}

Test(files, only_regular_files_are_opened_or_replaced) {
    tsri_file *file = NULL;
    cr_assert_eq(mkfifo("fifo", 0600), 0);
    cr_expect_eq(tsri_base_file_open("fifo", &file), TSR_E_FORMAT);
    cr_expect_str_eq(tsri_base_reported(), "fifo is a FIFO; a regular file is needed");
    cr_expect_eq(tsri_base_file_open(".", &file), TSR_E_FORMAT);
    cr_expect_eq(tsri_base_file_open("/dev/zero", &file), TSR_E_FORMAT);
    cr_expect_eq(tsri_base_file_open("missing", &file), TSR_E_IO);
    cr_expect_eq(tsri_base_write_whole("fifo", "x", 1), TSR_E_IO);
    cr_expect_eq(tsri_base_write_whole("no/such/folder", "x", 1), TSR_E_IO);
}

Test(files, a_file_that_shrinks_is_an_error) {
    tsri_file *file = NULL;
    char out[8];
    cr_assert_eq(tsri_base_write_whole("a", "12345678", 8), TSR_OK);
    cr_assert_eq(tsri_base_file_open("a", &file), TSR_OK);
    cr_assert_eq(tsri_base_file_read(file, 2, out, 6), TSR_OK);
    cr_assert_arr_eq(out, "345678", 6);
    cr_assert_eq(tsri_base_file_read(file, 2, out, 7), TSR_E_IO);
    cr_assert_eq(tsri_base_file_read(file, UINT64_MAX, out, 1), TSR_E_IO);
    cr_assert_eq(truncate("a", 4), 0);
    cr_assert_eq(tsri_base_file_read(file, 0, out, 8), TSR_E_IO);
    cr_assert_not_null(strstr(tsri_base_reported(), "shrank"));
    tsri_base_file_close(&file);
    cr_assert_null(file);
}

Test(files, folders_are_made_with_their_parents) {
    cr_assert_eq(tsri_base_make_folders("x/y//z/"), TSR_OK);
    cr_assert(tsri_base_is_folder("x/y/z"));
    cr_assert_eq(tsri_base_make_folders("x/y/z"), TSR_OK);
    cr_assert_eq(tsri_base_write_whole("x/file", "", 0), TSR_OK);
    cr_assert_eq(tsri_base_make_folders("x/file/z"), TSR_E_IO);
}

static void expect_cache(const char *expected) {
    char *path = tsri_base_cache_folder();
    cr_expect_str_eq(path, expected);
    free(path);
}

static bool is_text(const char *name) {
    return tsri_base_ends_with(name, ".txt");
}

Test(files, a_folder_s_files_are_copied_beside_those_that_are_there) {
    tsri_bytes bytes = {0};
    cr_assert_eq(tsri_base_make_folders("from/inner"), TSR_OK);
    cr_assert_eq(tsri_base_write_whole("from/a.txt", "a", 1), TSR_OK);
    cr_assert_eq(tsri_base_write_whole("from/b.txt", "theirs", 6), TSR_OK);
    cr_assert_eq(tsri_base_write_whole("from/c.bin", "c", 1), TSR_OK);
    cr_assert_eq(tsri_base_make_folders("to"), TSR_OK);
    cr_assert_eq(tsri_base_write_whole("to/b.txt", "mine", 4), TSR_OK);
    cr_expect_eq(tsri_base_folder_copy("from", "to", is_text), TSR_OK);
    cr_expect(tsri_base_is_file("to/a.txt") && !tsri_base_is_file("to/c.bin"));
    cr_expect_not(tsri_base_is_folder("to/inner"));
    cr_assert_eq(tsri_base_read_whole("to/b.txt", 9, &bytes), TSR_OK);
    cr_expect_str_eq(bytes.data, "mine");
    tsri_base_bytes_clear(&bytes);
    cr_expect_eq(tsri_base_folder_copy("from", "new", NULL), TSR_OK);
    cr_expect(tsri_base_is_file("new/a.txt") && tsri_base_is_file("new/c.bin"));
    cr_expect_eq(tsri_base_folder_copy("nowhere", "other", NULL), TSR_OK);
    cr_expect_not(tsri_base_is_folder("other"));
}

Test(files, an_unfinished_folder_is_removed_with_its_folders) {
    char *temporary = NULL, *inner = NULL;
    cr_assert_eq(tsri_base_folder_begin("new", &temporary), TSR_OK);
    cr_assert_eq(tsri_base_write_whole((inner = tsri_base_join(temporary, "a")), "1", 1), TSR_OK);
    free(inner);
    cr_assert_eq(tsri_base_folder_anew((inner = tsri_base_join(temporary, "1_Pooling"))), TSR_OK);
    cr_assert_eq(tsri_base_folder_copy(temporary, inner, NULL), TSR_OK);
    free(inner);
    const tsr_status why = tsri_base_fail(TSR_E_CANCELLED, "it was cancelled");
    cr_expect_eq(tsri_base_folder_end("new", &temporary, why), TSR_E_CANCELLED);
    cr_expect_str_eq(tsri_base_reported(), "it was cancelled");
    cr_expect_eq(entries(), 0, "nothing is left");
}

Test(files, a_new_folder_s_name_may_end_with_a_slash) {
    char *temporary = NULL;
    cr_expect_eq(tsri_base_folder_check_free("new//"), TSR_OK);
    cr_assert_eq(tsri_base_folder_begin("new//", &temporary), TSR_OK);
    cr_expect_not(strchr(temporary, '/'), "it lies beside the new one");
    cr_expect_eq(tsri_base_folder_end("new//", &temporary, TSR_OK), TSR_OK);
    cr_expect(tsri_base_is_folder("new"));
    cr_expect_eq(tsri_base_folder_check_free("new/"), TSR_E_IO);
    cr_expect_str_eq(tsri_base_reported(), "new exists; give the name of a new folder");
    cr_assert_eq(tsri_base_write_whole("file", "", 0), TSR_OK);
    cr_expect_eq(tsri_base_folder_check_free("file/"), TSR_E_IO);
    cr_expect_eq(tsri_base_folder_length("/"), 1);
}

Test(files, the_cache_folder_follows_the_environment) {
    unsetenv("TESSERA_CACHE");
    unsetenv("XDG_CACHE_HOME");
    setenv("HOME", "/home/x", 1);
    expect_cache("/home/x/.cache/tessera");
    setenv("XDG_CACHE_HOME", "relative", 1);
    expect_cache("/home/x/.cache/tessera");
    setenv("XDG_CACHE_HOME", "/cache", 1);
    expect_cache("/cache/tessera");
    setenv("TESSERA_CACHE", "/own", 1);
    expect_cache("/own");
}
