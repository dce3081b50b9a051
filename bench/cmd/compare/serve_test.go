package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// The test builds the programs and measures them briefly, on a driver whose graphs take time. Every
// result must be correct. The measured numbers mean nothing, so the test does not check the limits.
func TestServicesAreMeasured(t *testing.T) {
	if _, err := exec.LookPath("gcc"); err != nil || runtime.GOOS != "linux" {
		t.Skip("needs Linux and gcc")
	}
	dir := t.TempDir()
	build := exec.Command("sh", filepath.Join("..", "..", "build.sh"), dir, "serve")
	build.Env = append(os.Environ(), "TRIMPATH=")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Setenv("LD_LIBRARY_PATH", filepath.Join(dir, "later")+":"+os.Getenv("LD_LIBRARY_PATH"))
	defer func(w time.Duration, c, f string, k func(string, int) []*caller) {
		window, crowds, waits, known = w, c, f, k
	}(window, crowds, waits, known)
	window, crowds, waits = 100*time.Millisecond, "6", "blocking"
	var out bytes.Buffer
	if _, err := runServices(&out, dir, "a test", 1, 0); err != nil {
		t.Fatal(err)
	}
	rows := 0
	for line := range strings.Lines(out.String()) {
		if strings.HasPrefix(line, "| 6 | ") && strings.Count(line, "|") == 15 {
			rows++
			if !strings.HasSuffix(line, "| 0 |\n") {
				t.Errorf("wrong results: %s", line)
			}
		}
	}
	if rows != 9 || !strings.Contains(out.String(), "context flags blocking") {
		t.Errorf("%d services in the report:\n%s", rows, &out)
	}
}

// steady returns n equal results.
func steady(n int, r served) (t []served) {
	for range n {
		t = append(t, r)
	}
	return t
}

func TestServiceBars(t *testing.T) {
	c := served{calls: 1000, seconds: 1, p50: 1e5, p99: 2e5, p999: 3e5, processor: 1, threads: 20}
	slow := c
	slow.calls = 900
	for what, of := range map[string]struct {
		change func(*served)
		met    bool
	}{
		"equal":                 {func(*served) {}, true},
		"3 % fewer calls":       {func(s *served) { s.calls = 971 }, true},
		"4 % fewer calls":       {func(s *served) { s.calls = 960 }, false},
		"p99 of 1.09":           {func(s *served) { s.p99 = 2.18e5 }, true},
		"p99 of 1.11":           {func(s *served) { s.p99 = 2.22e5 }, false},
		"an allocation":         {func(s *served) { s.allocs = 1000 }, false},
		"a stray allocation":    {func(s *served) { s.allocs = 9 }, true},
		"a wrong result":        {func(s *served) { s.wrong = 1 }, false},
		"more processor time":   {func(s *served) { s.processor = 2 }, true},
		"as slow as the slower": {func(s *served) { s.calls = 900 }, false},
	} {
		goes := c
		of.change(&goes)
		for _, order := range [][2]service{{workers, listed}, {listed, workers}} {
			l := load{16, 4, []service{workers, listed, pooled}}
			results := []turns{{order[0]: steady(5, c), order[1]: steady(5, slow), pooled: steady(5, goes)}}
			var out bytes.Buffer
			if met := serviceReport(&out, "", 5, nil, []load{l}, results); met != of.met {
				t.Errorf("%s: met is %v:\n%s", what, met, &out)
			}
		}
	}
}

// With one replica, a Pool is also compared with a Callable.
func TestServiceBarsAgainstACallable(t *testing.T) {
	c := served{calls: 1000, seconds: 1, p50: 1e5, p99: 2e5, p999: 3e5, processor: 1}
	better, slow := c, c
	better.calls, slow.calls = 1100, 900
	all, err := loads("16")
	if err != nil || len(all) != 2 {
		t.Fatal(all, err)
	}
	for _, direct := range []served{c, better} {
		results := []turns{{workers: steady(5, c), listed: steady(5, c), early: steady(5, slow), pooled: steady(5, c), callable: steady(5, direct)}}
		var out bytes.Buffer
		if met := serviceReport(&out, "", 5, nil, all[1:], results); met != (direct == c) {
			t.Errorf("met is %v:\n%s", met, &out)
		}
	}
}

func TestFewTurnsProveNothing(t *testing.T) {
	c := served{calls: 1000, seconds: 1, p99: 2e5, processor: 1}
	for n, want := range map[int]bool{0: false, 4: false, 5: true} {
		results := []turns{{workers: steady(n, c), listed: steady(n, c), pooled: steady(n, c)}}
		var out bytes.Buffer
		if met := serviceReport(&out, "", n, nil, []load{{16, 4, []service{workers, listed, pooled}}}, results); met != want {
			t.Errorf("%d turns: met is %v:\n%s", n, met, &out)
		}
	}
}

func TestLoadsAreChecked(t *testing.T) {
	for _, callers := range []string{"", "16,", "x", "0", "-1"} {
		if all, err := loads(callers); err == nil {
			t.Errorf("-callers %q: %v", callers, fmt.Sprint(all))
		}
	}
}
