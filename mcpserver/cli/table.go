package cli

import "strings"

// table prints rows in columns, each as wide as its widest cell. Cells are
// made visible; a [styled] one keeps its colours.
type table struct {
	out  *printer
	rows [][]cell
}

// cell is text and the columns it takes, which colours do not change.
type cell struct {
	text  string
	width int
}

// table begins a table with the column heads; none: without heads.
func (p *printer) table(heads ...string) *table {
	t := &table{out: p}
	if len(heads) == 0 {
		return t
	}
	var row []cell
	for _, h := range heads {
		row = append(row, cell{string(p.style(dim, h)), cells(h)})
	}
	t.rows = append(t.rows, row)
	return t
}

// row adds a row of strings, numbers or [styled] texts.
func (t *table) row(values ...any) {
	var row []cell
	for _, v := range values {
		text := string(format("%v", v))
		row = append(row, cell{text, cells(plain(text))})
	}
	t.rows = append(t.rows, row)
}

// print says the table, two blanks between columns and none at the end of a line.
func (t *table) print() {
	var width []int
	for _, row := range t.rows {
		for i, c := range row {
			if i == len(width) {
				width = append(width, 0)
			}
			width[i] = max(width[i], c.width)
		}
	}
	for _, row := range t.rows {
		var b strings.Builder
		for i, c := range row {
			b.WriteString(c.text)
			if i < len(row)-1 {
				b.WriteString(strings.Repeat(" ", width[i]-c.width+2))
			}
		}
		t.out.say("%s", styled(strings.TrimRight(b.String(), " ")))
	}
}

// plain is text without our own colours.
func plain(s string) string {
	for {
		before, after, found := strings.Cut(s, "\x1b[")
		if !found {
			return s
		}
		_, rest, _ := strings.Cut(after, "m")
		s = before + rest
	}
}
