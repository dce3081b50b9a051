package view_test

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph/arena"
	"github.com/purecuda/cuda/graph/view"
)

// decodeArena returns an arena with the plans of a decoder. There is one plan for each of several
// batch sizes, and the graphs of these plans use the same memory. There are also a plan with an
// open result and a shared plan.
func (k *kit) decodeArena() *arena.Arena {
	k.Helper()
	const mib = 1 << 20
	a, err := arena.New(k.C, arena.WithChunk(6*mib))
	k.OK(err)
	k.CloseLater(a)
	alloc := func(p *arena.Plan, bytes int) *driver.Buffer[float32] {
		b, err := arena.Alloc[float32](p, bytes/4)
		k.OK(err)
		k.CloseLater(b)
		return b
	}
	for rows := 1; rows <= 4; rows *= 2 {
		p, err := a.Plan(fmt.Sprintf("decode, batch of %d", rows))
		k.OK(err)
		hidden, scores := alloc(p, rows*mib), alloc(p, rows*mib/2)
		g := k.Graph()
		k.OK(g.Keep(hidden.Ref(), scores.Ref()))
		k.Exec(g)
		if rows == 2 {
			k.OK(p.Seal(scores))
		} else {
			k.OK(p.Seal())
		}
	}
	p, err := a.SharedPlan("encode <q & k>")
	k.OK(err)
	alloc(p, mib)
	return a
}

// The drawings must be the same in every run and on every device. One of them is part of the
// documentation.
func TestDrawingsOfAnArena(t *testing.T) {
	each(t, func(k *kit) {
		r := k.decodeArena().Report()
		text, svg := &strings.Builder{}, &strings.Builder{}
		k.OK(view.WriteArena(text, r))
		k.OK(view.WriteArenaSVG(svg, r))
		k.golden("arena.txt", text.String())
		k.golden("../../../docs/pictures/arena.svg", svg.String())
		for d := xml.NewDecoder(strings.NewReader(svg.String())); ; {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				k.Fatal(err)
			}
		}
	})
}

// Inconsistent reports, and reports without an arena, must be drawn without a panic.
func TestDrawingsOfOddArenas(t *testing.T) {
	plan := arena.PlanReport{Name: "a\nb", Bytes: 1, Ranges: []arena.Range{{Ptr: 5, Bytes: 1 << 40}}, Open: []arena.BufferReport{{Ptr: 1, Bytes: 3}}}
	for _, r := range []arena.Report{
		{}, {Plans: []arena.PlanReport{plan}}, {Bytes: 10, Plans: []arena.PlanReport{plan, {}}},
		{Bytes: 10, Chunks: []arena.Range{{Ptr: 0, Bytes: 3}, {Ptr: 100, Bytes: 1 << 50}}, Plans: []arena.PlanReport{plan}},
	} {
		b := &strings.Builder{}
		if err := errors.Join(view.WriteArena(b, r), view.WriteArenaSVG(b, r)); err != nil || strings.Contains(b.String(), "NaN") {
			t.Errorf("%v: %s", err, b)
		}
	}
	if err := errors.Join(view.WriteArena(nil, arena.Report{}), view.WriteArenaSVG(nil, arena.Report{})); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
		t.Errorf("without a writer: %v", err)
	}
	if err := view.WriteArena(brokenWriter{}, arena.Report{}); !errors.Is(err, os.ErrClosed) {
		t.Errorf("got %v", err)
	}
	if err := view.WriteArenaSVG(brokenWriter{}, arena.Report{}); !errors.Is(err, os.ErrClosed) {
		t.Errorf("got %v", err)
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, os.ErrClosed }
