package ptx

import "strings"

// skips marks the bytes at which skipBraces stops. ends marks the bytes at which skipHead stops.
var (
	skips = [256]bool{'{': true, '}': true, '/': true, '"': true, '@': true, '#': true}
	ends  = [256]bool{'{': true, ';': true, '/': true, '"': true, '@': true, '#': true}
)

// skipBraces returns the offset after the brace that closes the current "{". It skips
// comments and strings. It returns false if the brace is not closed. The lexer does not
// move.
func (l *lexer) skipBraces() (end int, ok bool) {
	src := l.src
	if end, ok := plainBody(src, l.tok.end); ok {
		return end, true
	}
	depth := 1
	for i := l.tok.end; i < len(src); i++ {
		if !skips[src[i]] {
			continue
		}
		switch src[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i + 1, true
			}
		default:
			i = endOfOpaque(src, i) - 1
		}
	}
	return len(src), false
}

// plainBody is a much faster version of skipBraces for a body that has no comments, strings, nested
// blocks, preprocessor lines or @@DWARF lines.
func plainBody(src string, from int) (end int, ok bool) {
	n := strings.IndexByte(src[from:], '}')
	if n < 0 {
		return 0, false
	}
	body := src[from : from+n]
	for _, c := range [...]byte{'{', '/', '"', '#'} {
		if strings.IndexByte(body, c) >= 0 {
			return 0, false
		}
	}
	// Guards contain many "@", so a search for "@@" is slow. Only @@DWARF uses "@@".
	return from + n + 1, !strings.Contains(body, "DWARF")
}

// skipSource is like skipBraces, but for intermediate code. The text between .source_begin and
// .source_end is not PTX and can contain unbalanced braces.
func (l *lexer) skipSource() (end int, ok bool) {
	src, depth := l.src, 1
	for i := l.tok.end; i < len(src); i++ {
		switch src[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i + 1, true
			}
		case '.':
			if strings.HasPrefix(src[i:], ".source_begin") {
				n := strings.Index(src[i:], ".source_end")
				if n < 0 {
					return len(src), false
				}
				i += n
			}
		}
	}
	return len(src), false
}

// skipHead returns the offset of the first ";" or "{" after the current token. If body is
// false, it looks only for ";".
func (l *lexer) skipHead(body bool) int {
	src := l.src
	for i := l.tok.start; i < len(src); i++ {
		if !ends[src[i]] {
			continue
		}
		switch src[i] {
		case ';':
			return i
		case '{':
			if body {
				return i
			}
		default:
			i = endOfOpaque(src, i) - 1
		}
	}
	return len(src)
}

// endOfOpaque returns the offset after the comment, string, @@DWARF line or preprocessor
// line at i, or i+1 if there is none.
func endOfOpaque(src string, i int) int {
	switch src[i] {
	case '"':
		return endOfString(src, i)
	case '@':
		if i+1 < len(src) && src[i+1] == '@' {
			return endOfLine(src, i)
		}
		return i + 1
	case '#':
		if startsLine(src, i) {
			return endOfLine(src, i)
		}
		return i + 1
	}
	return endOfComment(src, i)
}

func endOfLine(src string, i int) int {
	if n := strings.IndexByte(src[i:], '\n'); n >= 0 {
		return i + n
	}
	return len(src)
}

// endOfComment returns the offset after the comment at i, or i+1 if there is none.
func endOfComment(src string, i int) int {
	if i+1 == len(src) {
		return i + 1
	}
	switch src[i+1] {
	case '/':
		return endOfLine(src, i)
	case '*':
		if n := strings.Index(src[i+2:], "*/"); n >= 0 {
			return i + 2 + n + 2
		}
		return len(src)
	}
	return i + 1
}

// endOfString returns the offset after the string at i. A line end also ends the string.
func endOfString(src string, i int) int {
	for i++; i < len(src); i++ {
		switch src[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		case '\n':
			return i
		}
	}
	return len(src)
}
