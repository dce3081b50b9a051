// Package variant makes variants of kernels in which some arguments are constants. The driver compiles the same PTX for
// each element type and function that a program uses, and removes what the others need: branches, registers and
// conversions. The PTX that a program contains stays small.
package variant

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/purecuda/cuda/driver"
)

// Code is the PTX of a family of kernels. A variable of this type must be initialized without a function call. A call would
// be in every program that imports the family, and so would the PTX.
type Code struct {
	Name string // for messages
	PTX  *[]byte

	mu     sync.RWMutex
	made   map[Key]*made
	recent [16]atomic.Pointer[made] // by slot of the key. Looking a key up in the map takes longer.
}

// made is the text of a variant.
type made struct {
	key  Key
	text []byte
}

// Key is a variant: a kernel and its constants. A name is in parts because joining them would allocate.
type Key struct {
	Kernel    [5]string
	Registers uint8 // of a thread, instead of the limit in the PTX; 0 for that limit
	Constants [MostConstants]Constant
}

// MostConstants is the largest number of constants of a kernel.
const MostConstants = 3

// Constant is an argument that is a constant.
type Constant struct {
	Number uint8 // 1 for the first argument of the kernel. 0 stands for no constant.
	Value  uint32
}

// slot returns the index in Code.recent.
func (k *Key) slot() uint32 {
	const table = uint32(len(Code{}.recent))
	v := uint32(len(k.Kernel[1]))
	for i := range k.Constants {
		v = 3*v + k.Constants[i].Value
	}
	return v % table
}

// Module returns the code of a variant in a context. The first call loads it. The context unloads it when it is closed.
func (c *Code) Module(in *driver.Context, key *Key) (*driver.Module, error) {
	recent := &c.recent[key.slot()]
	m := recent.Load()
	if m == nil || m.key != *key {
		var err error
		if m, err = c.variant(key); err != nil {
			return nil, err
		}
		recent.Store(m)
	}
	return in.Embedded(c.Name, m.text)
}

// variant returns the text of a variant. It is always the same slice, because a context recognizes what it has loaded by
// that.
func (c *Code) variant(key *Key) (*made, error) {
	c.mu.RLock()
	m := c.made[*key]
	c.mu.RUnlock()
	if m != nil {
		return m, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if m := c.made[*key]; m != nil {
		return m, nil
	}
	text, err := Text(*c.PTX, *key)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.Name, err)
	}
	if c.made == nil {
		c.made = make(map[Key]*made)
	}
	m = &made{*key, text}
	c.made[*key] = m
	return m, nil
}

// Text returns PTX that go2ptx has written, without other kernels than that of the variant, and with its constants instead
// of the loads of these arguments. The arguments stay, so that all variants are launched in the same way.
func Text(ptx []byte, key Key) ([]byte, error) {
	name := strings.Join(key.Kernel[:], "")
	var kernel []byte
	var rest []byte
	for i, part := range bytes.SplitAfter(ptx, []byte("\n}\n")) {
		begin := bytes.Index(part, []byte(entry))
		switch {
		case begin < 0:
			rest = append(rest, part...)
		case bytes.HasPrefix(part[begin+len(entry):], []byte(name+"(")):
			rest, kernel = append(rest, part[:begin]...), part[begin:]
		case i == 0:
			rest = append(rest, part[:begin]...) // the header is before the first kernel
		}
	}
	if kernel == nil {
		return nil, fmt.Errorf("there is no kernel %s", name)
	}
	for _, c := range key.Constants {
		if c.Number == 0 {
			continue
		}
		var err error
		if kernel, err = replaced(kernel, c); err != nil {
			return nil, fmt.Errorf("kernel %s, argument %d: %w", name, c.Number-1, err)
		}
	}
	if key.Registers != 0 {
		before, after, found := bytes.Cut(kernel, []byte(limit))
		if !found {
			return nil, fmt.Errorf("kernel %s has no limit of registers", name)
		}
		after = after[bytes.IndexByte(after, '\n'):]
		kernel = slices.Concat(before, fmt.Appendf(nil, "%s%d", limit, key.Registers), after)
	}
	return append(rest, kernel...), nil
}

const (
	entry = ".visible .entry "
	limit = "\n.maxnreg "
)

// replaced returns a kernel that has a constant instead of the load of an argument.
func replaced(kernel []byte, c Constant) ([]byte, error) {
	head, _, _ := bytes.Cut(kernel, []byte("\n)"))
	params := bytes.Split(head, []byte("\n"))
	if int(c.Number) >= len(params) {
		return nil, errors.New("it does not exist")
	}
	param, is32 := bytes.CutPrefix(params[c.Number], []byte("\t.param .u32 "))
	if !is32 {
		return nil, errors.New("it is not a uint32")
	}
	load := []byte(", [" + strings.TrimSuffix(string(param), ",") + "];")
	at := bytes.Index(kernel, load)
	if at < 0 {
		return nil, errors.New("it is not loaded")
	}
	begin := bytes.LastIndexByte(kernel[:at], '\n') + 1
	register, isLoad := bytes.CutPrefix(kernel[begin:at], []byte("\tld.param.b32 "))
	if !isLoad || bytes.Contains(kernel[at+len(load):], load) {
		return nil, errors.New("it is not loaded once")
	}
	mov := fmt.Sprintf("\tmov.b32 %s, %s;", register, strconv.FormatUint(uint64(c.Value), 10))
	return slices.Concat(kernel[:begin], []byte(mov), kernel[at+len(load):]), nil
}
