package build

import (
	"strconv"
	"strings"

	"github.com/purecuda/cuda/ptx"
)

// Config configures the header of a module. By default, the module uses 64-bit addresses and the
// lowest version and target that its code needs.
type Config struct {
	// Target is the module's .target, such as "sm_80" or "sm_90a". Code that needs a newer target
	// is then an error. If Target is empty, Build chooses the lowest possible target.
	Target string
	// Version is the module's .version. Code that needs a newer version is then an error. If
	// Version is zero, Build chooses the lowest possible version.
	Version ptx.Version
	// MinTarget is a lower limit for the target that Build chooses.
	MinTarget string
	// Debug adds "debug" to .target. The driver's compiler then keeps the line information of .loc
	// directives and does not optimize. Without Debug, an option of the driver's compiler can still
	// make it keep the line information.
	Debug bool
	// AddressSize is 32 or 64. 0 means 64.
	AddressSize int
}

// Module is a PTX module under construction. [New] creates it.
type Module struct {
	config  Config
	files   []*ptx.File
	byFile  map[string]int
	vars    []*Var
	funcs   []*Func
	names   map[string]bool
	opcodes map[string]*ptx.Opcode
	info    map[string]string // labels of the strings in .debug_str, by string
	strings []string          // the strings in .debug_str, in order
	inlined bool              // whether a .loc directive uses inlined_at
	errs    Errors
}

// New returns an empty module.
func New(c Config) *Module {
	return &Module{config: c, byFile: map[string]int{}, names: map[string]bool{}, opcodes: map[string]*ptx.Opcode{}, info: map[string]string{}}
}

func (m *Module) ready() bool { return m != nil && m.names != nil }

func (m *Module) fail(in, problem string) {
	if m != nil {
		m.errs = append(m.errs, &Error{In: in, Problem: problem})
	}
}

// Fail adds an error, which Build returns together with all other errors.
func (m *Module) Fail(problem string) { m.fail("", problem) }

// Err returns the errors found so far, or nil. [Module.Build] may find further errors.
func (m *Module) Err() error {
	if m == nil || len(m.errs) == 0 {
		return nil
	}
	return m.errs
}

// File returns the index of a source file for [Func.Loc]. The first call with a name adds a .file
// directive. Use forward slashes and a path relative to the module, so that the text is the same on
// all machines.
func (m *Module) File(name string) int {
	if !m.ready() {
		return 0
	}
	if i, ok := m.byFile[name]; ok {
		return i
	}
	if strings.ContainsAny(name, "\n\r\x00") {
		m.fail("", "the file name "+strconv.Quote(name)+" contains a line end or a NUL")
		return 0
	}
	i := len(m.files) + 1
	escaped := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(name)
	m.files = append(m.files, &ptx.File{Index: i, Name: escaped})
	m.byFile[name] = i
	return i
}

// declare reserves a name at module level.
func (m *Module) declare(name string) {
	switch {
	case !isName(name):
		m.fail(name, notName(name))
	case m.names[name]:
		m.fail(name, "the name is declared twice")
	}
	m.names[name] = true
}

// Text returns the module as PTX text.
func (m *Module) Text() ([]byte, error) {
	t, err := m.Build()
	if err != nil {
		return nil, err
	}
	return t.Append(nil), nil
}

// isName reports whether a variable, parameter or function may have this name. Names that begin
// with $ are reserved for labels and for this package.
func isName(s string) bool {
	return isWord(s) && s != "" && s != "_" && (s[0] < '0' || s[0] > '9') && s[0] != '$'
}

func notName(s string) string {
	return strconv.Quote(s) + " is not a name: it must begin with a letter or _ and consist of letters, digits, _ and $"
}

// isWord reports whether s consists only of characters that PTX identifiers may contain.
func isWord(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c == '_' || c == '$' {
			continue
		}
		return false
	}
	return true
}
