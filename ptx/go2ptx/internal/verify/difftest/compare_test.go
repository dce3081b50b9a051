package difftest

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/verify/randgo"
)

var (
	place  = regexp.MustCompile(`^(\S+:\d+): (.*)$`)
	number = regexp.MustCompile(`-?\d+`)
)

// sameFault reports whether a fault on the device matches Go's panic: the line and the kind must be
// the same, and the device's values must include those that Go prints.
func sameFault(host, device string) bool {
	h, d := place.FindStringSubmatch(host), place.FindStringSubmatch(device)
	if h == nil || d == nil || h[1] != d[1] {
		return false
	}
	kind, _, _ := strings.Cut(d[2], " ")
	text := map[string]string{"index": "index out of range", "slice": "slice bounds out of range", "divide": "divide by zero", "shift": "negative shift amount",
		"convert": "cannot convert slice", "panic": "gives up", "nil": "nil pointer", "assert": "assertion failed"}[kind]
	if text == "" || !strings.Contains(h[2], text) {
		return false
	}
	values := number.FindAllString(d[2], -1)
	for _, n := range number.FindAllString(h[2], -1) {
		if !slices.Contains(values, n) && kind != "panic" && kind != "assert" {
			return false
		}
	}
	return true
}

// difference describes how two results differ. It returns "" if they do not.
func difference(host, device randgo.Result) string {
	switch {
	case (host.Fault == "") != (device.Fault == ""), host.Fault != "" && !sameFault(host.Fault, device.Fault):
		return fmt.Sprintf("Go: %q, device: %q", host.Fault, device.Fault)
	case host.Fault != "" || bytes.Equal(host.Outputs, device.Outputs):
		return ""
	}
	names := []struct {
		name   string
		n, per int
		size   int
	}{{"oi", randgo.Threads, randgo.Ints, 8}, {"of", randgo.Threads, randgo.Floats, 8}, {"og", randgo.Threads, randgo.Floats, 4}, {"cells", randgo.Cells, 1, 4}, {"wide", randgo.Cells, 1, 8}}
	var all []string
	at := 0
	for _, a := range names {
		for i := range a.n * a.per {
			h, d := host.Outputs[at:at+a.size], device.Outputs[at:at+a.size]
			at += a.size
			if !bytes.Equal(h, d) && len(all) < 5 {
				all = append(all, fmt.Sprintf("%s[%d] (thread %d, result %d): Go %x, device %x", a.name, i, i/a.per, i%a.per, reversed(h), reversed(d)))
			}
		}
	}
	return strings.Join(all, "; ")
}

func reversed(b []byte) []byte {
	b = slices.Clone(b)
	slices.Reverse(b)
	return b
}

func TestSameFault(t *testing.T) {
	for _, c := range []struct {
		host, device string
		same         bool
	}{
		{"k.go:3: runtime error: index out of range [7] with length 5", "k.go:3: index [7 5 0] ", true},
		{"k.go:3: runtime error: index out of range [7] with length 5", "k.go:3: index [7 6 0] ", false},
		{"k.go:3: runtime error: index out of range [-7]", "k.go:3: index [-7 6 0] ", true},
		{"k.go:3: runtime error: integer divide by zero", "k.go:4: divide [0 0 0] ", false},
		{"k.go:3: runtime error: integer divide by zero", "k.go:3: divide [0 0 0] ", true},
		{"k.go:3: runtime error: integer divide by zero", "k.go:3: shift [0 0 0] ", false},
		{"k.go:3: kernel k7 gives up", "k.go:3: panic [0 0 0] kernel k7 gives up", true},
	} {
		if got := sameFault(c.host, c.device); got != c.same {
			t.Errorf("%q, %q: %v", c.host, c.device, got)
		}
	}
}
