package fused

import (
	"errors"
	"fmt"
	"strings"
)

// step computes one value from those of earlier steps. Equal steps compute equal values.
type step struct {
	op        operation
	typ, from element // from is the type of the operand of a cast
	name      string  // of an input or a scalar
	bits      uint64  // of a constant
	args      [3]int32
}

// program is an expression as a list of steps. The last step computes the result.
type program struct {
	steps  []step
	params []param // inputs and scalars, in the order of their first use
}

// param is an input or a scalar.
type param struct {
	name   string
	typ    element
	scalar bool
}

func (p param) String() string {
	kind := "Input"
	if p.scalar {
		kind = "Scalar"
	}
	return fmt.Sprintf("the %s %q of type %v", kind, p.name, p.typ)
}

// programOf returns the steps of an expression, or the errors in it.
func programOf(result *node) (*program, error) {
	c := &compiler{p: &program{}, nodes: map[*node]int32{}, numbers: map[step]int32{}}
	if result == nil {
		return nil, errors.New("the expression is a zero Expr")
	}
	c.node(result)
	return c.p, errors.Join(c.errs...)
}

type compiler struct {
	p       *program
	nodes   map[*node]int32
	numbers map[step]int32 // the number of each step, to use it again
	errs    []error
}

func (c *compiler) node(n *node) int32 {
	if i, ok := c.nodes[n]; ok {
		return i
	}
	s := n.step
	for k, arg := range n.args {
		if arg == nil {
			c.errs = append(c.errs, fmt.Errorf("operand %d of %v is nil or a zero Expr", k+1, n.op))
			continue
		}
		s.args[k] = c.node(arg)
	}
	i, ok := c.numbers[s]
	if !ok {
		i = int32(len(c.p.steps))
		c.numbers[s] = i
		c.p.steps = append(c.p.steps, s)
		if s.op == input || s.op == scalar {
			c.param(param{s.name, s.typ, s.op == scalar})
		}
	}
	c.nodes[n] = i
	return i
}

func (c *compiler) param(p param) {
	if problem := notName(p.name); problem != "" {
		c.errs = append(c.errs, fmt.Errorf("%v: %s", p, problem))
	}
	for _, q := range c.p.params {
		if q.name == p.name {
			c.errs = append(c.errs, fmt.Errorf("%v and %v have the same name", q, p))
		}
	}
	c.p.params = append(c.p.params, p)
}

// The names of the other arguments.
const (
	destination = "dst"
	length      = "n"
)

func notName(s string) string {
	if s == destination || s == length {
		return "the name is reserved"
	}
	for i := range len(s) {
		if c := s[i] | 0x20; (c < 'a' || c > 'z') && s[i] != '_' && (i == 0 || s[i] < '0' || s[i] > '9') {
			return "the name must consist of letters, digits and underscores, and begin with a letter"
		}
	}
	if s == "" || s == "_" {
		return "the name is empty"
	}
	return ""
}

// result is the step that computes the result.
func (p *program) result() step { return p.steps[len(p.steps)-1] }

// mostNamed is the number of operations in a kernel's name.
const mostNamed = 8

// name returns the kernel's name, which graph drawings and profilers show.
func (p *program) name() string {
	words, more := []string{"fused"}, 0
	for _, s := range p.steps {
		switch {
		case s.op <= constant:
		case len(words) > mostNamed:
			more++
		default:
			words = append(words, s.op.String())
		}
	}
	if more > 0 {
		words = append(words, fmt.Sprint("and", more))
	}
	return strings.Join(append(words, p.result().typ.String()), "_")
}
