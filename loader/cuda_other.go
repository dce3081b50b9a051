//go:build !linux && !windows

package loader

import "runtime"

// cudaNames has one entry so that the error can say something about it.
var cudaNames = []string{"CUDA driver for " + runtime.GOOS + "/" + runtime.GOARCH}

// privileged need not know: no library is opened here.
func privileged() bool { return true }

func refuseStub(*DynamicLibrary) error { return nil }
