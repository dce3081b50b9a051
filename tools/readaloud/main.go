// Command readaloud draws random comments from the Go code and random sentences from the
// documentation. A reader who did not write them can then judge them.
//
//	go run -C tools ./readaloud -root .. -seed 1 -n 50
//
// All comments are equally likely, and so are all sentences. For the same files, a seed
// always draws the same passages. The command omits generated files, testdata, the expected
// output of examples, and code in documents. It also omits docs/results, which contains the
// output of programs.
//
// With -with, the passages are mixed with as many from another project, without their
// positions, so that the reader cannot favour a project. -key names a file for the positions.
// With -around, each passage is shown with the lines around it in its file:
//
//	go run -C tools ./readaloud -root .. -with "$(go env GOROOT)/src" -key key.txt -around 12 -seed 1
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	var d drawing
	flag.StringVar(&d.root, "root", "..", "the folder of the repository")
	flag.StringVar(&d.under, "under", "", "draw only from files whose path below the root begins with this")
	flag.StringVar(&d.with, "with", "", "the folder of another project, whose passages are mixed in")
	flag.Uint64Var(&d.seed, "seed", 1, "the seed of the draw")
	flag.IntVar(&d.n, "n", 50, "how many comments and how many sentences to draw from each project")
	flag.IntVar(&d.around, "around", 0, "show this many lines of the file after the passage, and a third of them before it")
	key := flag.String("key", "", "with -with: the file to write the positions to")
	flag.Parse()
	if err := run(os.Stdout, *key, d); err != nil {
		fmt.Fprintln(os.Stderr, "readaloud:", err)
		os.Exit(1)
	}
}

// A passage is a comment or a sentence, with its position.
type passage struct {
	root string // folder of the passage's project
	file string // path relative to the root, with slashes
	line int
	text string
}

// drawing describes what to draw.
type drawing struct {
	root, under string
	with        string // folder of another project, or ""
	seed        uint64
	n           int
	around      int
}

// run writes the passages to w. If there are two projects, it writes their positions to the key
// file instead.
func run(w io.Writer, keyFile string, d drawing) error {
	if (d.with == "") != (keyFile == "") {
		return errors.New("-with and -key require each other")
	}
	comments, sentences, err := passages(d.root, d.under)
	if err != nil {
		return err
	}
	// Comments and sentences have separate generators, so that changes in the code do not affect
	// which sentences are drawn.
	all := [2][]passage{draw(comments, d.seed, d.n), draw(sentences, d.seed, d.n)}
	of := [2]int{len(comments), len(sentences)}
	if d.with != "" {
		comments, sentences, err := passages(d.with, "")
		if err != nil {
			return err
		}
		for i, other := range [][]passage{comments, sentences} {
			all[i] = append(all[i], draw(other, d.seed, d.n)...)
			all[i] = draw(all[i], d.seed, len(all[i]))
			of[i] += len(other)
		}
	}
	var key strings.Builder
	for i, what := range []string{"comments", "sentences"} {
		fmt.Fprintf(w, "%d of %d %s, seed %d\n\n", len(all[i]), of[i], what, d.seed)
		for k, p := range all[i] {
			position := fmt.Sprintf("%s:%d", p.file, p.line)
			if d.with != "" {
				fmt.Fprintf(&key, "%s %d %s/%s\n", what, k+1, p.root, position)
				position = ""
			}
			text := p.text
			if d.around > 0 {
				if text, err = p.inFile(d.around); err != nil {
					return err
				}
			}
			fmt.Fprintf(w, "%3d  %s\n     %s\n\n", k+1, position, strings.ReplaceAll(text, "\n", "\n     "))
		}
	}
	if keyFile == "" {
		return nil
	}
	return os.WriteFile(keyFile, []byte(key.String()), 0o644)
}

// inFile returns the lines around the passage. The passage's first line is marked.
func (p passage) inFile(around int) (string, error) {
	content, err := os.ReadFile(filepath.Join(p.root, filepath.FromSlash(p.file)))
	if err != nil {
		return "", err
	}
	lines := strings.Split(string(content), "\n")
	end := min(len(lines), p.line+strings.Count(p.text, "\n")+around)
	var b strings.Builder
	for i := max(0, p.line-1-around/3); i < end; i++ {
		mark := "  "
		if i == p.line-1 {
			mark = "> "
		}
		b.WriteString(mark + lines[i] + "\n")
	}
	return strings.TrimRight(b.String(), "\n"), nil
}

// draw returns n passages, or all if there are fewer, in random order.
func draw(all []passage, seed uint64, n int) []passage {
	order := rand.New(rand.NewPCG(seed, 0)).Perm(len(all))
	drawn := make([]passage, 0, min(n, len(all)))
	for _, i := range order[:cap(drawn)] {
		drawn = append(drawn, all[i])
	}
	return drawn
}
