// Package snippets has the code that the documents show, as tests that run on the
// emulator. Lines such as "//
// [capture]" and "// [end]" mark what tools/docsnip copies into a document. Readers need not see
// the rest of a test.
package snippets
