package gpu

import (
	"fmt"
	"reflect"
)

// An Operand is an operand of inline PTX, for PTX and PurePTX.
//
//gpu:opaque
type Operand struct{ _ byte }

// Out is an operand that the instructions write. The variable need not be initialized.
//
//gpu:intrinsic
func Out[T Scalar | ~bool](p *T) Operand { return Operand{} }

// InOut is an operand that the instructions read and write.
//
//gpu:intrinsic
func InOut[T Scalar | ~bool](p *T) Operand { return Operand{} }

// In is an operand that the instructions read.
//
//gpu:intrinsic
func In[T Scalar | ~bool](v T) Operand { return Operand{} }

// Addr is an operand that contains p as a generic address. The instructions may read and write the
// memory.
//
//gpu:intrinsic
func Addr[T any](p *T) Operand { return Operand{} }

// SharedAddr is an operand that contains the 32-bit address of p in the shared state space. p must
// point to a variable in shared memory.
//
//gpu:intrinsic
func SharedAddr[T any](p *T) Operand { return Operand{} }

// PTX inserts instructions. The text must be a constant. In it, %0 is the first operand, %1 the
// second, and so on, and %% is a percent sign. The Go type of an operand determines the type of its
// register: .b32 for int32 and uint32, .b64 for int and Addr, .f32, .f64, .b16, and .pred for bool.
// Use braces to limit the scope of registers that the text declares.
//
//	gpu.PTX("add.cc.u32 %0, %2, %3; addc.u32 %1, 0, 0;",
//		gpu.Out(&sum), gpu.Out(&carry), gpu.In(a), gpu.In(b))
//
// The compiler does not move, duplicate or remove the instructions. It assumes that they access
// memory and synchronize threads. Run cannot execute them: use the emulator, or call Device and
// provide Go code for Run.
//
//gpu:intrinsic
func PTX(text string, operands ...Operand) { panic(useEmulator("PTX")) }

// PurePTX is PTX for instructions that have no side effects and whose outputs depend only on their
// inputs. The compiler may move, merge and remove them.
//
//gpu:intrinsic
func PurePTX(text string, operands ...Operand) { panic(useEmulator("PurePTX")) }

// Extern returns a function that another PTX file defines as a .visible .func with the given name.
// The file must be in the package's folder. Both arguments must be constants, and the result must
// initialize a package-level variable:
//
//	var mix = gpu.Extern("mix.ptx", "mix32", func(a, b uint32) uint32 { return a*31 ^ b })
//
// The generated launchers link the kernels with the file. The parameters of F must be numbers,
// bools and pointers, and it can have at most one result. In PTX, bools and integers of up to 32
// bits are .b32, larger integers and pointers are .b64, and floating-point numbers are .f32, .f64
// or .b16. Under Run, calls are executed by the Go function simulate. If simulate is nil, a call
// panics: use the emulator. The compiler does not compile simulate, but the names it refers to must
// be available to kernels.
//
//gpu:intrinsic
func Extern[F any](file, name string, simulate F) F {
	v := reflect.ValueOf(&simulate).Elem()
	if v.Kind() == reflect.Func && v.IsNil() {
		v.Set(reflect.MakeFunc(v.Type(), func([]reflect.Value) []reflect.Value {
			panic(useEmulator(fmt.Sprintf("%s of %s", name, file)))
		}))
	}
	return simulate
}

// useEmulator returns the panic message of functions that Run cannot simulate.
func useEmulator(name string) string {
	return "gpu.Run does not simulate " + name + ": compile the kernel with go2ptx and use the emulator"
}
