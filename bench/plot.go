//go:build linux

package main

import (
	"bytes"
	"fmt"
	"math"
)

// The plot, in pixels.
const (
	width, height             = 780, 440
	left, right, top, bottom  = 70, 210, 20, 50
	leastTime, decadesOfTimes = 1e-3, 3 // seconds
)

// palette has colours that differ for the colour-blind too [Okabe and Ito].
var palette = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9"}

// draw returns a plot of the times over the size, both logarithmic, as SVG. A
// dashed line shows what grows as fast as the size.
func draw(all []series) []byte {
	const plotWidth, plotHeight = width - left - right, height - top - bottom
	x := func(step float64) float64 { return left + plotWidth*step/(steps-1) }
	y := func(seconds float64) float64 {
		return top + plotHeight*(1-math.Log10(max(seconds, leastTime)/leastTime)/decadesOfTimes)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="13">`+"\n", width, height)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="white"/>`+"\n", width, height)
	line := func(x1, y1, x2, y2 float64, style string) {
		fmt.Fprintf(&b, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" %s/>`+"\n", x1, y1, x2, y2, style)
	}
	label := func(x, y float64, style, format string, args ...any) {
		fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" %s>%s</text>`+"\n", x, y, style, fmt.Sprintf(format, args...))
	}
	for i := range steps {
		line(x(float64(i)), top, x(float64(i)), top+plotHeight, `stroke="#ddd"`)
		label(x(float64(i)), top+plotHeight+20, `text-anchor="middle"`, "%.0f n", math.Pow10(i))
	}
	for i := range decadesOfTimes + 1 {
		t := leastTime * math.Pow10(i)
		line(left, y(t), left+plotWidth, y(t), `stroke="#ddd"`)
		label(left-8, y(t)+4, `text-anchor="end"`, "%.0f ms", 1000*t)
	}
	line(x(0), y(leastTime), x(steps-1), y(leastTime*math.Pow10(steps-1)), `stroke="#888" stroke-dasharray="4 4"`)
	label(x(0.5), y(leastTime*math.Sqrt(10))+24, `fill="#888"`, "as the size")
	label(left+plotWidth/2, height-8, `text-anchor="middle"`, "size of the core in one respect, the others as they are")
	for i, s := range all {
		colour := palette[i%len(palette)]
		fmt.Fprintf(&b, `<polyline fill="none" stroke="%s" stroke-width="2" points="`, colour)
		for j, t := range s.times {
			fmt.Fprintf(&b, "%.1f,%.1f ", x(float64(j)), y(t.Seconds()))
		}
		b.WriteString("\"/>\n")
		for j, t := range s.times {
			fmt.Fprintf(&b, `<circle cx="%.1f" cy="%.1f" r="3.5" fill="%s"/>`+"\n", x(float64(j)), y(t.Seconds()), colour)
		}
		label(left+plotWidth+12, top+18+20*float64(i), `fill="`+colour+`"`, "%s, n = %d", s.name, s.from)
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}
