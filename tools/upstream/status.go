package upstream

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// MaxRetryAfter is the longest time a Retry-After header is taken for.
const MaxRetryAfter = 24 * time.Hour

// FromStatus turns a failed HTTP answer into an error of the right class. It
// looks at status and header only: a body may be anything and is neither
// parsed nor shown. now is what a date in Retry-After is measured against. A
// status that is no failure (below 400) is permanent too: the caller expected
// something else.
func FromStatus(service string, status int, header http.Header, now time.Time) *Error {
	text := http.StatusText(status)
	switch {
	case status == 529:
		text = "Overloaded"
	case text == "":
		text = "(unknown status)"
	}
	e := &Error{Class: Permanent, Service: service, Text: fmt.Sprintf("%d %s from the %s", status, text, service)}
	if transientStatus(status) {
		e.Class = Transient
		e.RetryAfter = retryAfter(header.Get("Retry-After"), now)
	}
	return e
}

func transientStatus(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	}
	return status >= 500 && status <= 599
}

// retryAfter reads a Retry-After value; 0 for none, a past one and an odd one.
func retryAfter(value string, now time.Time) time.Duration {
	value = strings.TrimSpace(value)
	if value == "" {
		return 0
	}
	if strings.Trim(value, "0123456789") == "" {
		return seconds(value)
	}
	at, err := http.ParseTime(value)
	if err != nil || !at.After(now) {
		return 0
	}
	return min(at.Sub(now), MaxRetryAfter)
}

// seconds reads a number of any length: what is over the limit, int or
// Duration could overflow on, is the limit.
func seconds(digits string) time.Duration {
	limit := int64(MaxRetryAfter / time.Second)
	var n int64
	for _, d := range digits {
		if n = n*10 + int64(d-'0'); n >= limit {
			return MaxRetryAfter
		}
	}
	return time.Duration(n) * time.Second
}
