// The comparison's programs: a module of their own, so that cgo and the other
// ways of calling C reach no user's build.
module github.com/purecuda/cuda/bench

go 1.25.0

require (
	github.com/ebitengine/purego v0.11.3
	github.com/purecuda/cuda v0.0.0
	github.com/purecuda/cuda/internal/checks v0.0.0
)

require golang.org/x/sys v0.46.0 // indirect

replace (
	github.com/purecuda/cuda => ../
	github.com/purecuda/cuda/internal/checks => ../internal/checks
)
