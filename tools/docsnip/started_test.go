package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/purecuda/cuda/tools/internal/doc"
)

// step is a code block of a tutorial: a file to write, commands to run, or the output of the
// previous commands.
type step struct {
	line int
	file string // name of a file to write; empty for commands
	out  bool   // whether the block is output rather than a file or commands
	text string
}

var fileNamed = regexp.MustCompile("\\*\\*`([^`]+)`\\*\\*")

// steps reads the blocks of a page up to a heading. The line before a block can be a file name in
// bold, or a remark that the block is output. Any other block contains commands if it has no
// language. If it has a language, it is ignored.
func steps(text, until string) ([]step, error) {
	lines := strings.Split(text, "\n")
	var out []step
	before := ""
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		if line == until {
			return out, nil
		}
		fence, language, block := doc.Fence(line)
		if !block {
			if t := strings.TrimSpace(line); t != "" && !strings.HasPrefix(t, "<!--") {
				before = t
			}
			continue
		}
		end := doc.End(lines, i, fence)
		if end < 0 {
			return nil, fmt.Errorf("line %d: this block has no end", i+1)
		}
		s := step{line: i + 1, text: strings.Join(lines[i+1:end], "\n") + "\n"}
		name := fileNamed.FindAllStringSubmatch(before, -1)
		switch {
		case strings.HasSuffix(before, ":") && len(name) == 1:
			s.file = name[0][1]
		case strings.HasSuffix(before, "prints:"):
			s.out = true
		case language != "":
			s.line = 0
		}
		if s.line != 0 {
			out = append(out, s)
		}
		i, before = end, ""
	}
	return nil, errors.New("the page has no line " + until)
}

// A reader who copies the blocks of the page in order, and does nothing else, must get
// working programs and a passing test.
func TestGettingStartedCanBeFollowed(t *testing.T) {
	follow(t, "getting-started.md", "## Troubleshooting", "", counts{commands: 5, files: 5, outputs: 2})
}

func TestCUDAGraphsCanBeTried(t *testing.T) {
	follow(t, "cuda-graphs.md", "## What a launch costs", "", counts{commands: 2, files: 1, outputs: 1})
}

func TestKernelsInGoCanBeFollowed(t *testing.T) {
	r := follow(t, "kernels-in-go.md", "## What to read next", "", counts{commands: 6, files: 5, outputs: 2})
	if r.run(step{text: "go test -run - -bench . -benchtime 3x\n"}); strings.Count(r.printed, "on purecuda emulator") != 1 {
		t.Errorf("the benchmark does not say once where it runs:\n%s", r.printed)
	}

	// The mistakes that the page describes.
	guard := "	if x >= width || i >= len(now) {\n		return\n	}\n"
	r.mistake("heat.go", guard, "", "TestDevice", "heat.go:16:3: index out of range [5000] with length 5000 in kernel heat.step", "heat.go:16: data race: ")
	r.mistake("above.go", "gpu.AtomicAdd(&count[0], uint64(*inBlock))", "count[0] += uint64(*inBlock)", "TestAboveDevice", r.quoted("report begins:"))
	r.mistake("above.go", "	t.Sync() // the block has", "	if i > 4990 {\n		return\n	}\n	t.Sync() // the block has", "TestAboveDevice", "above.go:24: barrier misuse in kernel above")
	r.mistake("above_test.go", "AllocFrom(ctx, []uint64{0})", "Alloc[uint64](ctx, 1)", "TestAboveDevice",
		"above.go:23: uninitialized read: atomic access of 8 bytes", "Alloc does not clear it, use Fill or AllocFrom")
}

// mistake replaces a part of a file, runs the test, which must print the strings in want, and restores the
// file.
func (r *reader) mistake(file, old, text, test string, want ...string) {
	r.t.Helper()
	path := filepath.Join(r.dir, file)
	data, err := os.ReadFile(path)
	if err != nil || bytes.Count(data, []byte(old)) != 1 {
		r.t.Fatalf("%s does not contain %q once: %v", file, old, err)
	}
	r.write(step{file: file, text: strings.Replace(string(data), old, text, 1)})
	r.run(step{text: "go generate\n! go test -run '^" + test + "$'\n"})
	r.write(step{file: file, text: string(data)})
	printed := regexp.MustCompile("0x[0-9a-f]+").ReplaceAllString(r.printed, "0x…")
	for _, w := range want {
		if !strings.Contains(printed, w) {
			r.t.Errorf("with %q instead of %q, %s does not print\n%s\nbut\n%s", text, old, test, w, printed)
		}
	}
}

// quoted returns the code block of the page that follows a line that ends with the string before.
func (r *reader) quoted(before string) string {
	r.t.Helper()
	page, err := os.ReadFile(filepath.Join(r.root, "docs", r.page))
	if err != nil {
		r.t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(page), before+"\n\n```text\n")
	text, _, end := strings.Cut(rest, "\n```\n")
	if !ok || !end {
		r.t.Fatalf("%s has no block after %q", r.page, before)
	}
	return text
}

// module contains the commands that prepare a folder for pages that assume a module which requires
// this library.
const module = "go mod init example.org/page\n" + install

func TestKernelLanguageCanBeFollowed(t *testing.T) {
	follow(t, "kernels-language.md", "## What works", module, counts{commands: 1, files: 1, outputs: 1})
}

func TestKernelCostsCanBeFollowed(t *testing.T) {
	follow(t, "kernels-costs.md", "## Registers and spills", module, counts{commands: 1, files: 1, outputs: 1})
}

type counts struct{ commands, files, outputs int }

var rewriteOutput = flag.Bool("update", false, "write what the commands print into the pages")

// follow executes the steps of a page, up to a heading, after the commands in prepare. With -update,
// it writes the outputs into the page instead of comparing them.
func follow(t *testing.T, name, until, prepare string, want counts) *reader {
	if runtime.GOOS == "windows" {
		t.Skip("the page's commands are for a shell")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(root, "docs", name)
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	list, err := steps(string(page), until)
	if err != nil {
		t.Fatal(err)
	}
	r := &reader{t: t, root: root, page: name, dir: t.TempDir()}
	if prepare != "" {
		r.run(step{text: prepare})
	}
	var got counts
	for _, s := range list {
		switch {
		case s.file != "":
			r.write(s)
			got.files++
		case s.out:
			if *rewriteOutput {
				r.update(path, s)
			} else if r.printed != s.text {
				t.Errorf("%s:%d: printed is %q, and the page says %q", name, s.line, r.printed, s.text)
			}
			got.outputs++
		default:
			r.run(s)
			got.commands++
		}
	}
	if got != want {
		t.Errorf("%s has %+v blocks, want %+v", name, got, want)
	}
	return r
}

type reader struct {
	t       *testing.T
	root    string
	page    string
	dir     string // the working directory
	printed string // output of the last commands
}

func (r *reader) write(s step) {
	if err := os.WriteFile(filepath.Join(r.dir, filepath.FromSlash(s.file)), []byte(s.text), 0o644); err != nil {
		r.t.Fatalf("%s:%d: %v", r.page, s.line, err)
	}
}

// update replaces an output in the page.
func (r *reader) update(path string, s step) {
	page, err := os.ReadFile(path)
	if err != nil {
		r.t.Fatal(err)
	}
	block := "prints:\n\n```\n"
	if err := os.WriteFile(path, bytes.Replace(page, []byte(block+s.text), []byte(block+r.printed), 1), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

// install is the command on the page that downloads the module.
const install = "go get github.com/purecuda/cuda\n"

// run runs commands in a shell. The working directory is kept between steps. The commands use this
// source tree instead of a release of the module, so nothing is downloaded.
func (r *reader) run(s step) {
	commands := strings.Replace(s.text, install, fmt.Sprintf("go mod edit -replace github.com/purecuda/cuda='%s'\n%s", r.root, install), 1)
	where := filepath.Join(r.t.TempDir(), "where")
	cmd := exec.Command("sh", "-e", "-c", commands+"\npwd >'"+where+"'")
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "GOPROXY=off", "GOSUMDB=off", "GOWORK=off", "PURECUDA_REQUIRE_GPU=")
	var out, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &log
	if err := cmd.Run(); err != nil {
		r.t.Fatalf("%s:%d: %v\n%s%s\n%s", r.page, s.line, err, &out, &log, s.text)
	}
	r.printed = out.String()
	dir, err := os.ReadFile(where)
	if err != nil {
		r.t.Fatal(err)
	}
	r.dir = strings.TrimSuffix(string(dir), "\n")
}
