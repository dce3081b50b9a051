package irtest

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

// Fault describes a failed check.
type Fault struct {
	Kind, Message string
	Line          int32
	Values        []int64
}

func (f *Fault) Error() string {
	return fmt.Sprintf("%s fault at line %d: %v", f.Kind, f.Line, f.Values)
}

// ErrExit is returned if the thread executed an exit.
var ErrExit = errors.New("the thread exited")

// Machine interprets functions in a single thread. It does not support operations that involve
// other threads. All state spaces share one address space, in which address 0 is unused.
type Machine struct {
	Memory []byte
	Steps  int // remaining steps before Call gives up
	vars   map[*ir.Var]int64
	depth  int
}

// New returns a machine whose memory contains the variables of a module.
func New(m *ir.Module) *Machine {
	x := &Machine{Memory: make([]byte, 256), Steps: 10_000_000, vars: map[*ir.Var]int64{}}
	for _, v := range m.Vars {
		p := x.Alloc(v.Size)
		copy(x.Memory[p:], v.Init)
		x.vars[v] = p
	}
	return x
}

// Alloc allocates n bytes, aligned to 256, and returns their address.
func (x *Machine) Alloc(n int) int64 {
	p := (len(x.Memory) + 255) / 256 * 256
	x.Memory = append(x.Memory, make([]byte, p+n+8-len(x.Memory))...)
	return int64(p)
}

// Call executes a function. Arguments and results are bits: I32 values are sign-extended, all
// others are zero-extended.
func (x *Machine) Call(f *ir.Func, args []int64) (results []int64, err error) {
	if x.depth++; x.depth > 1000 {
		return nil, errors.New("irtest: the stack overflows")
	}
	top := len(x.Memory)
	defer func() {
		x.depth--
		if r := recover(); r != nil {
			e, ok := r.(error)
			if !ok || !errors.As(e, new(*Fault)) && !errors.Is(e, ErrExit) && !errors.Is(e, errMemory) && !errors.Is(e, errSteps) {
				panic(r)
			}
			err = e
		}
		x.Memory = x.Memory[:top]
	}()
	c := &call{Machine: x, f: f, args: args, values: make([]int64, f.NumValues()), tuples: map[*ir.Value][]int64{}}
	for _, s := range f.Slots {
		p := x.Alloc(s.Size)
		for i := range s.Size { // slots are not cleared, so fill them with garbage
			x.Memory[int(p)+i] = 0xa5
		}
		c.slots = append(c.slots, p)
	}
	return c.run(), nil
}

var (
	errMemory = errors.New("irtest: an access outside of memory")
	errSteps  = errors.New("irtest: too many steps")
)

type call struct {
	*Machine
	f      *ir.Func
	args   []int64
	slots  []int64
	values []int64
	tuples map[*ir.Value][]int64
}

func (c *call) run() []int64 {
	b := c.f.Blocks[0]
	var from *ir.Block
	for {
		c.phis(b, from)
		for _, v := range b.Values {
			if c.Steps--; c.Steps < 0 {
				panic(errSteps)
			}
			if v.Op != ir.OpPhi {
				c.values[v.ID] = c.exec(v)
			}
		}
		from = b
		switch t := b.Term; t.Kind {
		case ir.TermJump:
			b = t.Succs[0]
		case ir.TermIf:
			b = t.Succs[1]
			if c.get(t.Cond) != 0 {
				b = t.Succs[0]
			}
		case ir.TermRet:
			var r []int64
			for _, v := range t.Results {
				r = append(r, c.get(v))
			}
			return r
		default:
			panic(ErrExit)
		}
		if c.Steps--; c.Steps < 0 {
			panic(errSteps)
		}
	}
}

func (c *call) phis(b, from *ir.Block) {
	index := -1
	for i, p := range b.Preds {
		if p == from {
			index = i
		}
	}
	var list []int64
	for _, v := range b.Values {
		if v.Op == ir.OpPhi {
			list = append(list, c.get(v.Args[index]))
		}
	}
	for i, x := range list {
		c.values[b.Values[i].ID] = x
	}
}

func (c *call) get(v *ir.Value) int64 {
	switch v.Op {
	case ir.OpConst:
		return v.Aux
	case ir.OpUndef:
		return 0x5a5a5a5a
	}
	return c.values[v.ID]
}

func (c *call) load(m ir.Mem, p int64) int64 {
	if p < 256 || p+int64(m.Size()) > int64(len(c.Memory)) {
		panic(errMemory)
	}
	b := c.Memory[p:]
	switch m {
	case ir.MBool, ir.MU8:
		return int64(b[0])
	case ir.MS8:
		return int64(int8(b[0]))
	case ir.MS16:
		return int64(int16(binary.LittleEndian.Uint16(b)))
	case ir.MU16, ir.MF16, ir.MBF16:
		return int64(binary.LittleEndian.Uint16(b))
	case ir.M32:
		return int64(int32(binary.LittleEndian.Uint32(b)))
	case ir.MF32:
		return int64(binary.LittleEndian.Uint32(b))
	}
	return int64(binary.LittleEndian.Uint64(b))
}

func (c *call) store(m ir.Mem, p, v int64) {
	if p < 256 || p+int64(m.Size()) > int64(len(c.Memory)) {
		panic(errMemory)
	}
	b := c.Memory[p:]
	switch m.Size() {
	case 1:
		b[0] = byte(v)
	case 2:
		binary.LittleEndian.PutUint16(b, uint16(v))
	case 4:
		binary.LittleEndian.PutUint32(b, uint32(v))
	default:
		binary.LittleEndian.PutUint64(b, uint64(v))
	}
}

func (c *call) exec(v *ir.Value) int64 {
	a := func(i int) int64 { return c.get(v.Args[i]) }
	switch v.Op {
	case ir.OpParam:
		return c.args[v.Aux]
	case ir.OpSlot:
		return c.slots[v.Aux]
	case ir.OpGlobal:
		return c.vars[v.Var]
	case ir.OpExtract:
		return c.tuples[v.Args[0]][v.Aux]
	case ir.OpSelect:
		if a(0) != 0 {
			return a(1)
		}
		return a(2)
	case ir.OpCopy, ir.OpPin, ir.OpSpaceCast:
		return a(0)
	case ir.OpPtrAdd:
		return a(0) + a(1)
	case ir.OpLoad:
		return c.load(v.Mem, a(0)+v.Aux)
	case ir.OpStore:
		c.store(v.Mem, a(0)+v.Aux, a(1))
	case ir.OpLoadV, ir.OpStoreV:
		c.vector(v, a(0)+v.Aux)
	case ir.OpAtomic, ir.OpCAS:
		return c.atomic(v, a(0)+v.Aux)
	case ir.OpFence:
	case ir.OpCheck:
		if a(0) == 0 {
			f := &Fault{Kind: v.Site.Kind, Message: v.Site.Message, Line: v.Pos.Line}
			for i := range v.Args[1:] {
				f.Values = append(f.Values, a(i+1))
			}
			panic(f)
		}
	case ir.OpCall:
		return c.call(v)
	default:
		return compute(v, a)
	}
	return 0
}

func (c *call) vector(v *ir.Value, p int64) {
	n := 1 // the number of arguments without a condition
	if v.Op == ir.OpStoreV {
		n += v.N
	}
	if p%int64(v.N*v.Mem.Size()) != 0 && (len(v.Args) == n || c.get(v.Args[n]) != 0) {
		panic(errMemory)
	}
	for i := range v.N {
		at := p + int64(i*v.Mem.Size())
		if v.Op == ir.OpStoreV {
			c.store(v.Mem, at, c.get(v.Args[1+i]))
			continue
		}
		if i == 0 {
			c.tuples[v] = nil
		}
		c.tuples[v] = append(c.tuples[v], c.load(v.Mem, at))
	}
}

func (c *call) call(v *ir.Value) int64 {
	var args []int64
	for _, a := range v.Args {
		args = append(args, c.get(a))
	}
	r, err := c.Call(v.Callee, args)
	if err != nil {
		panic(err)
	}
	if v.Type.Kind == ir.Tuple {
		c.tuples[v] = r
		return 0
	}
	if len(r) == 1 {
		return r[0]
	}
	return 0
}

func (c *call) atomic(v *ir.Value, p int64) int64 {
	old := c.load(v.Mem, p)
	if v.Op == ir.OpCAS {
		if old == c.get(v.Args[1]) {
			c.store(v.Mem, p, c.get(v.Args[2]))
		}
		return old
	}
	if v.Atomic.Op == ir.RMWLoad {
		return old
	}
	x := c.get(v.Args[1])
	if r, ok := modify(v, old, x); ok {
		c.store(v.Mem, p, r)
		return old
	}
	panic(fmt.Sprintf("irtest: %s", v.Text()))
}
