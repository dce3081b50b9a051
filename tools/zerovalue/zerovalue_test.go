package zerovalue

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"go/types"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/purecuda/cuda/tools/zerovalue/calls"
)

// mayPanic lists the calls that may panic, by prefix of their names, with the documented reason.
var mayPanic = map[string]string{
	"loader.Args.":     "an index out of range, as of a slice",
	"loader.Frame.":    "an index out of range, as of a slice; on the path of every node that is added",
	"loader.Batch.Add": "a nil function to call; on the path of every node that is added",
	"loader.Latch.":    "a nil lock, or one that is unlocked twice, as of a sync.Mutex",
	"loader.Invoke":    "the native call itself, without a function",
	"kernels.Layout.":  "a dimension out of range, as of a slice",
	// These methods are promoted from package cu through a nil pointer.
	"driver.Driver.Cu":          "a raw function",
	"driver.Driver.BeforeClose": "for packages that make raw calls",
	"driver.Driver.NewBatch":    "for packages that make raw calls",
	"driver.Driver.Proc":        "for packages that make raw calls",
	"driver.Driver.Result":      "for packages that make raw calls",
	"driver.Driver.Scope":       "for packages that make raw calls",
	"cudatest.CountsOf":         "a driver of elsewhere, in a test",
	"gpu.":                      "device code: a panic is the fault of a kernel",
	"ptx.Inspection.":           "a nil writer",
	"ptx.Instr.":                "a syntax tree that was put together wrongly",
	"ptx.OperandString":         "a syntax tree that was put together wrongly",
	"ptx.Module.":               "a nil writer, or a syntax tree that was put together wrongly",
}

// mayReturnNil matches the methods that may succeed on a nil or zero object because there is
// nothing to do.
var mayReturnNil = regexp.MustCompile(`\.(Close|Abort|Unwrap|Err)$|^kernels\.|^ptx\.|^serve\.(Batch)?Stats\.`)

// otherError lists the methods whose error need not name a constructor, with the reason.
var otherError = map[string]string{
	"driver.Driver.Cu":              "a C function, whose error has a code and says that the Driver is zero",
	"cu.Driver.Cu":                  "a C function, whose error has a code and says that the Driver is nil",
	"cu.Error.Unwrap":               "a code",
	"driver.Error.Unwrap":           "a code",
	"nvrtc.Error.Unwrap":            "a code",
	"arena.OverwrittenError.Unwrap": "a code",
	"callable.Pending.Wait":         "ErrOutputGone, as documented",
	"loader.DynamicLibrary.Lookup":  "an error that names loader.Open",
	"nvrtc.":                        "errors of another package, which name the constructor as well",
	"ptx.":                          "data",
	"serve.Stats.":                  "data",
	"serve.BatchStats.":             "data",
	"kernels.":                      "what is wrong with the arguments",
	"num.":                          "numbers",
}

func with(list map[string]string, name string) bool {
	for prefix := range list {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

var saysWhat = regexp.MustCompile(`\b(nil|zero) [^:]+: make one with ([^:]+)`)

func TestNilAndZeroObjectsAreRefusedInWords(t *testing.T) {
	packages, err := load("../..")
	if err != nil {
		t.Fatal(err)
	}
	made := make(map[string]bool) // the constructors that an error may name
	for _, p := range packages {
		exported(p, made)
	}
	seen := 0
	for _, c := range runCalls(t, packages) {
		seen++
		call := fmt.Sprintf("%s of %s, %s", c.Name, c.Receiver, c.Args)
		switch {
		case !c.Done:
			t.Errorf("%s: the process ended", call)
		case c.Hangs:
			t.Errorf("%s: does not return", call)
		case c.Panic != "":
			if !with(mayPanic, c.Name) {
				t.Errorf("%s: panic: %s", call, where(c.Panic))
			}
		case c.Receiver == "" || !c.CanFail || with(otherError, c.Name):
		case c.Err == "":
			if !mayReturnNil.MatchString(c.Name) {
				t.Errorf("%s: no error", call)
			}
		default:
			words := saysWhat.FindStringSubmatch(c.Err)
			if words == nil {
				t.Errorf("%s: %q does not say what is missing and what makes one", call, c.Err)
				continue
			}
			for _, name := range regexp.MustCompile(`\w+\.\w+`).FindAllString(words[2], -1) {
				if !made[name] {
					t.Errorf("%s: %q names %s, which there is not", call, c.Err, name)
				}
			}
		}
	}
	if seen < 7000 {
		t.Errorf("only %d calls were made", seen)
	}
	t.Logf("%d calls", seen)
}

// where returns the message of a panic and the position in the library where it occurred.
func where(stack string) string {
	lines := strings.Split(stack, "\n")
	for _, l := range lines {
		if strings.Contains(l, ".go:") && !strings.Contains(l, "/zerovalue/") && !strings.Contains(l, "/src/runtime/") && !strings.Contains(l, "/src/reflect/") {
			return lines[0] + " at " + strings.TrimSpace(l)
		}
	}
	return stack
}

// exported adds the names of a package's functions (graph.New) and methods (Graph.Add) to a
// set.
func exported(p *types.Package, to map[string]bool) {
	for _, name := range p.Scope().Names() {
		switch o := p.Scope().Lookup(name).(type) {
		case *types.Func:
			to[p.Name()+"."+name] = true
		case *types.TypeName:
			methods := types.NewMethodSet(types.NewPointer(o.Type()))
			for i := range methods.Len() {
				to[name+"."+methods.At(i).Obj().Name()] = true
			}
		}
	}
}

// runCalls builds the program and runs it in an empty folder. If a call ends the process,
// runCalls runs the program again and continues with the next call.
func runCalls(t *testing.T, packages []*types.Package) []calls.Call {
	t.Helper()
	text, err := program(packages)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	source, binary := filepath.Join(folder, "main.go"), filepath.Join(folder, "calls.exe")
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-o", binary, source)
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	here := filepath.Join(folder, "empty")
	if err := os.Mkdir(here, 0o700); err != nil {
		t.Fatal(err)
	}
	var all []calls.Call
	for next := 1; ; {
		var stdout, stderr bytes.Buffer
		cmd := exec.Command(binary, strconv.Itoa(next))
		cmd.Dir, cmd.Stdout, cmd.Stderr = here, &stdout, &stderr
		failure := cmd.Run()
		list := parse(t, &stdout)
		if len(list) == 0 {
			t.Fatalf("no call was made: %v: %s", failure, &stderr)
		}
		all = append(all, list...)
		if failure == nil {
			return all
		}
		last := list[len(list)-1]
		t.Errorf("during %s of %s: %v: %.1500s", last.Name, last.Receiver, failure, &stderr)
		next = last.Number + 1
	}
}

// parse reads the program's output, which has a line before and a line after each call.
func parse(t *testing.T, from *bytes.Buffer) []calls.Call {
	t.Helper()
	var list []calls.Call
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 1<<20) // a line can contain the long stack of a panic
	for lines.Scan() {
		var c calls.Call
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatalf("%s: %v", lines.Bytes(), err)
		}
		if n := len(list); n > 0 && list[n-1].Number == c.Number {
			list[n-1] = c
		} else {
			list = append(list, c)
		}
	}
	return list
}
