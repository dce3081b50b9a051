// Command readaloud draws random comments from the Go code and random sentences from the
// documentation. A reader who did not write them can then judge them.
//
//	go run -C tools ./readaloud -root .. -seed 1 -n 50
//
// All comments are equally likely, and so are all sentences. For the same files, a seed
// always draws the same passages. The command omits generated files, testdata, the expected
// output of examples, and code in documents. It also omits docs/results, which contains the
// output of programs.
package main

import (
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
)

func main() {
	root := flag.String("root", "..", "the folder of the repository")
	seed := flag.Uint64("seed", 1, "the seed of the draw")
	n := flag.Int("n", 50, "how many comments and how many sentences to draw")
	under := flag.String("under", "", "draw only from files whose path below the root begins with this")
	flag.Parse()
	if err := run(os.Stdout, *root, *under, *seed, *n); err != nil {
		fmt.Fprintln(os.Stderr, "readaloud:", err)
		os.Exit(1)
	}
}

// A passage is a comment or a sentence, with its position.
type passage struct {
	file string // relative to the root, with slashes
	line int
	text string
}

func run(w io.Writer, root, under string, seed uint64, n int) error {
	comments, sentences, err := passages(root, under)
	if err != nil {
		return err
	}
	// Comments and sentences have separate generators, so that changes in the code do not affect
	// which sentences are drawn.
	print(w, "comments", comments, seed, n)
	print(w, "sentences", sentences, seed, n)
	return nil
}

func print(w io.Writer, what string, all []passage, seed uint64, n int) {
	drawn := draw(all, seed, n)
	fmt.Fprintf(w, "%d of %d %s, seed %d\n\n", len(drawn), len(all), what, seed)
	for i, p := range drawn {
		fmt.Fprintf(w, "%3d  %s:%d\n     %s\n\n", i+1, p.file, p.line, strings.ReplaceAll(p.text, "\n", "\n     "))
	}
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
