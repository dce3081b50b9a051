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

// unary is one step of an elementwise computation that is known only at run time.
type unary func(x build.Value[float32]) build.Value[float32]

// fused returns the PTX of a kernel that applies all steps to each element of x, and so reads and
// writes memory once.
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

// A program fuses a list of operations into one kernel, loads it, and launches it.
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

// Every instruction can be written by its PTX name. The module is for the lowest version and target
// that have all of them.
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
