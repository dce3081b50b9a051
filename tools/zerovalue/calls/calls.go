// Package calls calls exported functions, and the methods of exported types on a nil pointer and on
// the zero value. It makes each call with several sets of empty arguments. Before each call, and
// after it with the outcome, it writes a line of JSON to standard output.
package calls

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Exported is a type, represented by a nil pointer to it, or a function.
type Exported struct {
	Name  string
	Type  any
	Value any
}

// Call is the outcome of a call. Done is false in the line before the call.
type Call struct {
	Number   int    // position in the sequence of calls
	Name     string // name, such as graph.Graph.Add
	Receiver string // "nil", "zero", or "" for a function
	Args     string // name of the set of arguments
	Done     bool
	Panic    string `json:",omitempty"`
	Hangs    bool   `json:",omitempty"`
	Failed   bool   `json:",omitempty"` // whether the call used testing.TB's Fatal
	CanFail  bool   `json:",omitempty"` // whether the last result has type error
	Err      string `json:",omitempty"`
}

// The sets of arguments.
const (
	zeroArgs = "zero arguments"    // the zero value of each parameter's type
	nilArgs  = "typed nil"         // like zeroArgs, but interfaces contain nil pointers
	someArgs = "arguments of zero" // pointers to zero values, functions, and slices of one element
)

// caller makes the calls. types lists the types whose values can be passed as an interface.
type caller struct {
	types  []reflect.Type // only pointer types
	out    *json.Encoder
	number int
	from   int // number of the first call to make; earlier calls are skipped
}

// Main makes the calls and returns the exit status. An optional command-line argument is the number
// of the first call, so that a new process can continue after a call that ended the previous one.
func Main(all []Exported) int {
	c := &caller{out: json.NewEncoder(os.Stdout)}
	os.Stdout = os.Stderr // functions that print must not write to the program's output
	if len(os.Args) > 1 {
		var err error
		if c.from, err = strconv.Atoi(os.Args[1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 2
		}
	}
	for _, e := range all {
		if e.Type != nil {
			c.types = append(c.types, reflect.TypeOf(e.Type))
		}
	}
	for _, e := range all {
		if e.Type == nil {
			c.call(Call{Name: e.Name}, func() reflect.Value { return reflect.ValueOf(e.Value) })
			continue
		}
		t := reflect.TypeOf(e.Type)
		for i := range t.NumMethod() {
			name := e.Name + "." + t.Method(i).Name
			if _, byValue := t.Elem().MethodByName(t.Method(i).Name); !byValue && !isData(t.Elem()) {
				c.call(Call{Name: name, Receiver: "nil"}, func() reflect.Value { return reflect.Zero(t).Method(i) })
			}
			c.call(Call{Name: name, Receiver: "zero"}, func() reflect.Value { return reflect.New(t.Elem()).Method(i) })
		}
	}
	return 0
}

// isData reports whether a type is a plain struct rather than an object. All of its fields
// can be set, and a nil pointer to it is valid.
func isData(t reflect.Type) bool {
	if t.Kind() != reflect.Struct {
		return true
	}
	if strings.HasPrefix(t.Name(), "CU") { // CUDA's own types are data, although some contain a union
		return true
	}
	for i := range t.NumField() {
		if f := t.Field(i); !f.IsExported() && f.Name != "_" {
			return false
		}
	}
	return t.NumField() > 0
}

// call calls a function once with each different set of arguments.
func (c *caller) call(call Call, function func() reflect.Value) {
	sets := []string{zeroArgs}
	if t := function().Type(); t.NumIn() > 0 {
		sets = append(sets, nilArgs, someArgs)
	}
	for _, set := range sets {
		call.Args = set
		c.one(call, function())
	}
}

func (c *caller) one(call Call, f reflect.Value) {
	c.number++
	if c.number < c.from {
		return
	}
	call.Number = c.number
	c.write(call)
	call.Done = true
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if p := recover(); p != nil {
				call.Panic = fmt.Sprintf("%v\n%s", p, debug.Stack())
			}
		}()
		call.Failed = true // reset below if the call returns
		call.Err, call.CanFail = c.results(f, c.args(f.Type(), call.Args))
		call.Failed = false
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		call.Hangs = true
		c.write(call)
		_, _ = os.Stderr.Write(debug.Stack())
		os.Exit(1)
	}
	call.Failed = call.Failed && call.Panic == ""
	c.write(call)
}

func (c *caller) write(call Call) {
	if err := c.out.Encode(call); err != nil {
		panic(err)
	}
}

// results calls f. If a result is an iterator, results also runs it. It returns the text of the
// error, if any, and whether f can return an error.
func (c *caller) results(f reflect.Value, args []reflect.Value) (string, bool) {
	results := f.Call(args)
	text, canFail := "", false
	for _, r := range results {
		if r.Type() == reflect.TypeFor[error]() {
			canFail = true
			if !r.IsNil() {
				text = fmt.Sprintf("%v", r.Interface())
				_ = fmt.Sprintf("%+v", r.Interface())
			}
		}
		if r.Kind() == reflect.Func && !r.IsNil() && (r.Type().CanSeq() || r.Type().CanSeq2()) {
			for range 3 { // an iterator can be run more than once
				if t, can := c.iterate(r); can {
					text, canFail = t, true
				}
			}
		}
	}
	return text, canFail
}

func (c *caller) iterate(r reflect.Value) (text string, canFail bool) {
	if !r.Type().CanSeq2() {
		for range r.Seq() {
		}
		return "", false
	}
	for _, second := range r.Seq2() {
		if err, ok := second.Interface().(error); ok {
			text = err.Error()
		}
	}
	return text, r.Type().In(0).In(1) == reflect.TypeFor[error]()
}

func (c *caller) args(t reflect.Type, set string) []reflect.Value {
	var all []reflect.Value
	for i := range t.NumIn() {
		in := t.In(i)
		if t.IsVariadic() && i == t.NumIn()-1 {
			if set == zeroArgs {
				break
			}
			in = in.Elem()
		}
		all = append(all, c.arg(in, set))
	}
	return all
}

func (c *caller) arg(t reflect.Type, set string) reflect.Value {
	if t == reflect.TypeFor[testing.TB]() {
		return reflect.ValueOf(&recorder{})
	}
	if t == reflect.TypeFor[fmt.State]() {
		return reflect.ValueOf(state{})
	}
	if set == zeroArgs {
		return reflect.Zero(t)
	}
	switch t {
	case reflect.TypeFor[context.Context]():
		return reflect.ValueOf(context.Background())
	case reflect.TypeFor[io.Writer]():
		return reflect.ValueOf(io.Discard)
	case reflect.TypeFor[error]():
		return reflect.ValueOf(errors.New("an error"))
	}
	switch t.Kind() {
	case reflect.Interface:
		return c.implementation(t, set)
	case reflect.Pointer:
		if set == someArgs {
			return reflect.New(t.Elem())
		}
	case reflect.Slice:
		return reflect.Append(reflect.Zero(t), c.arg(t.Elem(), set))
	case reflect.Func:
		if set == someArgs {
			return reflect.MakeFunc(t, func([]reflect.Value) []reflect.Value {
				var results []reflect.Value
				for i := range t.NumOut() {
					results = append(results, reflect.Zero(t.Out(i)))
				}
				return results
			})
		}
	case reflect.String:
		return reflect.ValueOf("x").Convert(t)
	case reflect.Int, reflect.Int64, reflect.Int32, reflect.Uint32, reflect.Uint64:
		return reflect.ValueOf(1).Convert(t)
	}
	return reflect.Zero(t)
}

// implementation returns a value of the first type that implements the interface t: a nil pointer
// or, for someArgs, a pointer to a zero value.
func (c *caller) implementation(t reflect.Type, set string) reflect.Value {
	for _, p := range c.types {
		if !p.Implements(t) {
			continue
		}
		v := reflect.Zero(p)
		if set == someArgs {
			v = reflect.New(p.Elem())
		}
		boxed := reflect.New(t).Elem()
		boxed.Set(v)
		return boxed
	}
	return reflect.Zero(t)
}

// state is a fmt.State for calls of Format methods.
type state struct{}

func (state) Write(b []byte) (int, error) { return len(b), nil }
func (state) Width() (int, bool)          { return 0, false }
func (state) Precision() (int, bool)      { return 0, false }
func (state) Flag(int) bool               { return true }

// recorder is a testing.TB for functions that require one.
type recorder struct{ testing.TB }

func (*recorder) Helper()                  {}
func (*recorder) Name() string             { return "none" }
func (*recorder) Cleanup(func())           {}
func (*recorder) Context() context.Context { return context.Background() }
func (*recorder) Log(...any)               {}
func (*recorder) Logf(string, ...any)      {}
func (*recorder) Error(...any)             {}
func (*recorder) Errorf(string, ...any)    {}
func (*recorder) Failed() bool             { return false }
func (*recorder) Skipped() bool            { return false }
func (*recorder) Fatal(...any)             { runtime.Goexit() }
func (*recorder) Fatalf(string, ...any)    { runtime.Goexit() }
func (*recorder) FailNow()                 { runtime.Goexit() }
func (*recorder) Skip(...any)              { runtime.Goexit() }
func (*recorder) Skipf(string, ...any)     { runtime.Goexit() }
func (*recorder) SkipNow()                 { runtime.Goexit() }
