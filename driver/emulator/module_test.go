package emulator_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/internal/gputest"
)

func (r *rig) load(image string) (cu.CUresult, string) {
	b := append([]byte(image), make([]byte, 64)...)
	log := make([]byte, 4096)
	options := []cu.CUjit_option{cu.CU_JIT_ERROR_LOG_BUFFER, cu.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES}
	values := make([]unsafe.Pointer, 2)
	values[0] = unsafe.Pointer(&log[0])
	*(*uintptr)(unsafe.Pointer(&values[1])) = uintptr(len(log))
	var m cu.CUmodule
	err := r.CuModuleLoadDataEx(&m, unsafe.Pointer(&b[0]), 2, &options[0], &values[0])
	if err == nil {
		r.ok(r.CuModuleUnload(m))
	}
	text, _, _ := strings.Cut(string(log), "\x00")
	return code(err), text
}

func TestBadImages(t *testing.T) {
	r := newRig(t)
	for _, c := range []struct {
		what, image string
		want        cu.CUresult
		log         string
	}{
		{"text that is not PTX", "hello, world", cu.CUDA_ERROR_INVALID_IMAGE, ""},
		{"empty text", "", cu.CUDA_ERROR_INVALID_IMAGE, ""},
		{"syntax error", ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry f() { this is wrong; }", cu.CUDA_ERROR_INVALID_PTX, "line 4"},
		{"unknown instruction", ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry f() {\nfoo.u32 1, 2;\nret; }", cu.CUDA_ERROR_INVALID_PTX, "line 5"},
		{"undeclared register", ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry f() {\nmov.u32 %r1, 2;\nret; }", cu.CUDA_ERROR_INVALID_PTX, "line 5"},
		{"newer PTX", ".version 99.0\n.target sm_70\n.address_size 64\n.visible .entry f() { ret; }", cu.CUDA_ERROR_UNSUPPORTED_PTX_VERSION, ""},
		{"newer target", ".version 8.7\n.target sm_120\n.address_size 64\n.visible .entry f() { ret; }", cu.CUDA_ERROR_INVALID_PTX, ""},
		{"no kernels", ".version 7.0\n.target sm_70\n.address_size 64\n", 0, ""},
	} {
		got, log := r.load(c.image)
		if got != c.want || !strings.Contains(log, c.log) {
			t.Errorf("%s: got %v (%d), want %v (%d); log: %s", c.what, got, uint32(got), c.want, uint32(c.want), log)
		}
		t.Logf("%s: %v %q", c.what, got, log)
	}
	if !onGPU {
		got, log := r.load("\x7fELF and machine code")
		if got != cu.CUDA_ERROR_NO_BINARY_FOR_GPU || !strings.Contains(log, "PTX") {
			t.Errorf("cubin: %v, log %q", got, log)
		}
	}
}

func TestModuleNames(t *testing.T) {
	r := newRig(t)
	m := r.module(testPTX)
	var f cu.CUfunction
	var p cu.CUdeviceptr
	var size uintptr
	r.want("no such kernel", r.CuModuleGetFunction(&f, m, cstr("no")), cu.CUDA_ERROR_NOT_FOUND)
	r.want("no such variable", r.CuModuleGetGlobal(&p, &size, m, cstr("no")), cu.CUDA_ERROR_NOT_FOUND)
	r.ok(r.CuModuleGetGlobal(&p, &size, m, cstr("counter")))
	if size != 4 {
		t.Errorf("size of a variable: %d", size)
	}
	r.wantWords("initial value", p, 7)
	r.ok(r.launch(r.function(m, "add"), 0, p, 0, 5))
	r.wantWords("changed value", p, 12)
	var n uint32
	r.ok(r.CuModuleGetFunctionCount(&n, m))
	if n != 8 {
		t.Errorf("%d kernels", n)
	}
}

func TestUnloadedModuleIsGone(t *testing.T) {
	r := newRig(t)
	if onGPU {
		t.Skip("a driver does not survive it")
	}
	image := append([]byte(testPTX), 0)
	var m cu.CUmodule
	r.ok(r.CuModuleLoadData(&m, unsafe.Pointer(&image[0])))
	f := r.function(m, "add")
	r.ok(r.CuModuleUnload(m))
	r.want("launch", r.launch(f, 0, r.alloc(4), 0, 0), cu.CUDA_ERROR_INVALID_HANDLE)
	r.want("second unload", r.CuModuleUnload(m), cu.CUDA_ERROR_INVALID_HANDLE)
}

func TestLibrariesAndTheirKernels(t *testing.T) {
	r := newRig(t)
	image := append([]byte(testPTX), 0)
	var lib cu.CUlibrary
	r.ok(r.CuLibraryLoadData(&lib, unsafe.Pointer(&image[0]), nil, nil, 0, nil, nil, 0))
	var k cu.CUkernel
	r.ok(r.CuLibraryGetKernel(&k, lib, cstr("add")))
	r.want("no such kernel", r.CuLibraryGetKernel(new(cu.CUkernel), lib, cstr("no")), cu.CUDA_ERROR_NOT_FOUND)
	var f cu.CUfunction
	r.ok(r.CuKernelGetFunction(&f, k))
	p := r.alloc(4)
	r.ok(r.launch(f, 0, p, 0, 1))
	r.ok(r.launch(cu.CUfunction(k), 0, p, 0, 2))
	r.wantWords("launches", p, 3)
	var n uint32
	r.ok(r.CuLibraryGetKernelCount(&n, lib))
	if n != 8 {
		t.Errorf("%d kernels", n)
	}
	var v int32
	r.ok(r.CuKernelGetAttribute(&v, cu.CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, k, r.dev))
	r.ok(r.CuLibraryUnload(lib))
}

const linkPTX = ".version 8.0\n.target sm_70\n.address_size 64\n.visible .entry linked()\n{\n\tret;\n}\n"

type linker struct {
	*rig
	state   cu.CUlinkState
	log     []byte
	options []cu.CUjit_option
	values  []unsafe.Pointer
}

func (r *rig) linker() *linker {
	l := &linker{rig: r, log: make([]byte, 4096), values: make([]unsafe.Pointer, 2)}
	l.options = []cu.CUjit_option{cu.CU_JIT_ERROR_LOG_BUFFER, cu.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES}
	l.values[0] = unsafe.Pointer(&l.log[0])
	*l.size() = uintptr(len(l.log))
	r.ok(r.CuLinkCreate(2, &l.options[0], &l.values[0], &l.state))
	return l
}

func (l *linker) size() *uintptr { return (*uintptr)(unsafe.Pointer(&l.values[1])) }

func (l *linker) add(kind cu.CUjitInputType, text string) error {
	data := append([]byte(text), 0)
	return l.CuLinkAddData(l.state, kind, unsafe.Pointer(&data[0]), uintptr(len(data)), cstr("input"), 0, nil, nil)
}

func (l *linker) complete() error {
	var image unsafe.Pointer
	var size uintptr
	return l.CuLinkComplete(l.state, &image, &size)
}

// The expected codes were recorded with driver 580.
func TestLinkerCallsAtTheWrongTime(t *testing.T) {
	r := newRig(t)
	l := r.linker()
	invalid := cu.CUDA_ERROR_INVALID_VALUE
	r.ok(l.add(cu.CU_JIT_INPUT_PTX, linkPTX))
	r.want("no image", r.CuLinkComplete(l.state, nil, nil), invalid)
	r.ok(l.complete())
	r.want("an input too late", l.add(cu.CU_JIT_INPUT_PTX, linkPTX), invalid)
	r.want("completing again", l.complete(), cu.CUDA_ERROR_INVALID_HANDLE)
	r.ok(r.CuLinkDestroy(l.state))
}

func TestLinkerInputsThatAreNone(t *testing.T) {
	r := newRig(t)
	l := r.linker()
	invalid := cu.CUDA_ERROR_INVALID_VALUE
	text := append([]byte(linkPTX), 0)
	data, size := unsafe.Pointer(&text[0]), uintptr(len(text))
	value := make([]unsafe.Pointer, 1)
	add := func(p unsafe.Pointer, n uintptr, o ...cu.CUjit_option) error {
		return r.CuLinkAddData(l.state, cu.CU_JIT_INPUT_PTX, p, n, cstr("x"), uint32(len(o)), unsafe.SliceData(o), &value[0])
	}
	r.want("no data", add(nil, size), invalid)
	r.want("no size", add(data, 0), invalid)
	r.want("an unknown option", add(data, size, 99), invalid)
	value[0] = unsafe.Pointer(&l.log[0])
	r.want("a log of its own", add(data, size, cu.CU_JIT_INFO_LOG_BUFFER), invalid)
	r.want("an unknown kind", l.add(9, linkPTX), invalid)
	r.want("a missing file", r.CuLinkAddFile(l.state, cu.CU_JIT_INPUT_PTX, cstr("/none.ptx"), 0, nil, nil), cu.CUDA_ERROR_FILE_NOT_FOUND)
	r.want("text that is not PTX", l.add(cu.CU_JIT_INPUT_PTX, "hello"), cu.CUDA_ERROR_INVALID_IMAGE)
	r.want("a newer target", l.add(cu.CU_JIT_INPUT_PTX, strings.Replace(linkPTX, "sm_70", "sm_120", 1)), cu.CUDA_ERROR_INVALID_PTX)
	r.ok(l.add(cu.CU_JIT_INPUT_PTX, linkPTX)) // the rejected input must not become part of the link
	r.ok(l.complete())
	r.ok(r.CuLinkDestroy(l.state))
}

// wantLinkFault is like want, but for calls whose inputs contradict each other. On a thread where
// PTX has failed to compile, driver 580 returns CUDA_ERROR_UNKNOWN for such calls.
func (r *rig) wantLinkFault(what string, err error, want cu.CUresult) {
	r.t.Helper()
	if onGPU && want == cu.CUDA_ERROR_INVALID_SOURCE && code(err) == cu.CUDA_ERROR_UNKNOWN {
		return
	}
	r.want(what, err, want)
}

func TestLinkerAfterAContradiction(t *testing.T) {
	r := newRig(t)
	for _, c := range []struct {
		what string
		kind cu.CUjitInputType
		text string
		want cu.CUresult
		log  string
	}{
		{"a second definition", cu.CU_JIT_INPUT_PTX, linkPTX, cu.CUDA_ERROR_INVALID_SOURCE, "error   : Multiple definition of 'linked' in 'input', first defined in 'input'"},
		{"a cubin that is none", cu.CU_JIT_INPUT_CUBIN, linkPTX, cu.CUDA_ERROR_INVALID_IMAGE, ""},
		{"NVVM's code", cu.CU_JIT_INPUT_NVVM, linkPTX, cu.CUDA_ERROR_JIT_COMPILER_NOT_FOUND, ""},
	} {
		l := r.linker()
		r.ok(l.add(cu.CU_JIT_INPUT_PTX, linkPTX))
		r.wantLinkFault(c.what, l.add(c.kind, c.text), c.want)
		if log, _, _ := strings.Cut(string(l.log), "\x00"); log != c.log || int(*l.size()) != len(c.log) {
			t.Errorf("%s: the log of %d bytes is %q", c.what, *l.size(), log)
		}
		r.wantLinkFault("another input after "+c.what, l.add(cu.CU_JIT_INPUT_PTX, linkPTX), c.want)
		r.wantLinkFault("completing after "+c.what, l.complete(), c.want)
		r.ok(r.CuLinkDestroy(l.state))
	}
}

func TestLinkersThatAreNotMade(t *testing.T) {
	r := newRig(t)
	var s cu.CUlinkState
	option, value := []cu.CUjit_option{cu.CU_JIT_FALLBACK_STRATEGY}, make([]unsafe.Pointer, 1)
	invalid := cu.CUDA_ERROR_INVALID_VALUE
	r.want("a fallback", r.CuLinkCreate(1, &option[0], &value[0], &s), invalid)
	option[0] = 99
	r.want("an unknown option", r.CuLinkCreate(1, &option[0], &value[0], &s), invalid)
	r.want("no options", r.CuLinkCreate(2, nil, nil, &s), invalid)
	r.want("no state", r.CuLinkCreate(0, nil, nil, nil), invalid)
}

func TestLinkerLogIsCut(t *testing.T) {
	r := newRig(t)
	l := r.linker()
	r.ok(r.CuLinkDestroy(l.state))
	*l.size() = 32
	r.ok(r.CuLinkCreate(2, &l.options[0], &l.values[0], &l.state))
	r.want("no PTX", l.add(cu.CU_JIT_INPUT_PTX, "hello"), cu.CUDA_ERROR_INVALID_IMAGE)
	if log, _, _ := strings.Cut(string(l.log), "\x00"); len(log) != 31 || *l.size() != 31 {
		t.Errorf("the log of %d bytes is %q", *l.size(), log)
	}
	r.ok(r.CuLinkDestroy(l.state))
}

// The log must name undefined symbols even if the driver returns success. Driver 580 does so on a
// thread where it has rejected PTX that is too new.
func TestLinkerLogNamesWhatIsUndefined(t *testing.T) {
	r := newRig(t)
	text := append([]byte(strings.Replace(linkPTX, "8.0", "99.0", 1)), 0)
	var m cu.CUmodule
	r.want("PTX of the future", r.CuModuleLoadData(&m, unsafe.Pointer(&text[0])), cu.CUDA_ERROR_UNSUPPORTED_PTX_VERSION)
	l := r.linker()
	r.ok(l.add(cu.CU_JIT_INPUT_PTX, ".version 8.0\n.target sm_70\n.address_size 64\n.extern .global .u32 nowhere;\n"))
	err := l.complete()
	log, _, _ := strings.Cut(string(l.log), "\x00")
	t.Logf("%v, %q", err, log)
	if log != "error   : Undefined reference to 'nowhere' in 'input'" {
		t.Errorf("%v, the log is %q", err, log)
	}
	r.ok(r.CuLinkDestroy(l.state))
}

// Text that does not compile must be rejected when it is added, not when the link is completed.
func TestLinkerRefusesWhatDoesNotCompileAtOnce(t *testing.T) {
	r := newRig(t)
	for what, text := range map[string]string{
		"an instruction that is none":     ".visible .entry k()\n{\n\tfrobnicate.u32;\n\tret;\n}\n",
		"more memory than the device has": ".global .align 8 .b8 big[1099511627776];\n",
	} {
		l := r.linker()
		if err := l.add(cu.CU_JIT_INPUT_PTX, ".version 8.0\n.target sm_70\n.address_size 64\n"+text); code(err) == 0 {
			t.Errorf("%s was added", what)
		}
		if log, _, _ := strings.Cut(string(l.log), "\x00"); log == "" {
			t.Errorf("%s: no reason is given", what)
		}
		r.ok(r.CuLinkDestroy(l.state))
	}
}

func TestDamagedEntriesOfFatBinaries(t *testing.T) {
	c := gputest.Context(t, gputest.Emulator(t, emulator.Config{}))
	for _, file := range []string{"default.fatbin", "speed.fatbin"} {
		good, err := os.ReadFile("../testdata/images/" + file)
		if err != nil {
			t.Fatal(err)
		}
		entry := len(good)
		for at := 16; at < len(good); { // the PTX is the last entry
			entry = at
			at += int(binary.LittleEndian.Uint32(good[at+4:])) + int(binary.LittleEndian.Uint64(good[at+8:]))
		}
		front := int(binary.LittleEndian.Uint32(good[entry+4:]))
		change := func(at int, b ...byte) []byte {
			image := bytes.Clone(good)
			copy(image[entry+at:], b)
			return image
		}
		size := binary.LittleEndian.Uint32(good[entry+56:])
		for name, test := range map[string]struct {
			image []byte
			word  string
		}{
			"more than stated":         {change(56, byte(size-1), byte((size-1)>>8)), "limit|damaged"},
			"less than stated":         {change(56, byte(size+1), byte((size+1)>>8)), "instead of|damaged"},
			"of a terabyte":            {change(56, 0, 0, 0, 0, 0, 1), "1099511627776 bytes"},
			"cut off":                  {change(16, 100, 0), "damaged"},
			"changed":                  {change(front, 0xff, 0xff, 0xff, 0xff), "damaged"},
			"packed in an unknown way": {change(40, 0x11, 0x10), "flags 0x1000"},
			"for another device alone": {change(28, 80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x11, 0xa0, 0x10), "no PTX for compute capability 9.0"},
			"for a newer device":       {change(28, 100), "no PTX for compute capability 9.0 or below"},
		} {
			_, err := c.LoadModule(test.image)
			text, found := fmt.Sprintf("%+v", err), false
			for word := range strings.SplitSeq(test.word, "|") {
				found = found || strings.Contains(text, word)
			}
			if !errors.Is(err, cu.CUDA_ERROR_NO_BINARY_FOR_GPU) || !found {
				t.Errorf("%s, %s: %v", file, name, text)
			}
		}
	}
}

// The driver and the emulator must both reject the PTX and report the line.
func TestPTXThatIsNotASCIIIsRefused(t *testing.T) {
	const head = ".version 7.0\n.target sm_52\n.address_size 64\n"
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		_, err := c.LoadModule([]byte(head + "// a (m×n)\n.visible .entry k() { ret; }\n"))
		if !errors.Is(err, cu.CUDA_ERROR_INVALID_PTX) || !strings.Contains(err.Error(), "non-ASCII") || !strings.Contains(err.Error(), "line 4") {
			t.Errorf("error %v, want CUDA_ERROR_INVALID_PTX of line 4", err)
		}
		m, err := c.LoadModule([]byte(head + "// a (m x n)\n.visible .entry k() { ret; }\n"))
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
}

// The emulator must reject what NVIDIA's compiler rejects, even in functions that are never called.
// The result code must be the driver's, and the log must contain the line and the correct form. For
// an instruction that exists but is not emulated, the result code must be a different one.
func TestTheRulesOfTheISADecideAtLoad(t *testing.T) {
	p, err := open(emulator.New(emulator.Config{}), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer p.d.Close()
	const head = ".version 7.8\n.target sm_70\n.address_size 64\n"
	for _, c := range []struct {
		text string
		code cu.CUresult
		says string
	}{
		{".func never() {\n.reg .f32 %f<3>;\nadd.s32 %f1, %f1, %f2;\nret;\n}\n.entry k() { ret; }", cu.CUDA_ERROR_INVALID_PTX, "PTX line 6: add.s32: operand 1 is register %f1 of type .f32; it must be .s32"},
		{".entry k() {\n.reg .pred %p<2>;\nvote.all.pred %p1, %p1;\nret;\n}", cu.CUDA_ERROR_INVALID_PTX, "PTX line 6: vote.all.pred is not available from PTX 6.4 and sm_70 on: write vote.sync"},
		{".entry k() .noreturn { ret; }", cu.CUDA_ERROR_INVALID_PTX, ".noreturn is for functions"},
		{".global .texref t;\n.entry k() {\n.reg .f32 %f<5>;\ntex.1d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [t, {%f1}];\nret;\n}", cu.CUDA_ERROR_NOT_SUPPORTED, "textures"},
	} {
		m, err := p.c.LoadModule([]byte(head + c.text))
		if m != nil {
			m.Close()
		}
		if !errors.Is(err, c.code) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s\n  gives %v\n  want %v: %s", c.text, err, c.code, c.says)
		}
	}
}

func BenchmarkLoad(b *testing.B) {
	text, err := os.ReadFile("../../ptx/kernels/internal/norm/norm_gpu.ptx")
	if err != nil {
		b.Fatal(err)
	}
	p, err := open(emulator.New(emulator.Config{}), 1)
	if err != nil {
		b.Fatal(err)
	}
	defer p.d.Close()
	for b.Loop() {
		m, err := p.c.LoadModule(text)
		if err != nil {
			b.Fatal(err)
		}
		if err := m.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func TestLinkingNeedsAPlaceForTheImage(t *testing.T) {
	r := newRig(t)
	l := r.linker()
	r.ok(l.add(cu.CU_JIT_INPUT_PTX, linkPTX))
	size := uintptr(7)
	r.want("a size alone", r.CuLinkComplete(l.state, nil, &size), cu.CUDA_ERROR_INVALID_VALUE)
	var image unsafe.Pointer
	r.ok(r.CuLinkComplete(l.state, &image, nil)) // the size is optional
	if image == nil || size != 7 {
		t.Errorf("image %v, size %d", image, size)
	}
	r.ok(r.CuLinkDestroy(l.state))
}
