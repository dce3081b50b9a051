package driver

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/image"
)

// JITOption changes how the driver compiles and links code.
type JITOption func(*jit)

// WithJIT sets a compiler option whose value is a number. The option has no effect when machine
// code is loaded. A driver rejects unknown options.
//
//	CU_JIT_MAX_REGISTERS              most registers per thread, 1 to 255
//	CU_JIT_THREADS_PER_BLOCK          reserve registers for blocks of 1 to 1024 threads
//	CU_JIT_OPTIMIZATION_LEVEL         0 to 4; default 4
//	CU_JIT_FALLBACK_STRATEGY          for a fat binary without an exact match: a CUjit_fallback
//	CU_JIT_GENERATE_DEBUG_INFO        1: debug information
//	CU_JIT_GENERATE_LINE_INFO         1: line numbers for profilers and compute-sanitizer
//	CU_JIT_LOG_VERBOSE                1: report each kernel's registers and memory (Module.Log)
//	CU_JIT_CACHE_MODE                 how loads are cached: a CUjit_cacheMode
//	CU_JIT_POSITION_INDEPENDENT_CODE  1: position-independent code
//	CU_JIT_MAX_THREADS_PER_BLOCK      largest block that launches use, 1 to 1024 threads
//	CU_JIT_MIN_CTA_PER_SM             blocks per multiprocessor; requires the option above or .maxntid
//	CU_JIT_OVERRIDE_DIRECTIVE_VALUES  1: these options override directives in the PTX
//	CU_JIT_SPLIT_COMPILE              threads per image; 0: all processors; default 1 (CUDA 13.0)
func WithJIT(option cu.CUjit_option, value int) JITOption {
	return func(j *jit) {
		if r, ok := jitRanges[option]; ok && (value < r.least || value > r.most) {
			j.refuse(invalidf("the JIT option %v is %d; it goes from %d to %d", option, value, r.least, r.most))
			return
		}
		j.set(option, uintptr(value))
	}
}

// jitRanges holds the ranges of values that options accept. If a register limit is too low for the
// architecture, the compiler raises the limit and says so in the log.
var jitRanges = map[cu.CUjit_option]struct{ least, most int }{
	cu.CU_JIT_MAX_REGISTERS:         {1, 255},
	cu.CU_JIT_THREADS_PER_BLOCK:     {1, 1024},
	cu.CU_JIT_OPTIMIZATION_LEVEL:    {0, 4},
	cu.CU_JIT_MIN_CTA_PER_SM:        {1, math.MaxInt32},
	cu.CU_JIT_MAX_THREADS_PER_BLOCK: {1, 1024},
	cu.CU_JIT_SPLIT_COMPILE:         {0, math.MaxInt32},
}

// WithTarget compiles for an architecture. The zero Arch means the context's architecture, which is
// the default. Use WithTarget to link an image for other devices. A target cannot be combined with
// CU_JIT_THREADS_PER_BLOCK.
func WithTarget(a image.Arch) JITOption {
	if a == (image.Arch{}) {
		return func(j *jit) {
			j.drop(cu.CU_JIT_TARGET)
			j.set(cu.CU_JIT_TARGET_FROM_CUCONTEXT, 0)
		}
	}
	target := cu.CUjit_target(a.Major*10 + a.Minor)
	switch a.Suffix {
	case 'a':
		target += cu.CU_TARGET_COMPUTE_90A - cu.CU_TARGET_COMPUTE_90
	case 'f':
		target += cu.CU_TARGET_COMPUTE_100F - cu.CU_TARGET_COMPUTE_100
	}
	return WithJIT(cu.CU_JIT_TARGET, int(target))
}

// jit holds the options of one load. The driver writes the logs when it compiles. It may compile a
// Library at any time until the library is unloaded, so the buffers stay pinned until then.
type jit struct {
	options   []cu.CUjit_option
	values    []uintptr // numbers and addresses; void* in C
	info, err []byte
	input     string   // the linker input that the error log refers to; "" if there is none
	fault     error    // the error of the first invalid option
	done      []func() // functions that read the driver's output from values after the call
	pins      runtime.Pinner
}

func newJIT(opts []JITOption, size logSize) (*jit, error) {
	j := &jit{info: make([]byte, size.info), err: make([]byte, size.err)}
	j.log(cu.CU_JIT_INFO_LOG_BUFFER, cu.CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, j.info)
	j.log(cu.CU_JIT_ERROR_LOG_BUFFER, cu.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, j.err)
	if err := j.apply(opts); err != nil {
		j.close()
		return nil, err
	}
	return j, nil
}

func (j *jit) apply(opts []JITOption) error {
	for _, o := range opts {
		if o != nil {
			o(j)
		}
	}
	if j.fault == nil && j.has(cu.CU_JIT_TARGET) && j.has(cu.CU_JIT_THREADS_PER_BLOCK) {
		j.refuse(invalidf("the JIT options CU_JIT_TARGET and CU_JIT_THREADS_PER_BLOCK cannot be combined"))
	}
	return j.fault
}

func (j *jit) has(o cu.CUjit_option) bool { return slices.Contains(j.options, o) }

func (j *jit) refuse(err error) {
	if j.fault == nil {
		j.fault = err
	}
}

func (j *jit) log(buffer, size cu.CUjit_option, b []byte) {
	j.pins.Pin(&b[0])
	j.set(buffer, uintptr(unsafe.Pointer(&b[0])))
	j.set(size, uintptr(len(b)-1))
}

func (j *jit) set(o cu.CUjit_option, v uintptr) {
	j.options = append(j.options, o)
	j.values = append(j.values, v)
}

func (j *jit) count() uint32 { return uint32(len(j.options)) }

func (j *jit) optionList() *cu.CUjit_option { return unsafe.SliceData(j.options) }

func (j *jit) valueList() *unsafe.Pointer {
	return (*unsafe.Pointer)(unsafe.Pointer(unsafe.SliceData(j.values)))
}

func (j *jit) answered() {
	for _, read := range j.done {
		read()
	}
}

func (j *jit) close() { j.pins.Unpin() }

// WithJITTime makes the load store in t how long the driver's compiler and linker ran, even if they
// failed. For a Library, t covers only the load.
func WithJITTime(t *time.Duration) JITOption {
	return func(j *jit) {
		j.set(cu.CU_JIT_WALL_TIME, 0)
		j.done = append(j.done, func() {
			*t = milliseconds(uint32(j.values[slices.Index(j.options, cu.CU_JIT_WALL_TIME)]))
		})
	}
}

// milliseconds converts a number of milliseconds, given as the bits of a float32, to a Duration.
func milliseconds(bits uint32) time.Duration {
	return time.Duration(float64(math.Float32frombits(bits)) * float64(time.Millisecond))
}

func (j *jit) drop(o cu.CUjit_option) {
	for i := slices.Index(j.options, o); i >= 0; i = slices.Index(j.options, o) {
		j.options, j.values = slices.Delete(j.options, i, i+1), slices.Delete(j.values, i, i+1)
	}
}

// logSize holds the sizes of the log buffers in bytes.
type logSize struct{ info, err int }

const (
	logGrowth   = 16
	largestLog  = 8 << 20 // largest buffer for the error log, in bytes
	verboseInfo = 256 << 10
)

// firstLog is large enough for nearly every load.
var firstLog = logSize{info: 8 << 10, err: 16 << 10}

// withJIT is like withLogs, but for loading an image. The caller must close the returned jit.
func withJIT(img loadable, opts []JITOption, call func(j *jit) error) (*jit, error) {
	return withLogs(opts, img.ptx, call)
}

// withLogs runs call, which calls the compiler or the linker. text returns the PTX that errors
// refer to. The driver truncates a log that exceeds its buffer. The only way to get the whole log
// is to compile again. If a call fails and its log is truncated, withLogs therefore repeats the
// call with larger buffers. A successful call is not repeated. With CU_JIT_LOG_VERBOSE, the info
// log's buffer is large from the start.
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
	_ = j.apply(opts) // newJIT returns the same error
	return j.has(cu.CU_JIT_LOG_VERBOSE)
}

// cut reports whether the error log fills its buffer and may be truncated.
func (j *jit) cut() bool { return len(cString(j.err)) >= len(j.err)-2 }

// explainLate is like explain, but for a library, which the driver compiles on first use. That
// compilation cannot be repeated with larger buffers. If the log was truncated, the image is
// therefore loaded once more as a module, which fails in the same way.
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
	_ = d.CuModuleUnload(m.raw) // the load succeeded after all: keep the truncated log
	return j.explain(err, img.ptx())
}

// withLogOf returns err with the log and the hint from full, the error of a repeated load.
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

// explain adds the compiler's log to the error of a load. The one-line text contains the first
// complaint. %+v prints the whole log and the PTX lines it refers to.
func (j *jit) explain(err error, ptx []byte) error {
	var e *Error
	if !errors.As(err, &e) || e.Missing {
		return err
	}
	log := strings.TrimSpace(cString(j.err))
	if log == "" {
		return err
	}
	lines := strings.Split(string(ptx), "\n")
	explained := *e
	explained.Log = annotate(log, lines)
	if first := firstComplaint(log, lines); first != "" {
		explained.Hint = withInput(j.input, first)
	}
	return &explained
}

// withInput prefixes a complaint with the linker input's name, unless the complaint contains it.
func withInput(input, complaint string) string {
	if input == "" || strings.Contains(complaint, "'"+input+"'") {
		return complaint
	}
	return input + ": " + complaint
}

// annotate inserts PTX lines into a log, each below the log line that refers to it.
func annotate(log string, ptx []string) string {
	var b strings.Builder
	shown := 0
	for line := range strings.Lines(log) {
		b.WriteString(strings.TrimRight(line, "\n") + "\n")
		if n := lineNumber(line); n > 0 && n <= len(ptx) && n != shown {
			fmt.Fprintf(&b, "%7d | %s\n", n, strings.TrimRight(ptx[n-1], "\r"))
			shown = n
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

// firstComplaint returns a short form of the first log line that refers to a line of PTX. If there
// is none, it returns the first line.
func firstComplaint(log string, ptx []string) string {
	for line := range strings.Lines(log) {
		n := lineNumber(line)
		if n == 0 {
			continue
		}
		text := fmt.Sprintf("PTX line %d: %s", n, complaint(line))
		if n <= len(ptx) {
			text += fmt.Sprintf(" (%s)", strings.TrimSpace(ptx[n-1]))
		}
		return text
	}
	first, _, _ := strings.Cut(log, "\n")
	return complaint(first)
}

// lineNumber returns the line number in a log line, such as 12 for "line 12", or 0 if there is
// none.
func lineNumber(s string) int {
	const word = "line "
	for i := strings.Index(s, word); i >= 0; {
		rest := s[i+len(word):]
		if n := leadingNumber(rest); n > 0 {
			return n
		}
		next := strings.Index(rest, word)
		if next < 0 {
			return 0
		}
		i += len(word) + next
	}
	return 0
}

func leadingNumber(s string) int {
	end := 0
	for end < len(s) && s[end] >= '0' && s[end] <= '9' {
		end++
	}
	n, err := strconv.Atoi(s[:end])
	if err != nil {
		return 0
	}
	return n
}

// complaint strips the position and the severity from a log line such as "ptxas application ptx
// input, line 9; error   : Unknown symbol 'x'".
func complaint(line string) string {
	text := line
	if _, after, ok := strings.Cut(text, ";"); ok {
		text = after
	}
	if before, after, ok := strings.Cut(text, ":"); ok && len(strings.Fields(before)) == 1 {
		text = after
	}
	return strings.TrimSpace(text)
}
