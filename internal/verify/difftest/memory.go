package difftest

import "strings"

// This file covers loads and stores (PTX ISA, "ld", "ld.global.nc", "ldu", "st").

// place is a way to address 16 bytes of memory that contain %a and %b.
type place struct{ name, space, address, setup string }

const (
	inShared = "mov.u64 %w1, smem; mad.wide.u32 %w1, %t2, 32, %w1; "
	inLocal  = "mov.u64 %w1, lmem; "
	fill     = "st.global.v2.b64 [%ps], {%a, %b}; "
)

var places = []place{
	{"global", ".global", "[%ps]", fill},
	{"generic global", "", "[%w1]", fill + "cvta.global.u64 %w1, %ps; "},
	{"shared", ".shared", "[%w1]", inShared + "st.shared.v2.b64 [%w1], {%a, %b}; "},
	{"generic shared", "", "[%w2]", inShared + "st.shared.v2.b64 [%w1], {%a, %b}; cvta.shared.u64 %w2, %w1; "},
	{"local", ".local", "[%w1]", inLocal + "st.local.v2.b64 [%w1], {%a, %b}; "},
	{"generic local", "", "[%w2]", inLocal + "st.local.v2.b64 [%w1], {%a, %b}; cvta.local.u64 %w2, %w1; "},
}

func memoryForms() []Form {
	t := &table{}
	for _, p := range places {
		t.loads(p)
		t.stores(p)
	}
	t.cachedLoads()
	t.cachedStores()
	t.wideMoves()
	t.spaces()
	t.add("ld.shared::cta.u32", "u32", "b64 b64", inShared+"st.shared::cta.v2.b64 [%w1], {%a, %b}; ld.shared::cta.u32 %d, [%w1+8];")
	t.add("ld.shared 32-bit address", "u64", "b64 b64", "mov.u32 %t3, smem; mad.lo.u32 %t3, %t2, 32, %t3; st.shared.v2.b64 [%t3], {%a, %b}; ld.shared.u64 %d, [%t3+8];")
	return t.forms
}

// widths lists the memory types and the registers that can hold them.
var widths = []struct{ types, regs string }{
	{"b8 u8 s8", "b16 b32 b64"}, {"b16 u16 s16", "b16 b32 b64"},
	{"b32 u32 s32", "b32 b64"}, {"f32", "f32"}, {"b64 u64 s64", "b64"}, {"f64", "f64"},
}

func (t *table) loads(p place) {
	for _, w := range widths {
		each(w.types, func(ty string) {
			each(w.regs, func(reg string) {
				op := "ld" + p.space + "." + ty
				t.add(op+" of "+p.name+" to "+reg, reg, "b64 b64", p.setup+op+" %d, "+p.address+";").Payload = true
			})
			reg := strings.Fields(w.regs)[0]
			op := "ld" + p.space + ".v2." + ty
			t.add(op+" of "+p.name, twice(reg), "b64 b64", p.setup+op+" {%d, %x}, "+p.address+";").Payload = true
			if bitsOf(reg) < 64 {
				op = "ld" + p.space + ".v4." + ty
				t.add(op+" of "+p.name, twice(twice(reg)), "b64 b64", p.setup+op+" {%d, %x, %y, %z}, "+p.address+";").Payload = true
			}
		})
	}
}

// stores adds stores to memory that contains a known pattern. Each form returns all 16 bytes of the
// memory.
func (t *table) stores(p place) {
	setup := strings.ReplaceAll(p.setup, "{%a, %b}", "{%w5, %w6}")
	setup = "mov.u64 %w5, 0x1122334455667788; mov.u64 %w6, 0x99aabbccddeeff00; " + setup
	read := " ld" + p.space + ".v2.b64 {%d, %x}, " + p.address + ";"
	for _, w := range widths {
		each(w.types, func(ty string) {
			each(w.regs, func(reg string) {
				op := "st" + p.space + "." + ty
				t.add(op+" to "+p.name+" of "+reg, "b64 b64", reg, setup+op+" "+p.address+", %a;"+read)
			})
			reg := strings.Fields(w.regs)[0]
			op := "st" + p.space + ".v2." + ty
			t.add(op+" to "+p.name, "b64 b64", twice(reg), setup+op+" "+p.address+", {%a, %b};"+read)
			if bitsOf(reg) < 64 {
				op = "st" + p.space + ".v4." + ty
				t.add(op+" to "+p.name, "b64 b64", twice(twice(reg)), setup+op+" "+p.address+", {%a, %b, %c, %e};"+read)
			}
		})
	}
}

const scopesAndOrders = "relaxed.cta relaxed.cluster relaxed.gpu relaxed.sys acquire.cta acquire.cluster acquire.gpu acquire.sys"

// cachedLoads adds loads from the operands' own memory, which no thread changes.
func (t *table) cachedLoads() {
	load := func(mods, vec string) {
		op := "ld" + mods + vec + ".u32"
		if vec == "" {
			t.add(op, "u32", "b64 b64", op+" %d, [%pi+4];")
		} else {
			t.add(op, "u32 u32 u32 u32", "b64 b64", op+" {%d, %x, %y, %z}, [%pi];")
		}
	}
	each("_ .v4", func(vec string) {
		each("weak volatile ca cg cs lu cv nc ca.nc cg.nc cs.nc", func(m string) {
			if m == "weak" || m == "volatile" {
				load("."+m+".global", vec)
			} else {
				load(".global."+m, vec)
			}
		})
		each(scopesAndOrders, func(m string) { load("."+m+".global", vec) })
		each("evict_normal evict_unchanged evict_first evict_last no_allocate", func(m string) {
			load(".global.L1::"+m, vec)
			load(".global.nc.L1::"+m, vec)
		})
		each("64B 128B 256B", func(m string) { load(".global.L2::"+m, vec) })
		load(".mmio.relaxed.sys.global", vec)
	})
	t.add("ldu.global.u32", "u32", "b64 b64", "ldu.global.u32 %d, [%pi+4];")
}

func (t *table) cachedStores() {
	store := func(mods, vec string) {
		op := "st" + mods + vec + ".u32"
		if vec == "" {
			t.add(op, "u32", "u32", op+" [%ps+4], %a; ld.global.u32 %d, [%ps+4];")
		} else {
			t.add(op, "u32 u32", "u32 u32", op+" [%ps], {%a, %b, %b, %a}; ld.global.v2.u32 {%x, %d}, [%ps+8];")
		}
	}
	each("_ .v4", func(vec string) {
		each("weak volatile", func(m string) { store("."+m+".global", vec) })
		each("wb cg cs wt", func(m string) { store(".global."+m, vec) })
		each("relaxed.cta relaxed.cluster relaxed.gpu relaxed.sys release.cta release.cluster release.gpu release.sys",
			func(m string) { store("."+m+".global", vec) })
		each("evict_normal evict_unchanged evict_first evict_last no_allocate", func(m string) { store(".global.L1::"+m, vec) })
		store(".mmio.relaxed.sys.global", vec)
	})
}

// wideMoves adds loads and stores of 128 bits.
func (t *table) wideMoves() {
	for _, p := range places {
		op := p.space + ".b128"
		t.add("ld"+op+" of "+p.name, "b64 b64", "b64 b64", ".reg .b128 %v; "+p.setup+"ld"+op+" %v, "+p.address+"; mov.b128 {%d, %x}, %v;")
		t.add("st"+op+" to "+p.name, "b64 b64", "b64 b64", ".reg .b128 %v; "+strings.ReplaceAll(p.setup, "{%a, %b}", "{%ps, %ps}")+
			"mov.b128 %v, {%b, %a}; st"+op+" "+p.address+", %v; ld"+p.space+".v2.b64 {%d, %x}, "+p.address+";")
	}
}

// spaces adds queries of the state space of generic addresses.
func (t *table) spaces() {
	for _, p := range places {
		if p.space != "" {
			continue
		}
		address := strings.Trim(p.address, "[]")
		each("global shared local const", func(space string) {
			t.add("isspacep."+space+" of "+p.name, "pred", "b64 b64", p.setup+"isspacep."+space+" %d, "+address+";")
		})
	}
}
