package corpus

import (
	"fmt"
	"strconv"

	"github.com/purecuda/cuda/driver"
)

// Step is one action on a loaded module, written as one line:
//
//	//@ sum<<<4, 256>>>(in f32[1000] range(-1,1), out f32[4] zero, n i32 1000)
//	//@ tile<<<2x2, 16x16, 1024>>>(...) sm=80 cluster=2
//	//@ set table u32[256] random
//	//@ get counter u32[1]
//
// The first form launches a kernel and then records its buffers. A grid and a block have up to
// three dimensions. The third number is the dynamic shared memory in bytes. "set" fills a variable
// of the module, and "get" records its contents. Builds for an older target skip steps with sm=80.
type Step struct {
	Kind    StepKind
	Name    string // name of the kernel or the variable
	Grid    driver.Dim3
	Block   driver.Dim3
	Shared  uint32
	Cluster driver.Dim3
	SM      int   // minimum compute capability times 10, such as 75
	Args    []Arg // arguments of a launch; for set and get, a single Arg that describes the variable
}

// StepKind distinguishes the three forms of a Step.
type StepKind uint8

const (
	Launch StepKind = iota
	Set
	Get
)

// Arg is one argument, or one field of a struct that is passed by value:
//
//	in f32[1000] random       a buffer of 1000 elements and its initial contents
//	out f32[4] zero ~1e-6     float results with a relative tolerance
//	time u64[32] zero ?       contents that differ between runs
//	n i32 1000                a number
//	p {x f32 1, y i8 2}       a struct with C's layout
//
// the buffer of an earlier argument
//
//	none null                 a null pointer
type Arg struct {
	Name    string
	Type    Elem
	Count   int // number of elements in a buffer
	Fill    Fill
	Tol     float64 // relative tolerance; 0 means exact
	Varies  bool    // excluded from comparison, because it differs between runs
	Value   float64 // value of a numeric argument; integers that a float64 cannot hold exactly are in Bits
	Bits    uint64
	Fields  []Arg  // fields of a struct
	Same    string // name of the earlier argument whose buffer is used
	Buffer  bool
	Null    bool
	Integer bool // the value is in Bits
}

func parseStep(text string) (Step, error) {
	s := scanner{rest: text}
	step := s.step()
	s.end()
	return step, s.err
}

func (s *scanner) step() (step Step) {
	switch name := s.word("the name of a kernel"); name {
	case "set", "get":
		return s.variable(name)
	default:
		step.Name = name
	}
	s.want("<<<")
	step.Grid = s.dim()
	s.want(",")
	step.Block = s.dim()
	if s.has(",") {
		step.Shared = uint32(s.integer())
	}
	s.want(">>>")
	step.Args = s.args("(", ")")
	s.options(&step)
	return step
}

func (s *scanner) variable(what string) Step {
	step := Step{Kind: Set, Name: s.word("the name of a variable")}
	a := Arg{Name: step.Name, Buffer: true, Type: s.elem()}
	s.want("[")
	a.Count = int(s.integer())
	s.want("]")
	if what == "set" {
		a.Fill = s.fill()
	} else {
		step.Kind = Get
		s.marks(&a)
	}
	step.Args = []Arg{a}
	s.options(&step)
	return step
}

func (s *scanner) options(step *Step) {
	for s.err == nil && s.rest != "" {
		switch name := s.word("an option"); name {
		case "sm":
			s.want("=")
			step.SM = int(s.integer())
		case "cluster":
			s.want("=")
			step.Cluster = s.dim()
		default:
			s.fail("unknown option " + name)
		}
	}
}

// dim parses number { "x" number }.
func (s *scanner) dim() driver.Dim3 {
	d := [3]int{1, 1, 1}
	text := s.word("a size such as 4x2")
	for i := range d {
		digits := 0
		for digits < len(text) && text[digits] >= '0' && text[digits] <= '9' {
			digits++
		}
		n, err := strconv.Atoi(text[:digits])
		if err != nil {
			s.fail("malformed size")
		}
		d[i] = n
		if text = text[digits:]; text == "" {
			break
		}
		text = text[1:]
	}
	return driver.D3(d[0], d[1], d[2])
}

func (s *scanner) args(open, closing string) (list []Arg) {
	s.want(open)
	for s.err == nil && !s.has(closing) {
		if len(list) > 0 {
			s.want(",")
		}
		list = append(list, s.arg())
	}
	return list
}

func (s *scanner) arg() Arg {
	a := Arg{Name: s.word("the name of an argument")}
	switch {
	case s.at("{"):
		a.Fields = s.args("{", "}")
		return a
	case s.has("@"):
		a.Same = s.word("the name of a buffer")
		return a
	case s.has("null"):
		a.Null = true
		return a
	}
	a.Type = s.elem()
	if !s.has("[") {
		s.number(&a)
		return a
	}
	a.Buffer, a.Count = true, int(s.integer())
	s.want("]")
	a.Fill = s.fill()
	s.marks(&a)
	return a
}

func (s *scanner) marks(a *Arg) {
	if s.has("?") {
		a.Varies = true
	} else if s.has("~") {
		a.Tol = s.float()
	}
}

func (s *scanner) number(a *Arg) {
	text := s.word("a number")
	if n, err := strconv.ParseInt(text, 0, 64); err == nil {
		a.Value, a.Bits, a.Integer = float64(n), uint64(n), true
	} else if u, err := strconv.ParseUint(text, 0, 64); err == nil {
		a.Value, a.Bits, a.Integer = float64(u), u, true
	} else if a.Value, err = strconv.ParseFloat(text, 64); err != nil {
		s.fail(fmt.Sprintf("%q is not a number", text))
	}
}

func (s *scanner) elem() Elem {
	name := s.word("a type such as f32")
	e, ok := elemByName(name)
	if !ok {
		s.fail(fmt.Sprintf("%q is not a type", name))
	}
	return e
}

// fill parses word [ "(" number { "," number } ")" ].
func (s *scanner) fill() Fill {
	f := Fill{Kind: s.word("what the buffer holds")}
	if s.has("(") {
		f.Params = append(f.Params, s.float())
		for s.has(",") {
			f.Params = append(f.Params, s.float())
		}
		s.want(")")
	}
	if err := f.check(); err != nil {
		s.fail(err.Error())
	}
	return f
}
