package driver_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/internal/gputest"
)

func TestNamedErrorsKeepTheLog(t *testing.T) {
	c := gputest.Context(t, gputest.Emulator(t, emulator.Config{}))
	_, err := c.LoadModule([]byte(".version 7.0\n.target sm_52\n.visible .entry k()\n{\n\tnonsense;\n}\n"))
	named := driver.Named("k.ptx", err)
	for _, verb := range []string{"%v", "%+v", "%s"} {
		if got, want := fmt.Sprintf(verb, named), "k.ptx: "+fmt.Sprintf(verb, err); got != want {
			t.Errorf("%s is\n%s\nwant\n%s", verb, got, want)
		}
	}
	if !strings.Contains(fmt.Sprintf("%+v", named), "nonsense") {
		t.Error("the log is not in the text")
	}
	if !errors.Is(named, driver.CUDA_ERROR_INVALID_PTX) {
		t.Errorf("%v has lost its code", named)
	}
	if driver.Named("k.ptx", nil) != nil {
		t.Error("no error has become one")
	}
}
