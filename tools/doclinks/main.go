// Command doclinks checks the links of the Markdown documents without a network.
//
//	go run -C tools ./doclinks -root ..
//
// A relative link must lead to a file or folder of the repository. Its anchor must be a heading of
// that document or an existing line, such as #L10. Paths are case-sensitive on every system. For an
// absolute link, only the form is checked: https, a host, and no unusual parts.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/purecuda/cuda/tools/internal/doc"
)

func main() {
	root := flag.String("root", "..", "the folder of the repository")
	flag.Parse()
	if err := run(*root); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(root string) error {
	names, err := doc.Documents(root)
	if err != nil {
		return err
	}
	c := &checker{root: root, read: map[string]*document{}}
	for _, name := range names {
		c.check(name)
	}
	if len(c.errs) == 0 {
		fmt.Printf("doclinks: %d links in %d documents\n", c.links, len(names))
	}
	return errors.Join(c.errs...)
}
