package jit

import (
	"strings"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
)

// Options are the load options that the emulator implements: the buffers for the compiler's
// messages. The caller owns the buffers. Only the call that receives them may use them.
type Options struct {
	info, err log
	wallTime  *float32
}

// log is a log buffer that the caller owns. A write sets the size to the number of bytes written,
// unless the text was truncated.
type log struct {
	buf  unsafe.Pointer
	size *uintptr
}

// ReadOptions reads two parallel arrays of options and values. Each value is a pointer, or a number
// stored as a pointer.
func ReadOptions(options []cu.CUjit_option, values []unsafe.Pointer, n int) (Options, result) {
	var o Options
	if n > 0 && (options == nil || values == nil) {
		return o, errInvalidValue
	}
	for i, option := range options {
		number := (*uintptr)(unsafe.Pointer(&values[i]))
		switch option {
		case cu.CU_JIT_INFO_LOG_BUFFER:
			o.info.buf = values[i]
		case cu.CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
			o.info.size = number
		case cu.CU_JIT_ERROR_LOG_BUFFER:
			o.err.buf = values[i]
		case cu.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
			o.err.size = number
		case cu.CU_JIT_WALL_TIME:
			o.wallTime = (*float32)(unsafe.Pointer(&values[i]))
		default:
			if option >= cu.CU_JIT_NUM_OPTIONS {
				return o, errInvalidValue
			}
		}
	}
	return o, success
}

// write writes text into the caller's buffer, truncated to the buffer's size.
func (l *log) write(text string) {
	if l.buf == nil || l.size == nil || *l.size == 0 {
		return
	}
	dst := unsafe.Slice((*byte)(l.buf), uint32(*l.size))
	text = strings.TrimRight(text, "\n")
	n := copy(dst[:len(dst)-1], text)
	dst[n] = 0
	if n == len(text) {
		*l.size = uintptr(n)
	}
}

// Fail writes text to the error log.
func (o *Options) Fail(text string) { o.err.write(text) }

// HasLogs reports whether the options include log buffers.
func (o *Options) HasLogs() bool { return o.info != (log{}) || o.err != (log{}) }
