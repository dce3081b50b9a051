package main

import (
	"fmt"
	"math"
	"strings"
)

// Dimensions of the picture, in pixels.
const (
	width, height = 800, 330
	left          = 80  // x coordinate of time 0
	right         = 770 // x coordinate of the end of the longest step
	lane          = 30  // height of a lane
)

const (
	hostColor   = "#2471a3"
	deviceColor = "#1e8449"
	textColor   = "#17202a"
	laneColor   = "#eaecee"
)

type canvas struct {
	strings.Builder
	perMicrosecond float64 // number of pixels per µs
}

func (c *canvas) x(micros float64) float64 { return left + micros*c.perMicrosecond }

func (c *canvas) rect(x, y, w, h float64, color string) {
	fmt.Fprintf(c, "<rect x=\"%.2f\" y=\"%.0f\" width=\"%.2f\" height=\"%.0f\" fill=\"%s\"/>\n", x, y, w, h, color)
}

func (c *canvas) text(x, y float64, attributes, text string) {
	fmt.Fprintf(c, "<text x=\"%.0f\" y=\"%.0f\" %s>%s</text>\n", x, y, attributes, text)
}

// draw returns the picture as SVG.
func draw(f figures) string {
	longest := math.Max(f.launches.wall, f.graph.wall)
	c := &canvas{perMicrosecond: (right - left) / longest}
	fmt.Fprintf(c, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\" font-size=\"13\" fill=\"%s\">\n",
		width, height, width, height, textColor)
	fmt.Fprintf(c, "<title>One step of %d kernels and %d copies: by stream launches the host is busy for %.2f µs and the step takes %.2f µs; as a graph %.2f µs and %.2f µs</title>\n",
		f.kernels, f.copies, f.launches.host, f.launches.wall, f.graph.host, f.graph.wall)
	c.rect(0, 0, width, height, "#ffffff")

	// Assume that the device lags behind the host by the same time after the first launch as after
	// the last.
	delay := f.launches.wall - f.launches.host
	n := f.operations()
	kernel := (f.graph.wall - delay) / float64(n)
	every := f.launches.host / float64(n)

	c.heading(24, fmt.Sprintf("%d kernels and %d copies, launched one by one", f.kernels, f.copies), f.launches)
	c.lanes(34)
	for i := range n {
		begin := float64(i) * every
		c.block(begin, every, 34, hostColor)
		c.block(begin+every+delay-kernel, kernel, 34+lane+6, deviceColor)
	}
	c.heading(144, "The same as one graph launch", f.graph)
	c.lanes(154)
	c.block(0, f.graph.host, 154, hostColor)
	for i := range n {
		c.block(delay+float64(i)*kernel, kernel, 154+lane+6, deviceColor)
	}
	c.axis(longest)
	c.text(left, 292, `font-size="11"`, "Measured: how long the host is busy, and when the step is done. Not measured, and drawn equally long:")
	c.text(left, 308, `font-size="11"`, "each launch and each kernel. Between two kernels that were launched one by one the device waits for the host.")
	c.WriteString("</svg>\n")
	return c.String()
}

func (c *canvas) heading(y float64, what string, w way) {
	c.text(left, y, `font-weight="bold"`, fmt.Sprintf("%s: host busy for %.2f µs, done after %.2f µs", what, w.host, w.wall))
}

// lanes draws the empty lanes of the host and of the device.
func (c *canvas) lanes(y float64) {
	for i, name := range []string{"host", "device"} {
		top := y + float64(i)*(lane+6)
		c.rect(left, top, right-left, lane, laneColor)
		c.text(left-10, top+lane/2+5, `text-anchor="end"`, name)
	}
}

// block draws an interval of time, with a gap before the next block.
func (c *canvas) block(begin, length, y float64, color string) {
	w := length * c.perMicrosecond
	c.rect(c.x(begin), y, math.Max(w-math.Min(1, w/3), 0.5), lane, color)
}

// axis draws a mark every 50 µs.
func (c *canvas) axis(longest float64) {
	const y = 240
	c.rect(left, y, right-left, 1, textColor)
	for t := 0.0; t <= longest; t += 50 {
		c.rect(c.x(t), y, 1, 6, textColor)
		c.text(c.x(t), y+20, `text-anchor="middle"`, fmt.Sprintf("%.0f µs", t))
	}
}
