package kernelfault_test

import (
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
)

// For each kind of fault, the text must be the same as for Go's panic, on one line.
func TestTextOfEachKind(t *testing.T) {
	for kind, want := range map[string]string{
		"index":   "a.go:3:4: index out of range [7] with length 5 in kernel k, ",
		"slice":   "a.go:3:4: slice bounds out of range [7:5] with capacity 6 in kernel k, ",
		"nil":     "a.go:3:4: nil pointer dereference in kernel k, ",
		"divide":  "a.go:3:4: integer divide by zero in kernel k, ",
		"shift":   "a.go:3:4: negative shift amount 7 in kernel k, ",
		"convert": "a.go:3:4: cannot convert slice with length 7 to array or pointer to array with length 5 in kernel k, ",
		"assert":  "a.go:3:4: assertion failed in kernel k, ",
		"panic":   "a.go:3:4: panic in kernel k, ",
		"newer":   "a.go:3:4: newer in kernel k, ",
		"":        "a.go:3:4: a check failed in kernel k, ",
	} {
		f := &driver.KernelFault{Kind: kind, Kernel: "k", File: "a.go", Line: 3, Column: 4, Values: [3]int64{7, 5, 6}}
		if text := f.Error(); !strings.HasPrefix(text, want+"block (0,0,0), thread (0,0,0); ") || strings.Contains(text, "\n") {
			t.Errorf("%q is %q", kind, text)
		}
		f.Message = "too hot"
		if text := f.Error(); !strings.HasPrefix(text, strings.Replace(want, " in kernel", ": too hot in kernel", 1)) {
			t.Errorf("%q is %q", kind, text)
		}
	}
	unknown := (&driver.KernelFault{}).Error()
	if !strings.HasPrefix(unknown, "a check failed in kernel (unknown), block") {
		t.Errorf("without a site, the text is %q", unknown)
	}
	var none *driver.KernelFault
	if none.Error() != "nil kernel fault" {
		t.Error(none.Error())
	}
}
