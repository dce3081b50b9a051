module github.com/purecuda/cuda

go 1.25.0

require (
	github.com/ebitengine/purego v0.11.3
	golang.org/x/sys v0.46.0
)
