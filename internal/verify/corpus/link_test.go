package corpus_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/image"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/internal/verify/corpus"
)

// The GPU cannot run PTX for a newer device, but the driver's linker can compile it. The printed
// text must compile to the same machine code as the original.
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

// machineCode returns the cubin to which the driver compiles PTX for the build's target.
func machineCode(t *testing.T, c *driver.Context, b corpus.Build, text string) []byte {
	t.Helper()
	l, err := c.NewLinker(driver.WithTarget(image.Arch{Major: b.SM / 10, Minor: b.SM % 10}))
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Add("corpus", []byte(text)); err != nil {
		t.Fatal(err)
	}
	code, err := l.Complete()
	if err = errors.Join(err, l.Close()); err != nil {
		t.Fatalf("%+v", err)
	}
	return code
}
