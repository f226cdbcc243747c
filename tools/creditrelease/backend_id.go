package creditrelease

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const maxIDDigits = 10

// CanonicalID returns the one form of a sales order's or customer's number: 1
// to 10 ASCII digits, leading zeros cut ("0000004711" is "4711"; all zeros are
// "0"). The error names the first character that is none, its position
// counted in characters from 1, and the form that is expected; it holds
// nothing a terminal would act on.
func CanonicalID(s string) (string, error) {
	switch {
	case s == "":
		return "", errors.New("is empty; digits only, e.g. '4711'")
	case strings.IndexFunc(s, notDigit) >= 0:
		return "", fmt.Errorf("%s; digits only, e.g. '4711'", contains(s, notDigit, ""))
	case len(s) > maxIDDigits:
		return "", fmt.Errorf("has %d digits; at most %d, e.g. '4711'", len(s), maxIDDigits)
	}
	if s = strings.TrimLeft(s, "0"); s == "" {
		s = "0"
	}
	return s, nil
}

// contains says "contains X at position N" of the first character of s that
// bad takes, or otherwise if there is none.
func contains(s string, bad func(rune) bool, otherwise string) string {
	position := 0
	for i, r := range s {
		position++
		if bad(r) {
			_, size := utf8.DecodeRuneInString(s[i:])
			return fmt.Sprintf("contains %s at position %d", describe(r, s[i:i+size]), position)
		}
	}
	return otherwise
}

// describe names a character for a person: by itself if it is ASCII that can
// be seen, by its code point otherwise.
func describe(r rune, raw string) string {
	switch {
	case r == utf8.RuneError && len(raw) == 1:
		return fmt.Sprintf("the byte 0x%02X, which is no UTF-8,", raw[0])
	case r == ' ':
		return "a blank"
	case r < utf8.RuneSelf && unicode.IsLetter(r):
		return "the letter " + string(r)
	case r < utf8.RuneSelf && unicode.IsPrint(r):
		return fmt.Sprintf("the character %q", string(r))
	case unicode.IsPrint(r):
		return fmt.Sprintf("the character %U", r)
	}
	return fmt.Sprintf("the invisible character %U", r)
}

// escape quotes s in ASCII, cut to a length that fits an error.
func escape(s string) string {
	const limit = 40
	if len(s) <= limit {
		return strconv.QuoteToASCII(s)
	}
	cut := limit
	for cut > limit-utf8.UTFMax && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return strconv.QuoteToASCII(s[:cut]) + "..."
}
