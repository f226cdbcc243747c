package tools

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Quote returns s as one JSON string literal on one line that is safe on a terminal, a page and in a briefing:
//
//   - whatever [Visible] escapes is written \uXXXX (a surrogate pair beyond U+FFFF), the usual ones \n, \r and \t;
//   - < and > are written \u003c and \u003e, so no fence or tag can be closed from inside;
//   - letters, marks, digits, punctuation and symbols of all scripts stay.
//
// A JSON decoder gives s back. Bytes that are not UTF-8 become U+FFFD.
func Quote(s string) string {
	plain := func(r rune) bool { return r != '<' && r != '>' && !hidden(r) }
	return string(appendQuoted(make([]byte, 0, len(s)+2), s, plain))
}

// quoteASCII is [Quote] for names and ids, where a letter of another script is the point: it escapes all but ASCII.
func quoteASCII(s string) string {
	plain := func(r rune) bool { return r != '<' && r != '>' && r >= ' ' && r < 0x7f }
	return string(appendQuoted(make([]byte, 0, len(s)+2), s, plain))
}

// appendQuoted appends s as a JSON string, escaping the quote, the backslash and each rune that is not plain.
func appendQuoted(dst []byte, s string, plain func(rune) bool) []byte {
	dst = append(dst, '"')
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			dst = append(dst, `\ufffd`...)
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case plain(r):
			dst = append(dst, s[i:i+size]...)
		default:
			dst = appendEscape(dst, r)
		}
		i += size
	}
	return append(dst, '"')
}

// appendEscape appends the JSON escape of r.
func appendEscape(dst []byte, r rune) []byte {
	switch {
	case r == '\n':
		return append(dst, `\n`...)
	case r == '\r':
		return append(dst, `\r`...)
	case r == '\t':
		return append(dst, `\t`...)
	case r > 0xffff:
		high, low := (r-0x10000)>>10+0xd800, (r-0x10000)&0x3ff+0xdc00
		return fmt.Appendf(dst, `\u%04x\u%04x`, high, low)
	}
	return fmt.Appendf(dst, `\u%04x`, r)
}

// hidden reports what must not reach a terminal, a page or a briefing as it is: controls (C0, DEL, C1), line and
// paragraph separators, every format character (bidi controls, zero width, tags), variation selectors, fillers, private
// use, noncharacters and code points not yet assigned.
func hidden(r rune) bool {
	if r < 0x7f {
		return r < ' '
	}
	return !unicode.IsGraphic(r) || unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// Visible returns s for a terminal, on one line and without quotes: the same characters that [Quote] escapes (save <, >,
// the quote and the backslash) appear as \n, \r, \t, \x1b (below U+0100, and bytes that are not UTF-8) or \u{202e}.
// Visible of a visible text is that text.
func Visible(s string) string {
	if utf8.ValidString(s) && strings.IndexFunc(s, hidden) < 0 {
		return s
	}
	dst := make([]byte, 0, len(s)+16)
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			dst = fmt.Appendf(dst, `\x%02x`, s[i])
		case !hidden(r):
			dst = append(dst, s[i:i+size]...)
		case r == '\n' || r == '\r' || r == '\t':
			dst = appendEscape(dst, r)
		case r < 0x100:
			dst = fmt.Appendf(dst, `\x%02x`, r)
		default:
			dst = fmt.Appendf(dst, `\u{%x}`, r)
		}
		i += size
	}
	return string(dst)
}

// CleanForModel removes what people do not see and models read: tag characters, zero width characters, bidi controls,
// variation selectors and fillers. It reports whether it removed something, so that the caller can flag it and keep the
// text as it came.
//
// The joiners go too: an emoji may fall apart into its parts, and a Persian or Malayalam word may lose a finer point
// of its spelling. Controls such as a line break stay; [Quote] shows them. Bytes that are not UTF-8 become U+FFFD, which
// counts as removed: left alone, two halves could meet and be a new invisible character.
func CleanForModel(s string) (clean string, removed bool) {
	clean = strings.Map(func(r rune) rune {
		if unseen(r) {
			return -1
		}
		return r
	}, s)
	return clean, clean != s
}

// unseen reports characters without a glyph of their own. The Arabic and Syriac signs among the format characters (U+0600)
// have one.
func unseen(r rune) bool {
	if r < 0xad {
		return false
	}
	return unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) &&
		!unicode.Is(unicode.Prepended_Concatenation_Mark, r)
}

// Limit returns s if it has at most the given number of characters, else its beginning and how many were left out:
//
//	Limit("Nordhafen", 4) == "Nord... (5 more characters)"
func Limit(s string, runes int) string {
	head, more := cut(s, runes)
	return head + more
}

// quoteShort is Quote, with what [Limit] says after the closing quote, where it cannot be taken for data.
func quoteShort(s string, runes int, quote func(string) string) string {
	head, more := cut(s, runes)
	return quote(head) + more
}

// cut returns the first characters of s, and in words how many are left out.
func cut(s string, runes int) (head, more string) {
	if len(s) <= runes {
		return s, ""
	}
	n, end := 0, len(s)
	for i := range s {
		if n == max(runes, 0) {
			end = i
		}
		n++
	}
	if left := n - max(runes, 0); left > 0 {
		return s[:end], fmt.Sprintf("... (%d more characters)", left)
	}
	return s, ""
}
