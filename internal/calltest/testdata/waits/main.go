// Waits does nothing but wait for C to call back, three times. A test cannot show this,
// because the timer of its time limit keeps Go from reporting a deadlock.
package main

import (
	"fmt"
	"log"
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/loader"
)

// later is the stream whose work the stand-in starts after that many milliseconds, when
// every goroutine waits.
const later = 300

var data [3]byte

func main() {
	d, err := driver.Open()
	if err != nil {
		log.Fatal(err)
	}
	called := make(chan uintptr)
	fn := cu.CUhostFn(loader.NewCallback(func(p uintptr) { called <- p - uintptr(unsafe.Pointer(&data)) }))
	for i := range data {
		if err := d.CuLaunchHostFunc(later, fn, unsafe.Pointer(&data[i])); err != nil {
			log.Fatal(err)
		}
		if got := <-called; got != uintptr(i) {
			log.Fatalf("callback %d says that it is %d", i, got)
		}
	}
	if err := d.Close(); err != nil {
		log.Fatal(err)
	}
	fmt.Println("waits: the callbacks came")
}
