package sampledata

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"strconv"
	"unicode/utf8"
)

const (
	maxFile   = 256 << 20
	maxFaults = 20 // bad rows that are named
)

//go:embed sample.json
var sample []byte

// Load reads a source, as the package comment describes them. The error holds
// every mistake found, one a line.
func Load(source string) (*World, error) {
	b := newBuilder()
	switch info, err := os.Stat(source); {
	case source == "" || source == "sample":
		b.json("sample", sample)
	case err != nil:
		return nil, fmt.Errorf("data source: %w", err)
	case info.IsDir():
		b.csvFolder(source)
	default:
		if data, err := readFile(source); err != nil {
			b.note(err)
		} else {
			b.json(source, data)
		}
	}
	return b.finish()
}

// readFile returns a file's text without byte order mark, or why it is none.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s: is no regular file", path)
	case info.Size() > maxFile:
		return nil, fmt.Errorf("%s: is larger than %d MiB", path, maxFile>>20)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if at := invalidUTF8(data); at >= 0 {
		line, column := position(data, at)
		return nil, fmt.Errorf("%s:%d:%d: byte 0x%02X is no UTF-8; save the file as UTF-8", path, line, column, data[at])
	}
	return data, nil
}

// invalidUTF8 returns the offset of the first byte that is no UTF-8, or -1.
func invalidUTF8(data []byte) int {
	if utf8.Valid(data) {
		return -1
	}
	for at := 0; at < len(data); {
		r, size := utf8.DecodeRune(data[at:])
		if r == utf8.RuneError && size == 1 {
			return at
		}
		at += size
	}
	return -1
}

// position returns the line and, in characters, the column of an offset, both
// from 1.
func position(data []byte, offset int) (line, column int) {
	before := data[:min(max(offset, 0), len(data))]
	start := bytes.LastIndexByte(before, '\n') + 1
	return bytes.Count(before, []byte("\n")) + 1, utf8.RuneCount(before[start:]) + 1
}

// place is where a record stands.
type place struct {
	file  string
	line  int
	list  string // "orders" or "customers" in JSON, where one line may hold all; "" in CSV
	index int    // in list
}

func (p place) String() string {
	if p.list == "" {
		return fmt.Sprintf("%s:%d", p.file, p.line)
	}
	return fmt.Sprintf("%s:%d: %s[%d]", p.file, p.line, p.list, p.index)
}

// within names the place to somebody who knows the file.
func (p place) within() string {
	if p.list == "" {
		return fmt.Sprintf("line %d", p.line)
	}
	return fmt.Sprintf("%s[%d]", p.list, p.index)
}

// short quotes a value for an error, in ASCII.
func short(s string) string {
	const limit = 40
	if len(s) > limit {
		return strconv.QuoteToASCII(s[:limit]) + "..."
	}
	return strconv.QuoteToASCII(s)
}

// builder makes a world out of records and collects what is wrong with them.
type builder struct {
	world        *World
	organization string // of orders that name none
	orders       map[string]place
	customers    map[string]place
	errs         []error
	more         int // errors beyond maxFaults
}

func newBuilder() *builder {
	return &builder{world: newWorld(), organization: defaultOrganization,
		orders: map[string]place{}, customers: map[string]place{}}
}

func (b *builder) note(err error) {
	if len(b.errs) == maxFaults {
		b.more++
		return
	}
	b.errs = append(b.errs, err)
}

func (b *builder) notef(format string, args ...any) { b.note(fmt.Errorf(format, args...)) }

func (b *builder) finish() (*World, error) {
	if b.more > 0 {
		b.errs = append(b.errs, fmt.Errorf("and %d more", b.more))
	}
	if len(b.errs) > 0 {
		return nil, errors.Join(b.errs...)
	}
	for i := range b.world.orders {
		if o := &b.world.orders[i]; o.SalesOrganization == "" {
			o.SalesOrganization = b.organization
		}
	}
	return b.world, nil
}
