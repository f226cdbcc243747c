package sampledata

import (
	"bytes"
	"encoding/json"
)

// cursor walks over a text that is known to be JSON. It exists for lists of
// tens of thousands: encoding/json's tokens take ten times as long.
type cursor struct {
	data []byte
	at   int
}

// peek moves to the next byte that is no white space and returns it.
func (c *cursor) peek() byte {
	for {
		switch b := c.data[c.at]; b {
		case ' ', '\t', '\r', '\n':
			c.at++
		default:
			return b
		}
	}
}

// each stands at an object or array, and calls fn at each of its members,
// which fn must pass over. After the last it stands behind the bracket.
func (c *cursor) each(fn func() error) error {
	c.at++
	for {
		switch c.peek() {
		case '}', ']':
			c.at++
			return nil
		case ',':
			c.at++
		default:
			if err := fn(); err != nil {
				return err
			}
		}
	}
}

// key passes over a member's key and colon and returns the key, in quotes.
func (c *cursor) key() []byte {
	key := c.value()
	c.peek()
	c.at++
	return key
}

// value passes over a value and returns it.
func (c *cursor) value() []byte {
	first := c.peek()
	start := c.at
	switch first {
	case '"':
		c.text()
	case '{', '[':
		c.nested()
	default:
		for c.at < len(c.data) && bytes.IndexByte([]byte(" \t\r\n,]}"), c.data[c.at]) < 0 {
			c.at++
		}
	}
	return c.data[start:c.at]
}

// text passes over a string.
func (c *cursor) text() {
	for c.at++; c.data[c.at] != '"'; c.at++ {
		if c.data[c.at] == '\\' {
			c.at++
		}
	}
	c.at++
}

// nested passes over an object or array.
func (c *cursor) nested() {
	for depth := 0; ; {
		switch c.data[c.at] {
		case '"':
			c.text()
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		c.at++
		if depth == 0 {
			return
		}
	}
}

// unquote returns what a JSON string says.
func unquote(quoted []byte) string {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1 : len(quoted)-1])
	}
	var s string
	if json.Unmarshal(quoted, &s) != nil {
		return string(quoted) // cannot be: it is a JSON string
	}
	return s
}
