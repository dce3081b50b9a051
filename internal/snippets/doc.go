// Package snippets is the code that the documents show, as tests that run on the
// emulator. Lines such as "// [capture]" and "// [end]" mark what tools/docsnip
// copies into a document; the rest of a test is what a reader need not see.
package snippets
