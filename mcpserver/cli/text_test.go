package cli

import (
	"strings"
	"testing"
	"unicode"
)

func TestFormatMakesArgumentsVisible(t *testing.T) {
	type named string
	tests := []struct {
		name string
		got  styled
		want string
	}{
		{"text", format("<%s>", "a\x1b[2Jb"), `<a\x1b[2Jb>`},
		{"named text", format("<%s>", named("a\rb\nc")), `<a\rb\nc>`},
		{"padded", format("<%-4s>", "ab"), `<ab  >`},
		{"number", format("%04d %.1f", 7, 1.25), `0007 1.2`},
		{"list", format("%v", []string{"a\x07"}), `[a\x07]`},
		{"our own colours", format("%s %s", paint(true, red, "x"), "y"), "\x1b[31mx\x1b[0m y"},
		{"nothing", format("%v", nil), "<nil>"},
	}
	for _, tt := range tests {
		if string(tt.got) != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, tt.got, tt.want)
		}
	}
}

// TestINJ06_LinksStayText: an image or a link in text from outside shows its
// full target, and no terminal makes it one of its own links.
func TestINJ06_LinksStayText(t *testing.T) {
	for in, want := range map[string]string{
		"![x](https://evil.example/p?d=limit-50000) and [details](https://evil.example)": "![x](https://evil.example/p?d=limit-50000) and [details](https://evil.example)",
		"\x1b]8;;https://evil.example\x1b\\details\x1b]8;;\x1b\\":                        `\x1b]8;;https://evil.example\x1b\details\x1b]8;;\x1b\`,
	} {
		if got := string(format("%s", in)); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestCut(t *testing.T) {
	tests := []struct {
		in    string
		width int
		want  string
	}{
		{"abcdef", 6, "abcdef"}, {"abcdefg", 6, "abc..."}, {"abc", 2, ".."}, {"abc", 0, "abc"},
		{"\u6771\u4eac\u90fd", 6, "\u6771\u4eac\u90fd"}, {"\u6771\u4eac\u90fd", 5, "\u6771..."},
		{"e\u0301e\u0301", 2, "e\u0301e\u0301"},
	}
	for _, tt := range tests {
		if got := cut(tt.in, tt.width); got != tt.want {
			t.Errorf("cut(%q, %d): got %q, want %q", tt.in, tt.width, got, tt.want)
		}
	}
}

func TestTable(t *testing.T) {
	s := invocation{}
	p := newPrinter(s.process(t), false)
	tab := p.table("ID", "NAME", "N")
	tab.row("1", "\u6771\u4eac", 10)
	tab.row("22", paint(true, red, "x\x1by"), 2)
	tab.row("3", "", "")
	tab.print()
	want := "ID  NAME    N\n" +
		"1   \u6771\u4eac    10\n" +
		"22  \x1b[31mx\\x1by\x1b[0m  2\n" +
		"3\n"
	if got := s.stdout.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func FuzzVisible(f *testing.F) {
	f.Add("ACME\x1b[2K\x1b[1A Approved by CFO", 10)
	f.Add("\x1b]52;c;YQ==\x07\u202e\xff\u0085", 3)
	f.Fuzz(func(t *testing.T, s string, width int) {
		v := visible(s)
		if strings.ContainsFunc(v, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }) {
			t.Errorf("%q became %q", s, v)
		}
		if got := cut(v, width); width > 0 && cells(got) > width {
			t.Errorf("%q has %d columns, want %d at most", got, cells(got), width)
		}
	})
}
