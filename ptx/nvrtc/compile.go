package nvrtc

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"unsafe"
)

// Compile compiles a program or returns its result from the cache. Any number of
// goroutines may call it. Concurrent calls with the same program share one compilation.
//
// NVRTC cannot be interrupted. When ctx is done, Compile immediately returns the error of
// ctx. The compilation continues in the background and stores its result in the cache.
// Close waits for it.
//
// If a program does not compile, the error is an *Error. Format it with %+v to print the
// whole log.
func (c *Compiler) Compile(ctx context.Context, p Program) (*Result, error) {
	if !c.exists() {
		return nil, aCompiler.Error(c == nil)
	}
	if ctx == nil {
		ctx = context.Background()
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := p.check(); err != nil {
		return nil, err
	}
	f, err := c.fly(clone(p))
	if err != nil {
		return nil, err
	}
	select {
	case <-ctx.Done():
		return nil, fmt.Errorf("nvrtc: compiling %s: %w", p.name(), ctx.Err())
	case <-f.done:
	}
	if f.err != nil {
		return nil, f.err
	}
	return f.result.copy(), nil
}

// clone copies the program, because Compile may return, and its caller may change the program,
// before the compilation ends.
func clone(p Program) *Program {
	p.Headers = maps.Clone(p.Headers)
	p.IncludePaths, p.Options = slices.Clone(p.IncludePaths), slices.Clone(p.Options)
	p.NameExpressions = slices.Clone(p.NameExpressions)
	return &p
}

// flight is one compilation. Several callers may wait for it.
type flight struct {
	done   chan struct{}
	result *Result
	err    error
}

// fly joins a running compilation of the same program or starts one.
func (c *Compiler) fly(p *Program) (*flight, error) {
	k, keyed := key{}, false
	if c.cache != nil {
		k, keyed = c.key(p)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, fmt.Errorf("nvrtc: cannot compile %s: %w", p.name(), ErrClosed)
	}
	if f := c.flights[k]; keyed && f != nil {
		return f, nil
	}
	f := &flight{done: make(chan struct{})}
	if keyed {
		c.flights[k] = f
	}
	c.running.Go(func() { c.land(f, p, k, keyed) })
	return f, nil
}

func (c *Compiler) land(f *flight, p *Program, k key, keyed bool) {
	if keyed {
		f.result, f.err = c.cached(p, k)
	} else {
		f.result, f.err = c.compile(p)
	}
	c.mu.Lock()
	if keyed {
		delete(c.flights, k)
	}
	c.mu.Unlock()
	close(f.done)
}

// cached returns the result from the cache, or compiles and stores it. It does not store
// the result if a header changed during the compilation.
func (c *Compiler) cached(p *Program, k key) (*Result, error) {
	if r := c.cache.get(k); r != nil {
		r.Cached = true
		return r, nil
	}
	r, err := c.compile(p)
	if err != nil {
		return nil, err
	}
	if again, ok := c.key(p); ok && again == k {
		c.cache.put(k, r)
	}
	return r, nil
}

func (c *Compiler) compile(p *Program) (*Result, error) {
	run := &run{c.fn, p, 0}
	if err := run.create(); err != nil {
		return nil, err
	}
	defer run.destroy()
	names, err := run.addNames()
	if err != nil {
		return nil, err
	}
	options := cStrings(p.options())
	failure := callHNP(&c.fn.compileProgram, run.h, len(options), unsafe.Pointer(unsafe.SliceData(options)))
	log, logFailure := c.fn.text(run.h, &c.fn.logSize, &c.fn.log)
	if failure != NVRTC_SUCCESS {
		return nil, c.explain(p, failure, string(log))
	}
	if logFailure != NVRTC_SUCCESS {
		return nil, run.failed("nvrtcGetProgramLog", logFailure)
	}
	r := &Result{Log: string(log)}
	return r, run.read(r, names)
}

// run wraps one nvrtcProgram.
type run struct {
	fn *functions
	p  *Program
	h  uintptr
}

func (r *run) create() error {
	headers := slices.Sorted(maps.Keys(r.p.Headers))
	var texts []*byte
	for _, name := range headers {
		texts = append(texts, cString(r.p.Headers[name]))
	}
	h := new(uintptr)
	failure := r.fn.create(h, cString(r.p.Source), cString(r.p.name()), len(headers),
		unsafe.SliceData(texts), unsafe.SliceData(cStrings(headers)))
	r.h = *h
	if failure != NVRTC_SUCCESS {
		return r.failed("nvrtcCreateProgram", failure)
	}
	return nil
}

// destroy ignores the result code, because destroying a program can fail only if its handle is
// invalid.
func (r *run) destroy() {
	h := new(uintptr)
	*h = r.h
	callP(&r.fn.destroyProgram, unsafe.Pointer(h))
}

// addNames passes the name expressions to NVRTC and returns them as C strings.
func (r *run) addNames() ([]*byte, error) {
	names := cStrings(r.p.NameExpressions)
	for i, name := range names {
		if failure := callHP(&r.fn.addName, r.h, unsafe.Pointer(name)); failure != NVRTC_SUCCESS {
			err := r.failed("nvrtcAddNameExpression", failure)
			err.Hint = fmt.Sprintf("the expression is %q", r.p.NameExpressions[i])
			return nil, err
		}
	}
	return names, nil
}

func (r *run) read(out *Result, names []*byte) error {
	var failure Code
	if out.PTX, failure = r.fn.text(r.h, &r.fn.ptxSize, &r.fn.ptx); failure != NVRTC_SUCCESS {
		return r.failed("nvrtcGetPTX", failure)
	}
	if out.Cubin, failure = r.fn.bytes(r.h, &r.fn.cubinSize, &r.fn.cubin); failure != NVRTC_SUCCESS {
		return r.failed("nvrtcGetCUBIN", failure)
	}
	if len(out.PTX) == 0 && len(out.Cubin) == 0 {
		return invalidf("compiling %s gave neither PTX nor a cubin: an option such as -dlto requests something else", r.p.name())
	}
	out.Lowered = make(map[string]string)
	for i, name := range names {
		expression := r.p.NameExpressions[i]
		if out.Lowered[expression], failure = r.fn.lowered(r.h, name); failure != NVRTC_SUCCESS {
			return r.failed("nvrtcGetLoweredName of "+expression, failure)
		}
	}
	return nil
}

func (r *run) failed(function string, failure Code) *Error {
	return &Error{Func: function, Code: failure, Program: r.p.name()}
}
