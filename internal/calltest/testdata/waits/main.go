// Waits only waits for C to call back, three times. A test cannot check this, because the timer for
// its time limit prevents Go from reporting a deadlock.
package main

import (
	"fmt"
	"log"
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/loader"
)

// later is a stream handle. The stand-in starts the stream's work after that many milliseconds,
// when every goroutine waits.
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
