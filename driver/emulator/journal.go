package emulator

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/loader"
)

// journal implements cuLogs…: the driver's messages about calls that failed. It keeps the last
// lines and passes each line to the registered callbacks of the program.
type journal struct {
	lines     []string
	first     uint32 // the number of lines[0]
	why       string // for the call that is about to fail, if there is more to say
	listeners []*listener
	told      *sync.Cond // signalled when a listener returns
	e         *Emulator
}

func (j *journal) init(e *Emulator) { j.e, j.told = e, sync.NewCond(&e.mu) }

// listener is a callback of the program, of C's type CUlogsCallback.
type listener struct {
	j            *journal
	handle       uintptr
	fn, userData uintptr
	gone         bool // unregistered: its data may no longer exist
	telling      bool
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
		j.e.callbacks.post(func() { l.tell(line) })
	}
}

// tell calls the callback with (its data, the level, the text, its length), unless it was
// unregistered after the line was added.
func (l *listener) tell(line string) {
	e := l.j.e
	e.mu.Lock()
	defer e.unlock()
	if l.gone {
		return
	}
	l.telling = true
	e.unlocked(func() { l.call(line) })
	l.telling = false
	l.j.told.Broadcast()
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

// cuLogsUnregisterCallback returns when the callback is not running any more, unless the callback
// itself calls it.
func cuLogsUnregisterCallback(c call) result {
	l := handleAt[listener](c, 0)
	if l == nil {
		return errInvalidValue
	}
	j := &c.e.journal
	j.listeners = slices.DeleteFunc(j.listeners, func(other *listener) bool { return other == l })
	c.e.forget(l.handle)
	for l.gone = true; l.telling && !c.e.thread().callback; {
		j.told.Wait()
	}
	return success
}
