// Package snippets contains the code that the documents show, as tests that run on the emulator.
// A comment with a name in brackets begins a snippet, and a comment "[end]" ends it.
// tools/docsnip copies the lines in between into a document. Readers need not see the rest of a
// test.
package snippets
