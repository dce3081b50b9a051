package difftest

import "strings"

// This file covers atomic operations (PTX ISA, "Parallel Synchronization and Communication
// Instructions: atom, red"). Each thread operates on its own memory.

var updates = []struct{ op, types string }{
	{"and", "b32 b64"}, {"or", "b32 b64"}, {"xor", "b32 b64"},
	{"add", "u32 s32 u64 f32 f64"}, {"add.noftz", "f16 f16x2 bf16 bf16x2"},
	{"inc", "u32"}, {"dec", "u32"},
	{"min", "u32 s32 u64 s64"}, {"max", "u32 s32 u64 s64"},
}

// ownMemory lists the kinds of memory on which an atomic operation can operate. The test stores %a
// there first.
var ownMemory = []place{
	{"global", ".global", "[%ps]", ""},
	{"generic global", "", "[%w1]", "cvta.global.u64 %w1, %ps; "},
	{"shared", ".shared", "[%w1]", inShared},
	{"generic shared", "", "[%w2]", inShared + "cvta.shared.u64 %w2, %w1; "},
}

func atomicForms() []Form {
	t := &table{}
	for _, p := range ownMemory {
		for _, u := range updates {
			each(u.types, func(ty string) {
				t.atom(p, u.op, ty, "")
				t.red(p, u.op, ty, "")
			})
		}
		each("b32 b64", func(ty string) { t.atom(p, "exch", ty, "") })
		each("b16 b32 b64", func(ty string) { t.cas(p, ty) })
	}
	t.orders()
	t.wideAtomics()
	t.vectorAtomics()
	t.contended()
	return t.forms
}

// bits returns the untyped PTX type of the size of ty.
func bits(ty string) string {
	switch bitsOf(ty) {
	case 16:
		return "b16"
	case 64:
		return "b64"
	}
	return "b32"
}

func (t *table) atom(p place, op, ty, order string) {
	name := "atom" + order + p.space + "." + op + "." + ty
	t.add(name+" on "+p.name, twice(ty), twice(ty), p.setup+"st"+p.space+"."+bits(ty)+" "+p.address+", %a; "+
		name+" %d, "+p.address+", %b; ld"+p.space+"."+bits(ty)+" %x, "+p.address+";")
}

func (t *table) red(p place, op, ty, order string) {
	name := "red" + order + p.space + "." + op + "." + ty
	t.add(name+" on "+p.name, ty, twice(ty), p.setup+"st"+p.space+"."+bits(ty)+" "+p.address+", %a; "+
		name+" "+p.address+", %b; ld"+p.space+"."+bits(ty)+" %d, "+p.address+";")
}

// cas adds compare-and-swap. For half of the threads, the compared value equals the value in
// memory.
func (t *table) cas(p place, ty string) {
	name := "atom" + p.space + ".cas." + ty
	same := "and.b32 %t4, %t2, 2; setp.eq.u32 %p, %t4, 0; @%p mov." + ty + " %b, %a; "
	t.add(name+" on "+p.name, twice(ty), thrice(ty), same+p.setup+"st"+p.space+"."+ty+" "+p.address+", %a; "+
		name+" %d, "+p.address+", %b, %c; ld"+p.space+"."+ty+" %x, "+p.address+";")
}

func (t *table) orders() {
	each("relaxed acquire release acq_rel", func(sem string) {
		each("cta cluster gpu sys", func(scope string) {
			t.atom(ownMemory[0], "add", "u32", "."+sem+"."+scope)
			if sem == "relaxed" || sem == "release" {
				t.red(ownMemory[0], "add", "u32", "."+sem+"."+scope)
			}
		})
	})
}

func (t *table) wideAtomics() {
	each(".global .shared", func(space string) {
		p := ownMemory[0]
		if space == ".shared" {
			p = ownMemory[2]
		}
		setup := p.setup + "st" + space + ".v2.b64 " + p.address + ", {%a, %b}; .reg .b128 %old, %new, %cmp; mov.b128 %new, {%c, %e}; "
		read := "ld" + space + ".v2.b64 {%y, %z}, " + p.address + "; mov.b128 {%d, %x}, %old;"
		t.add("atom"+space+".exch.b128", "b64 b64 b64 b64", "b64 b64 b64 b64", setup+"atom"+space+".exch.b128 %old, "+p.address+", %new; "+read)
		same := "and.b32 %t4, %t2, 2; setp.eq.u32 %p, %t4, 0; mov.b64 %w5, 7; @%p mov.b64 %w5, %a; mov.b128 %cmp, {%w5, %b}; "
		t.add("atom"+space+".cas.b128", "b64 b64 b64 b64", "b64 b64 b64 b64", setup+same+"atom"+space+".cas.b128 %old, "+p.address+", %cmp, %new; "+read)
	})
}

// vectorAtomics adds atomics that update several numbers in global memory, each independently.
func (t *table) vectorAtomics() {
	vector := func(n int, ty, op string) {
		regs := func(r []string) string { return "{" + strings.Join(r[:n], ", ") + "}" }
		list := strings.TrimSpace(strings.Repeat(ty+" ", n))
		vec := ".v" + string(rune('0'+n)) + "." + ty
		noftz := ""
		if ty != "f32" {
			noftz = ".noftz"
		}
		name := "red.global." + op + noftz + vec
		clear := "mov." + bits(ty) + " %m, 0; "
		t.add(name, list, list, ".reg ."+register(ty)+" %m; "+clear+"st.global.v"+string(rune('0'+n))+"."+bits(ty)+" [%ps], "+regs(reversed(inRegs[:n]))+"; "+
			name+" [%ps], "+regs(inRegs)+"; ld.global.v"+string(rune('0'+n))+"."+bits(ty)+" "+regs(outRegs)+", [%ps];")
		name = "atom.global." + op + noftz + vec
		t.add(name, list, list, "st.global.v"+string(rune('0'+n))+"."+bits(ty)+" [%ps], "+regs(reversed(inRegs[:n]))+"; "+
			name+" "+regs(outRegs)+", [%ps], "+regs(inRegs)+";")
	}
	for _, n := range []int{2, 4} {
		vector(n, "f32", "add")
		each("f16 bf16 f16x2 bf16x2", func(ty string) {
			each("add min max", func(op string) { vector(n, ty, op) })
		})
	}
}

func reversed(s []string) []string {
	r := []string{}
	for i := range s {
		r = append(r, s[len(s)-1-i])
	}
	return r
}

// contended adds reductions by all threads of a block to one address.
func (t *table) contended() {
	const (
		shared = "mov.u64 %w1, smem; st.shared.b64 [%w1], %w2; "
		global = "mul.wide.u32 %w1, %t2, 32; sub.u64 %w1, %ps, %w1; st.global.b64 [%w1], %w2; "
	)
	for _, u := range updates {
		each(u.types, func(ty string) {
			if ty[0] == 'f' || ty[0] == 'b' && ty != bits(ty) || u.op == "inc" || u.op == "dec" {
				return // the result depends on the order of the threads
			}
			each(".shared .global", func(space string) {
				setup := shared
				if space == ".global" {
					setup = global
				}
				name := "red" + space + "." + u.op + "." + ty
				t.add(name+" contended", "b64", ty, "mov.u64 %w2, 0x3333333355555555; "+setup+"bar.sync 0; "+
					name+" [%w1], %a; bar.sync 0; ld"+space+".b64 %d, [%w1];")
			})
		})
	}
}
