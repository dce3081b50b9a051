// Waits waits three times for a callback from C while no goroutine can run. Go must not report a
// deadlock. A test cannot check this, because its time limit's timer prevents Go from reporting
// one.
package main

import (
	"fmt"
	"log"
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/loader"
)

// later is a stream handle. The stand-in starts the stream's work after that many milliseconds, so
// that every goroutine is waiting by then.
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
