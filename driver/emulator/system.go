package emulator

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator/internal/coredump"
	"github.com/purecuda/cuda/loader"
)

var systemFunctions = functions{
	"cuInit":                 {cuInit, anywhere},
	"cuDriverGetVersion":     {cuDriverGetVersion, anywhere},
	"cuGetErrorName":         {cuGetErrorName, anywhere},
	"cuGetErrorString":       {cuGetErrorString, anywhere},
	"cuGetProcAddress":       {cuGetProcAddress, anywhere},
	"cuGetProcAddress_v2":    {cuGetProcAddress, anywhere},
	"cuProfilerStart":        {nothing, current},
	"cuProfilerStop":         {nothing, current},
	"cuModuleGetLoadingMode": {cuModuleGetLoadingMode, afterInit},
}

// nothing implements functions that have no effect here.
func nothing(call) result { return success }

func cuInit(c call) result {
	switch {
	case c.e.closed:
		return errDeinitialized
	case c.Uint32(0) != 0:
		return errInvalidValue
	case len(c.e.devices) == 0:
		return errNoDevice
	}
	c.e.initialized = true
	return success
}

func cuDriverGetVersion(c call) result { return put(c, 0, int32(c.e.cfg.DriverVersion)) }

func cuGetErrorName(c call) result {
	return errorText(c, cu.CUresult.String)
}

func cuGetErrorString(c call) result {
	return errorText(c, func(r cu.CUresult) string { return r.Error() })
}

// errorText stores a text about a result code. Unknown codes have none.
func errorText(c call, say func(cu.CUresult) string) result {
	out := at[*byte](c, 1)
	if out == nil {
		return errInvalidValue
	}
	*out = nil
	r := result(c.Uint32(0))
	if !knownResult(r) {
		return errInvalidValue
	}
	*out = c.e.cString(say(r))
	return success
}

// cuGetProcAddress cannot return addresses, because the functions are Go functions.
func cuGetProcAddress(c call) result {
	if _, ok := c.text(0); !ok {
		return errInvalidValue
	}
	if r := put[unsafe.Pointer](c, 1, nil); r != success {
		return r
	}
	if c.Len() > 4 && c.Ptr(4) != nil {
		*at[cu.CUdriverProcAddressQueryResult](c, 4) = cu.CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND
		return success
	}
	return errNotFound
}

func cuModuleGetLoadingMode(c call) result {
	return put(c, 0, cu.CU_MODULE_LAZY_LOADING)
}

// knownResult reports whether a code is one of the driver's.
func knownResult(r cu.CUresult) bool { return !strings.HasPrefix(r.String(), "CUresult(") }

// Logging. The handler belongs to the program. It may query the emulator for findings and call
// CUDA, so no lock is held while it runs.

// record is a log record that waits until the emulator's lock is released.
type record struct {
	level slog.Level
	msg   string
	attrs []any
}

// log logs a record when the emulator's lock is released. The caller holds the lock.
func (e *Emulator) log(level slog.Level, msg string, attrs ...any) {
	e.pendingLog = append(e.pendingLog, record{level, msg, attrs})
}

// unlock releases the lock and logs the records from while it was held.
func (e *Emulator) unlock() {
	said := e.pendingLog
	e.pendingLog = nil
	e.mu.Unlock()
	for _, r := range said {
		e.cfg.Log.Log(context.Background(), r.level, r.msg, r.attrs...)
	}
}

// journal implements cuLogs…: the driver's messages about calls that failed. It keeps the last
// lines and passes each line to the registered callbacks of the program.
type journal struct {
	lines     []string
	first     uint32 // the number of lines[0]
	why       string // for the call that is about to fail, if there is more to say
	listeners []*listener
	returned  *sync.Cond // signalled when a listener returns
	e         *Emulator
}

func (j *journal) init(e *Emulator) { j.e, j.returned = e, sync.NewCond(&e.mu) }

// listener is a callback of the program, of C's type CUlogsCallback.
type listener struct {
	j            *journal
	handle       uintptr
	fn, userData uintptr
	unregistered bool // unregistered: its data may no longer exist
	calling      bool
}

// journalLines is how many lines are kept. journalRoom is the maximum size in bytes of a dump of
// them.
const (
	journalLines = 100
	journalRoom  = 25600
)

// failed records a call that failed.
func (j *journal) failed(symbol string, r result) {
	line := fmt.Sprintf("%s: %s (%d)", symbol, r.String(), uint32(r))
	if j.why != "" {
		line += ": " + j.why
		j.why = ""
	}
	j.add(line)
}

// add appends a line. The emulator's lock is held. Failures on the thread that runs listeners are
// not passed to listeners. Otherwise a listener that calls CUDA, which always fails there, would
// trigger itself forever.
func (j *journal) add(line string) {
	line = line[:min(len(line), journalRoom/journalLines-2)] + "\n"
	j.lines = append(j.lines, line)
	if n := len(j.lines) - journalLines; n > 0 {
		j.lines, j.first = slices.Delete(j.lines, 0, n), j.first+uint32(n)
	}
	if len(j.listeners) == 0 || j.e.thread().callback {
		return
	}
	for _, l := range j.listeners {
		j.e.callbacks.Post(func() { l.deliver(line) })
	}
}

// deliver calls the callback with (its data, the level, the text, its length), unless it was
// unregistered after the line was added.
func (l *listener) deliver(line string) {
	e := l.j.e
	e.mu.Lock()
	defer e.unlock()
	if l.unregistered {
		return
	}
	l.calling = true
	e.unlocked(func() { l.call(line) })
	l.calling = false
	l.j.returned.Broadcast()
}

func (l *listener) call(line string) {
	text := append([]byte(line), 0)
	var pin runtime.Pinner // C reads the text in place
	pin.Pin(&text[0])
	defer pin.Unpin()
	loader.CallCallback(l.fn, l.userData, uintptr(cu.CU_LOG_LEVEL_ERROR), uintptr(unsafe.Pointer(&text[0])), uintptr(len(line)))
}

// after returns the lines from number at on.
func (j *journal) after(at uint32) string {
	from := min(max(int(int32(at-j.first)), 0), len(j.lines))
	return strings.Join(j.lines[from:], "")
}

// end returns the number of the next line.
func (j *journal) end() uint32 { return j.first + uint32(len(j.lines)) }

var journalFunctions = functions{
	"cuLogsCurrent":            {cuLogsCurrent, anywhere},
	"cuLogsDumpToMemory":       {cuLogsDumpToMemory, anywhere},
	"cuLogsDumpToFile":         {cuLogsDumpToFile, anywhere},
	"cuLogsRegisterCallback":   {cuLogsRegisterCallback, anywhere},
	"cuLogsUnregisterCallback": {cuLogsUnregisterCallback, anywhere},
}

func cuLogsCurrent(c call) result { return put(c, 0, c.e.journal.end()) }

// dump returns the lines after the iterator of argument 0, or all lines if there is no iterator.
// used advances the iterator past them.
func (c call) dump() (text string, used func()) {
	at, j := at[uint32](c, 0), &c.e.journal
	if at == nil {
		return j.after(j.first), func() {}
	}
	return j.after(*at), func() { *at = j.end() }
}

func cuLogsDumpToMemory(c call) result {
	size := at[uintptr](c, 2)
	text, used := c.dump()
	if c.Ptr(1) == nil || size == nil || *size < uintptr(len(text)+1) {
		return errInvalidValue
	}
	out := unsafe.Slice((*byte)(c.Ptr(1)), *size)
	out[copy(out, text)] = 0
	*size = uintptr(len(text))
	used()
	return success
}

func cuLogsDumpToFile(c call) result {
	name, ok := c.text(1)
	if !ok {
		return errInvalidValue
	}
	text, used := c.dump()
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		return errInvalidValue
	}
	used()
	return success
}

func cuLogsRegisterCallback(c call) result {
	if c.Word(0) == 0 || c.Ptr(2) == nil {
		return errInvalidValue
	}
	l := &listener{j: &c.e.journal, fn: c.Word(0), userData: c.Word(1)}
	l.handle = c.e.register(l)
	c.e.journal.listeners = append(c.e.journal.listeners, l)
	return put(c, 2, l.handle)
}

// cuLogsUnregisterCallback returns when the callback is no longer running, unless the callback
// itself calls it.
func cuLogsUnregisterCallback(c call) result {
	l := handleAt[listener](c, 0)
	if l == nil {
		return errInvalidValue
	}
	j := &c.e.journal
	j.listeners = slices.DeleteFunc(j.listeners, func(other *listener) bool { return other == l })
	c.e.forget(l.handle)
	for l.unregistered = true; l.calling && !c.e.thread().callback; {
		j.returned.Wait()
	}
	return success
}

// Settings for core dumps are stored and returned, but no core dump is written.

var coredumpFunctions = functions{
	"cuCoredumpGetAttribute":       {cuCoredumpGetAttribute, current},
	"cuCoredumpSetAttribute":       {cuCoredumpSetAttribute, current},
	"cuCoredumpGetAttributeGlobal": {cuCoredumpGetAttributeGlobal, afterInit},
	"cuCoredumpSetAttributeGlobal": {cuCoredumpSetAttributeGlobal, afterInit},
}

func cuCoredumpGetAttributeGlobal(c call) result { return getCoredump(c, c.e.coredump) }
func cuCoredumpSetAttributeGlobal(c call) result { return setCoredump(c, c.e.coredump) }

func cuCoredumpGetAttribute(c call) result {
	if !ofContext(c) {
		return errInvalidValue
	}
	return getCoredump(c, c.ctx.coredump)
}

// cuCoredumpSetAttribute: the flags can only be set for the process.
func cuCoredumpSetAttribute(c call) result {
	if !ofContext(c) || cu.CUcoredumpSettings(c.Uint32(0)) == cu.CU_COREDUMP_GENERATION_FLAGS {
		return errInvalidValue
	}
	return setCoredump(c, c.ctx.coredump)
}

// ofContext reports whether the attribute of argument 0 can be set for a context.
func ofContext(c call) bool {
	switch cu.CUcoredumpSettings(c.Uint32(0)) {
	case cu.CU_COREDUMP_ENABLE_USER_TRIGGER, cu.CU_COREDUMP_PIPE:
		return false
	}
	return true
}

// getCoredump and setCoredump read (setting, value, size).
func getCoredump(c call, s *coredump.Settings) result {
	return s.Get(cu.CUcoredumpSettings(c.Uint32(0)), c.Ptr(1), at[uintptr](c, 2))
}

func setCoredump(c call, s *coredump.Settings) result {
	return s.Set(cu.CUcoredumpSettings(c.Uint32(0)), c.Ptr(1), at[uintptr](c, 2))
}
