package sampledata

import (
	"bytes"
	"fmt"
	"strings"
)

// preamble reads what stands before the header and returns the rest, and how
// many lines that was.
func (t *table) preamble(data []byte) (rest []byte, lines int, err error) {
	for {
		line, after, _ := bytes.Cut(data, []byte("\n"))
		trimmed := strings.TrimSpace(string(line))
		separator, isSep := strings.CutPrefix(trimmed, "sep=")
		switch comment, isComment := strings.CutPrefix(trimmed, "#"); {
		case trimmed == "" && len(data) > 0: // an empty line
		case isSep && lines == 0:
			if separator != "," && separator != ";" {
				return nil, 0, fmt.Errorf("%s:1: the separator must be , or ; and not %s", t.file, short(separator))
			}
			t.separator = rune(separator[0])
		case isComment:
			if err := t.comment(comment, lines+1); err != nil {
				return nil, 0, err
			}
		default:
			if t.separator == 0 {
				t.separator = ','
				if bytes.IndexByte(line, ';') >= 0 {
					t.separator = ';'
				}
			}
			return data, lines, nil
		}
		data = after
		lines++
	}
}

// comment takes the decimal mark from a comment, if it says one.
func (t *table) comment(comment string, line int) error {
	mark, ok := strings.CutPrefix(strings.TrimSpace(comment), "decimal=")
	if !ok {
		return nil
	}
	if mark != "," && mark != "." || t.mark != 0 {
		return fmt.Errorf("%s:%d: the decimal mark must be . or , and be named once", t.file, line)
	}
	t.mark = mark[0]
	return nil
}

// decimalMark returns the file's decimal mark: the one it says it has, or else
// the one its amounts can only have. It is an error if they contradict each
// other or could have either.
func (t *table) decimalMark() (byte, error) {
	if t.mark != 0 {
		return t.mark, nil
	}
	settled := map[byte]sighting{}
	var open *sighting
	for i := range t.rows {
		for c, at := range t.where {
			if at < 0 || t.columns[c].kind != amount {
				continue
			}
			s := sighting{t.rows[i].line, t.columns[c].name, t.rows[i].fields[at]}
			mark, sure := markOf(s.value)
			if _, ok := settled[mark]; sure && !ok {
				settled[mark] = s
			} else if mark != 0 && !sure && open == nil {
				open = &s
			}
		}
	}
	return t.decide(settled, open)
}

// sighting is an amount with a mark in it.
type sighting struct {
	line        int
	name, value string
}

func (t *table) decide(settled map[byte]sighting, open *sighting) (byte, error) {
	point, hasPoint := settled['.']
	comma, hasComma := settled[',']
	switch {
	case hasPoint && hasComma:
		return 0, fmt.Errorf("%s: %s in line %d has a decimal point, %s in line %d a decimal comma; a file has one decimal mark",
			t.file, short(point.value), point.line, short(comma.value), comma.line)
	case hasComma:
		return ',', nil
	case hasPoint || open == nil:
		return '.', nil
	}
	digits := strings.NewReplacer(".", "", ",", "").Replace(open.value)
	return 0, fmt.Errorf("%s:%d: %s %s may mean %s or %s; say which decimal mark the file has in a line before the header: "+
		"\"# decimal=.\" or \"# decimal=,\"", t.file, open.line, open.name, short(open.value),
		strings.Replace(open.value, ",", ".", 1), digits)
}

// markOf returns the mark in an amount, 0 if there is not exactly one, and
// whether it can only be a decimal mark: a thousands mark has one to three
// digits before it, the first not zero, and three behind it.
func markOf(value string) (mark byte, sure bool) {
	digits := strings.TrimLeft(value, "+-")
	at := strings.IndexAny(digits, ".,")
	if at < 0 {
		return 0, false
	}
	whole, fraction := digits[:at], digits[at+1:]
	if strings.Trim(whole+fraction, "0123456789") != "" || whole == "" || fraction == "" {
		return 0, false // no amount; whoever parses it will say so
	}
	thousands := len(fraction) == 3 && len(whole) <= 3 && whole[0] != '0'
	return digits[at], !thousands
}

// pointed writes an amount with the decimal mark of its file with a point.
func (r *record) pointed(i int, mark byte) {
	value := r.values[i]
	switch {
	case mark == '.' && strings.Contains(value, ","):
		r.fault(i, "%s has a comma; the file's decimal mark is the point, and there are no thousands marks", short(value))
	case mark == ',' && strings.Contains(value, "."):
		r.fault(i, "%s has a point; the file's decimal mark is the comma, and there are no thousands marks", short(value))
	case mark == ',':
		r.values[i] = strings.Replace(value, ",", ".", 1)
	}
}
