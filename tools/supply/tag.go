package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// removedFile lists intended removals and changes since the last tag, as "package: line". If
// it is not empty, the next tag must raise the minor version.
const removedFile = "removed.txt"

// compareTag returns an error if an export of the last tag has been removed and is not in
// removedFile. The API of the tag comes from its source.
func (s surface) compareTag(o options) error {
	tag, err := lastTag(o.root)
	if err != nil {
		return fmt.Errorf("what did the last tag export? %w", err)
	}
	if tag == "" {
		fmt.Fprintln(o.out, "api: there is no tag to compare with yet, only api/*.txt")
		return nil
	}
	was, err := surfaceOfTag(o.root, tag)
	if err != nil {
		return fmt.Errorf("the API of %s: %w", tag, err)
	}
	text, err := os.ReadFile(filepath.Join(o.root, "api", removedFile))
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	return s.promise(o, was, tag, lines(string(text)))
}

// lastTag returns the highest version tag in the commit's history, or "" if there is none. Without
// a complete history, some tags may be missing, so lastTag returns an error.
func lastTag(root string) (string, error) {
	out, err := command(root, nil, "git", "rev-parse", "--is-shallow-repository", "--show-prefix")
	if err != nil {
		return "", fmt.Errorf("that takes a checkout by git, with its tags: %w", err)
	}
	switch shallow, prefix, _ := strings.Cut(strings.TrimSpace(string(out)), "\n"); {
	case prefix != "":
		return "", fmt.Errorf("%s lies in the checkout of something else, as its %s: that takes one of its own, with its tags", root, prefix)
	case shallow != "false":
		return "", errors.New("this checkout is shallow, so its tags may be missing: git fetch --unshallow --tags")
	}
	// Sort by version, with v1.0.0-rc.1 before v1.0.0.
	out, err = command(root, nil, "git", "-c", "versionsort.suffix=-", "tag", "--list", "v[0-9]*", "--merged", "HEAD", "--sort=-version:refname")
	if err != nil {
		return "", err
	}
	tag, _, _ := strings.Cut(string(out), "\n")
	return tag, nil
}

// promise returns an error if was, the API of the tag, has lines that are neither in s nor in
// allowed.
func (s surface) promise(o options, was surface, tag string, allowed []string) error {
	gone := slices.DeleteFunc(was.minus(s), func(l string) bool { return slices.Contains(allowed, l) })
	if len(gone) > 0 {
		return fmt.Errorf("%s exported what is gone or changed; put it back, or list it in api/%s and raise the minor version:\n%s",
			tag, removedFile, strings.Join(gone, "\n"))
	}
	fmt.Fprintf(o.out, "api: all of %s is there; %d lines are new, %d were removed on purpose\n", tag, len(s.minus(was)), len(allowed))
	return nil
}

func surfaceOfTag(root, tag string) (surface, error) {
	source, err := command(root, nil, "git", "archive", tag)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "api")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	tar := exec.Command("tar", "-x", "-C", dir)
	tar.Stdin = bytes.NewReader(source)
	if text, err := tar.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("tar: %w: %s", err, text)
	}
	return surfaceOf(dir)
}
