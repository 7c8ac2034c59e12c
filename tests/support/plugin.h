/* Backend plugins of the tests' own. */
#ifndef TEST_SUPPORT_PLUGIN_H
#define TEST_SUPPORT_PLUGIN_H

/* Builds a source of the tree, named from its top, as a plugin would be outside of it: with nothing
 * but the public headers. */
void build_plugin(const char *source, const char *plugin);

#endif
