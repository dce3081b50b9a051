// The checker of kernels for go vet and for programs that run analyzers. A module of its own, so that
// golang.org/x/tools reaches no user's build. It needs no other version of the library than the one
// in the module of the kernels, whose compiler it runs.
module github.com/purecuda/cuda/ptx/cmd/go2ptxvet

go 1.25.0

require golang.org/x/tools v0.46.0
