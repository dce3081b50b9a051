package ptx

// tokenKind is the byte itself for punctuation, otherwise one of these constants.
type tokenKind uint8

const (
	tokEOF    tokenKind = iota
	tokStop             // replaces the current token after an error, until the parser recovers
	tokBad              // invalid token; lexer.problem may contain the reason
	tokIdent            // add, %r1, $L_1, _
	tokDot              // .global, .shared::cta
	tokNumber           // any numeric literal; parseNumber converts it
	tokString           // "..." with its quotes
)

type token struct {
	kind       tokenKind
	start, end int
}

// lexer splits the source into tokens on demand. After next, off is just past the current token, so
// the parser can examine the bytes that follow. It reads dotted suffixes (ld.global, %tid.x) and
// two-byte operators in this way.
type lexer struct {
	src       string
	off       int
	line      int32
	lineStart int
	tok       token
	tokLine   int32 // position of tok, which never spans lines
	tokCol    int32
	problem   string // reason for tokBad; "" for a stray character
	doc       comment
}

// comment is the last group of consecutive comments on lines that contain nothing else.
type comment struct {
	start, end int
	lastLine   int32
}

const (
	clBad uint8 = iota
	clSpace
	clNewline
	clIdent
	clPercent
	clDigit
	clDot
	clQuote
	clSlash
	clHash
	clPunct
)

var (
	class   [256]uint8
	inIdent [256]bool // bytes allowed in an identifier
)

func init() {
	for _, c := range []byte(" \t\r\f\v") {
		class[c] = clSpace
	}
	class['\n'] = clNewline
	for c := range 256 {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == '$'
		digit := c >= '0' && c <= '9'
		inIdent[c] = letter || digit
		switch {
		case letter:
			class[c] = clIdent
		case digit:
			class[c] = clDigit
		}
	}
	class['%'] = clPercent
	class['.'] = clDot
	class['"'] = clQuote
	class['/'] = clSlash
	class['#'] = clHash
	for _, c := range []byte("()[]{}<>,;:+-*!~&|^=?@") {
		class[c] = clPunct
	}
}

func (l *lexer) text() string { return l.src[l.tok.start:l.tok.end] }

// word returns the name of a tokDot without the dot.
func (l *lexer) word() string { return l.src[l.tok.start+1 : l.tok.end] }

func (l *lexer) pos() Pos { return Pos{Line: l.tokLine, Col: l.tokCol} }

func (l *lexer) scan() {
	src := l.src
	i := l.off
	for i < len(src) {
		switch class[src[i]] {
		case clSpace:
			i++
			continue
		case clNewline:
			i++
			l.line++
			l.lineStart = i
			continue
		case clIdent:
			j := i + 1
			for j < len(src) && inIdent[src[j]] {
				j++
			}
			l.set(tokIdent, i, j)
		case clPercent: // starts a register name, or is the remainder operator
			j := i + 1
			for j < len(src) && inIdent[src[j]] {
				j++
			}
			if j == i+1 {
				l.set('%', i, j)
			} else {
				l.set(tokIdent, i, j)
			}
		case clPunct:
			l.set(tokenKind(src[i]), i, i+1)
		case clDot:
			l.dotted(i)
		case clDigit:
			l.set(tokNumber, i, endOfNumber(src, i))
		case clQuote:
			l.quoted(i)
		case clSlash:
			if j := l.skipComment(i); j > i {
				i = j
				continue
			}
			if l.tok.kind != tokBad || l.tok.start != i {
				l.set('/', i, i+1)
			}
		case clHash:
			if j := l.skipLineMarker(i); j > i {
				i = j
				continue
			}
		default:
			l.problem = ""
			l.set(tokBad, i, i+1)
		}
		return
	}
	l.set(tokEOF, i, i)
}

func (l *lexer) set(k tokenKind, start, end int) {
	l.tok = token{kind: k, start: start, end: end}
	l.tokLine = l.line
	l.tokCol = int32(start-l.lineStart) + 1
	l.off = end
}

func (l *lexer) bad(problem string, start, end int) {
	l.problem = problem
	l.set(tokBad, start, end)
}

// dotted reads .name, or a number like .5.
func (l *lexer) dotted(i int) {
	j := endOfModifier(l.src, i+1)
	switch {
	case j == i+1:
		l.problem = ""
		l.set(tokBad, i, j)
	case class[l.src[i+1]] == clDigit:
		l.set(tokNumber, i, endOfNumber(l.src, i))
	default:
		l.set(tokDot, i, j)
	}
}

// endOfModifier returns the end of a dotted name that starts at i: identifier
// characters and "::".
func endOfModifier(src string, i int) int {
	for i < len(src) {
		if inIdent[src[i]] {
			i++
		} else if src[i] == ':' && i+1 < len(src) && src[i+1] == ':' {
			i += 2
		} else {
			break
		}
	}
	return i
}

func (l *lexer) quoted(i int) {
	for j := i + 1; j < len(l.src); j++ {
		switch l.src[j] {
		case '"':
			l.set(tokString, i, j+1)
			return
		case '\\':
			j++
			if j < len(l.src) && l.src[j] == '\n' {
				l.bad("string is not closed on its line", i, j)
				return
			}
		case '\n':
			l.bad("string is not closed on its line", i, j)
			return
		}
	}
	l.bad("string is not closed on its line", i, len(l.src))
}

// endOfNumber returns the end of the numeric literal that starts at i.
func endOfNumber(src string, i int) int {
	j := i
	if src[i] == '0' && i+1 < len(src) && class[src[i+1]] == clIdent {
		switch src[i+1] {
		case 'e', 'E':
		default: // 0x, 0b, 0f, 0d and malformed numbers extend to the end of the word
			for j < len(src) && inIdent[src[j]] {
				j++
			}
			return j
		}
	}
	j = digits(src, j)
	if j < len(src) && src[j] == '.' && (j+1 == len(src) || class[src[j+1]] != clIdent) {
		j = digits(src, j+1)
	}
	if j < len(src) && (src[j] == 'e' || src[j] == 'E') {
		k := j + 1
		if k < len(src) && (src[k] == '+' || src[k] == '-') {
			k++
		}
		if k < len(src) && class[src[k]] == clDigit {
			j = digits(src, k)
		}
	}
	for j < len(src) && inIdent[src[j]] { // the suffix U, or the rest of a malformed number
		j++
	}
	return j
}

func digits(src string, i int) int {
	for i < len(src) && class[src[i]] == clDigit {
		i++
	}
	return i
}

// skipComment returns the offset after the comment at i. If there is no comment at i, it returns i.
// If the comment is not closed, it sets tok to tokBad.
func (l *lexer) skipComment(i int) int {
	if i+1 >= len(l.src) {
		return i
	}
	first := l.line
	var j int
	switch l.src[i+1] {
	case '/':
		j = i + 2
		for j < len(l.src) && l.src[j] != '\n' {
			j++
		}
	case '*':
		lineStart := l.lineStart
		for j = i + 2; ; j++ {
			if j+1 >= len(l.src) {
				l.line, l.lineStart = first, lineStart
				l.bad("comment is not closed", i, len(l.src))
				return i
			}
			if l.src[j] == '*' && l.src[j+1] == '/' {
				j += 2
				break
			}
			if l.src[j] == '\n' {
				l.line++
				l.lineStart = j + 1
			}
		}
	default:
		return i
	}
	l.noteComment(i, j, first)
	return j
}

// noteComment starts a new documentation comment with the comment at start, or appends it to the
// previous one. If other text precedes the comment on its line, noteComment discards both.
func (l *lexer) noteComment(start, end int, first int32) {
	d := &l.doc
	if first-d.lastLine <= 1 && l.off <= d.start && d.end > 0 {
		d.end = end
	} else if startsLine(l.src, start) {
		d.start, d.end = start, end
	} else {
		*d = comment{}
		return
	}
	d.lastLine = l.line
}

// startsLine reports whether only white space precedes offset i on its line.
func startsLine(src string, i int) bool {
	for i > 0 && class[src[i-1]] == clSpace {
		i--
	}
	return i == 0 || src[i-1] == '\n'
}

// skipLineMarker skips line markers of a C preprocessor: # 12 "file", #line. For any
// other line that starts with #, it sets tok to tokBad and returns i.
func (l *lexer) skipLineMarker(i int) int {
	j := i + 1
	for j < len(l.src) && class[l.src[j]] == clSpace {
		j++
	}
	k := j
	for k < len(l.src) && inIdent[l.src[k]] {
		k++
	}
	word := l.src[j:k]
	if !startsLine(l.src, i) || !(word == "line" || word == "file" || word != "" && class[word[0]] == clDigit) {
		l.bad("preprocessor directives are not supported: run the preprocessor first", i, k)
		return i
	}
	for k < len(l.src) && l.src[k] != '\n' {
		k++
	}
	return k
}

// peek returns the first byte after the current token that is not white space, or 0 at
// the end. It does not skip comments.
func (l *lexer) peek() byte {
	for i := l.off; i < len(l.src); i++ {
		if c := class[l.src[i]]; c != clSpace && c != clNewline {
			return l.src[i]
		}
	}
	return 0
}
