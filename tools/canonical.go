package tools

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxDigits is the number of digits a number may have once it is written without an exponent.
const maxDigits = 60

// Canonical returns the one spelling of a decoded JSON value: keys sorted by their bytes, no blanks, text escaped only
// where JSON asks for it, numbers exact and without an exponent (3.0 and 30e-1 are 3). Equal values have equal bytes, so
// they serve as a key and as the input of a hash.
//
// It takes nil, bool, string, [json.Number], int, []any and map[string]any. Text that is not UTF-8, a number that is none
// or has more than 60 digits, and any other type are errors.
func Canonical(v any) ([]byte, error) {
	return appendCanonical(nil, v)
}

func appendCanonical(dst []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...), nil
	case bool:
		return strconv.AppendBool(dst, v), nil
	case int:
		return strconv.AppendInt(dst, int64(v), 10), nil
	case json.Number:
		n, err := canonicalNumber(v)
		return append(dst, n...), err
	case string:
		if !utf8.ValidString(v) {
			return nil, fmt.Errorf("canonical form: text is not valid UTF-8")
		}
		return appendQuoted(dst, v, func(r rune) bool { return r >= ' ' }), nil
	case []any:
		return appendCanonicalList(dst, v)
	case map[string]any:
		return appendCanonicalObject(dst, v)
	}
	return nil, fmt.Errorf("canonical form: cannot write a %T", v)
}

func appendCanonicalList(dst []byte, list []any) ([]byte, error) {
	dst = append(dst, '[')
	for i, v := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = appendCanonical(dst, v); err != nil {
			return nil, err
		}
	}
	return append(dst, ']'), nil
}

func appendCanonicalObject(dst []byte, object map[string]any) ([]byte, error) {
	dst = append(dst, '{')
	for i, key := range slices.Sorted(maps.Keys(object)) {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = appendCanonical(dst, key); err != nil {
			return nil, err
		}
		dst = append(dst, ':')
		if dst, err = appendCanonical(dst, object[key]); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

// canonicalNumber writes n exactly, without an exponent and without zeros that say nothing.
func canonicalNumber(n json.Number) (json.Number, error) {
	s := string(n)
	if !json.Valid([]byte(s)) || strings.Trim(s, "+-.0123456789eE") != "" {
		return "", fmt.Errorf("canonical form: %s is not a number", quoteASCII(s))
	}
	if !boundedNumber(s) {
		return "", fmt.Errorf("canonical form: a number has more than %d digits", maxDigits)
	}
	if s != "-0" && !strings.ContainsAny(s, ".eE") {
		return n, nil
	}
	exact, ok := new(big.Rat).SetString(s)
	if !ok {
		return "", fmt.Errorf("canonical form: %s is not a number", quoteASCII(s))
	}
	digits, _ := exact.FloatPrec()
	return json.Number(exact.FloatString(digits)), nil
}

// boundedNumber reports whether the JSON number s has at most maxDigits digits when written out. Nothing larger may
// reach code that writes it out: 1e999999999 is eleven bytes and a gigabyte.
func boundedNumber(s string) bool {
	mantissa, exponent := s, ""
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		mantissa, exponent = s[:i], s[i+1:]
	}
	digits := len(mantissa) - strings.Count(mantissa, "-") - strings.Count(mantissa, ".")
	if exponent == "" {
		return digits <= maxDigits
	}
	shift, err := strconv.Atoi(exponent)
	return err == nil && shift >= -maxDigits && shift <= maxDigits && digits+max(shift, -shift) <= maxDigits
}

// normalNumbers replaces every number within v by its canonical form, in place.
func normalNumbers(v any) (any, error) {
	var err error
	switch v := v.(type) {
	case json.Number:
		return canonicalNumber(v)
	case []any:
		for i := range v {
			if v[i], err = normalNumbers(v[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for key := range v {
			if v[key], err = normalNumbers(v[key]); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}
