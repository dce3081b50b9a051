package go2ptx

import (
	"fmt"
	"slices"
	"strings"

	"github.com/purecuda/cuda/ptx"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/launch"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/source"
)

// compileVariants compiles the kernels for each of cfg.Variants.
func compileVariants(p *source.Program, cfg Config) ([]*compiled, error) {
	var all []*compiled
	seen := map[string]bool{cfg.Target: true}
	base, _ := ptx.ParseTarget(cfg.Target)
	for _, name := range cfg.Variants {
		t, ok := ptx.ParseTarget(name)
		switch {
		case !ok:
			return nil, fmt.Errorf("go2ptx: the variant %q is not a target such as sm_90", name)
		case seen[name]:
			return nil, fmt.Errorf("go2ptx: the variant %s is given twice, or is the target", name)
		case t.Major < base.Major || t.Major == base.Major && t.Minor < base.Minor:
			return nil, fmt.Errorf("go2ptx: the variant %s is older than the target %s: the target must be the oldest", name, cfg.Target)
		}
		seen[name] = true
		cfg.Target = name
		c, err := compile(p, cfg)
		if err != nil {
			return nil, fmt.Errorf("variant %s: %w", name, err)
		}
		all = append(all, c)
	}
	return all, nil
}

// variantFile returns the name of the PTX file of a variant.
func variantFile(base, target string) string {
	if base == "" {
		return ""
	}
	return strings.TrimSuffix(base, ".ptx") + "." + target + ".ptx"
}

// variantSet is a program compiled for one or more targets. The launchers must suit all of them.
type variantSet []*compiled

func (s variantSet) readOnly(kernel, param string) bool {
	return !slices.ContainsFunc(s, func(c *compiled) bool { return !c.readOnly(kernel, param) })
}

func (s variantSet) traps(kernel string) bool {
	return slices.ContainsFunc(s, func(c *compiled) bool { return c.traps(kernel) })
}

func (s variantSet) linked() (names []string) {
	for _, c := range s {
		names = append(names, c.linked()...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// variables returns the variables of all variants, sorted. The function that returns one fails with
// CUDA_ERROR_NOT_FOUND on a device whose variant does not use the variable.
func (s variantSet) variables() (list []launch.Variable) {
	for _, c := range s {
		list = append(list, c.variables()...)
	}
	slices.SortFunc(list, func(a, b launch.Variable) int { return strings.Compare(a.Name, b.Name) })
	return slices.Compact(list)
}
