package gputest

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/loader"
)

// WriteCodes names the environment variable with the path of a file. Every test appends to the file
// each driver function that failed, with its error code. Comparing the file of an emulator run with
// the file of a GPU run shows where the two drivers differ.
const WriteCodes = "PURECUDA_WRITE_CODES"

type recorder struct {
	loader.Library
	mu     sync.Mutex
	failed map[string]bool
}

// Record wraps a test's library in a recorder if WriteCodes is set.
func Record(t testing.TB, lib loader.Library) loader.Library {
	name := os.Getenv(WriteCodes)
	if name == "" {
		return lib
	}
	rec := &recorder{Library: lib, failed: make(map[string]bool)}
	t.Cleanup(func() { rec.write(t, name) })
	return rec
}

func (rec *recorder) Lookup(symbol string) (loader.Proc, error) {
	inner, err := rec.Library.Lookup(symbol)
	if err != nil {
		return inner, err
	}
	return loader.FuncProc(func(a loader.Args) uintptr {
		ret := a.Forward(&inner)
		if code := driver.CUresult(uint32(ret)); code != driver.CUDA_SUCCESS && code != driver.CUDA_ERROR_NOT_READY {
			rec.mu.Lock()
			rec.failed[fmt.Sprintf("%s %d", symbol, uint32(code))] = true
			rec.mu.Unlock()
		}
		return ret
	}), nil
}

func (rec *recorder) write(t testing.TB, name string) {
	var lines []string
	test := strings.TrimSuffix(strings.TrimSuffix(t.Name(), "/emulator"), "/gpu")
	for failure := range rec.failed {
		lines = append(lines, test+" "+failure+"\n")
	}
	slices.Sort(lines)
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(strings.Join(lines, "")); err != nil {
		t.Error(err)
	}
}

// system opens the system's driver, and records its failures if WriteCodes is set.
func system(t testing.TB) (*driver.Driver, error) {
	if os.Getenv(WriteCodes) == "" {
		return driver.Open()
	}
	lib, err := driver.SystemLibrary("")
	if err != nil {
		return nil, err
	}
	d, err := driver.New(Record(t, lib))
	if err != nil {
		return nil, err
	}
	return d, nil
}
