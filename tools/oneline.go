package tools

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// OneLine returns compact JSON with every rune that [Quote] escapes written as
// an escape. Such runes only occur inside JSON strings, so the value stays the
// same, and nothing in it can end the line or close a fence.
func OneLine(raw []byte) string {
	special := func(r rune) bool { return r == '<' || r == '>' || hidden(r) }
	s := string(raw)
	if strings.IndexFunc(s, special) < 0 && utf8.ValidString(s) {
		return s
	}
	dst := make([]byte, 0, len(s)+32)
	for i, r := range s {
		size := utf8.RuneLen(r)
		if r == utf8.RuneError || special(r) {
			dst = appendEscape(dst, r)
			continue
		}
		dst = append(dst, s[i:i+size]...)
	}
	return string(dst)
}

// firstInvisible names the first character of s that people would not see or
// that would end a line, as "U+202E at position 7"; "" if there is none.
func firstInvisible(s string) string {
	pos := 0
	for _, r := range s {
		pos++
		if hidden(r) || r == utf8.RuneError {
			return fmt.Sprintf("U+%04X at position %d", r, pos)
		}
	}
	return ""
}
