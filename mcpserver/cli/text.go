package cli

import (
	"fmt"
	"reflect"
	"strings"
	"unicode"

	"orderdesk/tools"
)

// visible returns s on one line for a terminal: controls, bidi and invisible
// characters escaped.
func visible(s string) string { return tools.Visible(s) }

// styled is text that is safe as it is: visible, perhaps inside our own colours.
type styled string

// format is fmt.Sprintf with every argument made visible, save [styled] ones
// and numbers. The format itself must be ours.
func format(f string, args ...any) styled {
	safe := make([]any, len(args))
	for i, arg := range args {
		safe[i] = safeArg(arg)
	}
	return styled(fmt.Sprintf(f, safe...))
}

func safeArg(arg any) any {
	switch v := arg.(type) {
	case styled:
		return string(v)
	case string:
		return visible(v)
	case error, fmt.Stringer:
		return visible(fmt.Sprint(v))
	}
	if k := reflect.ValueOf(arg).Kind(); k >= reflect.Bool && k <= reflect.Float64 {
		return arg
	}
	return visible(fmt.Sprint(arg))
}

// cells is how many columns of a terminal s takes.
func cells(s string) int {
	n := 0
	for _, r := range s {
		n += runeCells(r)
	}
	return n
}

func runeCells(r rune) int {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case unicode.In(r, unicode.Han, unicode.Hangul, unicode.Hiragana, unicode.Katakana),
		r >= 0x3000 && r <= 0x303e, r >= 0xff01 && r <= 0xff60, r >= 0xffe0 && r <= 0xffe6,
		r >= 0x1f300 && r <= 0x1faff:
		return 2
	}
	return 1
}

// cut shortens s to at most width columns, the last three then dots. A width
// below 1 means no limit.
func cut(s string, width int) string {
	if width < 1 || cells(s) <= width {
		return s
	}
	dots := min(3, width)
	n := 0
	for i, r := range s {
		if n += runeCells(r); n > width-dots {
			return s[:i] + strings.Repeat(".", dots)
		}
	}
	return s
}

// pad adds blanks to s up to width columns.
func pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-cells(s)))
}
