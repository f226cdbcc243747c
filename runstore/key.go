package runstore

import (
	"errors"
	"fmt"
	"strings"
)

// ErrBadKey says that a key was built from a part that is no checked id.
var ErrBadKey = errors.New("not a valid record key")

const (
	maxWord = 64
	maxKey  = 512
)

// Key names one record, or with [Tx.Scan] a group of records. Only [NewKey]
// makes a usable one.
type Key struct {
	path string
	bad  bool
}

// NewKey builds the key kind/part/part... Kind and parts are 1 to 64 of the
// characters 0-9 A-Z a-z . _ -. Text that people or models wrote is never a
// part: a key with another character, or longer than 512 bytes, answers
// [ErrBadKey] to every use and shows none of that text.
func NewKey(kind string, parts ...string) Key {
	n, ok := len(kind), validPart(kind)
	for _, p := range parts {
		n += 1 + len(p)
		ok = ok && validPart(p)
	}
	if !ok || n > maxKey {
		return Key{bad: true}
	}
	var b strings.Builder
	b.Grow(n)
	b.WriteString(kind)
	for _, p := range parts {
		b.WriteByte('/')
		b.WriteString(p)
	}
	return Key{path: b.String()}
}

// String is the key's path, kind/part/part.
func (k Key) String() string {
	if k.bad || k.path == "" {
		return "(bad key)"
	}
	return k.path
}

func (k Key) check() error {
	if k.bad || k.path == "" {
		return ErrBadKey
	}
	return nil
}

// Seq writes n, 0 or more, so that texts sort as their numbers do: "0000000042".
func Seq(n int) string { return fmt.Sprintf("%010d", n) }

func validPart(s string) bool {
	if s == "" || len(s) > maxWord {
		return false
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case '0' <= c && c <= '9', 'A' <= c && c <= 'Z', 'a' <= c && c <= 'z':
		case c == '.', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}
