package difftest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/verify/randgo"
)

// Blame is the name of an environment variable that specifies the seed of a kernel that is wrong on a
// GPU, but right with ptxas -O0. TestBlame then finds the instructions that ptxas compiles wrongly.
const Blame = "PURECUDA_BLAME"

// TestBlame tells TestBlameTry with these which file contains the kernel, and how it is compiled.
const (
	blameTry   = "PURECUDA_BLAME_TRY"
	blameFlags = "PURECUDA_BLAME_FLAGS" // flags of ptxas
)

// A hider hides the results of instructions from ptxas: it combines them with a 0 that ptxas does not
// know to be one.
type hider struct {
	lines []string
	first map[int]bool // lines before which a function loads the 0
	all   []int        // the lines whose results can be hidden
}

var results = regexp.MustCompile(`^\t([a-z][\w.:]*)\s+%(r|rd|rs)(\d+),\s`)

func newHider(text string) *hider {
	h := &hider{lines: strings.Split(text, "\n"), first: map[int]bool{}}
	body, declared := false, false
	for i, l := range h.lines {
		switch {
		case l == "{":
			body, declared = true, false
		case l == "}":
			body = false
		case !body:
			continue
		}
		if body && !declared && strings.HasPrefix(l, "\t") && !strings.HasPrefix(l, "\t.") {
			h.first[i], declared = true, true
		}
		if m := results.FindStringSubmatch(l); body && m != nil && !strings.HasPrefix(m[1], "st") {
			h.all = append(h.all, i)
		}
	}
	return h
}

// text returns the module with the results of all instructions hidden except for those in the lines
// visible.
func (h *hider) text(visible []int) string {
	bits := map[string]string{"r": "32", "rd": "64", "rs": "16"}
	var b strings.Builder
	for i, l := range h.lines {
		if h.first[i] {
			b.WriteString("\t.reg .b64 %hide64;\n\t.reg .b32 %hide32;\n\t.reg .b16 %hide16;\n\tld.volatile.global.b64 %hide64, [hide];\n" +
				"\tcvt.u32.u64 %hide32, %hide64;\n\tcvt.u16.u64 %hide16, %hide64;\n")
		}
		b.WriteString(l + "\n")
		if strings.HasPrefix(l, ".address_size") {
			b.WriteString(".global .align 8 .b64 hide = 0;\n")
		}
		if _, found := slices.BinarySearch(h.all, i); found && !slices.Contains(visible, i) {
			m := results.FindStringSubmatch(l)
			fmt.Fprintf(&b, "\txor.b%s %%%s%s, %%%[2]s%[3]s, %%hide%[1]s;\n", bits[m[2]], m[2], m[3])
		}
	}
	return b.String()
}

// smallest returns a subset of list that is wrong, but right without any of its parts. wrong is called
// for several sets at once.
func smallest(list []int, wrong func([]int) bool) []int {
	without := func(drop []int) []int {
		return slices.DeleteFunc(slices.Clone(list), func(i int) bool { return slices.Contains(drop, i) })
	}
	for parts := 2; len(list) > 1; {
		chunks := slices.Collect(slices.Chunk(list, max(1, len(list)/parts)))
		still := make([]bool, len(chunks))
		var wg sync.WaitGroup
		for i, c := range chunks {
			wg.Go(func() { still[i] = wrong(without(c)) })
		}
		wg.Wait()
		i := slices.Index(still, true)
		if i < 0 {
			if len(chunks) == len(list) {
				break
			}
			parts = min(2*parts, len(list))
			continue
		}
		var all []int
		for j, c := range chunks {
			if still[j] {
				all = append(all, c...)
			}
		}
		if len(all) > len(chunks[i]) && len(all) < len(list) && wrong(without(all)) {
			list = without(all)
		} else {
			list = without(chunks[i])
		}
		parts = max(2, min(parts, len(list)))
	}
	return list
}

// TestBlame finds the instructions of a kernel that ptxas compiles wrongly. It hides more and more
// results from ptxas, as long as the kernel is wrong, and prints the instructions whose results are left.
func TestBlame(t *testing.T) {
	seed, err := strconv.ParseUint(os.Getenv(Blame), 10, 64)
	if err != nil {
		t.Skipf("%s names no kernel: %v", Blame, err)
	}
	b := blame{t: t, seed: seed}
	h := newHider(string(alone(t, seed).ptx))
	if b.want = b.outputs(h.text(h.all), "-O0"); b.want == nil {
		t.Fatal("the kernel fails without optimisation")
	}
	if !b.wrong(h.text(h.all)) || b.wrong(h.text(nil)) {
		t.Fatal("the kernel is right, or wrong even if all results are hidden from ptxas")
	}
	limit := make(chan bool, runtime.GOMAXPROCS(0))
	for _, i := range smallest(h.all, func(visible []int) bool {
		limit <- true
		defer func() { <-limit }()
		return b.wrong(h.text(visible))
	}) {
		t.Logf("line %d: %s", i+1, strings.TrimSpace(h.lines[i]))
	}
}

// alone compiles a kernel without the others of its file.
func alone(t *testing.T, seed uint64) *batch {
	t.Helper()
	first := seed / perFile * perFile
	only := func(i int) bool { return first+uint64(i) == seed }
	all, err := build{kernels: generate(first, first+perFile), first: first, only: only}.compiled()
	if err != nil {
		t.Fatal(err)
	}
	return all[0]
}

// blame runs forms of a kernel.
type blame struct {
	t    *testing.T
	seed uint64
	want []byte // the outputs without optimisation
}

func (b blame) wrong(text string) bool { return !bytes.Equal(b.outputs(text), b.want) }

// outputs runs a text of the kernel in another process, because it can lose the context. It returns nil
// if the kernel fails.
func (b blame) outputs(text string, flags ...string) []byte {
	name := filepath.Join(b.t.TempDir(), "kernel")
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		b.t.Error(err)
		return nil
	}
	c := exec.Command(os.Args[0], "-test.run", "TestBlameTry/gpu")
	c.Env = append(os.Environ(), blameTry+"="+name, blameFlags+"="+strings.Join(flags, " "), fmt.Sprintf("%s=%d", Blame, b.seed))
	if said, err := c.CombinedOutput(); err != nil {
		b.t.Logf("%v: %.200s", err, said)
		return nil
	}
	out, err := os.ReadFile(name + ".out")
	if err != nil {
		b.t.Error(err)
	}
	return out
}

// TestBlameTry runs a kernel for TestBlame.
func TestBlameTry(t *testing.T) {
	name := os.Getenv(blameTry)
	if name == "" {
		t.Skip("TestBlame starts this test")
	}
	t.Run("gpu", func(t *testing.T) {
		gputest.OnGPU(t, func(t *testing.T, c *driver.Context) {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			seed, err := strconv.ParseUint(os.Getenv(Blame), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			image, err := assembled(t, c.Device(), text, strings.Fields(os.Getenv(blameFlags))...)
			if err != nil {
				t.Fatal(err)
			}
			mod, err := c.LoadModule(image)
			if err != nil {
				t.Fatal(err)
			}
			defer mod.Close()
			k, err := mod.Kernel(fmt.Sprintf("k%d", seed))
			if err != nil {
				t.Fatal(err)
			}
			r, err := newMemory(t, c).run(k, seed)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name+".out", append(r.Outputs, r.Fault...), 0o666); err != nil {
				t.Fatal(err)
			}
		})
	})
}

// Smallest must find the instructions of which a wrong kernel needs all.
func TestSmallest(t *testing.T) {
	list := make([]int, 100)
	for i := range list {
		list[i] = i
	}
	for _, want := range [][]int{{41}, {3, 97}, {10, 11, 12}, {0, 33, 66, 99}} {
		got := smallest(list, func(some []int) bool {
			return !slices.ContainsFunc(want, func(i int) bool { return !slices.Contains(some, i) })
		})
		if !slices.Equal(got, want) {
			t.Errorf("got %d, want %d", got, want)
		}
	}
}

// A kernel whose results are hidden must have the same results.
func TestHiddenResults(t *testing.T) {
	if err := randgo.Usable(); err != nil {
		t.Skip(err)
	}
	b := newBatches(t, 1, 11)[0]
	h := newHider(string(b.ptx))
	if len(h.all) < 1000 || strings.Count(h.text(nil), "%hide64;\n") < 500 {
		t.Errorf("%d results can be hidden, %d of them with 64 bits", len(h.all), strings.Count(h.text(nil), "%hide64;\n"))
	}
	if got := strings.TrimSuffix(h.text(h.all), "\n"); strings.Count(got, "xor.b64 ") != strings.Count(string(b.ptx), "xor.b64 ") {
		t.Error("visible results are hidden")
	}
	b.ptx = []byte(h.text(nil))
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		var all tally
		all.run(t, c, newMemory(t, c), b)
		if all.wrong > 0 || all.kernels != len(b.seeds) {
			t.Errorf("%d of %d kernels are wrong", all.wrong, all.kernels)
		}
	})
}
