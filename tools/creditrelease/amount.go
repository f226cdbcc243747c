package creditrelease

import (
	"errors"
	"fmt"
	"strings"

	"github.com/shopspring/decimal"
)

// What ParseAmount takes at most.
const (
	maxWholeDigits    = 18
	maxFractionDigits = 6
)

// Amount is an exact amount of money without its currency. The zero value is
// zero. Compare with Cmp: one amount has several forms inside.
type Amount struct{ d decimal.Decimal }

// ParseAmount reads plain decimal notation: an optional sign, 1 to 18 digits,
// and optionally a point and 1 to 6 digits. There are no blanks, exponents or
// thousands marks.
func ParseAmount(s string) (Amount, error) {
	if fault := amountFault(s); fault != "" {
		return Amount{}, fmt.Errorf("amount %s %s; write it like '1800.00'", escape(s), fault)
	}
	d, err := decimal.NewFromString(s)
	if err != nil {
		return Amount{}, fmt.Errorf("amount %s: %w", escape(s), err)
	}
	return Amount{d}, nil
}

// amountFault says what keeps s from being an amount; "" if nothing does.
func amountFault(s string) string {
	if s == "" {
		return "is empty"
	}
	unsigned := s
	if s[0] == '-' || s[0] == '+' {
		unsigned = s[1:]
	}
	whole, fraction, point := strings.Cut(unsigned, ".")
	if i := strings.IndexFunc(whole+fraction, notDigit); i >= 0 {
		return contains(s, func(r rune) bool { return notDigit(r) && r != '.' && r != '-' && r != '+' },
			"has a sign or point too many")
	}
	switch {
	case whole == "":
		return "has no digit before the point"
	case point && fraction == "":
		return "has no digit after the point"
	case len(whole) > maxWholeDigits:
		return fmt.Sprintf("has more than %d digits before the point", maxWholeDigits)
	case len(fraction) > maxFractionDigits:
		return fmt.Sprintf("has more than %d digits after the point", maxFractionDigits)
	}
	return ""
}

func notDigit(r rune) bool { return r < '0' || r > '9' }

// String returns the one canonical form: no leading zeros, at least two
// decimals and no zeros after those: "1800.00", "0.125", "-5.00".
func (a Amount) String() string {
	text := a.d.StringFixed(max(2, -a.d.Exponent()))
	point := strings.IndexByte(text, '.')
	for len(text) > point+3 && text[len(text)-1] == '0' {
		text = text[:len(text)-1]
	}
	return text
}

// Grouped returns the amount for texts that people read, with commas between
// thousands: "52,500" for a whole amount, "52,500.50" for others.
func (a Amount) Grouped() string {
	text := strings.TrimSuffix(a.String(), ".00")
	digits, sign := strings.CutPrefix(text, "-")
	whole, fraction, point := strings.Cut(digits, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if point {
		whole += "." + fraction
	}
	if sign {
		return "-" + whole
	}
	return whole
}

// Add returns a + b.
func (a Amount) Add(b Amount) Amount { return Amount{a.d.Add(b.d)} }

// Cmp returns -1, 0 or 1 as a is below, equal to or above b.
func (a Amount) Cmp(b Amount) int { return a.d.Cmp(b.d) }

// IsZero reports whether a is zero.
func (a Amount) IsZero() bool { return a.d.IsZero() }

// IsNegative reports whether a is below zero.
func (a Amount) IsNegative() bool { return a.d.IsNegative() }

// MarshalJSON writes the canonical form as a JSON string, so that no reader
// takes it for a float.
func (a Amount) MarshalJSON() ([]byte, error) { return []byte(`"` + a.String() + `"`), nil }

// UnmarshalJSON reads a JSON string or number, digit by digit, by the rules of
// [ParseAmount]. Anything else, null included, is an error.
func (a *Amount) UnmarshalJSON(data []byte) error {
	text := string(data)
	if len(text) >= 2 && text[0] == '"' {
		text = text[1 : len(text)-1] // an amount needs no escapes
	} else if text == "" || notDigit(rune(text[0])) && text[0] != '-' {
		return errors.New("an amount must be a number or a string like \"1800.00\"")
	}
	parsed, err := ParseAmount(text)
	if err == nil {
		*a = parsed
	}
	return err
}
