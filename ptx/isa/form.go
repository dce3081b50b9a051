package isa

import (
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/purecuda/cuda/ptx"
)

// Form is one rule of the table. It covers instructions that differ only in the choice of
// their modifiers and types.
type Form struct {
	name  string
	sub   []string // modifiers at the start that are part of the name, such as "async" and "bulk" of cp
	slots []slot
	types [maxTypes][]choice
	nType int
	args  []arg
	need  need
	until need // version and target that removed the form; zero if it still exists
	rules []rule
	vec   int // index of the slot for v2, v4 and v8; -1 if there is none
	text  string
}

const maxTypes = 4

// slot is a position for one of several modifiers.
type slot struct {
	choices  []choice
	optional bool
}

// choice is one modifier or type with its requirements.
type choice struct {
	name string
	typ  ptx.Type
	need need
}

// need is the .version and .target that introduced a feature.
type need struct {
	version int // version times 10: 78 for 7.8
	target  int // number of the target: 90 for sm_90
	own     bool
}

func (n need) zero() bool { return n == need{} }

// met reports whether a module with that version and target may use the feature. If own is set, the
// feature belongs to an architecture-specific target such as sm_90a. It then requires that target
// or any target with a higher number.
func (n need) met(t *text) bool {
	return t.version >= n.version && t.target >= n.target && (!n.own || t.own || t.target > n.target)
}

func (n need) String() string {
	var parts []string
	if n.version > 0 {
		parts = append(parts, fmt.Sprintf("PTX %d.%d", n.version/10, n.version%10))
	}
	if n.target > 0 {
		s := "sm_" + strconv.Itoa(n.target)
		if n.own {
			s += "a"
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, " and ")
}

// rule is a check that the notation for modifiers and operand types cannot express.
type rule func(c *checker, f *Form, m *match, in *ptx.Instr) string

type argKind uint8

const (
	argDst   argKind = iota // d: a destination register
	argSrc                  // s: a register or an immediate
	argReg                  // r: a register
	argImm                  // i: an immediate
	argAddr                 // a: [address]
	argPred                 // p: a predicate, possibly negated
	argAny                  // x: not checked
	argLabel                // l: a label
	argNone                 // n: _
)

// arg is one operand of a form.
type arg struct {
	kind     argKind
	typ      ptx.Type // fixed type of the operand
	slot     int8     // 1 to 4: number of the type slot that determines the type; 0: typ is the type
	wide     bool     // twice the size of the slot's type
	relaxed  bool     // ~ a wider register is allowed
	optional bool     // ? the operand may be omitted
	special  bool     // + a special register is allowed
	symbol   bool     // & the address of a variable or function is allowed
	signed   bool     // && like &, but also for a signed 64-bit type
	sink     bool     // _ is allowed as the operand
	not      bool     // ! a predicate may be negated
	pair     bool     // | a predicate may follow the operand: a|p
	pairs    bool     // ^ a predicate must follow the operand: a|p
	vecs     bool     // *v: a vector whose length the .v modifier specifies
	count    int8     // *n: a vector of n elements; 0: a scalar
	neg      bool     // - the operand may be negated
	selector byte     // =1, =2, =4: a byte or half selector is allowed, as in video instructions
	multiple int64    // %16: a constant must be a multiple of this number
	address  int8     // index of this operand among the address operands of the form
	exact    bool     // constants among registers in a vector must have exactly the type's size
	number   bool     // # packed registers are not allowed
	low, hi  int64    // bounds of a constant, if any
	bounded  bool
}

var table struct {
	once   sync.Once
	byName map[string][]*Form
	all    []*Form
}

func forms(name string) []*Form {
	table.once.Do(load)
	return table.byName[name]
}

func load() {
	table.byName = map[string][]*Form{}
	for _, source := range sources {
		for _, line := range strings.Split(source, "\n") {
			line = strings.TrimSpace(line)
			if line == "" || line[0] == '#' {
				continue
			}
			for _, f := range parseLine(line) {
				table.byName[f.name] = append(table.byName[f.name], f)
				table.all = append(table.all, f)
			}
		}
	}
}

// parseLine parses a rule: names ; modifiers ; operands ; needs ; rules. It panics on an error,
// because the table is part of the program and every test parses it.
func parseLine(line string) []*Form {
	var cols [5]string
	for i, s := range strings.Split(line, ";") {
		cols[i] = strings.TrimSpace(s)
	}
	var out []*Form
	for _, name := range strings.Split(cols[0], ",") {
		parts := strings.Split(name, ".")
		f := &Form{name: parts[0], sub: parts[1:], vec: -1, text: line}
		for _, word := range strings.Fields(cols[1]) {
			f.modifier(word)
		}
		addresses := int8(0)
		for _, word := range strings.Fields(cols[2]) {
			a := parseArg(word)
			a.exact = f.name == "wmma" && f.sub[0] == "store"
			if a.kind == argAddr {
				a.address = addresses
				addresses++
			}
			f.args = append(f.args, a)
		}
		for _, word := range strings.Fields(cols[3]) {
			if s, ok := strings.CutPrefix(word, "<"); ok {
				f.until = parseNeed(s)
				continue
			}
			f.need = parseNeed(word)
		}
		for _, word := range strings.Fields(cols[4]) {
			r := rules[word]
			if r == nil {
				panic("isa: no rule " + word + " in " + line)
			}
			f.rules = append(f.rules, r)
		}
		out = append(out, f)
	}
	return out
}

// modifier parses one slot: "a|b", "[a|b]" if it may be absent, "T=u32|s32" for a type,
// "$name" for a named list.
func (f *Form) modifier(word string) {
	if types, ok := strings.CutPrefix(word, "T="); ok {
		f.types[f.nType] = parseChoices(types)
		f.nType++
		return
	}
	s := slot{}
	if strings.HasPrefix(word, "[") {
		s.optional = true
		word = strings.Trim(word, "[]")
	}
	s.choices = parseChoices(word)
	if len(s.choices) > 0 && len(s.choices[0].name) == 2 && s.choices[0].name[0] == 'v' {
		f.vec = len(f.slots)
	}
	f.slots = append(f.slots, s)
}

func parseChoices(s string) []choice {
	var out []choice
	for _, word := range strings.Split(s, "|") {
		if list, ok := strings.CutPrefix(word, "$"); ok {
			named, ok := lists[list]
			if !ok {
				panic("isa: no list " + list)
			}
			out = append(out, parseChoices(named)...)
			continue
		}
		name, at, _ := strings.Cut(word, "@")
		out = append(out, choice{name: name, typ: ptx.ParseType(name), need: parseNeed(at)})
	}
	return out
}

// parseNeed parses 7.8/90, 7.8 or /90. The a in 8.0/90a sets own.
func parseNeed(s string) need {
	var n need
	version, target, _ := strings.Cut(s, "/")
	if major, minor, ok := strings.Cut(version, "."); ok {
		n.version = 10*number(major) + number(minor)
	}
	if t, ok := strings.CutSuffix(target, "a"); ok {
		n.own, target = true, t
	}
	if target != "" {
		n.target = number(target)
	}
	return n
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic("isa: " + err.Error())
	}
	return n
}

var argKinds = map[byte]argKind{
	'd': argDst, 's': argSrc, 'r': argReg, 'i': argImm, 'a': argAddr, 'p': argPred, 'x': argAny, 'l': argLabel, 'n': argNone,
}

// typeLetters contains the names of type slots in operands.
const typeLetters = "TUVX"

// parseArg parses an operand. It consists of a letter for the kind, ":" and the type, and
// flags.
func parseArg(word string) arg {
	kind, ok := argKinds[word[0]]
	if !ok {
		panic("isa: no kind of operand " + word)
	}
	a := arg{kind: kind}
	if kind == argPred {
		a.typ = ptx.Pred
	}
	rest := word[1:]
	if s, ok := strings.CutPrefix(rest, ":"); ok {
		n := strings.IndexFunc(s, func(r rune) bool { return strings.ContainsRune("~?+&_!|^*#(-=%", r) })
		if n < 0 {
			n = len(s)
		}
		a.setType(s[:n])
		rest = s[n:]
	}
	for rest != "" {
		sign := rest[0]
		rest = rest[1:]
		switch sign {
		case '~':
			a.relaxed = true
		case '?':
			a.optional = true
		case '+':
			a.special = true
		case '&':
			a.signed = a.symbol
			a.symbol = true
		case '_':
			a.sink = true
		case '!':
			a.not = true
		case '|':
			a.pair = true
		case '^':
			a.pairs = true
		case '#':
			a.number = true
		case '-':
			a.neg = true
		case '=':
			a.selector, rest = rest[0]-'0', rest[1:]
		case '%':
			n := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
			a.multiple, rest = int64(number(rest[:n])), rest[n:]
		case '*':
			if rest[0] == 'v' {
				a.vecs, rest = true, rest[1:]
				continue
			}
			n := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
			a.count, rest = int8(number(rest[:n])), rest[n:]
		case '(':
			inside, after, _ := strings.Cut(rest, ")")
			low, hi, _ := strings.Cut(inside, "..")
			a.low, a.hi, a.bounded, rest = int64(number(low)), int64(number(hi)), true, after
		default:
			panic("isa: operand " + word)
		}
	}
	return a
}

func (a *arg) setType(s string) {
	if s == "W" {
		a.slot, a.wide = 1, true
		return
	}
	if i := strings.Index(typeLetters, s); i >= 0 && len(s) == 1 {
		a.slot = int8(i + 1)
		return
	}
	if a.typ = ptx.ParseType(s); a.typ == ptx.NoType {
		panic("isa: no type " + s)
	}
}

func (a *arg) of(types *[maxTypes]ptx.Type) ptx.Type {
	if a.slot == 0 {
		return a.typ
	}
	t := types[a.slot-1]
	if a.wide {
		switch t {
		case ptx.U16:
			return ptx.U32
		case ptx.S16:
			return ptx.S32
		case ptx.U32:
			return ptx.U64
		case ptx.S32:
			return ptx.S64
		}
	}
	return t
}
