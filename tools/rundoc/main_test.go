package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const older = `# A GPU

<!-- run: tests; aaaaaaa, 2026-01-01; one GPU -->

The tests:

` + "```" + `
PASS tests driver: 5 passed, 1 skipped
PASS tests graph: 7 passed, 0 skipped
` + "```" + `

<!-- run: tests; bbbbbbb, 2026-01-02; one GPU -->
` + "```" + `
PASS tests driver: 5 passed, 1 skipped
FAIL tests graph: 3 passed, 0 skipped (status 2)
NOT RUN example 16-nccl: There is nothing to show
` + "```" + `

<!-- run: examples; bbbbbbb, 2026-01-02; one GPU -->
` + "```" + `
$ first
[1 2]

$ 16-nccl -device gpu
There is nothing to show: NCCL moves data between GPUs only.

$ 17-cublas -device gpu
right
` + "```" + `

<!-- run: soak; bbbbbbb, 2026-01-02; one GPU -->
` + "```" + `
5 results verified
soak: PASS
` + "```" + `

<!-- run: compare; bbbbbbb, 2026-01-02; one GPU -->
| call | to C | kept |
|---|--:|---|
| launch | 1.0 | yes |
| copy | 1.2 | NO: ratio |
`

func TestTableIsCountedFromWhatWasPrinted(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("docs/results/a.md", older)
	write("docs/platforms.md", "# x\n\n"+begin+"| old |\n"+end+"\nafter\n")
	if err := run(root, true); err == nil {
		t.Error("an old table passes")
	}
	if err := run(root, false); err != nil {
		t.Fatal(err)
	}
	if err := run(root, true); err != nil {
		t.Error(err)
	}
	got, err := os.ReadFile(filepath.Join(root, output))
	if err != nil {
		t.Fatal(err)
	}
	want := "# x\n\n" + begin + `| part | on | at | outcome |
|---|---|---|---|
| tests | one GPU | bbbbbbb, 2026-01-02 | [1 of 3 passed (8 tests, 1 skipped), **1 failed**: tests graph: 3 passed, 0 skipped (status 2), 1 not run](results/a.md) |
| tests | one GPU | aaaaaaa, 2026-01-01 | [2 of 2 passed (12 tests, 1 skipped)](results/a.md) |
| examples | one GPU | bbbbbbb, 2026-01-02 | [2 of 3 passed, 1 not run](results/a.md) |
| soak | one GPU | bbbbbbb, 2026-01-02 | [1 of 1 passed](results/a.md) |
| compare | one GPU | bbbbbbb, 2026-01-02 | [1 of 2 passed, **1 failed**: copy](results/a.md) |
` + end + "\nafter\n"
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestRunsWithoutAVerdictAreNamed(t *testing.T) {
	for text, want := range map[string]string{
		"<!-- run: tests; aaaaaaa; one GPU -->\n":                                         "a.md:1: write <!-- run:",
		"<!-- run: tests; aaaaaaa, 2026-01-01; one GPU -->\n\n```\nhello\n```\n":          "a.md:1: what follows has no verdict",
		"\n<!-- run: tests; aaaaaaa, 2026-01-01; one GPU -->\n":                           "a.md:2: what follows has no verdict",
		"<!-- run: tests; aaaaaaa, 2026-01-01; one GPU -->\n<!-- x -->\n```\nPASS a\n```": "a.md:1: what follows has no verdict",
	} {
		if _, err := results("a.md", text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
