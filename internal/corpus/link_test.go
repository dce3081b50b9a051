package corpus_test

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/corpus"
	"github.com/purecuda/cuda/internal/gputest"
)

// What is for a newer device cannot be run, but the driver's linker compiles it:
// the printed text gives the same machine code.
func TestPrintedTextCompilesToTheSameCodeOnGPU(t *testing.T) {
	gputest.OnGPU(t, func(t *testing.T, c *driver.Context) {
		for _, b := range corpus.Builds {
			if b.SM <= 90 {
				continue
			}
			text := texts(t, b)
			for _, src := range sources(t) {
				t.Run(b.Name+"/"+src.Name, func(t *testing.T) {
					original := machineCode(t, c, b, text[src.Name])
					printed := machineCode(t, c, b, printedText(t, src.Name, text[src.Name]))
					if len(original) == 0 || !bytes.Equal(original, printed) {
						t.Errorf("%d bytes of machine code, %d others from the printed text", len(original), len(printed))
					}
				})
			}
		}
	})
}

// machineCode is the cubin that the driver makes of PTX for the build's target.
func machineCode(t *testing.T, c *driver.Context, b corpus.Build, text string) []byte {
	t.Helper()
	log := make([]byte, 4096)
	options := []driver.CUjit_option{driver.CU_JIT_TARGET, driver.CU_JIT_ERROR_LOG_BUFFER, driver.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES}
	var pins runtime.Pinner
	defer pins.Unpin()
	pins.Pin(&log[0])
	// Numbers and addresses, as void* in C.
	values := []uintptr{uintptr(b.SM), uintptr(unsafe.Pointer(&log[0])), uintptr(len(log))}
	pins.Pin(&values[0]) // the state refers to them until it is destroyed
	d := c.Driver()
	var state driver.CUlinkState
	if err := d.CuLinkCreate(uint32(len(options)), &options[0], (*unsafe.Pointer)(unsafe.Pointer(&values[0])), &state); err != nil {
		t.Fatal(err)
	}
	code, err := link(d, state, text)
	if err = errors.Join(err, d.CuLinkDestroy(state)); err != nil {
		t.Fatalf("%v\n%s", err, bytes.TrimRight(log, "\x00"))
	}
	return code
}

func link(d *driver.Driver, state driver.CUlinkState, text string) ([]byte, error) {
	data, name := append([]byte(text), 0), []byte("corpus\x00")
	err := d.CuLinkAddData(state, driver.CU_JIT_INPUT_PTX, unsafe.Pointer(&data[0]), uintptr(len(data)), &name[0], 0, nil, nil)
	if err != nil {
		return nil, fmt.Errorf("add: %w", err)
	}
	var cubin unsafe.Pointer
	var size uintptr
	if err := d.CuLinkComplete(state, &cubin, &size); err != nil {
		return nil, fmt.Errorf("complete: %w", err)
	}
	return bytes.Clone(unsafe.Slice((*byte)(cubin), size)), nil
}
