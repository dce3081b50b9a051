package launcher

import (
	"fmt"
	"strings"
)

var axes = [3]string{"x", "y", "z"}

// Grid adds the method that computes the grid for a number of elements. If the kernel has a cluster
// size, the grid consists of whole clusters.
func (p *Printer) Grid(k *Kernel) {
	block, whole, n := [3]int{}, "", 3
	for i := range block {
		block[i] = max(k.Block[i], 1)
	}
	for n > 1 && block[n-1] == 1 && k.Cluster[n-1] <= 1 {
		n--
	}
	params := axes[:n]
	if n == 1 {
		params = []string{"n"}
	}
	if k.Cluster != [3]int{} {
		whole = " and whole clusters"
	}
	text := make([]string, 3)
	for i, size := range block {
		text[i] = fmt.Sprint(size)
	}
	p.F("// Grid returns a launch with a thread for each of %s elements, in blocks of %s%s.\n", strings.Join(params, " × "), strings.Join(text[:n], " × "), whole)
	p.F("func (%s) Grid(%s int) driver.LaunchConfig {\nreturn driver.LaunchConfig{", k.Type, strings.Join(params, ", "))
	if n == 1 && whole == "" {
		p.F("Grid: driver.Blocks(n, %s), Block: driver.D1(%s)", text[0], text[0])
	} else {
		sizes := []string{"X: 1", "Y: 1", "Z: 1"}
		for i, name := range params {
			sizes[i] = extent(i, name, block[i], k.Cluster[i])
		}
		p.F("Grid: driver.Dim3{%s}, Block: driver.D3(%s)", strings.Join(sizes, ", "), strings.Join(text, ", "))
	}
	if k.Shared > 0 {
		p.F(", SharedMem: %d", k.Shared)
	}
	p.F("}\n}\n\n")
}

// extent returns the field of a Dim3 that contains the number of blocks along an axis.
func extent(axis int, elements string, block, cluster int) string {
	name := strings.ToUpper(axes[axis])
	if cluster > 1 {
		return fmt.Sprintf("%s: %d * driver.Blocks(%s, %d*%d).X", name, cluster, elements, cluster, block)
	}
	return fmt.Sprintf("%s: driver.Blocks(%s, %d).X", name, elements, block)
}
