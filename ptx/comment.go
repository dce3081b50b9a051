package ptx

import "strings"

// docBefore returns the text of the comments directly before the current token. The last comment
// ends on the token's line or on the line above. No other token precedes the comments on their
// lines.
func (l *lexer) docBefore() string {
	d := l.doc
	if d.end == 0 || l.tokLine-d.lastLine > 1 || d.end > l.tok.start {
		return ""
	}
	l.doc = comment{} // use each comment for at most one token
	if strings.TrimSpace(l.src[d.end:l.tok.start]) != "" {
		return "" // other text separates the comment from the token
	}
	return cleanComment(l.src[d.start:d.end])
}

// cleanComment removes the markers from consecutive comments, and the compiler's notes
// "// .globl name" and "// .weak name".
func cleanComment(s string) string {
	var lines []string
	block := false
	for s != "" {
		line := s
		if i := strings.IndexByte(s, '\n'); i >= 0 {
			line, s = s[:i], s[i+1:]
		} else {
			s = ""
		}
		line, block = cleanLine(line, block)
		if !strings.HasPrefix(line, ".globl") && !strings.HasPrefix(line, ".weak") {
			lines = append(lines, line)
		}
	}
	for len(lines) > 0 && lines[0] == "" {
		lines = lines[1:]
	}
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return strings.Join(lines, "\n")
}

// cleanLine strips the comment markers from one line. The parameter block states whether the line
// starts inside a /* */ comment. The second result reports whether the line ends inside such a
// comment.
func cleanLine(line string, block bool) (string, bool) {
	line = strings.TrimSpace(line)
	var b strings.Builder
	for line != "" {
		if !block {
			switch {
			case strings.HasPrefix(line, "/*"):
				block = true
				line = strings.TrimLeft(line[2:], "*")
				if strings.HasPrefix(line, "/") { // the text was "/**/"
					block, line = false, line[1:]
				}
				continue
			default: // "//" starts a comment that runs to the end of the line
				b.WriteString(strings.TrimSpace(strings.TrimLeft(line, "/")))
				return strings.TrimSpace(b.String()), false
			}
		}
		end := strings.Index(line, "*/")
		text := line
		if end >= 0 {
			text, line, block = line[:end], strings.TrimSpace(line[end+2:]), false
		} else {
			line = ""
		}
		text = strings.TrimSpace(strings.Trim(strings.TrimSpace(text), "*"))
		if b.Len() > 0 && text != "" {
			b.WriteByte(' ')
		}
		b.WriteString(text)
	}
	return strings.TrimSpace(b.String()), block
}
