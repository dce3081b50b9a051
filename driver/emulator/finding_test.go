package emulator_test

import (
	"fmt"
	"runtime"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
)

func ExampleEmulator_Findings() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	emu := emulator.New(emulator.Config{Check: emulator.CheckAll})
	d, err := driver.New(emu)
	if err != nil {
		fmt.Println(err)
		return
	}
	var ctx cu.CUcontext
	if err := d.CuInit(0); err != nil {
		fmt.Println(err)
		return
	}
	if err := d.CuCtxCreate(&ctx, nil, 0, 0); err != nil { // and never destroyed
		fmt.Println(err)
		return
	}
	emu.Close()
	for _, f := range emu.Findings() {
		fmt.Println(f.Kind)
	}
	// Output: leak
}
