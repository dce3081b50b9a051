//go:build !race && !arm64 && !windows && !wasm

package demotest

// stride is how many calls there are from one that fails to the next. Here every
// call fails.
const stride = 1
