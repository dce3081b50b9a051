package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func small(t *testing.T) surface {
	t.Helper()
	s, err := surfaceOf("testdata/small")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestEveryThingAUserCanDependOnHasALine(t *testing.T) {
	want := []string{
		"const Answer untyped int = 42",
		`const Name untyped string = "small"`,
		"func Each[T any]([]T, func(int, T) error) error",
		"func OnWindows(...uintptr) (windows-amd64)",
		"func OnWindows(...uintptr) (windows-arm64)",
		"method (*Base) Set(int)",
		"method (*Point) Move(T, T) bool",
		"method (*Point) Set(int)",
		"method (Base) Value()",
		"method (Point) Value()",
		"type Alias = small.Base",
		"type Base struct",
		"type Base struct, ID int",
		"type Kind uint8",
		"type Number interface{ ~int | ~float64 }",
		"type Point[T small.Number] struct, embedded Base small.Base",
		"type Point[T small.Number] struct, not comparable",
		"type Point[T small.Number] struct, X T",
		"type Point[T small.Number] struct, Y T",
		"type Shape interface { Area(float64) float64; private() }",
		"var Default io.Reader",
	}
	s := small(t)
	slices.Sort(want)
	if got := s[""]; !slices.Equal(got, want) {
		t.Errorf("lines\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if len(s) != 2 || !slices.Equal(s["sub"], []string{"var Sub int"}) {
		t.Errorf("packages %v", s)
	}
}

func TestFilesHaveToBeUpToDate(t *testing.T) {
	dir, s := t.TempDir(), small(t)
	for _, f := range []string{"gone.txt", removedFile} {
		if err := os.WriteFile(filepath.Join(dir, f), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.write(dir); err != nil {
		t.Fatal(err)
	}
	if err := s.compareFiles(dir); err != nil {
		t.Error(err)
	}
	files, _ := filepath.Glob(dir + "/*")
	if len(files) != 3 {
		t.Errorf("files %q: want one for each package and %s", files, removedFile)
	}
	s["sub"] = []string{"var Sub int64"}
	err := s.compareFiles(dir)
	if err == nil || !strings.Contains(err.Error(), "- sub: var Sub int\n+ sub: var Sub int64") {
		t.Errorf("error %v", err)
	}
}

// Compared with the API of the last tag, removals must be reported and additions allowed.
func TestWhatATagExportedHasToStay(t *testing.T) {
	root := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		gitIn(t, root, args...)
	}
	if err := os.CopyFS(root, os.DirFS("testdata/small")); err != nil {
		t.Fatal(err)
	}
	git("init", "-q")
	git("add", ".")
	git("commit", "-q", "-m", "one")
	var out bytes.Buffer
	o := options{root: root, out: &out}
	if err := api(o); err != nil || !strings.Contains(out.String(), "no tag") {
		t.Errorf("without a tag: %v, %s", err, &out)
	}
	git("tag", "v0.1.0")
	if err := os.WriteFile(filepath.Join(root, "sub", "sub.go"), []byte("package sub\n\nvar New, Sub int8\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	err := api(o)
	if err == nil || !strings.Contains(err.Error(), "v0.1.0") || !strings.HasSuffix(err.Error(), "\nsub: var Sub int") {
		t.Errorf("error %v", err)
	}
	out.Reset()
	if err := os.WriteFile(filepath.Join(root, "api", removedFile), []byte("# why\nsub: var Sub int\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := api(o); err != nil || !strings.Contains(out.String(), "2 lines are new, 1 were removed on purpose") {
		t.Errorf("with %s: %v, %s", removedFile, err, &out)
	}
}

func gitIn(t *testing.T, dir string, args ...string) {
	t.Helper()
	who := []string{"-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "init.defaultBranch=main"}
	if _, err := command(dir, nil, "git", append(who, args...)...); err != nil {
		t.Fatal(err)
	}
}

func TestTheLastTagIsTheHighestVersionBehindTheCommit(t *testing.T) {
	root := t.TempDir()
	gitIn(t, root, "init", "-q")
	if tag, err := lastTag(root); err == nil {
		t.Errorf("without a commit it is %q", tag)
	}
	commit := []string{"commit", "-q", "--allow-empty", "-m", "one"}
	gitIn(t, root, commit...)
	for _, tag := range []string{"other", "v0.9.0", "v0.10.0-rc.1"} {
		gitIn(t, root, "tag", tag)
	}
	if tag, err := lastTag(root); tag != "v0.10.0-rc.1" || err != nil {
		t.Errorf("%q, %v", tag, err)
	}
	gitIn(t, root, "tag", "v0.10.0")
	gitIn(t, root, commit...)
	gitIn(t, root, "tag", "v2.0.0") // a tag on a later commit
	gitIn(t, root, "checkout", "-q", "HEAD~")
	if tag, err := lastTag(root); tag != "v0.10.0" || err != nil {
		t.Errorf("%q, %v", tag, err)
	}
}

// lastTag must return an error for a source that has no information about tags. If lastTag treated
// such a source as one without tags, the check would pass.
func TestASourceThatKnowsNoTagsIsAnError(t *testing.T) {
	root := t.TempDir()
	t.Setenv("GIT_CEILING_DIRECTORIES", filepath.Dir(root))
	wrong := func(dir, want string) {
		t.Helper()
		if tag, err := lastTag(dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q, %v; want %q", tag, err, want)
		}
	}
	wrong(root, "that takes a checkout by git, with its tags")

	whole, sub := filepath.Join(root, "whole"), filepath.Join(root, "whole", "sub")
	if err := os.MkdirAll(sub, 0o777); err != nil {
		t.Fatal(err)
	}
	gitIn(t, whole, "init", "-q")
	for range 2 {
		gitIn(t, whole, "commit", "-q", "--allow-empty", "-m", "one")
	}
	wrong(sub, "in the checkout of something else, as its sub/")
	gitIn(t, root, "clone", "-q", "--depth=1", "file://"+filepath.ToSlash(whole), "shallow")
	wrong(filepath.Join(root, "shallow"), "git fetch --unshallow --tags")
	t.Setenv("PATH", root)
	wrong(whole, "git")
}
