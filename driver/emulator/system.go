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

// nothing implements functions that have no effect in the emulator.
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

// errorText stores the text that say returns for a result code. If the code is unknown, errorText
// fails.
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

// cuGetProcAddress never finds a symbol, because the emulator's functions are Go functions and have
// no C address.
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

func knownResult(r cu.CUresult) bool { return !strings.HasPrefix(r.String(), "CUresult(") }

// The log handler belongs to the program. It may query the emulator and call CUDA, so it must run
// without any lock held.

// record is a log record that is held back until the emulator's lock is released.
type record struct {
	level slog.Level
	msg   string
	attrs []any
}

// log queues a record until the emulator's lock is released. The caller must hold the lock.
func (e *Emulator) log(level slog.Level, msg string, attrs ...any) {
	e.pendingLog = append(e.pendingLog, record{level, msg, attrs})
}

// unlock releases the lock and then logs the records that log has queued.
func (e *Emulator) unlock() {
	said := e.pendingLog
	e.pendingLog = nil
	e.mu.Unlock()
	for _, r := range said {
		e.cfg.Log.Log(context.Background(), r.level, r.msg, r.attrs...)
	}
}

// journal implements the cuLogs… functions, which give access to the driver's messages about failed
// calls. It keeps the most recent lines and passes each line to the program's callbacks.
type journal struct {
	lines     []string
	first     uint32 // the number of the line in lines[0]
	why       string // additional text about the call that is about to fail
	listeners []*listener
	returned  *sync.Cond // signalled when a listener returns
	e         *Emulator
}

func (j *journal) init(e *Emulator) { j.e, j.returned = e, sync.NewCond(&e.mu) }

type listener struct {
	j            *journal
	handle       uintptr
	fn, userData uintptr
	unregistered bool // the callback's data may no longer exist
	calling      bool
}

// journalLines is the maximum number of lines kept. journalRoom is the maximum size in bytes of a
// dump of these lines.
const (
	journalLines = 100
	journalRoom  = 25600
)

func (j *journal) failed(symbol string, r result) {
	line := fmt.Sprintf("%s: %s (%d)", symbol, r.String(), uint32(r))
	if j.why != "" {
		line += ": " + j.why
		j.why = ""
	}
	j.add(line)
}

// add appends a line. The caller must hold the emulator's lock. On the thread that runs listeners,
// every call fails. Listeners do not receive those failures, because a listener that calls CUDA
// would otherwise trigger itself forever.
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

// deliver calls the callback with (its data, level, text, length). If the program has unregistered
// the callback in the meantime, deliver does nothing.
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

// after returns the line with the given number and all later lines.
func (j *journal) after(at uint32) string {
	from := min(max(int(int32(at-j.first)), 0), len(j.lines))
	return strings.Join(j.lines[from:], "")
}

func (j *journal) end() uint32 { return j.first + uint32(len(j.lines)) }

var journalFunctions = functions{
	"cuLogsCurrent":            {cuLogsCurrent, anywhere},
	"cuLogsDumpToMemory":       {cuLogsDumpToMemory, anywhere},
	"cuLogsDumpToFile":         {cuLogsDumpToFile, anywhere},
	"cuLogsRegisterCallback":   {cuLogsRegisterCallback, anywhere},
	"cuLogsUnregisterCallback": {cuLogsUnregisterCallback, anywhere},
}

func cuLogsCurrent(c call) result { return put(c, 0, c.e.journal.end()) }

// dump returns the lines after the iterator that argument 0 points to, or all lines if there is no
// iterator. The function used moves the iterator to the end of the returned lines.
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

// cuLogsUnregisterCallback waits until the callback is not running, unless the callback itself
// makes the call.
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

// The emulator stores and returns the settings for core dumps, but it never writes a core dump.

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

// cuCoredumpSetAttribute rejects the generation flags, which can be set only for the whole process.
func cuCoredumpSetAttribute(c call) result {
	if !ofContext(c) || cu.CUcoredumpSettings(c.Uint32(0)) == cu.CU_COREDUMP_GENERATION_FLAGS {
		return errInvalidValue
	}
	return setCoredump(c, c.ctx.coredump)
}

// ofContext reports whether the setting passed as argument 0 exists separately for each context.
func ofContext(c call) bool {
	switch cu.CUcoredumpSettings(c.Uint32(0)) {
	case cu.CU_COREDUMP_ENABLE_USER_TRIGGER, cu.CU_COREDUMP_PIPE:
		return false
	}
	return true
}

// getCoredump and setCoredump take (setting, value, size).
func getCoredump(c call, s *coredump.Settings) result {
	return s.Get(cu.CUcoredumpSettings(c.Uint32(0)), c.Ptr(1), at[uintptr](c, 2))
}

func setCoredump(c call, s *coredump.Settings) result {
	return s.Set(cu.CUcoredumpSettings(c.Uint32(0)), c.Ptr(1), at[uintptr](c, 2))
}
