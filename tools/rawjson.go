package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

const (
	maxMessageBytes  = 1 << 20
	maxArgumentBytes = 256 << 10
	maxDepth         = 32
)

// rawRules says what a raw JSON text may be.
type rawRules struct {
	what     string // subject of the sentence that refuses, e.g. "The arguments"
	bytes    int
	numbers  bool // refuse numbers of more than maxDigits digits
	envelope bool // names of the protocol must be spelled exactly in the outermost two objects
}

// CheckMessage checks a whole protocol message on its raw bytes, before any decoder that folds, drops or replaces sees it:
// at most 1 MiB and 32 levels, UTF-8 without lone surrogates, valid JSON, and in no object two keys that are equal or
// differ only in letter case. The names of the protocol itself ("method", "params", "arguments", ...) must be spelled
// exactly, even alone: a decoder that folds would take "Method" for "method", and a filter in front of us would not.
//
// The error's text is one sentence that is safe to send and to log.
func CheckMessage(raw []byte) error {
	return checkRaw(raw, rawRules{what: "The message", bytes: maxMessageBytes, envelope: true})
}

// argumentRules are the rules for a tool's arguments.
func argumentRules() rawRules {
	return rawRules{what: "The arguments", bytes: maxArgumentBytes, numbers: true}
}

// rawError is a sentence for whoever sent the bytes.
type rawError string

func (e rawError) Error() string { return string(e) }

func unreadable(format string, args ...any) error { return rawError(fmt.Sprintf(format, args...)) }

// checkRaw checks raw against the rules. Cheap checks that need no grammar come first, and each later one relies on those
// before it. The error's text is one sentence.
func checkRaw(raw []byte, rules rawRules) error {
	if len(raw) > rules.bytes {
		return unreadable("%s cannot be read: %d bytes are too long; at most %d are allowed.", rules.what, len(raw), rules.bytes)
	}
	if !utf8.Valid(raw) {
		return unreadable("%s cannot be read: text is not valid UTF-8 (byte %d).", rules.what, invalidAt(raw)+1)
	}
	if deeperThan(raw, maxDepth) {
		return unreadable("%s cannot be read: nested deeper than %d levels.", rules.what, maxDepth)
	}
	if !json.Valid(raw) {
		return unreadable("%s cannot be read: not valid JSON, %s.", rules.what, grammarProblem(raw))
	}
	w := rawWalker{raw: raw, rules: rules}
	if p := w.value(0); p != nil {
		return unreadable("%s cannot be read: %s.", rules.what, p)
	}
	return nil
}

// invalidAt returns the index of the first byte that is not UTF-8.
func invalidAt(raw []byte) int {
	i := 0
	for i < len(raw) {
		r, size := utf8.DecodeRune(raw[i:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		i += size
	}
	return i
}

// deeperThan reports whether raw opens more than limit levels. It needs no valid JSON and no stack.
func deeperThan(raw []byte, limit int) bool {
	depth, quoted := 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > limit {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}

// grammarProblem says in words where raw stops being JSON.
func grammarProblem(raw []byte) string {
	var first json.RawMessage
	decoder := json.NewDecoder(bytes.NewReader(raw))
	err := decoder.Decode(&first)
	syntax, ok := errors.AsType[*json.SyntaxError](err)
	switch {
	case err == nil:
		return fmt.Sprintf("more text follows the first value (byte %d)", decoder.InputOffset()+1)
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return "it ends too early; send it again, complete"
	case !ok:
		return "it cannot be decoded"
	}
	at := min(max(int(syntax.Offset)-1, 0), len(raw))
	near := strings.ToValidUTF8(string(raw[at:min(at+20, len(raw))]), "")
	return fmt.Sprintf("the problem is at byte %d: %s", at+1, Quote(near))
}
