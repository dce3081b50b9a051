package emulator_test

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
)

// testdata/h200-answers.txt contains the results of driver 580 for calls that the headers do not
// fully specify, as recorded on a GPU machine. It has one line for each call, with its result code
// and what it stored.

const (
	answersFile = "testdata/h200-answers.txt"
	// differencesFile lists the questions for which the emulator's result differs, with the reason.
	differencesFile = "testdata/differences.txt"
	// unaskedFile lists the questions for a driver only, because the emulator lacks what they are
	// about, with the reason.
	unaskedFile = "testdata/unasked.txt"
	// writeAnswers names a file to which the answers are appended. It is how the recorded file is
	// made on a GPU machine.
	writeAnswers = "PURECUDA_WRITE_ANSWERS"
)

// questioner makes calls to one driver and records the results.
type questioner struct {
	*rig
	group   string
	answers []answer
	file    *os.File
}

type answer struct{ question, text string }

// ask records the result code of a call and, if the call succeeded, what it stored.
func (q *questioner) ask(question string, err error, stored ...any) {
	q.t.Helper()
	text := fmt.Sprint(uint32(code(err)))
	if err == nil && len(stored) > 0 {
		text += ":" + strings.TrimSuffix(fmt.Sprintln(append([]any{""}, stored...)...), "\n")
	}
	a := answer{q.group + ": " + question, text}
	q.answers = append(q.answers, a)
	if q.file != nil {
		fmt.Fprintf(q.file, "%s = %s\n", a.question, a.text)
	}
}

// questions are run group by group, each with its own driver.
var questions = []struct {
	group string
	ask   func(q *questioner)
}{
	{"ranges", askRanges}, {"memory", askMemory}, {"virtual", askVirtual}, {"arrays", askArrays},
	{"devices", askDevices}, {"contexts", askContexts}, {"coredumps", askCoredumps}, {"modules", askModules},
	{"launches", askLaunches}, {"streams", askStreams}, {"occupancy", askOccupancy}, {"logs", askLogs},
	{"sharing", askSharing}, {"textures", askTextures}, {"rest", askRest},
}

func TestAnswersAreThoseOfTheDriver(t *testing.T) {
	kept := readLines(t, answersFile)
	differences := readLines(t, differencesFile)
	unasked := readLines(t, unaskedFile)
	asked := make(map[string]bool)
	for _, group := range questions {
		t.Run(group.group, func(t *testing.T) {
			q := &questioner{rig: newRig(t), group: group.group}
			q.open()
			group.ask(q)
			for _, a := range q.answers {
				asked[a.question] = true
				q.compare(a, kept, differences)
			}
		})
	}
	if len(kept) == 0 {
		t.Error(answersFile, "has no answers")
	}
	if os.Getenv(writeAnswers) == "" { // otherwise the recorded ones are stale
		for _, question := range forgotten(kept, unasked, asked) {
			t.Errorf("%s was answered by the driver and is not asked", question)
		}
	}
	for question := range unasked {
		switch {
		case kept[question] == "":
			t.Errorf("%s is said not to be asked, and no driver was", question)
		case !onGPU && asked[question]:
			t.Errorf("%s is said not to be asked, and is", question)
		}
	}
	for question := range differences {
		if !asked[question] {
			t.Errorf("%s is said to differ and is not asked", question)
		}
	}
	t.Logf("%d answers, %d of them differ and are explained", len(asked), len(differences))
}

// forgotten lists the recorded questions that were not asked but should have been.
func forgotten(kept, unasked map[string]string, asked map[string]bool) (list []string) {
	for question := range kept {
		if _, not := unasked[question]; !asked[question] && (onGPU || !not) {
			list = append(list, question)
		}
	}
	return list
}

func TestForgottenQuestionsAreNoticed(t *testing.T) {
	kept := map[string]string{"asked": "0", "forgotten": "0"}
	if list := forgotten(kept, nil, map[string]bool{"asked": true}); len(list) != 1 || list[0] != "forgotten" {
		t.Errorf("noticed %q", list)
	}
}

// compare compares an answer with the recorded one.
func (q *questioner) compare(a answer, kept, differences map[string]string) {
	q.t.Helper()
	want, ok := kept[a.question]
	reason, differs := differences[a.question]
	switch {
	case q.file != nil: // being written
	case !ok:
		q.t.Errorf("%s = %s: the driver was not asked", a.question, a.text)
	case !onGPU && differs && a.text == want:
		q.t.Errorf("%s = %s as on the driver, and yet is said to differ: %s", a.question, a.text, reason)
	case (onGPU || !differs) && a.text != want:
		q.t.Errorf("%s = %s, the driver said %s", a.question, a.text, want)
	}
}

// open opens the file to write to, if one is named.
func (q *questioner) open() {
	name := os.Getenv(writeAnswers)
	if name == "" {
		return
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	q.ok(err)
	q.file = f
	q.t.Cleanup(func() { f.Close() })
}

// readLines reads a file of lines "question = text".
func readLines(t *testing.T, file string) map[string]string {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	kept := make(map[string]string)
	for line := range bytes.Lines(data) {
		text := strings.TrimSpace(string(line))
		if question, said, ok := strings.Cut(text, " = "); ok && !strings.HasPrefix(text, "#") {
			kept[question] = said
		}
	}
	return kept
}

// managed allocates managed memory for the duration of the test.
func (q *questioner) managed(size uintptr) (p cu.CUdeviceptr) {
	q.t.Helper()
	q.ok(q.CuMemAllocManaged(&p, size, uint32(cu.CU_MEM_ATTACH_GLOBAL)))
	q.t.Cleanup(func() { q.CuMemFree(p) })
	return p
}

var (
	device0 = cu.CUmemLocation{Type: cu.CU_MEM_LOCATION_TYPE_DEVICE}
	host    = cu.CUmemLocation{Type: cu.CU_MEM_LOCATION_TYPE_HOST}
)

// alignedPages returns n pages of ordinary memory.
func alignedPages(n int) unsafe.Pointer {
	const page = 4096
	b := make([]byte, (n+1)*page)
	return unsafe.Pointer(&b[-uintptr(unsafe.Pointer(&b[0]))%page])
}

func itoa(n int) string { return strconv.Itoa(n) }
