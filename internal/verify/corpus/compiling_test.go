package corpus_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/internal/verify/corpus"
)

// The compiler of driver 580 keeps state per OS thread. The test runs successful loads, failing
// loads and links concurrently on several threads. No operation may affect the next one on its
// thread.
func TestLoadsMistakesAndLinksShareThreadsOnGPU(t *testing.T) {
	gputest.OnGPU(t, func(t *testing.T, c *driver.Context) {
		loaded, linked := corpus.Builds[0], corpus.Builds[3] // compute_75 and compute_100
		toLoad, toLink := texts(t, loaded), texts(t, linked)
		for _, src := range sources(t) {
			t.Run(src.Name, func(t *testing.T) {
				t.Parallel()
				text := toLoad[src.Name]
				for range 3 {
					load(t, c, text)
					loadFails(t, c, text)
					if len(machineCode(t, c, linked, toLink[src.Name])) == 0 {
						t.Error("the link made nothing")
					}
				}
				load(t, c, text)
			})
		}
	})
}

func load(t *testing.T, c *driver.Context, text string) {
	t.Helper()
	m, err := c.LoadModule(neverCompiled(text))
	if err != nil {
		t.Fatalf("%+v", err)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
}

func loadFails(t *testing.T, c *driver.Context, text string) {
	t.Helper()
	at := strings.LastIndex(text, "ret;")
	m, err := c.LoadModule(neverCompiled(text[:at] + "mov.u32 %undeclared, 7;\n" + text[at:]))
	if err == nil {
		err = m.Close()
	}
	if !errors.Is(err, driver.CUDA_ERROR_INVALID_PTX) || !strings.Contains(fmt.Sprintf("%+v", err), "undeclared") {
		t.Errorf("a register that is not declared: %+v", err)
	}
}

// neverCompiled returns the text with a random comment, so that the driver's cache does not contain
// the text.
func neverCompiled(text string) []byte {
	return fmt.Appendf(nil, "%s\n// %x\n", text, rand.Uint64())
}
