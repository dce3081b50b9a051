package main

import (
	"fmt"
	"runtime"

	"github.com/purecuda/cuda/examples/internal/demo"
)

const most = 8 // maximum number of devices

// run opens NCCL and trains on all devices, or reports what is missing.
func run(d *demo.Demo) error {
	if d.Emulated {
		d.Printf("There is nothing to show: NCCL moves data between GPUs only.")
		return nil
	}
	contexts, err := d.Contexts(most)
	if err != nil {
		return err
	}
	if len(contexts) < 2 {
		d.Printf("There is nothing to show: two GPUs are needed at least, and there is one.")
		return nil
	}
	if runtime.GOOS != "linux" {
		d.Printf("There is nothing to show: NCCL exists for Linux only.")
		return nil
	}
	lib, version, err := openNCCL()
	if demo.NotInstalled(nccl, err) {
		d.Printf("There is nothing to show: NCCL is not installed. Install it (pip: nvidia-nccl-cu13, Debian: libnccl2), and have %s name the library if it is not found then.\n%v", nccl.Variable, err)
		return nil
	}
	if err != nil {
		return fmt.Errorf("NCCL cannot be used: %w", err)
	}
	d.Printf("NCCL %d.%d.%d", version/10000, version/100%100, version%100)
	return train(d, lib, contexts)
}
