package gpu

import (
	"fmt"
	"runtime"
	"time"
)

// Printf formats like fmt.Printf and prints to standard output. On a device, the format must be a
// constant, and each argument must be a number, a bool or a constant string. A device supports
// these verbs, with flags, width and precision:
//
//	%d %v         integers
//	%x %X %o      unsigned integers
//	%f %e %E      floating-point numbers, and %g %G %v with a precision, as in %.6g
//	%t %v         bools
//	%s %q %v %x   constant strings
//	%p            pointers
//
// The compiler rejects all other verbs. Infinities and NaNs are printed as in C: inf, nan. On a
// device, a call can print at most 32 arguments, and the text appears the next time the host waits
// for the kernel. Under Run, it appears immediately.
//
//gpu:intrinsic
func Printf(t Thread, format string, args ...any) {
	g := t.grid()
	g.printing.Lock()
	defer g.printing.Unlock()
	if g.output == nil { // the zero Thread
		fmt.Printf(format, args...)
		return
	}
	fmt.Fprintf(g.output, format, args...)
}

// Assert ends the thread if ok is false. The host's next wait then returns a *driver.KernelFault
// that contains the message, which must be a constant. Run returns a *Panic whose value is an
// AssertionError.
//
//gpu:intrinsic
func Assert(t Thread, ok bool, message string) {
	if !ok {
		panic(AssertionError(message))
	}
}

// AssertionError is the value in the *Panic that a failed Assert causes.
//
//gpu:host
type AssertionError string

// Error returns the message.
func (e AssertionError) Error() string { return "assertion failed: " + string(e) }

// Exit ends the thread. As after a return from the kernel, other threads no longer wait for it.
//
//gpu:intrinsic
func (t Thread) Exit() { panic(exited{}) }

// Trap aborts the kernel. On a device, the context is then unusable and all later calls fail. Run
// returns a *Panic.
//
//gpu:intrinsic
func (t Thread) Trap() { panic("trap") }

// Clock returns the lower 32 bits of Clock64.
//
//gpu:intrinsic
func (t Thread) Clock() uint32 { return uint32(t.Clock64()) }

// Clock64 returns a counter of the multiprocessor's clock cycles. Only values from threads of the
// same block are comparable. Under Run, the counter counts nanoseconds.
//
//gpu:intrinsic
func (t Thread) Clock64() int64 { return int64(time.Since(start)) }

// GlobalTimer returns the number of nanoseconds since an arbitrary point in time.
//
//gpu:intrinsic
func (t Thread) GlobalTimer() int64 { return int64(time.Since(start)) }

// Sleep suspends the thread for about ns nanoseconds, at most one millisecond (nanosleep). It
// requires sm_70. Loops that wait for another thread should call it.
//
//gpu:intrinsic
func (t Thread) Sleep(ns int) {
	t.check()
	if ns = min(ns, 1_000_000); ns > 10_000 {
		time.Sleep(time.Duration(ns))
		return
	}
	runtime.Gosched()
}

var start = time.Now()
