//go:build race || arm64 || windows || wasm

package demotest

// stride is how many calls there are from one that fails to the next: under the
// race detector, and on systems that tests mostly run on under emulation, all of
// them would take minutes. The first call of each function fails everywhere.
const stride = 10
