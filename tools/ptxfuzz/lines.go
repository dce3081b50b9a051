package main

import (
	"fmt"
	"os"
	"strings"
)

// given compares the instructions in files and prints the verdict on each. Each line contains the
// .version, the .target and the instruction.
func given(assemblers []*assembler, files []string) error {
	dir, err := os.MkdirTemp("", "ptxfuzz")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var jobs []*formsJob
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var last *formsJob
		for line := range strings.Lines(string(b)) {
			words := strings.Fields(line)
			if len(words) < 3 || strings.HasPrefix(line, "#") {
				continue
			}
			if last == nil || last.version != words[0] || last.target != words[1] || len(last.lines) == batch {
				last = &formsJob{a: newestFor(assemblers, words[0]), version: words[0], target: words[1]}
				if last.a == nil {
					return fmt.Errorf("no assembler takes PTX %s", words[0])
				}
				jobs = append(jobs, last)
			}
			last.lines = append(last.lines, strings.Join(words[2:], " "))
			last.families = append(last.families, "given")
		}
	}
	parallel(len(jobs), func(i int) { jobs[i].run(dir) })
	for _, j := range jobs {
		if j.err != nil {
			return j.err
		}
		for _, v := range j.out {
			kind := "same"
			switch {
			case v.theirs == crashed:
				kind = "crash"
			case v.theirs == "" && v.ours != "":
				kind = "REFUSED"
			case v.theirs != "" && v.ours == "":
				kind = "ACCEPTED"
			}
			fmt.Printf("%-8s %s | ptxas: %s | isa: %s\n", kind, v.what, orTaken(v.theirs), orTaken(v.ours))
		}
	}
	return nil
}

func orTaken(problem string) string {
	if problem == "" {
		return "taken"
	}
	return problem
}
