package corpus_test

import (
	"encoding/json"
	"os"
	"sync"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/internal/verify/corpus"
)

// resultsFile names the environment variable with the path of the file to which the test writes the
// GPU's results. The file can replace testdata/h200-results.json.
const resultsFile = "PURECUDA_CORPUS_RESULTS"

// The printed text must be the same program as the original: on the same inputs it must produce the
// same bytes.
func TestPrintedTextRunsAsTheCompilersOnGPU(t *testing.T) {
	gputest.OnGPU(t, func(t *testing.T, c *driver.Context) {
		kept := recorder{t: t}
		kept.describe(c)
		for _, b := range loadable(t, c) {
			t.Run(b.Name, func(t *testing.T) { runBuild(t, c, b, &kept) })
		}
		if path := os.Getenv(resultsFile); path != "" {
			kept.write(path)
		}
	})
}

// loadable returns the builds whose targets the device supports.
func loadable(t *testing.T, c *driver.Context) (list []corpus.Build) {
	t.Helper()
	major, minor, err := c.Device().ComputeCapability()
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range corpus.Builds {
		if b.SM <= 10*major+minor {
			list = append(list, b)
		}
	}
	return list
}

func runBuild(t *testing.T, c *driver.Context, b corpus.Build, kept *recorder) {
	text := texts(t, b)
	for _, src := range sources(t) {
		t.Run(src.Name, func(t *testing.T) {
			t.Parallel()
			original, err := src.Run(c, b, text[src.Name])
			if err != nil {
				t.Fatalf("%+v", err)
			}
			printed, err := src.Run(c, b, printedText(t, src.Name, text[src.Name]))
			if err != nil {
				t.Fatalf("printed: %+v", err)
			}
			if err := corpus.Same(original, printed); err != nil {
				t.Errorf("compiler's and printed text: %v", err)
			}
			kept.add(src, b, original)
		})
	}
}

// recorder collects results. It compares them with the results in the repository if they come from
// the same type of device.
type recorder struct {
	t    *testing.T
	mu   sync.Mutex
	all  corpus.Kept
	here *corpus.Kept // nil for another type of device
}

func (k *recorder) describe(c *driver.Context) {
	name, err := c.Device().Name()
	if err != nil {
		k.t.Fatal(err)
	}
	k.all.Device = name
	k.all.CUDA = c.Driver().Version()
	h200, err := corpus.H200()
	if err != nil {
		k.t.Fatal(err)
	}
	if h200.Device == name && os.Getenv(resultsFile) == "" {
		k.here = h200
	}
}

func (k *recorder) add(src *corpus.Source, b corpus.Build, results []corpus.Result) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.all.Add(src, b, results)
	if k.here == nil {
		return
	}
	if err := k.here.Compare(src, b, results); err != nil {
		k.t.Errorf("%s: %s: other than before: %v", b.Name, src.Name, err)
	}
}

func (k *recorder) write(path string) {
	text, err := json.MarshalIndent(&k.all, "", " ")
	if err == nil {
		err = os.WriteFile(path, append(text, '\n'), 0o644)
	}
	if err != nil {
		k.t.Error(err)
	}
}
