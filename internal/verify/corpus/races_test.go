package corpus_test

import (
	"io"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/internal/verify/corpus"
)

// The sources have no races, so the emulator must not report any in the compiled text.
func TestNoSourceHasARace(t *testing.T) {
	const checks = emulator.CheckSharedRaces | emulator.CheckGlobalRaces | emulator.CheckBarriers
	for _, b := range corpus.Builds {
		if b.SM != 90 {
			continue
		}
		text := texts(t, b)
		for _, src := range sources(t) {
			t.Run(b.Name+"/"+src.Name, func(t *testing.T) {
				emu := emulator.New(emulator.Config{Stdout: io.Discard, Check: checks})
				d, err := driver.New(emu)
				if err != nil {
					t.Fatal(err)
				}
				if o := run(t, d, src, b, text[src.Name]); o.err != nil {
					t.Error(o.err)
				}
				for _, f := range emu.Findings() {
					t.Error(f)
				}
			})
		}
	}
}
