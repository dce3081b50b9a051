package corpus_test

import (
	"strings"
	"testing"

	"github.com/purecuda/cuda/internal/verify/corpus"
	"github.com/purecuda/cuda/ptx"
)

// leastSources is the minimum number of programs in the corpus.
const leastSources = 64

func sources(t testing.TB) []*corpus.Source {
	t.Helper()
	all, err := corpus.Sources()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < leastSources {
		t.Fatalf("%d sources, expected at least %d", len(all), leastSources)
	}
	return all
}

func texts(t testing.TB, b corpus.Build) map[string]string {
	t.Helper()
	all, err := b.PTX()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func eachText(t *testing.T, test func(t *testing.T, b corpus.Build, src *corpus.Source, text string)) {
	t.Helper()
	all := sources(t)
	for _, b := range corpus.Builds {
		t.Run(b.Name, func(t *testing.T) {
			t.Parallel()
			ptx := texts(t, b)
			for _, src := range all {
				t.Run(src.Name, func(t *testing.T) { test(t, b, src, ptx[src.Name]) })
			}
		})
	}
}

func TestEverySourceIsInEveryArchive(t *testing.T) {
	all := sources(t)
	for _, b := range corpus.Builds {
		ptx := texts(t, b)
		for _, src := range all {
			if ptx[src.Name] == "" {
				t.Errorf("%s: no PTX of %s", b.Name, src.Name)
			}
		}
		if len(ptx) != len(all) {
			t.Errorf("%s: %d texts of %d sources", b.Name, len(ptx), len(all))
		}
	}
}

func TestEveryKernelOfASourceIsRun(t *testing.T) {
	eachText(t, func(t *testing.T, b corpus.Build, src *corpus.Source, text string) {
		sigs, err := ptx.Signatures([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		run := make(map[string]bool)
		for _, s := range src.Steps {
			run[s.Name] = true
		}
		for _, s := range sigs.Kernels {
			if !run[s.Name] {
				t.Errorf("no line runs %s", s.Name)
			}
		}
	})
}

func TestCompilersTextSurvivesPrinting(t *testing.T) {
	eachText(t, func(t *testing.T, b corpus.Build, src *corpus.Source, text string) {
		printed := printedText(t, src.Name, text)
		if again := printedText(t, src.Name, printed); again != printed {
			t.Errorf("printed twice it is another text: %s", firstDifference(printed, again))
		}
	})
}

func printedText(t testing.TB, name, text string) string {
	t.Helper()
	m, err := ptx.Parse(name+".ptx", []byte(text))
	if err != nil {
		t.Fatalf("%+v", err)
	}
	return m.String()
}

func firstDifference(a, b string) string {
	other := strings.Split(b, "\n")
	for i, line := range strings.Split(a, "\n") {
		if i >= len(other) || line != other[i] {
			return line
		}
	}
	return "the second is longer"
}
