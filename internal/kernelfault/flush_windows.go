package kernelfault

import (
	"errors"

	"github.com/purecuda/cuda/loader"
)

// openStandardOutput finds stdout in Windows' C library. The library stays open. The driver may
// contain another C library, whose output no other code can flush.
func openStandardOutput() *file {
	f := &file{}
	crt, err := loader.Open("ucrtbase.dll")
	if err != nil {
		return f
	}
	fflush, err1 := crt.Lookup("fflush")
	iob, err2 := crt.Lookup("__acrt_iob_func")
	if errors.Join(err1, err2) != nil {
		return f
	}
	const stdout = 1
	at := iob.Call(stdout)
	f.at = func() uintptr { return at }
	f.fflush = fflush
	return f
}
