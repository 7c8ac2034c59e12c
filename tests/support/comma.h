/* A locale with a decimal comma, as programs with a user's language have it. */
#ifndef TEST_SUPPORT_COMMA_H
#define TEST_SUPPORT_COMMA_H

/* Sets it for the numbers of this process. Skips the test where the system has none, and its C library
 * takes none that is made. */
void comma_begin(void);

#endif
