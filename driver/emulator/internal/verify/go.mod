// Tests of the emulator. They are a module of their own, so that users do not download them.
module github.com/purecuda/cuda/driver/emulator/internal/verify

go 1.25.0

require github.com/purecuda/cuda v0.0.0

require (
	github.com/ebitengine/purego v0.11.3 // indirect
	golang.org/x/sys v0.46.0 // indirect
)

replace github.com/purecuda/cuda => ../../../..
