// Tests of several packages, and the code in the documents. They are a module of their own, so that
// users do not download them.
module github.com/purecuda/cuda/internal/checks

go 1.25.0

require (
	github.com/ebitengine/purego v0.11.3
	github.com/purecuda/cuda v0.0.0
)

require golang.org/x/sys v0.46.0 // indirect

replace github.com/purecuda/cuda => ../..
