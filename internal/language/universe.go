package language

import (
	"fmt"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// Kind is a section of the table.
type Kind int

const (
	Syntax     Kind = iota // a node of the syntax tree
	Token                  // a token
	Universe               // a predeclared name, or a name of package unsafe
	Type                   // a basic type or a kind of type
	Form                   // a form of a statement or expression
	Operator               // an operator on a class of types
	Conversion             // a conversion from one class of types to another
)

// Key identifies a row of the table.
type Key struct {
	Kind Kind
	Name string
}

// String formats the key for error messages.
func (k Key) String() string {
	return []string{"the node", "the token", "the name", "the type", "the form", "the operator", "the conversion"}[k.Kind] + " " + k.Name
}

// nodes lists the types of package go/ast that represent syntax nodes.
const nodes = `ArrayType AssignStmt BadDecl BadExpr BadStmt BasicLit BinaryExpr BlockStmt BranchStmt CallExpr CaseClause ChanType CommClause
Comment CommentGroup CompositeLit DeclStmt DeferStmt Directive Ellipsis EmptyStmt ExprStmt Field FieldList File ForStmt FuncDecl FuncLit FuncType GenDecl
GoStmt Ident IfStmt ImportSpec IncDecStmt IndexExpr IndexListExpr InterfaceType KeyValueExpr LabeledStmt MapType Package ParenExpr RangeStmt
ReturnStmt SelectStmt SelectorExpr SendStmt SliceExpr StarExpr StructType SwitchStmt TypeAssertExpr TypeSpec TypeSwitchStmt UnaryExpr ValueSpec`

// typeKinds lists the types of package go/types that represent types.
const typeKinds = `Alias Array Basic Chan Interface Map Named Pointer Signature Slice Struct Tuple TypeParam Union`

// universe lists the predeclared names and those of package unsafe.
const universe = `any append bool byte cap clear close comparable complex complex128 complex64 copy delete error false float32 float64 imag int
int16 int32 int64 int8 iota len make max min new nil panic print println real recover rune string true uint uint16 uint32 uint64 uint8 uintptr
unsafe.Add unsafe.Alignof unsafe.Offsetof unsafe.Pointer unsafe.Sizeof unsafe.Slice unsafe.SliceData unsafe.String unsafe.StringData`

const forms = `break|break with a label|continue|continue with a label|goto|fallthrough
call of function|call of function value|call of function literal|call of generic function|call of variadic function|call of method
call of method of an interface|call with ...|field|promoted field|method value or call|method expression|name of another package`

// representatives lists one or more types of each class.
var representatives = []struct{ class, expr string }{
	{"boolean", "bool"}, {"signed integer", "int32"}, {"unsigned integer", "uint32"}, {"unsigned integer", "uintptr"}, {"float", "float32"}, {"complex", "complex64"},
	{"string", "string"}, {"array", "[2]int64"}, {"slice", "[]int64"}, {"[]byte", "[]byte"}, {"[]rune", "[]rune"}, {"struct", "struct{ a int }"},
	{"pointer", "*int32"}, {"pointer to array", "*[2]int64"}, {"unsafe.Pointer", "unsafe.Pointer"}, {"function", "func()"}, {"interface", "interface{ M() }"},
	{"map", "map[int]int"}, {"channel", "chan int"}, {"interface", "any"},
}

// generic lists rows for type parameters, and for values of other types that are converted to
// interfaces.
var generic = []Key{{Form, "literal of pointer"}, {Conversion, "signed integer to type parameter"}, {Conversion, "float to type parameter"},
	{Conversion, "type parameter to signed integer"}, {Conversion, "type parameter to float"}, {Conversion, "type parameter to interface"}, {Conversion, "[]byte to array"},
	{Conversion, "[]byte to pointer to array"}, {Conversion, "[]rune to array"}, {Conversion, "[]rune to pointer to array"}}

// Keys returns the keys of all rows in the order of the document.
func Keys() ([]Key, error) {
	var keys []Key
	words := func(kind Kind, list []string) {
		for _, name := range list {
			keys = append(keys, Key{kind, name})
		}
	}
	words(Syntax, strings.Fields(nodes))
	words(Token, tokens())
	words(Universe, strings.Fields(universe))
	words(Type, basicTypes())
	words(Type, strings.Fields(typeKinds))
	words(Form, strings.FieldsFunc(forms, func(r rune) bool { return r == '|' || r == '\n' }))
	more, err := combinations()
	return append(keys, more...), err
}

// tokens returns the names of all tokens.
func tokens() (list []string) {
	for tok := token.ILLEGAL; tok < 256; tok++ {
		if !strings.HasPrefix(tok.String(), "token(") {
			list = append(list, tok.String())
		}
	}
	return list
}

func basicTypes() (list []string) {
	for _, t := range types.Typ {
		if t.Kind() != types.Invalid {
			list = append(list, t.Name())
		}
	}
	return list
}

// combinations returns the operators and conversions that the type checker accepts for the
// representatives.
func combinations() ([]Key, error) {
	pkg := types.NewPackage("p", "p")
	pkg.SetImports([]*types.Package{types.Unsafe})
	fset := token.NewFileSet()
	scope := pkg.Scope()
	scope.Insert(types.NewPkgName(token.NoPos, pkg, "unsafe", types.Unsafe))
	var keys []Key
	for i, r := range representatives {
		tv, err := types.Eval(fset, pkg, token.NoPos, "("+r.expr+")(nil)")
		if err != nil {
			tv, err = types.Eval(fset, pkg, token.NoPos, r.expr)
		}
		if err != nil {
			return nil, err
		}
		scope.Insert(types.NewVar(token.NoPos, pkg, fmt.Sprintf("x%d", i), tv.Type))
	}
	legal := func(expr string) bool {
		_, err := types.Eval(fset, pkg, token.NoPos, expr)
		return err == nil
	}
	add := func(kind Kind, name string) {
		if k := (Key{kind, name}); !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	}
	for i, r := range representatives {
		x := fmt.Sprintf("x%d", i)
		for _, op := range []token.Token{token.ADD, token.SUB, token.XOR, token.NOT, token.AND, token.ARROW} {
			if op != token.AND && legal(op.String()+x) {
				add(Operator, op.String()+" "+operandOf(r.class))
			}
		}
		add(Operator, "& "+operandOf(r.class))
		for op := token.ADD; op <= token.GEQ; op++ {
			if op.IsOperator() && (legal(x+op.String()+x) || legal(x+op.String()+"nil")) {
				add(Operator, operandOf(r.class)+" "+op.String())
			}
		}
		for j, to := range representatives {
			if legal(fmt.Sprintf("(%s)(%s)", to.expr, x)) {
				add(Conversion, representatives[i].class+" to "+representatives[j].class)
			}
		}
	}
	for op := token.ADD; op <= token.GEQ; op++ {
		if (Key{Operator, "signed integer " + op.String()}).in(keys) {
			add(Operator, "type parameter "+op.String())
		}
	}
	for _, op := range []token.Token{token.ADD, token.SUB, token.XOR} {
		add(Operator, op.String()+" type parameter")
	}
	return slices.Concat(keys, operands(legal), generic), nil
}

func shapeOf(class string) string {
	return strings.Replace(strings.Replace(class, "[]byte", "slice", 1), "[]rune", "slice", 1)
}

func (k Key) in(keys []Key) bool { return slices.Contains(keys, k) }

// operandOf returns the class of an operand in the classifier's terms.
func operandOf(class string) string {
	switch class {
	case "[]byte", "[]rune":
		return "slice"
	case "pointer to array":
		return "pointer"
	}
	return class
}

// operands returns rows for the classes that can be indexed, sliced, ranged over, or written as
// literals.
func operands(legal func(string) bool) (keys []Key) {
	add := func(format, class string) {
		if k := (Key{Form, fmt.Sprintf(format, class)}); !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	}
	for i, r := range representatives {
		x := fmt.Sprintf("x%d", i)
		if legal(x + "[1]") {
			add("index of %s", shapeOf(r.class))
		}
		if legal(x + "[:]") {
			add("slice of %s", shapeOf(r.class))
		}
		if legal(x+"[::2]") || legal(x+"[:1:2]") {
			add("slice with capacity of %s", shapeOf(r.class))
		}
		if r.class != "function" && legal(r.expr+"{}") {
			add("literal of %s", shapeOf(r.class))
		}
	}
	for _, class := range []string{"integer", "string", "array", "pointer to array", "slice", "map", "channel", "function with no value", "function with one value", "function with two values"} {
		add("range over %s", class)
	}
	for tok := token.ASSIGN; tok <= token.DEFINE; tok++ {
		if tok == token.ASSIGN || tok == token.DEFINE {
			add("assignment %s", tok.String())
		}
	}
	for tok := token.ADD_ASSIGN; tok <= token.AND_NOT_ASSIGN; tok++ {
		add("assignment %s", tok.String())
	}
	return keys
}
