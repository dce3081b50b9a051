package build_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/ptx"
	"github.com/purecuda/cuda/ptx/build"
)

// unary is one step of an elementwise computation that is not known until run time.
type unary func(x build.Value[float32]) build.Value[float32]

// fused returns the PTX of a kernel that applies all steps to each element of x. Fused in this way,
// the steps read and write memory only once.
func fused(steps []unary) ([]byte, error) {
	m := build.New(build.Config{})
	k := m.Kernel("fused")
	y := build.PointerParam[float32](k, "y")
	x := build.PointerParam[float32](k, "x")
	n := build.NumberParam[uint32](k, "n")
	i := k.GlobalX()
	k.If(i.Lt(n), func() {
		v := x.Load(i)
		for _, step := range steps {
			v = step(v)
		}
		y.Store(i, v)
	})
	return m.Text()
}

// A program can fuse a list of operations into one kernel, load it, and launch it.
func Example() {
	steps := []unary{
		func(x build.Value[float32]) build.Value[float32] { return x.Mul(x) },
		func(x build.Value[float32]) build.Value[float32] { return x.Add(x) },
		func(x build.Value[float32]) build.Value[float32] { return x.Sqrt() },
	}
	text, err := fused(steps)
	if err != nil {
		fmt.Println(err)
		return
	}
	err = onEmulator(func(c *driver.Context) (err error) {
		module, err := c.LoadModule(text)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, module.Close()) }()
		kernel, err := module.Kernel("fused")
		if err != nil {
			return err
		}
		x, err := driver.AllocFrom(c, []float32{1, 2, 3, 4, 5})
		if err != nil {
			return err
		}
		defer x.Close()
		y, err := driver.Alloc[float32](c, 5)
		if err != nil {
			return err
		}
		defer y.Close()
		s, err := c.NewStream()
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, s.Close()) }()
		if err := kernel.Launch(s, driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(256)}, y, x, uint32(5)); err != nil {
			return err
		}
		if err := s.Wait(context.Background()); err != nil {
			return err
		}
		out := make([]float32, 5)
		err = y.All().CopyTo(out)
		fmt.Println(out)
		return err
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output: [1.4142135 2.828427 4.2426405 5.656854 7.071068]
}

// Every instruction can be used by its PTX name. The module gets the lowest version and target that
// support all of its instructions.
func ExampleFunc_Op() {
	m := build.New(build.Config{})
	k := m.Kernel("sum").ReqNTID(32, 1, 1)
	x := k.Param("x", ptx.U64)
	addr, v, p := k.Reg(ptx.B64), k.Reg(ptx.B32), k.Reg(ptx.Pred)
	k.Op("ld.param.u64", addr, x.At(0))
	k.Op("ld.global.b32", v, addr.At(4))
	k.Op("redux.sync.add.s32", v, v, build.Int(-1))
	k.Op("setp.eq.u32", p, v, build.Int(0))
	k.When(p).Op("st.global.b32", addr.At(0), v)
	text, err := m.Text()
	fmt.Printf("%s%v", text, err)
	// Output:
	// .version 7.0
	// .target sm_80
	// .address_size 64
	//
	// .visible .entry sum(
	// 	.param .u64 x
	// )
	// .reqntid 32, 1, 1
	// {
	// 	.reg .pred %p<2>;
	// 	.reg .b32 %r<2>;
	// 	.reg .b64 %rd<2>;
	// 	ld.param.u64 %rd1, [x];
	// 	ld.global.b32 %r1, [%rd1+4];
	// 	redux.sync.add.s32 %r1, %r1, -1;
	// 	setp.eq.u32 %p1, %r1, 0;
	// 	@%p1 st.global.b32 [%rd1], %r1;
	// 	ret;
	// }
	// <nil>
}

func onEmulator(example func(c *driver.Context) error) (err error) {
	d, err := driver.New(emulator.New(emulator.Config{}))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	dev, err := d.Device(0)
	if err != nil {
		return err
	}
	c, err := dev.PrimaryContext()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	return example(c)
}

// A device function has parameters and results. Func.Call passes the arguments and returns the
// results.
func ExampleFunc_Call() {
	m := build.New(build.Config{})
	f := m.Func("square")
	a := f.Param("a", ptx.F32)
	result := f.Result("r", ptx.F32)
	v := f.Reg(ptx.F32)
	f.Op("ld.param.f32", v, a.At(0))
	f.Op("mul.rn.f32", v, v, v)
	f.Op("st.param.f32", result.At(0), v)
	f.Ret()

	k := m.Kernel("k")
	r := k.Reg(ptx.F32)
	k.Call(f, []build.Reg{r}, build.F32(3))
	_, err := m.Build()
	fmt.Println(f.Name(), a.Name(), result.Name(), r, r.Type(), err)
	// Output: square a r %f1 f32 <nil>
}

// Build reports all problems at once, each with the instruction and its correct form.
func ExampleErrors() {
	m := build.New(build.Config{Target: "sm_70"})
	k := m.Kernel("k")
	k.Op("add.s32", k.Reg(ptx.F32), build.Int(1), build.Int(2))
	k.Op("redux.sync.add.s32", k.Reg(ptx.B32), k.Reg(ptx.B32), build.Int(-1))
	_, err := m.Build()
	var all build.Errors
	if errors.As(err, &all) {
		for _, e := range all {
			fmt.Printf("%s\n\t%s\n", e.Instr, e.Problem)
		}
	}
	// Output:
	// add.s32 %f1, 1, 2;
	// 	add.s32: operand 1 is register %f1 of type .f32; it must be .s32
	// redux.sync.add.s32 %r1, %r2, -1;
	// 	redux.sync.add.s32 needs PTX 7.0 and sm_80; the text is PTX 7.0 for sm_70
}

// Variables have a state space, a linkage and initial values. As operands, they stand for their
// addresses.
func ExampleVar() {
	m := build.New(build.Config{})
	table := m.Const("table", ptx.F32, 3).Init(build.F32(1), build.F32(2), build.F32(4))
	m.Global("where", ptx.U64, 0).Linkage(ptx.Visible).Init(table.Generic())
	text, err := m.Text()
	fmt.Printf("%s%v", text, err)
	// Output:
	// .version 4.1
	// .target sm_52
	// .address_size 64
	// .const .f32 table[3] = {0f3F800000, 0f40000000, 0f40800000};
	// .visible .global .u64 where = generic(table);
	// <nil>
}

// A label can be created before or after the branches to it. It is placed once.
func ExampleLabel() {
	m := build.New(build.Config{})
	k := m.Kernel("k")
	p, tid, end := k.Reg(ptx.Pred), k.Reg(ptx.B32), k.NewLabel("end")
	k.Op("mov.u32", tid, build.TidX)
	k.Op("setp.ge.u32", p, tid, build.Int(32))
	k.When(p).Bra(end)
	k.Op("bar.warp.sync", build.Int(-1))
	k.Place(end)
	_, err := m.Build()
	fmt.Println(end, err)
	// Output: $L1_end <nil>
}

// Build chooses the header of a module.
func ExampleModule() {
	m := build.New(build.Config{MinTarget: "sm_75"})
	m.Kernel("empty")
	tree, err := m.Build()
	fmt.Println(tree.Version, tree.Targets, tree.Kernels()[0].Name, err)
	// Output: 6.3 [sm_75] empty <nil>
}

// Registers are numbered separately for each type, in the order of their creation.
func ExampleReg() {
	k := build.New(build.Config{}).Kernel("k")
	fmt.Println(k.Reg(ptx.F32), k.Reg(ptx.B64), k.Reg(ptx.F32), k.Regs(ptx.Pred, 2))
	// Output: %f1 %rd1 %f2 [%p1 %p2]
}

// A parameter can be declared as a pointer with a known alignment. The compiler can then combine
// memory accesses.
func ExampleParam() {
	m := build.New(build.Config{})
	k := m.Kernel("k")
	x := k.Param("x", ptx.U64).Ptr(ptx.GlobalSpace, 16)
	addr := k.Reg(ptx.B64)
	k.Op("ld.param.u64", addr, x.At(0))
	k.Op("ld.global.v4.f32", build.VecOf(k.Regs(ptx.F32, 4)...), addr.At(0))
	_, err := m.Build()
	fmt.Println(x.Name(), err)
	// Output: x <nil>
}

// Guarded instructions are executed by the threads for which a predicate is true, or false.
func ExampleGuarded() {
	m := build.New(build.Config{})
	k := m.Kernel("k")
	p, r := k.Reg(ptx.Pred), k.Reg(ptx.B32)
	k.Op("mov.u32", r, build.TidX)
	k.Op("setp.eq.u32", p, r, build.Int(0))
	k.When(p).Op("mov.b32", r, build.Int(1))
	k.Unless(p).Op("mov.b32", r, build.Int(2))
	tree, err := m.Build()
	body := tree.Function("k").Body.Stmts
	for _, s := range body[len(body)-3:] {
		fmt.Println(s)
	}
	fmt.Println(err)
	// Output:
	// @%p1 mov.b32 %r1, 1;
	// @!%p1 mov.b32 %r1, 2;
	// ret;
	// <nil>
}

// Operations on values have the same results as Go's operators. Each operation rounds once.
func ExampleValue() {
	m := build.New(build.Config{})
	k := m.Kernel("k")
	a, b := build.NumberParam[float32](k, "a"), build.NumberParam[float32](k, "b")
	larger := build.Select(a.Gt(b), a, b)
	fmt.Println(larger.Mul(a).Sqrt().Reg(), m.Err())
	// Output: %f5 <nil>
}

// Pointers load and store elements. An index can be a value of any integer type.
func ExamplePointer() {
	m := build.New(build.Config{})
	k := m.Kernel("reverse").ReqNTID(64, 1, 1)
	x := build.PointerParam[float32](k, "x")
	tile := build.SharedArray[float32](k, "tile", 64)
	i := build.ReadSpecial(k, build.TidX)
	tile.Store(i, x.Load(i))
	k.Barrier()
	x.Store(i, tile.Load(build.Const(k, uint32(63)).Sub(i)))
	_, err := m.Build()
	fmt.Println(err)
	// Output: <nil>
}
