package emulator_test

import (
	"strings"
	"testing"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
)

const linkPTX = ".version 8.0\n.target sm_70\n.address_size 64\n.visible .entry linked()\n{\n\tret;\n}\n"

// linker is a link state with an error log.
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

// The codes are those of driver 580.
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
	r.want("text that is no PTX", l.add(cu.CU_JIT_INPUT_PTX, "hello"), cu.CUDA_ERROR_INVALID_IMAGE)
	r.want("a newer target", l.add(cu.CU_JIT_INPUT_PTX, strings.Replace(linkPTX, "sm_70", "sm_120", 1)), cu.CUDA_ERROR_INVALID_PTX)
	r.ok(l.add(cu.CU_JIT_INPUT_PTX, linkPTX)) // what was rejected on its own is left out
	r.ok(l.complete())
	r.ok(r.CuLinkDestroy(l.state))
}

// wantLinkFault is want for contradictions between inputs. On a thread where PTX failed to compile
// before, driver 580 returns CUDA_ERROR_UNKNOWN for them.
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

// A log that does not fit is cut, and its size is the buffer's.
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

// Undefined symbols are in the log even where the driver returns success, as 580 does on a thread
// where it has rejected PTX that is too new.
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

// Text that does not compile is rejected when it is added, whatever the reason, not when the link
// is completed.
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
