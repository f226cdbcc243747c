package creditrelease

import (
	"strings"
	"testing"
)

func TestARG16_LeadingZeros(t *testing.T) {
	for in, want := range map[string]string{
		"4711": "4711", "0000004711": "4711", "0": "0", "0000000000": "0", "9999999999": "9999999999", "0100": "100",
	} {
		if got, err := CanonicalID(in); got != want || err != nil {
			t.Errorf("CanonicalID(%q) = %q, %v, want %q", in, got, err, want)
		}
	}
}

func TestARG15_UnicodeDigits(t *testing.T) {
	tests := []struct{ in, want string }{
		{"47\u00b2", "contains the character U+00B2 at position 3; digits only, e.g. '4711'"},
		{"\u0664\u0667\u0661\u0661", "contains the character U+0664 at position 1; digits only, e.g. '4711'"},
		{"\uff14\uff17\uff11\uff11", "contains the character U+FF14 at position 1; digits only, e.g. '4711'"},
		{"\u2463711", "contains the character U+2463 at position 1; digits only, e.g. '4711'"},
		{"47O1", "contains the letter O at position 3; digits only, e.g. '4711'"},
		{"4711 ", "contains a blank at position 5; digits only, e.g. '4711'"},
		{"\n4711", "contains the invisible character U+000A at position 1; digits only, e.g. '4711'"},
		{"47\u200b11", "contains the invisible character U+200B at position 3; digits only, e.g. '4711'"},
		{"47\u202e11", "contains the invisible character U+202E at position 3; digits only, e.g. '4711'"},
		{"4711\U000E0049", "contains the invisible character U+E0049 at position 5; digits only, e.g. '4711'"},
		{"47\xff", "contains the byte 0xFF, which is no UTF-8, at position 3; digits only, e.g. '4711'"},
		{"47.0", `contains the character "." at position 3; digits only, e.g. '4711'`},
		{"-4711", `contains the character "-" at position 1; digits only, e.g. '4711'`},
		{"", "is empty; digits only, e.g. '4711'"},
		{"00000004711", "has 11 digits; at most 10, e.g. '4711'"},
		{strings.Repeat("9", 1000), "has 1000 digits; at most 10, e.g. '4711'"},
	}
	for _, tt := range tests {
		got, err := CanonicalID(tt.in)
		if err == nil || err.Error() != tt.want || got != "" {
			t.Errorf("CanonicalID(%q) = %q, %v, want error %q", tt.in, got, err, tt.want)
		}
	}
}

func FuzzCanonicalID(f *testing.F) {
	for _, s := range []string{"4711", "0000004711", "47²", "", "\x00", "12345678901"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		id, err := CanonicalID(s)
		if err != nil {
			checkPlainASCII(t, err.Error())
			return
		}
		again, err := CanonicalID(id)
		if err != nil || again != id || len(id) == 0 || len(id) > 10 || id != "0" && id[0] == '0' || !strings.HasSuffix(s, id) {
			t.Errorf("CanonicalID(%q) = %q; again %q, %v", s, id, again, err)
		}
	})
}
