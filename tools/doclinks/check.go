package main

import (
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

type checker struct {
	root  string
	read  map[string]*document
	links int
	errs  []error
}

func (c *checker) check(name string) {
	d, err := c.document(name)
	if err != nil {
		c.errs = append(c.errs, err)
		return
	}
	for _, l := range d.links {
		c.links++
		if err := c.link(name, l.target); err != nil {
			c.errs = append(c.errs, fmt.Errorf("%s:%d: link to %s: %w", name, l.line, l.target, err))
		}
	}
}

func (c *checker) document(name string) (*document, error) {
	if d := c.read[name]; d != nil {
		return d, nil
	}
	text, err := os.ReadFile(filepath.Join(c.root, filepath.FromSlash(name)))
	if err != nil {
		return nil, err
	}
	d := parse(string(text))
	c.read[name] = d
	return d, nil
}

func (c *checker) link(from, target string) error {
	u, err := url.Parse(target)
	if err != nil {
		return err
	}
	if u.Scheme != "" || strings.HasPrefix(target, "//") {
		return absolute(u)
	}
	to := from
	if u.Path != "" {
		to = path.Join(path.Dir(from), u.Path)
	}
	if err := c.exists(to); err != nil {
		return err
	}
	return c.anchor(to, u.Fragment)
}

// absolute checks the form of an absolute link. It accepts mailto addresses, and https URLs with a
// host but without a user or port.
func absolute(u *url.URL) error {
	switch {
	case u.Scheme == "mailto" && strings.Contains(u.Opaque, "@"):
		return nil
	case u.Scheme != "https":
		return fmt.Errorf("it is not https")
	case !strings.Contains(u.Hostname(), ".") || u.User != nil || u.Port() != "":
		return fmt.Errorf("host %q is not one of the web", u.Host)
	}
	return nil
}

// exists checks that a path exists. It looks up each part in its folder, so that letter case
// matters on every system.
func (c *checker) exists(to string) error {
	if to == "." {
		return nil
	}
	if !filepath.IsLocal(filepath.FromSlash(to)) {
		return fmt.Errorf("it leads out of the repository")
	}
	dir := c.root
	for _, part := range strings.Split(to, "/") {
		entries, err := os.ReadDir(dir)
		if err != nil || !slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == part }) {
			return fmt.Errorf("there is no %s", to)
		}
		dir = filepath.Join(dir, part)
	}
	return nil
}

// anchor returns an error if the document has no heading with the given anchor or, for other files,
// no such line.
func (c *checker) anchor(to, name string) error {
	if name == "" {
		return nil
	}
	if !strings.HasSuffix(to, ".md") {
		return c.line(to, name)
	}
	d, err := c.document(to)
	if err != nil {
		return err
	}
	if !d.anchors[name] {
		return fmt.Errorf("%s has no heading of this name", to)
	}
	return nil
}

func (c *checker) line(to, name string) error {
	first, _, _ := strings.Cut(name, "-")
	n, err := strconv.Atoi(strings.TrimPrefix(first, "L"))
	if err != nil {
		return fmt.Errorf("%s is not a document with headings", to)
	}
	text, err := os.ReadFile(filepath.Join(c.root, filepath.FromSlash(to)))
	if err != nil {
		return err
	}
	if lines := strings.Count(string(text), "\n"); n < 1 || n > lines {
		return fmt.Errorf("%s has %d lines", to, lines)
	}
	return nil
}
