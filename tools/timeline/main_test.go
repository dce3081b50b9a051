package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const printed = `
12 blocks, dim 256, hidden 512: 84 kernels and 2 copies a step; 200 steps each way, medians

                    host per step  wall per step  largest error
stream launches         250.00 µs      260.00 µs        3.6e-07
captured graph            4.00 µs      107.50 µs        3.6e-07
`

func TestFiguresAreRead(t *testing.T) {
	f, err := read(printed)
	if want := (figures{84, 2, way{250, 260}, way{4, 107.5}}); f != want || err != nil {
		t.Errorf("%+v, %v, want %+v", f, err, want)
	}
}

func TestMissingFiguresAreNamed(t *testing.T) {
	for _, line := range []string{"12 blocks", "stream launches", "captured graph"} {
		_, err := read(strings.Replace(printed, line, "another line", 1))
		if err == nil || strings.Count(err.Error(), "no line matches") != 1 {
			t.Errorf("without %q: %v", line, err)
		}
	}
}

// For stream launches and for the graph, the picture must have one block per launch on the host,
// and one block per operation on the device.
func TestThePictureIsXMLWithABlockForEachOperation(t *testing.T) {
	f, err := read(printed)
	if err != nil {
		t.Fatal(err)
	}
	colors := make(map[string]int)
	d := xml.NewDecoder(strings.NewReader(draw(f)))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "rect" {
			for _, a := range e.Attr {
				if a.Name.Local == "fill" {
					colors[a.Value]++
				}
			}
		}
	}
	if colors[hostColor] != 86+1 || colors[deviceColor] != 86+86 {
		t.Errorf("%d launches and %d operations of the device are drawn", colors[hostColor], colors[deviceColor])
	}
}

func TestAStalePictureFails(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"docs/results", "docs/pictures"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	figures := func(text string) {
		if err := os.WriteFile(filepath.Join(root, results), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	figures(printed)
	if err := run(root, false); err != nil {
		t.Fatal(err)
	}
	if err := run(root, true); err != nil {
		t.Errorf("as it was drawn: %v", err)
	}
	figures(strings.Replace(printed, "107.50", "98.76", 1))
	if err := run(root, true); err == nil || !strings.Contains(err.Error(), "make docs") {
		t.Errorf("with another figure: %v", err)
	}
}
