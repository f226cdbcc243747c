package sampledata

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
)

// csvFolder adds the two files of a folder.
func (b *builder) csvFolder(dir string) {
	b.csvFile(filepath.Join(dir, "orders.csv"), orderColumns(), b.addOrder)
	b.csvFile(filepath.Join(dir, "customers.csv"), customerColumns(), b.addCustomer)
}

// csvFile hands the rows of a file to add.
func (b *builder) csvFile(path string, columns []column, add func(*record)) {
	data, err := readFile(path)
	if err != nil {
		b.note(err)
		return
	}
	t := &table{file: path, columns: columns}
	if err := t.read(b, data); err != nil {
		b.note(err)
		return
	}
	mark, err := t.decimalMark()
	if err != nil {
		b.note(err)
		return
	}
	var r record
	for i := range t.rows {
		t.record(&r, &t.rows[i], mark)
		add(&r)
	}
}

// table is a CSV file's header and rows.
type table struct {
	file      string
	columns   []column
	separator rune
	mark      byte  // the decimal mark the file says it has; 0: it does not
	where     []int // position in a row, by column; -1: not there
	width     int   // of the header
	rows      []row
}

type row struct {
	line   int
	fields []string
}

// read takes the file apart. Rows that cannot be read or have another number
// of fields than the header are noted; the error is about the whole file.
func (t *table) read(b *builder, data []byte) error {
	rest, line, err := t.preamble(data)
	if err != nil {
		return err
	}
	in := csv.NewReader(bytes.NewReader(rest))
	in.Comma, in.FieldsPerRecord = t.separator, -1
	header, err := in.Read()
	if err != nil {
		return fmt.Errorf("%s:%d: header: %w", t.file, line+1, csvCause(err))
	}
	at, _ := in.FieldPos(0)
	if err := t.header(header, line+at); err != nil {
		return err
	}
	for {
		fields, err := in.Read()
		var parse *csv.ParseError
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.As(err, &parse):
			b.notef("%s:%d: %w", t.file, line+parse.StartLine, csvCause(err))
			continue
		case err != nil:
			return fmt.Errorf("%s: %w", t.file, err)
		}
		at, _ := in.FieldPos(0)
		if len(fields) != t.width {
			b.notef("%s:%d: has %d fields, the header has %d", t.file, line+at, len(fields), t.width)
			continue
		}
		t.rows = append(t.rows, row{line + at, fields})
	}
}

// csvCause returns a reader's error without its own count of lines.
func csvCause(err error) error {
	var parse *csv.ParseError
	switch {
	case errors.Is(err, io.EOF):
		return errors.New("is missing")
	case errors.As(err, &parse) && parse.Line > parse.StartLine:
		return fmt.Errorf("a quoted field goes wrong %d lines further on: %w", parse.Line-parse.StartLine, parse.Err)
	case errors.As(err, &parse):
		return parse.Err
	}
	return err
}

// header finds the columns in the header line.
func (t *table) header(names []string, line int) error {
	t.width = len(names)
	at := map[string]int{}
	var faults []string
	for i, name := range names {
		name = strings.TrimSpace(name)
		if _, twice := at[name]; twice && name != "" {
			faults = append(faults, fmt.Sprintf("%s is there twice", short(name)))
		}
		at[name] = i
	}
	for _, c := range t.columns {
		i, ok := at[c.name]
		if !ok {
			i = -1
			if !c.optional {
				faults = append(faults, c.name+" is missing")
			}
		}
		t.where = append(t.where, i)
	}
	if len(faults) > 0 {
		return fmt.Errorf("%s:%d: header: %s (fields are separated by %q)", t.file, line, strings.Join(faults, "; "), t.separator)
	}
	return nil
}

// record makes a record of a row, its amounts with a decimal point.
func (t *table) record(r *record, from *row, mark byte) {
	r.reset(place{file: t.file, line: from.line}, t.columns)
	for i, at := range t.where {
		if at < 0 {
			continue
		}
		r.has[i], r.values[i] = true, from.fields[at]
		if t.columns[i].kind == amount {
			r.pointed(i, mark)
		}
	}
}
