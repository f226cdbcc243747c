package tools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// rawProblem is what a walker found and where: path is written from the inside out.
type rawProblem struct {
	text string
	path []string
}

func (p *rawProblem) String() string {
	if len(p.path) == 0 {
		return p.text
	}
	return p.text + " in " + joinPath(p.path)
}

// rawWalker walks over JSON that is valid and shallow, and looks at what decoders do not report.
type rawWalker struct {
	raw   []byte
	pos   int
	rules rawRules
}

// value walks over one value; objects is the number of objects around it.
func (w *rawWalker) value(objects int) *rawProblem {
	w.space()
	switch w.raw[w.pos] {
	case '{':
		return w.object(objects)
	case '[':
		return w.list(objects)
	case '"':
		_, _, p := w.text()
		return p
	}
	return w.scalar()
}

// space skips blanks.
func (w *rawWalker) space() {
	for w.pos < len(w.raw) && isBlank(w.raw[w.pos]) {
		w.pos++
	}
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// more steps over what opens, separates or closes a list or object. It reports whether a value follows.
func (w *rawWalker) more(end byte) bool {
	w.pos++
	w.space()
	if w.raw[w.pos] == end {
		w.pos++
		return false
	}
	return true
}

func (w *rawWalker) list(objects int) *rawProblem {
	if !w.more(']') {
		return nil
	}
	for i := 0; ; i++ {
		if p := w.value(objects); p != nil {
			p.path = append(p.path, "["+strconv.Itoa(i)+"]")
			return p
		}
		w.space()
		if w.raw[w.pos] == ']' {
			w.pos++
			return nil
		}
		w.pos++
	}
}

func (w *rawWalker) object(objects int) *rawProblem {
	if !w.more('}') {
		return nil
	}
	seen := make(map[string]string, 8)
	for {
		key, p := w.key(objects, seen)
		if p != nil {
			return p
		}
		w.space()
		w.pos++ // the colon
		if p := w.value(objects + 1); p != nil {
			p.path = append(p.path, plainName(key))
			return p
		}
		w.space()
		if w.raw[w.pos] == '}' {
			w.pos++
			return nil
		}
		w.pos++
	}
}

// key reads a key and compares it with the keys seen in the same object and with the protocol's names.
func (w *rawWalker) key(objects int, seen map[string]string) (string, *rawProblem) {
	w.space()
	literal, escaped, p := w.text()
	if p != nil {
		return "", p
	}
	key := string(literal[1 : len(literal)-1])
	if escaped && json.Unmarshal(literal, &key) != nil {
		return "", &rawProblem{text: "a key cannot be decoded"}
	}
	folded := foldKey(key)
	other, twice := seen[folded]
	switch exact := envelopeName(objects, key); {
	case twice && other == key:
		return "", &rawProblem{text: "duplicate key " + plainName(key)}
	case twice:
		return "", &rawProblem{text: "key " + plainName(key) + " differs only in letter case from " + plainName(other)}
	case w.rules.envelope && exact != "" && exact != key:
		return "", &rawProblem{text: "key " + plainName(key) + " differs only in letter case from " + exact}
	}
	seen[folded] = key
	return key, nil
}

// envelopeName returns the protocol's name that key is or folds to, in the message itself and the objects in it.
func envelopeName(objects int, key string) string {
	var names []string
	switch objects {
	case 0:
		names = []string{"jsonrpc", "id", "method", "params", "result", "error"}
	case 1:
		names = []string{"name", "arguments", "_meta", "uri", "protocolVersion", "clientInfo", "capabilities", "cursor",
			"requestId", "ref", "argument"}
	}
	for _, name := range names {
		if strings.EqualFold(name, key) {
			return name
		}
	}
	return ""
}

// text reads a string literal with its quotes, and reports whether it holds escapes.
func (w *rawWalker) text() (literal []byte, escaped bool, p *rawProblem) {
	start := w.pos
	for w.pos++; w.raw[w.pos] != '"'; w.pos++ {
		if w.raw[w.pos] != '\\' {
			continue
		}
		escaped = true
		w.pos++
		if w.raw[w.pos] == 'u' && !w.unicodeEscape() {
			return nil, true, &rawProblem{text: "text is not valid UTF-8 (a lone surrogate)"}
		}
	}
	w.pos++
	return w.raw[start:w.pos], escaped, nil
}

// unicodeEscape steps from the u of an escape to its last digit, and over the second half of a surrogate pair. A half
// without the other is false.
func (w *rawWalker) unicodeEscape() bool {
	first := w.hex()
	switch {
	case first >= 0xdc00 && first <= 0xdfff:
		return false
	case first < 0xd800 || first > 0xdbff:
		return true
	case !bytes.HasPrefix(w.raw[w.pos+1:], []byte(`\u`)):
		return false
	}
	w.pos += 2
	second := w.hex()
	return second >= 0xdc00 && second <= 0xdfff
}

// hex reads the four digits after the u at pos.
func (w *rawWalker) hex() uint64 {
	n, _ := strconv.ParseUint(string(w.raw[w.pos+1:w.pos+5]), 16, 16)
	w.pos += 4
	return n
}

// scalar steps over a number, true, false or null.
func (w *rawWalker) scalar() *rawProblem {
	start := w.pos
	for w.pos < len(w.raw) && !isBlank(w.raw[w.pos]) && !strings.ContainsRune(",]}", rune(w.raw[w.pos])) {
		w.pos++
	}
	literal := string(w.raw[start:w.pos])
	if w.rules.numbers && strings.IndexByte("tfn", literal[0]) < 0 && !boundedNumber(literal) {
		return &rawProblem{text: fmt.Sprintf("a number has more than %d digits", maxDigits)}
	}
	return nil
}

// foldKey maps keys that a folding decoder takes for one another to one text. Lower-case ASCII is its own.
func foldKey(key string) string {
	for i := 0; i < len(key); i++ {
		if c := key[i]; c >= utf8.RuneSelf || c >= 'A' && c <= 'Z' {
			return strings.Map(foldRune, key)
		}
	}
	return key
}

// foldRune returns the smallest rune that r folds to, in lower case where that is a letter of ASCII.
func foldRune(r rune) rune {
	for {
		next := unicode.SimpleFold(r)
		if next <= r {
			r = next
			break
		}
		r = next
	}
	if r >= 'A' && r <= 'Z' {
		r += 'a' - 'A'
	}
	return r
}
