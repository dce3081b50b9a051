package main

import (
	_ "embed"
	"encoding/json"
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"
)

//go:embed Containerfile
var containerfile string

// This test does not build the container. It checks the parts of the Containerfile that can
// become outdated.
func TestContainerfileFitsTheModule(t *testing.T) {
	mod, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindSubmatch(mod)
	if version == nil || !strings.Contains(containerfile, "golang:"+string(version[1])+" ") {
		t.Errorf("the image to build in is not that of go.mod's version, %s", version)
	}
	if !strings.Contains(containerfile, "\nARG TARGETOS TARGETARCH\n") {
		t.Error("the platform has to come from the builder, whose values a default would replace")
	}
	if flag.Lookup("device") == nil { // demo.Main defines this flag in the program
		flag.String("device", "auto", "")
	}
	for _, line := range strings.Split(containerfile, "\n") {
		if _, list, found := strings.Cut(line, "ENTRYPOINT "); found {
			command(t, list, "/18-service")
		} else if _, list, found := strings.Cut(line, "CMD "); found {
			command(t, list)
		}
	}
}

// command checks a command line. It must begin with the words in front, and the rest must be
// flags with values.
func command(t *testing.T, list string, front ...string) {
	t.Helper()
	var words []string
	if err := json.Unmarshal([]byte(list), &words); err != nil {
		t.Fatalf("%s: %v", list, err)
	}
	for i, w := range front {
		if words[i] != w {
			t.Errorf("%s: %q is not %q", list, words[i], w)
		}
	}
	for i := len(front); i < len(words); i += 2 {
		if flag.Lookup(strings.TrimPrefix(words[i], "-")) == nil || i+1 == len(words) {
			t.Errorf("%s: no flag %s with a value", list, words[i])
		}
	}
}
