// What compares the library with compilers, GPUs and other libraries, and runs
// it for long. A module of its own, since its corpora and recorded results are
// larger than the library.
module github.com/purecuda/cuda/internal/verify

go 1.25.0

require github.com/purecuda/cuda v0.0.0

require (
	github.com/ebitengine/purego v0.11.3 // indirect
	golang.org/x/sys v0.46.0 // indirect
)

replace github.com/purecuda/cuda => ../..
