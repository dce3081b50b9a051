package gpu

import (
	"fmt"
	"reflect"
	"runtime"
	"sync"
	"unsafe"
)

// sharedMemory is the shared memory of a block.
type sharedMemory struct {
	mu        sync.Mutex
	variables map[sharedKey]sharedEntry
	dynamic   []uint64
}

// sharedKey identifies a variable in shared memory by its source line and type.
type sharedKey struct {
	line string // function, file and line number
	typ  reflect.Type
}

// sharedEntry is a variable in shared memory.
type sharedEntry struct {
	p    unsafe.Pointer
	size uintptr
}

func sharedVariable[T any](t Thread) *T {
	key := keyOf(reflect.TypeFor[T]())
	b := t.self().block
	b.shared.mu.Lock()
	defer b.shared.mu.Unlock()
	return (*T)(b.shared.variable(key).p)
}

// variable returns a variable, and creates it if necessary.
func (m *sharedMemory) variable(key sharedKey) sharedEntry {
	e, ok := m.variables[key]
	if !ok {
		e = sharedEntry{reflect.New(key.typ).UnsafePointer(), key.typ.Size()}
		if poisonable(key.typ) {
			poison(unsafe.Slice((*byte)(e.p), e.size))
		}
		if m.variables == nil {
			m.variables = make(map[sharedKey]sharedEntry)
		}
		m.variables[key] = e
	}
	return e
}

// poison fills memory with the pattern of undefined values.
func poison(b []byte) {
	for i := range b {
		b[i] = byte(uint64(undefined) >> (8 * (i % 8)))
	}
}

// poisonable reports whether any bit pattern is a valid value of the type.
func poisonable(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Struct:
		for i := range t.NumField() {
			if !poisonable(t.Field(i).Type) {
				return false
			}
		}
		return true
	case reflect.Array:
		return t.Len() == 0 || poisonable(t.Elem())
	}
	return plain(t)
}

// plain reports whether the type is a numeric type.
func plain(t reflect.Type) bool { return t.Kind() > reflect.Bool && t.Kind() <= reflect.Complex128 }

// sites contains the call sites of Shared that have been executed, across all calls of Run.
var sites struct {
	sync.Mutex
	byPC   map[uintptr]string               // source line of each call
	unique map[sharedKey]map[string]uintptr // for each key, the call that uses it, by the lines of its inlined callers
}

// keyOf returns the key of the current call of Shared. Two calls on the same line would get the
// same variable, so keyOf panics if it detects such calls.
func keyOf(typ reflect.Type) sharedKey {
	var pcs [8]uintptr
	n := runtime.Callers(4, pcs[:]) // skips Callers, keyOf, sharedVariable and Shared
	sites.Lock()
	defer sites.Unlock()
	if line, ok := sites.byPC[pcs[0]]; ok {
		return sharedKey{line, typ}
	}
	line, inlined := lineOf(pcs[:n])
	key := sharedKey{line, typ}
	if sites.byPC == nil {
		sites.byPC = make(map[uintptr]string)
		sites.unique = make(map[sharedKey]map[string]uintptr)
	}
	of := sites.unique[key]
	if of == nil {
		of = make(map[string]uintptr)
		sites.unique[key] = of
	}
	if pc, ok := of[inlined]; ok && pc != pcs[0] {
		panic(fmt.Errorf("two calls of gpu.Shared for type %v are on one line: write them on two lines", typ))
	}
	of[inlined] = pcs[0]
	sites.byPC[pcs[0]] = line
	return key
}

// lineOf returns the source line of the first frame, and the lines of all frames that were inlined
// into the same machine function.
func lineOf(pcs []uintptr) (line, inlined string) {
	frames := runtime.CallersFrames(pcs)
	var entry uintptr
	for {
		f, more := frames.Next()
		at := fmt.Sprintf("%s %s:%d", f.Function, f.File, f.Line)
		if line == "" {
			line, entry = at, f.Entry
		} else if f.Entry != entry {
			return line, inlined
		}
		inlined += at + "\n"
		if !more {
			return line, inlined
		}
	}
}

func dynamicShared[T any](t Thread) []T {
	b := t.self().block
	typ := reflect.TypeFor[T]()
	if !poisonable(typ) || typ.Size() == 0 {
		panic(fmt.Errorf("dynamic shared memory cannot hold %v: use numbers, or arrays or structs of numbers", typ))
	}
	size := b.unit.grid.dynamic
	b.shared.mu.Lock()
	defer b.shared.mu.Unlock()
	if b.shared.dynamic == nil {
		b.shared.dynamic = make([]uint64, size/8+1)
		for i := range b.shared.dynamic {
			b.shared.dynamic[i] = undefined
		}
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&b.shared.dynamic[0])), uintptr(size)/typ.Size())
}

func mapShared[T any](t Thread, p *T, rank int) *T {
	b := t.self().block
	if rank < 0 || rank >= len(b.cluster.blocks) {
		panic(fmt.Errorf("MapShared: the cluster has %d blocks and no block %d", len(b.cluster.blocks), rank))
	}
	to := b.cluster.blocks[rank]
	if to == b {
		return p
	}
	b.shared.mu.Lock()
	key, offset, dynamic, ok := b.shared.find(uintptr(unsafe.Pointer(p)))
	b.shared.mu.Unlock()
	if !ok {
		panic(fmt.Errorf("MapShared: the pointer is not the address of a variable in shared memory of the calling block"))
	}
	if dynamic {
		all := dynamicShared[byte](Thread{&to.threads[0]})
		return (*T)(unsafe.Pointer(&all[offset]))
	}
	to.shared.mu.Lock()
	defer to.shared.mu.Unlock()
	return (*T)(unsafe.Add(to.shared.variable(key).p, offset))
}

// find returns the variable that contains address a.
func (m *sharedMemory) find(a uintptr) (key sharedKey, offset uintptr, dynamic, ok bool) {
	if len(m.dynamic) > 0 {
		if base := uintptr(unsafe.Pointer(&m.dynamic[0])); a >= base && a-base < uintptr(8*len(m.dynamic)) {
			return key, a - base, true, true
		}
	}
	for key, e := range m.variables {
		if base := uintptr(e.p); a >= base && a-base < e.size {
			return key, a - base, false, true
		}
	}
	return key, 0, false, false
}
