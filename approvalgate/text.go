package approvalgate

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The forms of the fields that code, and never a person or a model, writes.
var (
	roleForm     = regexp.MustCompile(`^[A-Z][A-Z0-9_]{1,39}$`)
	partForm     = regexp.MustCompile(`^[0-9A-Za-z._-]{1,64}$`) // of a record key
	actionForm   = regexp.MustCompile(`^A[1-9][0-9]{0,8}$`)
	toolForm     = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)
	amountForm   = regexp.MustCompile(`^(-?[0-9]{1,30}(\.[0-9]{1,30})?( [A-Z]{3})?)?$`)
	evidenceForm = regexp.MustCompile(`^[a-z][a-z0-9_]{0,39}$`)
	numberForm   = regexp.MustCompile(`^(0|-?[1-9][0-9]{0,14})$`)
)

// lineProblem says why s is not one line of visible characters of at most
// limit, or "". Category Cf is not visible: it holds the bidi controls.
func lineProblem(s string, limit int) string {
	switch {
	case !utf8.ValidString(s):
		return "is not valid UTF-8"
	case utf8.RuneCountInString(s) > limit:
		return "has more than " + strconv.Itoa(limit) + " characters"
	}
	for _, r := range s {
		if !unicode.IsPrint(r) || looksBlank(r) {
			return "has a control or invisible character (" + strconv.QuoteRuneToASCII(r) + ")"
		}
	}
	return ""
}

// looksBlank names the letters and symbols that show as nothing.
func looksBlank(r rune) bool {
	switch r {
	case '\u115f', '\u1160', '\u2800', '\u3164', '\uffa0':
		return true
	}
	return false
}

// fold is the form in which names are compared: trimmed, inner blanks single,
// case folded.
func fold(s string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for o := unicode.SimpleFold(r); o != r; o = unicode.SimpleFold(o) {
			least = min(least, o)
		}
		return least
	}, strings.Join(strings.Fields(s), " "))
}

// oneLine makes text from elsewhere fit for a record that people read: one
// line, at most limit characters, what is not visible escaped.
func oneLine(s string, limit int) string {
	var b strings.Builder
	n := 0
	for _, r := range strings.ToValidUTF8(s, "\uFFFD") {
		if n++; n > limit {
			return b.String() + "..."
		}
		if unicode.IsPrint(r) && !looksBlank(r) {
			b.WriteRune(r)
			continue
		}
		quoted := strconv.QuoteRuneToASCII(r)
		b.WriteString(quoted[1 : len(quoted)-1])
	}
	return b.String()
}

// shown quotes text that somebody typed for an error message.
func shown(s string) string { return strconv.QuoteToASCII(oneLine(s, 60)) }

// shellWord writes s as one word of a command line.
func shellWord(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(" .-_/@", r)
	}) {
		return `"` + s + `"`
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
