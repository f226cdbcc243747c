package creditrelease

import (
	"errors"
	"fmt"
	"strings"

	"github.com/shopspring/decimal"
)

// RuleVersion names the role rule of the package comment. It is sealed into
// what approvers see; another rule gets another name.
const RuleVersion = "credit-role/1"

// The roles that approve release requests.
const (
	RoleCreditManager = "CREDIT_MANAGER"
	RoleHeadOfFinance = "HEAD_OF_FINANCE"
)

// NoLimitText stands where a percentage would, if there is no limit.
const NoLimitText = "no limit set"

// Standing is what the rule judges: one sales order of one customer.
type Standing struct {
	OpenItems, NetValue Amount
	// Others is the sum of the customer's other requests since OpenItems was
	// read.
	Others        Amount
	Limit         Amount
	Currency      string // of the order and of Others
	LimitCurrency string // of Limit and OpenItems
}

// Judgement is what the rule says of a standing.
type Judgement struct {
	Exposure          Amount // of the order alone
	Percent           string // Exposure over the limit, see the package comment
	CumulatedExposure Amount // with the others
	CumulatedPercent  string
	Role              string // who must approve; "": nothing needs to be released
	OverLimit         bool   // the order alone is over the limit, or there is none
	NoLimit           bool   // the limit is zero or negative
}

// CurrencyError says that order and limit are in different currencies, or in
// one that is not known.
type CurrencyError struct{ Order, Limit string }

// Error names both currencies.
func (e *CurrencyError) Error() string {
	return fmt.Sprintf("cannot compare: the order is in %s and the credit limit in %s",
		currencyName(e.Order), currencyName(e.Limit))
}

func currencyName(code string) string {
	switch {
	case code == "":
		return "no currency"
	case ValidCurrency(code):
		return code
	}
	return escape(code)
}

// ValidCurrency reports whether code has the form of an ISO 4217 code: three
// capital ASCII letters.
func ValidCurrency(code string) bool {
	return len(code) == 3 && strings.Trim(code, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

// ErrTooLarge says that a sum has more digits than an amount can have.
var ErrTooLarge = errors.New("cannot compare: the exposure has more than 18 digits")

// Judge applies the rule to s. It returns a [*CurrencyError] if the currencies
// differ or are not given, and [ErrTooLarge] if the exposure could not be written as an amount.
func Judge(s Standing) (Judgement, error) {
	if s.Currency == "" || s.Currency != s.LimitCurrency {
		return Judgement{}, &CurrencyError{s.Currency, s.LimitCurrency}
	}
	j := Judgement{Exposure: s.OpenItems.Add(s.NetValue)}
	j.CumulatedExposure = j.Exposure
	if !s.Others.IsNegative() {
		j.CumulatedExposure = j.Exposure.Add(s.Others)
	}
	if tooLarge(j.Exposure) || tooLarge(j.CumulatedExposure) {
		return Judgement{}, ErrTooLarge
	}
	j.NoLimit = s.Limit.d.Sign() <= 0
	j.OverLimit = j.NoLimit || j.Exposure.Cmp(s.Limit) > 0
	j.Role = role(j, s.Limit)
	j.Percent, j.CumulatedPercent = NoLimitText, NoLimitText
	if !j.NoLimit {
		j.Percent = percentText(j.Exposure, s.Limit)
		j.CumulatedPercent = percentText(j.CumulatedExposure, s.Limit)
	}
	return j, nil
}

func role(j Judgement, limit Amount) string {
	switch {
	case j.NoLimit:
		return RoleHeadOfFinance
	case !j.OverLimit:
		return ""
	case j.CumulatedExposure.d.Mul(decimal.New(100, 0)).Cmp(limit.d.Mul(decimal.New(105, 0))) <= 0:
		return RoleCreditManager
	}
	return RoleHeadOfFinance
}

func tooLarge(a Amount) bool {
	return a.d.Abs().Cmp(decimal.New(1, maxWholeDigits)) >= 0
}

// percentText writes (exposure / limit - 1) * 100 by the rule of the package
// comment; limit is above zero.
func percentText(exposure, limit Amount) string {
	over := exposure.d.Sub(limit.d).Mul(decimal.New(100, 0))
	if q, rest := over.QuoRem(limit.d, 1); rest.IsZero() {
		return q.StringFixed(1)
	}
	for places := int32(2); ; places++ {
		if shown := over.DivRound(limit.d, places); !atThreshold(shown) {
			return trimZeros(shown.StringFixed(places))
		}
	}
}

func atThreshold(percent decimal.Decimal) bool {
	return percent.IsZero() || percent.Equal(decimal.New(5, 0))
}

// trimZeros cuts zeros at the end of a text with decimals, down to one decimal.
func trimZeros(text string) string {
	for text[len(text)-1] == '0' && text[len(text)-2] != '.' {
		text = text[:len(text)-1]
	}
	return text
}
