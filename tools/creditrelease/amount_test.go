package creditrelease

import (
	"encoding/json"
	"math/big"
	"strings"
	"testing"
)

// amount parses s or fails the test.
func amount(t testing.TB, s string) Amount {
	t.Helper()
	a, err := ParseAmount(s)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestParseAmount(t *testing.T) {
	tests := []struct{ in, want, grouped string }{
		{"0", "0.00", "0"},
		{"-0", "0.00", "0"},
		{"-0.000", "0.00", "0"},
		{"+7", "7.00", "7"},
		{"1800", "1800.00", "1,800"},
		{"1800.0", "1800.00", "1,800"},
		{"1800.5", "1800.50", "1,800.50"},
		{"1800.50", "1800.50", "1,800.50"},
		{"52500.000", "52500.00", "52,500"},
		{"0000004711.10", "4711.10", "4,711.10"},
		{"999.99", "999.99", "999.99"},
		{"0.125", "0.125", "0.125"},
		{"0.000001", "0.000001", "0.000001"},
		{"0.120000", "0.12", "0.12"},
		{"-1234567.8912", "-1234567.8912", "-1,234,567.8912"},
		{"-100", "-100.00", "-100"},
		{"999999999999999999.999999", "999999999999999999.999999", "999,999,999,999,999,999.999999"},
	}
	for _, tt := range tests {
		a, err := ParseAmount(tt.in)
		if err != nil {
			t.Errorf("ParseAmount(%q): %v", tt.in, err)
			continue
		}
		if a.String() != tt.want || a.Grouped() != tt.grouped {
			t.Errorf("ParseAmount(%q) = %q, %q grouped, want %q, %q", tt.in, a, a.Grouped(), tt.want, tt.grouped)
		}
	}
	var zero Amount
	if !zero.IsZero() || zero.IsNegative() || zero.String() != "0.00" {
		t.Errorf("the zero Amount is %q", zero)
	}
}

func TestParseAmountRefuses(t *testing.T) {
	tests := []struct{ in, want string }{
		{"", "is empty"},
		{".5", "no digit before the point"},
		{"5.", "no digit after the point"},
		{"-", "no digit before the point"},
		{".", "no digit before the point"},
		{"1e5", "the letter e at position 2"},
		{"1E+5", "the letter E at position 2"},
		{"0x10", "the letter x at position 2"},
		{"NaN", "the letter N at position 1"},
		{"1,5", `the character "," at position 2`},
		{"1.234,56", `the character "," at position 6`},
		{"1_000", `the character "_" at position 2`},
		{" 1", "a blank at position 1"},
		{"1 ", "a blank at position 2"},
		{"1\u00a0000", "the invisible character U+00A0 at position 2"},
		{"1\x1b[2K", "the invisible character U+001B at position 2"},
		{"\u0661", "the character U+0661 at position 1"},
		{"\u22125", "the character U+2212 at position 1"},
		{"1\xff", "the byte 0xFF, which is no UTF-8, at position 2"},
		{"1.2.3", "a sign or point too many"},
		{"--1", "a sign or point too many"},
		{"1-", "a sign or point too many"},
		{"1234567890123456789", "more than 18 digits before the point"},
		{"0.1234567", "more than 6 digits after the point"},
	}
	for _, tt := range tests {
		_, err := ParseAmount(tt.in)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("ParseAmount(%q): error %v, want one with %q", tt.in, err, tt.want)
		} else {
			checkPlainASCII(t, err.Error())
		}
	}
	_, err := ParseAmount(strings.Repeat("9", 1<<20))
	if err == nil || len(err.Error()) > 200 {
		t.Errorf("a million digits: error %.300v", err)
	}
}

func checkPlainASCII(t *testing.T, s string) {
	t.Helper()
	for _, r := range s {
		if r < ' ' || r > '~' {
			t.Errorf("text %q holds %U raw", s, r)
		}
	}
}

func TestAmountJSON(t *testing.T) {
	for in, want := range map[string]string{
		`"1800.00"`: `"1800.00"`, `1800`: `"1800.00"`, `1800.0`: `"1800.00"`, `-0.5`: `"-0.50"`, `"+1"`: `"1.00"`,
		`123456789012345678.123456`: `"123456789012345678.123456"`,
		`0.1`:                       `"0.10"`,
	} {
		var a Amount
		if err := json.Unmarshal([]byte(in), &a); err != nil {
			t.Errorf("%s: %v", in, err)
			continue
		}
		out, err := json.Marshal(struct{ A Amount }{a})
		if got := string(out); err != nil || got != `{"A":`+want+`}` {
			t.Errorf("%s became %s, %v, want %s", in, got, err, want)
		}
	}
	for _, in := range []string{`null`, `true`, `[]`, `{}`, `""`, `"x"`, `1e3`, `1E400`, `" 1"`, `"\u0031"`, `0.1234567`} {
		a := amount(t, "7")
		if err := json.Unmarshal([]byte(in), &a); err == nil || a.String() != "7.00" {
			t.Errorf("%s: amount %s, error %v, want an error and no change", in, a, err)
		}
	}
}

func TestAmountArithmetic(t *testing.T) {
	if got := amount(t, "0.1").Add(amount(t, "0.2")).String(); got != "0.30" {
		t.Errorf("0.1 + 0.2 = %s", got)
	}
	if amount(t, "1.50").Cmp(amount(t, "1.5")) != 0 || amount(t, "-1").Cmp(amount(t, "1")) != -1 || amount(t, "2").Cmp(amount(t, "1.999999")) != 1 {
		t.Error("Cmp is wrong")
	}
	if !amount(t, "-0.000001").IsNegative() || amount(t, "-0").IsNegative() {
		t.Error("IsNegative is wrong")
	}
}

func FuzzParseAmount(f *testing.F) {
	for _, s := range []string{"0", "-0", "1800.00", "+1.5", "1e5", "1.2.3", "-", "999999999999999999.999999", "\x00", "٤"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a, err := ParseAmount(s)
		if err != nil {
			checkPlainASCII(t, err.Error())
			return
		}
		want, ok := new(big.Rat).SetString(s)
		got, _ := new(big.Rat).SetString(a.String())
		if !ok || got.Cmp(want) != 0 {
			t.Fatalf("ParseAmount(%q) = %s", s, a)
		}
		again, err := ParseAmount(a.String())
		if err != nil || again.String() != a.String() {
			t.Fatalf("%q: String %s read again is %s, %v", s, a, again, err)
		}
		if plain := strings.ReplaceAll(a.Grouped(), ",", ""); amount(t, plain).Cmp(a) != 0 {
			t.Fatalf("%q: Grouped is %s", s, a.Grouped())
		}
	})
}
