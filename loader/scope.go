package loader

import "runtime"

// Scope is the context and capture mode under which a call runs. Both are set within the native
// call, because a goroutine may move to another thread between two native calls.
//
// A bound scope makes a value (for CUDA, the context) current on the thread before the call and
// leaves it current. If the value is already current, the only cost is the query. A guarded scope
// sets the thread's capture mode to relaxed before the call. It restores the mode afterwards,
// whatever the call returned.
//
// A Scope is read-only after its creation, and any number of calls may share it.
type Scope struct {
	value    uintptr // value to make current; 0 if the scope is not bound
	get      *Proc   // int get(uintptr *current)
	set      *Proc   // int set(uintptr value)
	exchange *Proc   // int exchange(int *mode); nil if the scope is not guarded
	native   bool    // get, set and exchange are C functions
}

// relaxed is CU_STREAM_CAPTURE_MODE_RELAXED.
const relaxed = 2

// NewScope returns a scope. If value is not 0, the scope binds it with get and set. If exchange is
// not nil, the scope guards calls with it.
func NewScope(get, set *Proc, value uintptr, exchange *Proc) *Scope {
	s := &Scope{value: value, get: get, set: set, exchange: exchange, native: true}
	for _, p := range []*Proc{get, set, exchange} {
		if p != nil && p.fn != nil {
			s.native = false
		}
	}
	return s
}

// enter establishes the scope with separate calls on a thread that the caller has locked. It
// returns the capture mode to restore, and the result of the first failed call, or 0.
func (s *Scope) enter() (mode, failure uintptr) {
	if s.value != 0 {
		if r := s.bind(); r != 0 {
			return 0, r
		}
	}
	if s.exchange == nil {
		return 0, 0
	}
	return s.swap(relaxed)
}

// bind makes the value current if it is not current already.
func (s *Scope) bind() uintptr {
	var current uintptr
	get := struct {
		call    Call
		current *uintptr
		_       [minWords - 1]uintptr
	}{call: Call{Proc: s.get, N: 1}, current: &current}
	if r := uintptr(uint32(Invoke(&get.call))); r != 0 {
		return r
	}
	if current == s.value {
		return 0
	}
	set := struct {
		call  Call
		value uintptr
		_     [minWords - 1]uintptr
	}{call: Call{Proc: s.set, N: 1}, value: s.value}
	return uintptr(uint32(Invoke(&set.call)))
}

// swap sets the thread's capture mode and returns the previous one.
func (s *Scope) swap(mode uintptr) (before, failure uintptr) {
	m := uint32(mode)
	call := struct {
		call Call
		mode *uint32
		_    [minWords - 1]uintptr
	}{call: Call{Proc: s.exchange, N: 1}, mode: &m}
	failure = uintptr(uint32(Invoke(&call.call)))
	return uintptr(m), failure
}

func (s *Scope) leave(mode uintptr) {
	if s.exchange != nil {
		s.swap(mode)
	}
}

// invokeSlow makes the calls that the trampoline cannot make. These are calls with a function or
// scope written in Go, and all calls on a platform without a trampoline.
func invokeSlow(c *Call) uintptr {
	if c.Scope == nil {
		c.Ret = invokeBare(c)
		return c.Ret
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	mode, failure := c.Scope.enter()
	if failure != 0 {
		c.Ret = failure
		return failure
	}
	defer c.Scope.leave(mode) // runs even if a Go function panics
	c.Ret = invokeBare(c)
	return c.Ret
}

// invokeBare makes the call without its scope.
func invokeBare(c *Call) uintptr {
	switch p := c.Proc; {
	case p.fn != nil:
		return p.fn(Args{words: c.args(), n: int(c.count())})
	case p.addr == 0:
		return Missing
	case c.hasFloats():
		return invokeFloats(c)
	default:
		return invokeC(c)
	}
}
