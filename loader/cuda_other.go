//go:build !linux && !windows

package loader

import (
	"os"
	"runtime"
)

// cudaNames has one entry so that the error has something to name.
var cudaNames = []string{"CUDA driver for " + runtime.GOOS + "/" + runtime.GOARCH}

// privileged reports whether the process has more rights than its user.
func privileged() bool { return os.Getuid() != os.Geteuid() || os.Getgid() != os.Getegid() }

func refuseStub(*DynamicLibrary) error { return nil }

func refuseStubFile(string) error { return nil }
