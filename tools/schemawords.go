package tools

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// expected says what the field takes, with an example if there is one: `text of 1 to 10 digits, e.g. "4711"`.
func (f *field) expected() string {
	form := f.form()
	if f.example == "" || len(f.Enum) > 0 {
		return form
	}
	return form + ", e.g. " + f.example
}

// form says what the field takes.
func (f *field) form() string {
	switch f.Type {
	case "boolean":
		return "true or false"
	case "integer":
		return "a whole number" + f.span()
	case "number":
		return "a number" + f.span()
	case "array":
		return "a list of " + count(f.MinItems, f.MaxItems) + f.Items.plural()
	case "object":
		return "an object with " + wordList(f.sequence, "and")
	}
	least, most, digits := f.digits()
	switch {
	case len(f.Enum) > 0:
		return "one of " + wordList(quoted(f.Enum), "or")
	case digits && most == 0:
		return "text of digits only"
	case digits:
		return "text of " + count(&least, &most) + "digits"
	case f.Pattern != "":
		return "text that matches " + f.Pattern
	case f.MinLength != nil || f.MaxLength != nil:
		return "text of " + count(f.MinLength, f.MaxLength) + "characters"
	}
	return "text"
}

// plural names the entries of a list.
func (f *field) plural() string {
	switch f.Type {
	case "object":
		return "objects with " + wordList(f.sequence, "and")
	case "string":
		return "texts"
	case "boolean":
		return "truth values"
	}
	return "numbers"
}

// span is the range of a number, with a blank before it.
func (f *field) span() string {
	switch {
	case f.Minimum != nil && f.Maximum != nil:
		return fmt.Sprintf(" from %s to %s", *f.Minimum, *f.Maximum)
	case f.Minimum != nil:
		return fmt.Sprintf(" of at least %s", *f.Minimum)
	case f.Maximum != nil:
		return fmt.Sprintf(" of at most %s", *f.Maximum)
	}
	return ""
}

// count is a range of how many, with a blank after it.
func count(least, most *int) string {
	switch {
	case least != nil && most != nil && *least == *most:
		return strconv.Itoa(*least) + " "
	case least != nil && most != nil && *least > 0:
		return fmt.Sprintf("%d to %d ", *least, *most)
	case most != nil:
		return fmt.Sprintf("at most %d ", *most)
	case least != nil && *least > 0:
		return fmt.Sprintf("at least %d ", *least)
	}
	return ""
}

// describe says what was sent instead, escaped and shortened.
func (f *field) describe(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(v)
	case json.Number:
		return "the number " + Limit(string(v), maxShown)
	case []any:
		return fmt.Sprintf("a list of %d", len(v))
	case string:
		if v == "" {
			return "an empty text"
		}
		if f.Pattern != "" || len(f.Enum) > 0 {
			return quoteShort(v, maxShown, quoteASCII)
		}
		return quoteShort(v, maxShown, Quote)
	}
	return "an object"
}

// fault says precisely what is wrong with a text, to follow the word "which"; "" if there is no more to say.
func (f *field) fault(v any) string {
	text, ok := v.(string)
	_, _, digits := f.digits()
	switch {
	case !ok || text == "":
		return ""
	case f.Type != "string":
		return "is text"
	case digits:
		return f.digitFault(text)
	case len(f.Enum) > 0:
		return ""
	case f.outOfLength(text):
		return fmt.Sprintf("is %d characters long", utf8.RuneCountInString(text))
	case f.Pattern == "":
		return ""
	}
	return strayFault(text)
}

func (f *field) outOfLength(text string) bool {
	n := utf8.RuneCountInString(text)
	return f.MaxLength != nil && n > *f.MaxLength || f.MinLength != nil && n < *f.MinLength
}

// digitFault names the first character that is no ASCII digit, else the length.
func (f *field) digitFault(text string) string {
	position := 0
	for _, r := range text {
		if position++; r < '0' || r > '9' {
			return fmt.Sprintf("contains %s at position %d", runeWords(r), position)
		}
	}
	least, most, _ := f.digits()
	if n := len(text); n < least || most > 0 && n > most || f.outOfLength(text) {
		return fmt.Sprintf("is %d digits long", n)
	}
	return ""
}

// strayFault names the first character that a reader of text would not see.
func strayFault(text string) string {
	last, position := utf8.RuneCountInString(text), 0
	for _, r := range text {
		position++
		if atEdge := position == 1 || position == last; hidden(r) || atEdge && unicode.IsSpace(r) {
			return fmt.Sprintf("contains %s at position %d", runeWords(r), position)
		}
	}
	return ""
}

// runeWords names a character so that a model can find it: letters and signs of ASCII as they are, all others by code point.
func runeWords(r rune) string {
	switch {
	case r == ' ':
		return "a blank"
	case r == '\n':
		return "a line break"
	case r < utf8.RuneSelf && unicode.IsLetter(r):
		return fmt.Sprintf("the letter %c", r)
	case unicode.IsControl(r):
		return fmt.Sprintf("the control character %U", r)
	case r < utf8.RuneSelf:
		return "the character " + Quote(string(r))
	case hidden(r):
		return fmt.Sprintf("the invisible character %U", r)
	case unicode.IsSpace(r):
		return fmt.Sprintf("the blank %U", r)
	case unicode.IsNumber(r):
		return fmt.Sprintf("the foreign digit %U", r)
	case unicode.IsLetter(r):
		return fmt.Sprintf("the foreign letter %U", r)
	}
	return fmt.Sprintf("the character %U", r)
}

// plainName writes a key: bare if it is a plain name of ASCII, else quoted, escaped and shortened.
func plainName(key string) string {
	odd := func(r rune) bool {
		return r >= utf8.RuneSelf || r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}
	if key == "" || len(key) > maxShown || strings.IndexFunc(key, odd) >= 0 {
		return quoteShort(key, maxShown, quoteASCII)
	}
	return key
}

// joinPath joins the steps of a path that was written from the inside out: "[0]", "items" is "items[0]".
func joinPath(inner []string) string {
	var b strings.Builder
	for _, step := range slices.Backward(inner) {
		if b.Len() > 0 && step[0] != '[' {
			b.WriteByte('.')
		}
		b.WriteString(step)
	}
	return b.String()
}

// quoted quotes each text.
func quoted(texts []string) []string {
	all := make([]string, len(texts))
	for i, text := range texts {
		all[i] = Quote(text)
	}
	return all
}

// wordList joins words as a sentence does: "a, b and c".
func wordList(words []string, last string) string {
	n := len(words)
	if n < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:n-1], ", ") + " " + last + " " + words[n-1]
}
