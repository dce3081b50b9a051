package view

import (
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/purecuda/cuda/graph/arena"
	"github.com/purecuda/cuda/graph/internal/refusal"
)

var noWriter = refusal.Invalid("cannot draw an arena: no io.Writer")

// barWidth is the number of characters of a bar.
const barWidth = 60

// Marks in the bars of WriteArena.
const (
	freeMark  = '.'
	usedMark  = '='
	openMark  = '#'
	chunkMark = '|'
)

// WriteArena draws the memory of an arena as text. After a line for the arena, each plan has a line
// with a bar that represents the whole arena. In a bar, '=' marks memory used by the plan's graphs
// or its shared buffers. '#' marks open buffers, which other plans cannot use, and '.' marks other
// memory. A line for each open buffer follows. If the arena has several chunks, '|' in the line
// above the bars marks where each chunk begins. The drawing shows offsets in the arena instead of
// addresses.
func WriteArena(w io.Writer, r arena.Report) error {
	if w == nil {
		return noWriter
	}
	b := &strings.Builder{}
	fmt.Fprintf(b, "arena: %s in %s, %s\n", size(r.Bytes), plural(len(r.Chunks), "chunk"), plural(len(r.Plans), "plan"))
	name := 0
	for _, p := range r.Plans {
		name = max(name, utf8.RuneCountInString(p.Name))
	}
	if len(r.Chunks) > 1 {
		fmt.Fprintf(b, "%*s  %s\n", name, "", chunkBar(r))
	}
	for i := range r.Plans {
		p := &r.Plans[i]
		pad := strings.Repeat(" ", name-utf8.RuneCountInString(p.Name))
		fmt.Fprintf(b, "%s%s  %s  %s\n", line(p.Name), pad, bar(r, p), planText(p))
		for _, o := range p.Open {
			fmt.Fprintf(b, "%*s  %s\n", name, "", openText(r, o))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// line replaces control characters in a name, so that the name fits on a line with unchanged
// length.
func line(name string) string {
	return strings.Map(func(c rune) rune {
		if c < ' ' {
			return ' '
		}
		return c
	}, name)
}

func planText(p *arena.PlanReport) string {
	s := fmt.Sprintf("%s, %s", size(p.Bytes), plural(p.Graphs, "graph"))
	if p.Shared {
		s += ", shared"
	}
	return s
}

func openText(r arena.Report, o arena.BufferReport) string {
	return fmt.Sprintf("open: %s, %s at %s", o.Kind, size(o.Bytes), size(offset(r, o.Ptr)))
}

// offset returns the position of an address in the arena, as if the chunks were adjacent.
func offset(r arena.Report, ptr uint64) (at uint64) {
	for _, c := range r.Chunks {
		if ptr >= c.Ptr && ptr < c.Ptr+c.Bytes {
			return at + ptr - c.Ptr
		}
		at += c.Bytes
	}
	return at
}

func chunkBar(r arena.Report) string {
	b := []byte(strings.Repeat(" ", barWidth))
	at := uint64(0)
	for _, c := range r.Chunks {
		if r.Bytes > 0 && at < r.Bytes {
			b[scale(at, r.Bytes, barWidth)] = chunkMark
		}
		at += c.Bytes
	}
	return strings.TrimRight(string(b), " ")
}

func bar(r arena.Report, p *arena.PlanReport) string {
	b := []byte(strings.Repeat(string(freeMark), barWidth))
	mark := func(ptr, bytes uint64, m byte) {
		if bytes == 0 || r.Bytes == 0 {
			return
		}
		at := offset(r, ptr)
		for i := scale(at, r.Bytes, barWidth); i <= scale(at+bytes-1, r.Bytes, barWidth) && i < barWidth; i++ {
			b[i] = m
		}
	}
	for _, u := range p.Ranges {
		mark(u.Ptr, u.Bytes, usedMark)
	}
	for _, o := range p.Open {
		mark(o.Ptr, o.Bytes, openMark)
	}
	return string(b)
}

// scale converts the position at, on a scale up to total, to a scale up to width.
func scale(at, total uint64, width int) int {
	return int(float64(at) / float64(total) * float64(width))
}

// size formats a number of bytes.
func size(n uint64) string {
	units := []string{"KiB", "MiB", "GiB", "TiB"}
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	v, i := float64(n)/1024, 0
	for v >= 1024 && i+1 < len(units) {
		v, i = v/1024, i+1
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0") + " " + units[i]
}

// The layout of WriteArenaSVG in pixels.
const (
	svgLeft   = 230
	svgBar    = 460
	svgRight  = 190
	svgTop    = 60
	svgRow    = 30
	svgHeight = 20
)

// The colors of WriteArenaSVG.
const (
	svgUsed  = "#7fb3d5"
	svgOpen  = "#1f618d"
	svgFree  = "#eaecee"
	svgChunk = "#c0392b"
)

// WriteArenaSVG draws the same information as [WriteArena], as an SVG image with a legend. In a
// browser, the size of a range appears when the pointer is over the range.
func WriteArenaSVG(w io.Writer, r arena.Report) error {
	if w == nil {
		return noWriter
	}
	b := &strings.Builder{}
	width, height := svgLeft+svgBar+svgRight, svgTop+svgRow*(len(r.Plans)+1)+10
	head := fmt.Sprintf("arena: %s in %s", size(r.Bytes), plural(len(r.Chunks), "chunk"))
	fmt.Fprintf(b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%[1]d" height="%[2]d" font-family="sans-serif" font-size="13" fill="#17202a">`+"\n", width, height)
	fmt.Fprintf(b, "<title>%s, %s</title>\n", head, plural(len(r.Plans), "plan"))
	fmt.Fprintf(b, `<rect width="%d" height="%d" fill="#ffffff"/>`+"\n", width, height)
	fmt.Fprintf(b, `<text x="%d" y="22" font-weight="bold">%s</text>`+"\n", svgLeft, head)
	fmt.Fprintf(b, `<text x="%d" y="46">0</text><text x="%d" y="46" text-anchor="end">%s</text>`+"\n", svgLeft, svgLeft+svgBar, size(r.Bytes))
	for i := range r.Plans {
		svgPlan(b, r, &r.Plans[i], svgTop+svgRow*i)
	}
	at := uint64(0)
	for _, c := range r.Chunks {
		if at > 0 && r.Bytes > 0 {
			x := math.Round(svgLeft + float64(at)/float64(r.Bytes)*svgBar)
			fmt.Fprintf(b, `<line x1="%g" y1="%d" x2="%[1]g" y2="%[3]d" stroke="%[5]s" stroke-dasharray="3"><title>a chunk begins at %[4]s</title></line>`+"\n",
				x, svgTop-8, height-svgRow-8, size(at), svgChunk)
		}
		at += c.Bytes
	}
	svgLegend(b, height-svgRow, len(r.Chunks) > 1)
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// svgLegend explains the colors.
func svgLegend(b *strings.Builder, y int, chunks bool) {
	x := svgLeft
	entry := func(color, text string, width int) {
		fmt.Fprintf(b, `<rect x="%d" y="%d" width="14" height="14" fill="%s"/><text x="%d" y="%d">%s</text>`+"\n", x, y+2, color, x+20, y+14, text)
		x += width
	}
	entry(svgUsed, "used by the plan", 140)
	entry(svgOpen, "open buffer, avoided by later plans", 245)
	entry(svgFree, "other memory", 120)
	if chunks {
		fmt.Fprintf(b, `<line x1="%d" y1="%d" x2="%[1]d" y2="%[3]d" stroke="%[4]s" stroke-dasharray="3"/><text x="%[5]d" y="%[6]d">a chunk begins</text>`+"\n",
			x, y, y+18, svgChunk, x+10, y+14)
	}
}

func svgPlan(b *strings.Builder, r arena.Report, p *arena.PlanReport, y int) {
	fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="end">%s</text>`+"\n", svgLeft-10, y+15, xmlText(p.Name))
	fmt.Fprintf(b, `<rect x="%d" y="%d" width="%d" height="%d" fill="%s"/>`+"\n", svgLeft, y, svgBar, svgHeight, svgFree)
	for _, u := range p.Ranges {
		svgRange(b, r, u.Ptr, u.Bytes, y, svgUsed, fmt.Sprintf("%s at %s", size(u.Bytes), size(offset(r, u.Ptr))))
	}
	for _, o := range p.Open {
		svgRange(b, r, o.Ptr, o.Bytes, y, svgOpen, openText(r, o))
	}
	fmt.Fprintf(b, `<text x="%d" y="%d">%s</text>`+"\n", svgLeft+svgBar+10, y+15, planText(p))
}

func svgRange(b *strings.Builder, r arena.Report, ptr, bytes uint64, y int, color, title string) {
	if r.Bytes == 0 {
		return
	}
	at := svgLeft + float64(offset(r, ptr))/float64(r.Bytes)*svgBar
	width := max(float64(bytes)/float64(r.Bytes)*svgBar, 0.5) // even a small range must be visible
	fmt.Fprintf(b, `<rect x="%.2f" y="%d" width="%.2f" height="%d" fill="%s"><title>%s</title></rect>`+"\n", at, y, width, svgHeight, color, xmlText(title))
}

func xmlText(s string) string {
	b := &strings.Builder{}
	_ = xml.EscapeText(b, []byte(line(s))) // a Builder never fails
	return b.String()
}
