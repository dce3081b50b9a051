package main

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// answers holds what a GPU's driver returned in the tests that compare it with the emulator, and
// the tests in which the emulator differs.
type answers struct {
	said  map[string]string
	other []difference
}

type difference struct{ question, said, reason string }

func readAnswers(folder string) (answers, error) {
	said, err := readLines(filepath.Join(folder, "h200-answers.txt"))
	if err != nil {
		return answers{}, err
	}
	reasons, err := readLines(filepath.Join(folder, "differences.txt"))
	if err != nil {
		return answers{}, err
	}
	a := answers{said: said}
	for question, reason := range reasons {
		if said[question] == "" {
			return a, fmt.Errorf("%q is said to differ from an answer that nobody gave", question)
		}
		a.other = append(a.other, difference{question, said[question], reason})
	}
	slices.SortFunc(a.other, func(x, y difference) int {
		return cmp.Or(strings.Compare(x.reason, y.reason), strings.Compare(x.question, y.question))
	})
	return a, nil
}

// readLines reads lines of the form "question = answer".
func readLines(file string) (map[string]string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	lines := make(map[string]string)
	for line := range bytes.Lines(data) {
		question, about, ok := strings.Cut(strings.TrimSpace(string(line)), " = ")
		if ok && !strings.HasPrefix(question, "#") {
			lines[question] = about
		}
	}
	return lines, nil
}
