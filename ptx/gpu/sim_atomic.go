package gpu

import (
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/purecuda/cuda/ptx/num"
)

// locks protect 16-bit values, because the host has no 16-bit atomic operations.
var locks [64]sync.Mutex

func lockOf(p unsafe.Pointer) *sync.Mutex { return &locks[uintptr(p)/2%64] }

// atomicUpdate replaces *p with f(*p) and returns the previous value.
func atomicUpdate[T AtomicValue](p *T, options []AtomicOption, f func(T) T) T {
	checkOptions(options)
	switch unsafe.Sizeof(*p) {
	case 2:
		l := lockOf(unsafe.Pointer(p))
		l.Lock()
		defer l.Unlock()
		old := *p
		*p = f(old)
		return old
	case 4:
		a := (*uint32)(unsafe.Pointer(p))
		for {
			old := atomic.LoadUint32(a)
			if v := valueOf[T](uint64(old)); atomic.CompareAndSwapUint32(a, old, uint32(bitsOf(f(v)))) {
				return v
			}
		}
	}
	a := (*uint64)(unsafe.Pointer(p))
	for {
		old := atomic.LoadUint64(a)
		if v := valueOf[T](old); atomic.CompareAndSwapUint64(a, old, bitsOf(f(v))) {
			return v
		}
	}
}

func atomicSwap[T AtomicValue](p *T, old, value T, options []AtomicOption) (T, bool) {
	want, swapped := bitsOf(old), false
	previous := atomicUpdate(p, options, func(x T) T {
		if swapped = bitsOf(x) == want; swapped {
			return value
		}
		return x
	})
	return previous, swapped
}

func atomicLoad[T AtomicValue](p *T, options []AtomicOption) T {
	checkOptions(options)
	switch unsafe.Sizeof(*p) {
	case 2:
		return atomicUpdate(p, nil, func(x T) T { return x })
	case 4:
		return valueOf[T](uint64(atomic.LoadUint32((*uint32)(unsafe.Pointer(p)))))
	}
	return valueOf[T](atomic.LoadUint64((*uint64)(unsafe.Pointer(p))))
}

func atomicStore[T AtomicValue](p *T, v T, options []AtomicOption) {
	checkOptions(options)
	switch unsafe.Sizeof(*p) {
	case 2:
		atomicUpdate(p, nil, func(T) T { return v })
	case 4:
		atomic.StoreUint32((*uint32)(unsafe.Pointer(p)), uint32(bitsOf(v)))
	default:
		atomic.StoreUint64((*uint64)(unsafe.Pointer(p)), bitsOf(v))
	}
}

// checkOptions panics if an option is unknown, or if the options contain more than one scope or
// more than one order.
func checkOptions(options []AtomicOption) {
	var scope, order int
	for _, o := range options {
		switch {
		case o >= ScopeBlock && o <= ScopeSystem:
			scope++
		case o >= Relaxed && o <= AcqRel:
			order++
		default:
			panic(fmt.Errorf("%d is not an option of atomic operations", o))
		}
	}
	if scope > 1 || order > 1 {
		panic(fmt.Errorf("an atomic operation has %d scopes and %d orders: at most one of each is possible", scope, order))
	}
}

func add[T AtomicNumber](a, b T) T {
	switch x := any(a).(type) {
	case num.F16:
		return any(x.Add(any(b).(num.F16))).(T)
	case num.BF16:
		return any(x.Add(any(b).(num.BF16))).(T)
	}
	x, y := bitsOf(a), bitsOf(b)
	switch reflect.TypeFor[T]().Kind() {
	case reflect.Float32:
		return valueOf[T](bitsOf(valueOf[float32](x) + valueOf[float32](y)))
	case reflect.Float64:
		return valueOf[T](bitsOf(valueOf[float64](x) + valueOf[float64](y)))
	}
	return valueOf[T](x + y)
}

func sub[T AtomicNumber](a, b T) T {
	switch x := any(a).(type) {
	case num.F16:
		return any(x.Sub(any(b).(num.F16))).(T)
	case num.BF16:
		return any(x.Sub(any(b).(num.BF16))).(T)
	}
	x, y := bitsOf(a), bitsOf(b)
	switch reflect.TypeFor[T]().Kind() {
	case reflect.Float32:
		return valueOf[T](bitsOf(valueOf[float32](x) - valueOf[float32](y)))
	case reflect.Float64:
		return valueOf[T](bitsOf(valueOf[float64](x) - valueOf[float64](y)))
	}
	return valueOf[T](x - y)
}

// bitsIn returns the size of an integer in bits.
func bitsIn[T Integer](x T) int { return 8 * int(unsafe.Sizeof(x)) }

func isSigned[T Integer]() bool { return ^T(0) < 0 }
