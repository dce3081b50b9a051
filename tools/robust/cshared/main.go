//go:build cgo

// Command cshared is a C library written in Go that uses CUDA. Like every C library written
// in Go, it needs cgo.
//
//	CGO_ENABLED=1 go build -buildmode=c-shared -o libadd.so ./cshared
package main

import "C"

import (
	"fmt"
	"os"
	"sync"

	"github.com/purecuda/cuda/tools/robust/work"
)

var device struct {
	sync.Mutex
	*work.Device
}

// AddOpen opens a device, unless it is already open. It returns 0 on success.
//
//export AddOpen
func AddOpen(emulated C.int) C.int {
	device.Lock()
	defer device.Unlock()
	if device.Device != nil {
		return 0
	}
	d, err := work.Open(emulated != 0)
	if err == nil {
		device.Device = d
	}
	return answer(err)
}

// AddSelftest tests the device with the library's own memory. Any thread may call it.
//
//export AddSelftest
func AddSelftest() C.int { return answer(device.Selftest()) }

// AddTo adds the number by to each of n words of the caller's memory, replays times, in the
// primary context of device 0.
//
//export AddTo
func AddTo(address C.ulonglong, n C.int, by C.uint, replays C.int) C.int {
	return answer(device.Add(uint64(address), int(n), uint32(by), int(replays)))
}

// AddClose closes the device.
//
//export AddClose
func AddClose() C.int {
	device.Lock()
	defer device.Unlock()
	err := device.Close()
	device.Device = nil
	return answer(err)
}

func answer(err error) C.int {
	if err == nil {
		return 0
	}
	fmt.Fprintln(os.Stderr, "libadd:", err)
	return 1
}

func main() {}
