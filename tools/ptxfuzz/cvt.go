package main

import (
	"fmt"
	"os"
	"strings"
)

// cvt compares every conversion between integers of 8 to 64 bits, f16, bf16, f32 and f64. It
// uses each rounding mode, with and without .ftz and .sat. This includes the 1,944
// conversions in a public test suite (inputs of 16 and 32 bits), of which 1,581 are invalid.
func cvt(assemblers []*assembler, examples int) error {
	dir, err := os.MkdirTemp("", "ptxfuzz")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	types := strings.Fields("u8 s8 u16 s16 u32 s32 u64 s64 f16 bf16 f32 f64")
	register := map[string]string{
		"u8": "hu", "s8": "hs", "u16": "hu", "s16": "hs", "u32": "u", "s32": "s", "u64": "ud", "s64": "sd",
		"f16": "hb", "bf16": "hb", "f32": "f", "f64": "d",
	}
	suite := map[string]bool{"s16": true, "u16": true, "s32": true, "u32": true, "f16": true, "f32": true}
	var lines, families []string
	for _, d := range types {
		for _, s := range types {
			for _, round := range strings.Fields("- .rni .rzi .rmi .rpi .rn .rz .rm .rp") {
				for _, flags := range strings.Fields("- .ftz .sat .ftz.sat") {
					op := "cvt" + strings.TrimPrefix(round, "-") + strings.TrimPrefix(flags, "-") + "." + d + "." + s
					lines = append(lines, fmt.Sprintf("%s %%%s1, %%%s2;", op, register[d], register[s]))
					f := "more"
					if suite[s] && !strings.HasSuffix(d, "8") && d != "bf16" {
						f = "the suite's"
					}
					families = append(families, f)
				}
			}
		}
	}
	a := newestFor(assemblers, "7.8")
	var jobs []*formsJob
	for at := 0; at < len(lines); at += batch {
		end := min(at+batch, len(lines))
		jobs = append(jobs, &formsJob{a: a, version: "7.8", target: "sm_90", lines: lines[at:end], families: families[at:end]})
	}
	parallel(len(jobs), func(i int) { jobs[i].run(dir) })
	var all []verdict
	for _, j := range jobs {
		if j.err != nil {
			return j.err
		}
		all = append(all, j.out...)
	}
	return within(all, examples)
}
