package driver

import (
	"runtime"

	"github.com/purecuda/cuda/driver/cu"
)

// logSize is the size in bytes of the log buffers.
type logSize struct{ info, err int }

const (
	logGrowth   = 16
	largestLog  = 8 << 20 // of errors; nobody reads more
	verboseInfo = 256 << 10
)

// firstLog is enough for nearly every load.
var firstLog = logSize{info: 8 << 10, err: 16 << 10}

// withJIT calls an image's load with options and log buffers. The caller closes the jit.
func withJIT(img loadable, opts []JITOption, call func(j *jit) error) (*jit, error) {
	return withLogs(opts, img.ptx, call)
}

// withLogs calls the compiler or the linker. text is the PTX that an error refers to. The driver
// cuts a log that exceeds its buffer, and only shows it in full when it compiles again. A call that
// fails with a cut log is therefore repeated with larger buffers. One that succeeds is not: with
// CU_JIT_LOG_VERBOSE it has a large buffer from the start.
func withLogs(opts []JITOption, text func() []byte, call func(j *jit) error) (*jit, error) {
	size := firstLog
	if verbose(opts) {
		size.info = verboseInfo
	}
	for {
		j, err := newJIT(opts, size)
		if err != nil {
			return nil, err
		}
		err = call(j)
		runtime.KeepAlive(j)
		j.answered()
		if err == nil {
			return j, nil
		}
		if size.err *= logGrowth; !j.cut() || size.err > largestLog {
			err = j.explain(err, text())
			j.close()
			return nil, err
		}
		j.close()
	}
}

func verbose(opts []JITOption) bool {
	var j jit
	_ = j.apply(opts) // the call will say what is wrong with them
	return j.has(cu.CU_JIT_LOG_VERBOSE)
}

// cut reports whether the error log fills its buffer.
func (j *jit) cut() bool { return len(cString(j.err)) >= len(j.err)-2 }

// explainLate is explain for a library, which a driver compiles on first use. That cannot be
// repeated with larger buffers. If they were too short, the image is compiled once more by a load
// that fails in the same way.
func (j *jit) explainLate(err error, c *Context, img loadable, opts []JITOption) error {
	if err == nil || !j.cut() {
		return j.explain(err, img.ptx())
	}
	d, m := c.Guarded(), &Module{}
	again, full := withJIT(img, opts, func(j *jit) error { return m.load(d, img, j) })
	if full != nil {
		return withLogOf(err, full)
	}
	again.close()
	_ = d.CuModuleUnload(m.raw) // it loads after all: keep the log that there is
	return j.explain(err, img.ptx())
}

// withLogOf returns err with the log of another failure of the same code.
func withLogOf(err, full error) error {
	e, ok := err.(*Error)
	f, has := full.(*Error)
	if !ok || !has {
		return err
	}
	explained := *e
	explained.Hint, explained.Log = f.Hint, f.Log
	return &explained
}
