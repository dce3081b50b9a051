package emulator

import (
	"fmt"
	"strings"
)

// asciiOnly rejects non-ASCII characters, even in comments, as driver 580 does. (ptxas 11.8 accepts
// them in comments.)
func asciiOnly(source string) error {
	at := strings.IndexFunc(source, func(r rune) bool { return r >= 0x80 })
	if at < 0 {
		return nil
	}
	//lint:ignore ST1005 the words of the driver
	return fmt.Errorf("Unexpected non-ASCII character encountered on line %d", 1+strings.Count(source[:at], "\n"))
}
