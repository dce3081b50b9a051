package nvrtc

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/loader"
)

// fake is an NVRTC written in Go. The PTX it returns contains its input.
type fake struct {
	missing string          // name of a function that the library lacks
	fail    map[string]Code // result codes to return, by function name
	compile func(p *fakeProgram) (Code, string)

	compiled atomic.Int32
	closed   atomic.Int32

	mu       sync.Mutex
	next     uintptr
	programs map[uintptr]*fakeProgram
}

type fakeProgram struct {
	source, name string
	headers      map[string]string
	names        []string
	options      []string
	log          string
	ptx, cubin   string
	keep         []*byte
}

func (f *fake) Name() string { return "an NVRTC in Go" }

func (f *fake) Close() error { f.closed.Add(1); return nil }

func (f *fake) Lookup(symbol string) (loader.Proc, error) {
	fn := map[string]func(loader.Args) Code{
		"nvrtcVersion":              version,
		"nvrtcCreateProgram":        f.create,
		"nvrtcDestroyProgram":       f.destroy,
		"nvrtcAddNameExpression":    f.add,
		"nvrtcCompileProgram":       f.run,
		"nvrtcGetProgramLogSize":    f.size(func(p *fakeProgram) string { return p.log + "\x00" }),
		"nvrtcGetProgramLog":        f.text(func(p *fakeProgram) string { return p.log + "\x00" }),
		"nvrtcGetPTXSize":           f.size(func(p *fakeProgram) string { return p.ptx + "\x00" }),
		"nvrtcGetPTX":               f.text(func(p *fakeProgram) string { return p.ptx + "\x00" }),
		"nvrtcGetCUBINSize":         f.size(func(p *fakeProgram) string { return p.cubin }),
		"nvrtcGetCUBIN":             f.text(func(p *fakeProgram) string { return p.cubin }),
		"nvrtcGetLoweredName":       f.lowered,
		"nvrtcGetNumSupportedArchs": func(a loader.Args) Code { *(*int32)(a.Ptr(0)) = 3; return 0 },
		"nvrtcGetSupportedArchs": func(a loader.Args) Code {
			copy(unsafe.Slice((*int32)(a.Ptr(0)), 3), []int32{90, 75, 80})
			return 0
		},
	}[symbol]
	if fn == nil || symbol == f.missing {
		return loader.Proc{}, fmt.Errorf("%s: %w", symbol, loader.ErrSymbolNotFound)
	}
	return loader.FuncProc(func(a loader.Args) uintptr {
		if c, ok := f.fail[symbol]; ok {
			return uintptr(c)
		}
		return uintptr(fn(a))
	}), nil
}

func version(a loader.Args) Code {
	*(*int32)(a.Ptr(0)), *(*int32)(a.Ptr(1)) = 12, 4
	return NVRTC_SUCCESS
}

func (f *fake) create(a loader.Args) Code {
	p := &fakeProgram{source: goString((*byte)(a.Ptr(1))), name: goString((*byte)(a.Ptr(2))), headers: make(map[string]string)}
	if n := int(a.Int32(3)); n > 0 {
		texts, names := unsafe.Slice((**byte)(a.Ptr(4)), n), unsafe.Slice((**byte)(a.Ptr(5)), n)
		for i := range n {
			p.headers[goString(names[i])] = goString(texts[i])
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.next++
	if f.programs == nil {
		f.programs = make(map[uintptr]*fakeProgram)
	}
	f.programs[f.next] = p
	*(*uintptr)(a.Ptr(0)) = f.next
	return NVRTC_SUCCESS
}

func (f *fake) destroy(a loader.Args) Code {
	f.mu.Lock()
	defer f.mu.Unlock()
	h := (*uintptr)(a.Ptr(0))
	if f.programs[*h] == nil {
		return NVRTC_ERROR_INVALID_PROGRAM
	}
	delete(f.programs, *h)
	*h = 0
	return NVRTC_SUCCESS
}

func (f *fake) program(a loader.Args) *fakeProgram {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.programs[a.Word(0)]
}

func (f *fake) add(a loader.Args) Code {
	p := f.program(a)
	p.names = append(p.names, goString((*byte)(a.Ptr(1))))
	return NVRTC_SUCCESS
}

func (f *fake) run(a loader.Args) Code {
	p := f.program(a)
	for _, o := range unsafe.Slice((**byte)(a.Ptr(2)), a.Int32(1)) {
		p.options = append(p.options, goString(o))
	}
	f.compiled.Add(1)
	if f.compile != nil {
		c, log := f.compile(p)
		p.log = log
		if c != NVRTC_SUCCESS {
			return c
		}
	}
	p.ptx = fmt.Sprintf("// %s %q %d headers\n%s", p.name, p.options, len(p.headers), p.source)
	if len(p.options) > 0 && strings.HasSuffix(p.options[0], "=sm_90") {
		p.cubin = "\x7fELF\x00\x00"
	}
	return NVRTC_SUCCESS
}

func (f *fake) lowered(a loader.Args) Code {
	p, name := f.program(a), goString((*byte)(a.Ptr(1)))
	lowered := cString("_Z" + strings.Trim(name, "<>"))
	p.keep = append(p.keep, lowered)
	*(**byte)(a.Ptr(2)) = lowered
	return NVRTC_SUCCESS
}

func (f *fake) size(of func(*fakeProgram) string) func(loader.Args) Code {
	return func(a loader.Args) Code {
		*(*uintptr)(a.Ptr(1)) = uintptr(len(of(f.program(a))))
		return NVRTC_SUCCESS
	}
}

func (f *fake) text(of func(*fakeProgram) string) func(loader.Args) Code {
	return func(a loader.Args) Code {
		text := of(f.program(a))
		copy(unsafe.Slice((*byte)(a.Ptr(1)), len(text)), text)
		return NVRTC_SUCCESS
	}
}

// newFake returns a compiler that uses f. The test closes the compiler when it ends, and
// fails if any program was not destroyed.
func newFake(t *testing.T, f *fake, opts ...Option) *Compiler {
	t.Helper()
	c, err := New(f, append([]Option{WithoutCache()}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if len(f.programs) != 0 {
			t.Errorf("%d programs were not destroyed", len(f.programs))
		}
	})
	return c
}

func testCache(t *testing.T) *Cache {
	t.Helper()
	c, err := NewCache(filepath.Join(gputest.TempDir(t), "cache"), 0)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
