package creditrelease

import (
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
)

// judge judges amounts given as text, all in EUR.
func judge(t testing.TB, open, net, others, limit string) Judgement {
	t.Helper()
	j, err := Judge(Standing{OpenItems: amount(t, open), NetValue: amount(t, net), Others: amount(t, others),
		Limit: amount(t, limit), Currency: "EUR", LimitCurrency: "EUR"})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// judgeCase is one standing in EUR and what is expected of it.
type judgeCase struct {
	name                     string
	open, net, others, limit string
	exposure, percent, role  string
	cumulated, cumulatedPct  string
}

func (tt judgeCase) run(t *testing.T) {
	j := judge(t, tt.open, tt.net, tt.others, tt.limit)
	got := []string{j.Exposure.String(), j.Percent, j.Role, j.CumulatedExposure.String(), j.CumulatedPercent}
	want := []string{tt.exposure, tt.percent, tt.role, tt.cumulated, tt.cumulatedPct}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if j.OverLimit != (tt.role != "") || j.NoLimit != (tt.percent == NoLimitText) {
		t.Errorf("OverLimit %v, NoLimit %v with role %q", j.OverLimit, j.NoLimit, j.Role)
	}
}

func TestJudge(t *testing.T) {
	const cm, hof = RoleCreditManager, RoleHeadOfFinance
	for _, tt := range []judgeCase{
		{"sample 4711", "50700", "1800", "0", "50000", "52500.00", "5.0", cm, "52500.00", "5.0"},
		{"sample 4740", "20500", "1700", "0", "20000", "22200.00", "11.0", hof, "22200.00", "11.0"},
		{"APR-22 exposure 52,520 is 5.04%", "50700", "1820", "0", "50000", "52520.00", "5.04", hof, "52520.00", "5.04"},
		{"rounding_role 5.05%", "50725", "1800", "0", "50000", "52525.00", "5.05", hof, "52525.00", "5.05"},
		{"rounding_role 4.998%", "50699", "1800", "0", "50000", "52499.00", "4.998", cm, "52499.00", "4.998"},
		{"rounding_role 0.04%", "48220", "1800", "0", "50000", "50020.00", "0.04", cm, "50020.00", "0.04"},
		{"rounding_role 0.05%", "48225", "1800", "0", "50000", "50025.00", "0.05", cm, "50025.00", "0.05"},
		{"rounding_role 0.052%", "48226", "1800", "0", "50000", "50026.00", "0.05", cm, "50026.00", "0.05"},
		{"exactly the limit", "48200", "1800", "0", "50000", "50000.00", "0.0", "", "50000.00", "0.0"},
		{"a millionth over it", "48200.000001", "1800", "0", "50000", "50000.000001", "0.000000002", cm, "50000.000001", "0.000000002"},
		{"a millionth below it", "48199.999999", "1800", "0", "50000", "49999.999999", "-0.000000002", "", "49999.999999", "-0.000000002"},
		{"a millionth over 5%", "50700.000001", "1800", "0", "50000", "52500.000001", "5.000000002", hof, "52500.000001", "5.000000002"},
	} {
		t.Run(tt.name, tt.run)
	}
}

func TestJudgeOthersAndOddValues(t *testing.T) {
	const cm, hof = RoleCreditManager, RoleHeadOfFinance
	for _, tt := range []judgeCase{
		{"far within", "19200", "1800", "0", "50000", "21000.00", "-58.0", "", "21000.00", "-58.0"},
		{"within, whatever the others", "48000", "1800", "90000", "50000", "49800.00", "-0.4", "", "139800.00", "179.6"},
		{"salami first", "51000", "1000", "0", "50000", "52000.00", "4.0", cm, "52000.00", "4.0"},
		{"salami second", "51000", "1000", "1000", "50000", "52000.00", "4.0", hof, "53000.00", "6.0"},
		{"salami lab: 1800+1700+1600", "50700", "1600", "3500", "50000", "52300.00", "4.6", hof, "55800.00", "11.6"},
		{"others up to exactly 5%", "51000", "1000", "500", "50000", "52000.00", "4.0", cm, "52500.00", "5.0"},
		{"others below zero do not help", "52000", "1000", "-900", "50000", "53000.00", "6.0", hof, "53000.00", "6.0"},
		{"APR-23 no limit", "0", "1", "0", "0", "1.00", NoLimitText, hof, "1.00", NoLimitText},
		{"APR-23 no limit, no exposure", "0", "0", "0", "0", "0.00", NoLimitText, hof, "0.00", NoLimitText},
		{"APR-23 negative limit", "-9", "1", "2", "-5", "-8.00", NoLimitText, hof, "-6.00", NoLimitText},
		{"a third", "20000", "0.01", "0", "30000", "20000.01", "-33.33", "", "20000.01", "-33.33"},
		{"rounds away from zero", "106.125", "0", "0", "100", "106.125", "6.13", hof, "106.125", "6.13"},
		{"rounds away from zero below", "93.875", "0", "0", "100", "93.875", "-6.13", "", "93.875", "-6.13"},
		{"zero at the end is left out", "111.996", "0", "0", "100", "111.996", "12.0", hof, "111.996", "12.0"},
		{"close to 5 from below", "104.9999", "0", "0", "100", "104.9999", "4.9999", cm, "104.9999", "4.9999"},
		{"close to 5 from above", "105.0004", "0", "0", "100", "105.0004", "5.0004", hof, "105.0004", "5.0004"},
		{"largest", "999999999999999999", "0", "0", "0.000001", "999999999999999999.00", "99999999999999999899999900.0", hof,
			"999999999999999999.00", "99999999999999999899999900.0"},
	} {
		t.Run(tt.name, tt.run)
	}
}

func TestAPR23_OtherCurrency(t *testing.T) {
	tests := []struct{ order, limit, want string }{
		{"USD", "EUR", "cannot compare: the order is in USD and the credit limit in EUR"},
		{"EUR", "", "cannot compare: the order is in EUR and the credit limit in no currency"},
		{"", "", "cannot compare: the order is in no currency and the credit limit in no currency"},
		{"eur", "EUR", `cannot compare: the order is in "eur" and the credit limit in EUR`},
		{"\x1b[2K", "EUR", `cannot compare: the order is in "\x1b[2K" and the credit limit in EUR`},
	}
	for _, tt := range tests {
		j, err := Judge(Standing{Currency: tt.order, LimitCurrency: tt.limit, Limit: amount(t, "1")})
		var ce *CurrencyError
		if !errors.As(err, &ce) || err.Error() != tt.want || j != (Judgement{}) {
			t.Errorf("%q against %q: %+v, %v, want %q", tt.order, tt.limit, j, err, tt.want)
		}
	}
}

func TestJudgeTooLarge(t *testing.T) {
	huge, one := amount(t, "999999999999999999.99"), amount(t, "1")
	for _, s := range []Standing{
		{OpenItems: huge, NetValue: one},
		{OpenItems: one, NetValue: one, Others: huge},
	} {
		s.Limit, s.Currency, s.LimitCurrency = one, "EUR", "EUR"
		if _, err := Judge(s); !errors.Is(err, ErrTooLarge) {
			t.Errorf("Judge(%+v): %v, want %v", s, err, ErrTooLarge)
		}
	}
}

// TestJudgeAgainstRat compares Judge with the same rule in fractions.
func TestJudgeAgainstRat(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		limit := fixed(r.Int64N(1e9), r.IntN(7))
		if r.IntN(2) == 0 {
			limit = fixed(r.Int64N(50)*1000, 0)
		}
		net, others := fixed(r.Int64N(1e5)-1e4, r.IntN(7)), fixed(r.Int64N(1e5)-1e4, r.IntN(7))
		open := near(r, limit, net)
		checkJudgement(t, judge(t, open, net, others, limit), rat(open), rat(net), rat(others), rat(limit))
		if t.Failed() {
			t.Fatalf("open %s net %s others %s limit %s", open, net, others, limit)
		}
	}
}

func checkJudgement(t *testing.T, j Judgement, open, net, others, limit *big.Rat) {
	t.Helper()
	exposure := new(big.Rat).Add(open, net)
	cumulated := new(big.Rat).Set(exposure)
	if others.Sign() > 0 {
		cumulated.Add(cumulated, others)
	}
	role := RoleHeadOfFinance
	switch five := new(big.Rat).Mul(limit, big.NewRat(105, 100)); {
	case limit.Sign() <= 0:
	case exposure.Cmp(limit) <= 0:
		role = ""
	case cumulated.Cmp(five) <= 0:
		role = RoleCreditManager
	}
	if j.Role != role || rat(j.Exposure.String()).Cmp(exposure) != 0 || rat(j.CumulatedExposure.String()).Cmp(cumulated) != 0 {
		t.Errorf("judged %+v, want role %q", j, role)
	}
	if limit.Sign() > 0 {
		checkPercent(t, j.Percent, exposure, limit)
		checkPercent(t, j.CumulatedPercent, cumulated, limit)
	}
}

// checkPercent holds a percent text against the exact value by the words of
// the package comment.
func checkPercent(t *testing.T, got string, exposure, limit *big.Rat) {
	t.Helper()
	exact := new(big.Rat).Quo(exposure, limit)
	exact.Sub(exact, big.NewRat(1, 1)).Mul(exact, big.NewRat(100, 1))
	shown := rat(got)
	_, decimals, _ := strings.Cut(got, ".")
	places := len(decimals)
	for _, threshold := range []int64{0, 5} {
		if th := big.NewRat(threshold, 1); shown.Cmp(th) != exact.Cmp(th) && (shown.Cmp(th) == 0) != (exact.Cmp(th) == 0) {
			t.Errorf("%q shows threshold %d, exact is %s", got, threshold, exact.FloatString(30))
		}
	}
	if exact.FloatString(max(places, 2)) != shown.FloatString(max(places, 2)) && places <= 2 || places == 0 {
		t.Errorf("%q, exact is %s", got, exact.FloatString(30))
	}
	if places > 2 {
		before, at := rat(exact.FloatString(places-1)), exact.FloatString(places)
		if at != got || before.Sign() != 0 && before.Cmp(big.NewRat(5, 1)) != 0 {
			t.Errorf("%q has more decimals than it needs, exact is %s", got, exact.FloatString(30))
		}
	}
	if places > 1 && decimals[places-1] == '0' {
		t.Errorf("%q ends in a zero", got)
	}
}

func rat(s string) *big.Rat {
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		panic(s)
	}
	return r
}

// fixed writes n with its last places digits behind the point.
func fixed(n int64, places int) string {
	return new(big.Rat).SetFrac64(n, pow10(places)).FloatString(places)
}

func pow10(n int) int64 {
	p := int64(1)
	for range n {
		p *= 10
	}
	return p
}

// near returns open items with which the exposure often lies on or close to a
// threshold of limit.
func near(r *rand.Rand, limit, net string) string {
	factor := []int64{0, 95, 100, 105, 110}[r.IntN(5)]
	v := new(big.Rat).Mul(rat(limit), big.NewRat(factor, 100))
	v.Sub(v, rat(net))
	return v.Add(v, big.NewRat(r.Int64N(5)-2, pow10(r.IntN(7)))).FloatString(6)
}
