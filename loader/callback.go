package loader

import "sync"

// Callback is a C function void f(void *userData) that runs Go code.
type Callback func(userData uintptr)

var callbacks struct {
	sync.RWMutex
	byAddr map[uintptr]Callback
}

// NewCallback returns an address that C code can call as
// void f(void *userData). There are few callbacks and they are never given
// back: make one for each shape and tell calls apart by userData.
//
// Where there is no C to call it (see the build tag static), the address is
// only good for CallCallback.
func NewCallback(fn Callback) uintptr {
	addr := newCallback(fn)
	callbacks.Lock()
	defer callbacks.Unlock()
	if callbacks.byAddr == nil {
		callbacks.byAddr = make(map[uintptr]Callback)
	}
	if addr == 0 {
		addr = uintptr(len(callbacks.byAddr)+1) << 4
	}
	callbacks.byAddr[addr] = fn
	return addr
}

// CallCallback calls the function at addr: an emulated driver does so where
// the real one would. A callback made by NewCallback is called directly, any
// other address as a C function. Functions of some types get more words than the
// first; a callback does not see them, as it would not if C called it.
func CallCallback(addr, userData uintptr, more ...uintptr) {
	callbacks.RLock()
	fn := callbacks.byAddr[addr]
	callbacks.RUnlock()
	if fn != nil {
		fn(userData)
		return
	}
	p := AddrProc(addr)
	p.Call(append([]uintptr{userData}, more...)...)
}
