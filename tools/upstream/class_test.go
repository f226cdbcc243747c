package upstream

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestClassOf(t *testing.T) {
	dial := func(err error) error {
		return &url.Error{Op: "Get", URL: "https://x/?token=s3cret", Err: &net.OpError{Op: "dial", Net: "tcp", Err: err}}
	}
	tests := []struct {
		name string
		err  error
		want Class
	}{
		{"nil", nil, 0},
		{"own transient", &Error{Class: Transient}, Transient},
		{"own business, wrapped", fmt.Errorf("read: %w", &Error{Class: Business}), Business},
		{"own permanent over a timeout inside", &Error{Class: Permanent, Err: context.DeadlineExceeded}, Permanent},
		{"own without class, timeout inside", &Error{Err: context.DeadlineExceeded}, Transient},
		{"open breaker", &OpenError{Service: "x"}, Transient},
		{"deadline", context.DeadlineExceeded, Transient},
		{"i/o timeout", fmt.Errorf("read: %w", os.ErrDeadlineExceeded), Transient},
		{"canceled", context.Canceled, Permanent},
		{"canceled in url.Error", &url.Error{Op: "Get", Err: context.Canceled}, Permanent},
		{"connection reset", &net.OpError{Op: "read", Err: os.NewSyscallError("read", syscall.ECONNRESET)}, Transient},
		{"EOF instead of an answer", &url.Error{Op: "Get", Err: io.EOF}, Transient},
		{"body cut off", io.ErrUnexpectedEOF, Transient},
		{"broken pipe", syscall.EPIPE, Transient},
		{"HTT-11 refused", dial(os.NewSyscallError("connect", syscall.ECONNREFUSED)), Transient},
		{"HTT-11 DNS timeout", dial(&net.DNSError{Name: "x", IsTimeout: true}), Transient},
		{"HTT-11 DNS server failure", dial(&net.DNSError{Name: "x", IsTemporary: true}), Transient},
		{"HTT-11 no such host", dial(&net.DNSError{Name: "x", IsNotFound: true}), Permanent},
		{"HTT-11 bad certificate", &url.Error{Op: "Get", Err: x509.UnknownAuthorityError{}}, Permanent},
		{"unknown", errors.New("boom"), Permanent},
	}
	for _, tt := range tests {
		if got := ClassOf(tt.err); got != tt.want {
			t.Errorf("%s: ClassOf(%v) = %v, want %v", tt.name, tt.err, got, tt.want)
		}
		if text := SafeText(tt.err); strings.Contains(text, "s3cret") || (text == "") != (tt.err == nil) {
			t.Errorf("%s: SafeText = %q", tt.name, text)
		}
	}
}

func TestSafeText(t *testing.T) {
	tests := []struct {
		err  error
		want string
	}{
		{nil, ""},
		{fmt.Errorf("x: %w", &Error{Text: "503 from the tax service", Err: errors.New("secret")}), "503 from the tax service"},
		{&Error{Err: errors.New("secret")}, "the call failed"},
		{context.DeadlineExceeded, "the service did not answer in time"},
		{context.Canceled, "the call was canceled"},
		{io.EOF, "the connection to the service failed"},
		{errors.New("secret"), "the call failed"},
		{&OpenError{Service: "tax service", Until: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)},
			"the tax service is not called until 03:04:05, because the last calls to it failed"},
	}
	for _, tt := range tests {
		if got := SafeText(tt.err); got != tt.want {
			t.Errorf("SafeText(%v) = %q, want %q", tt.err, got, tt.want)
		}
	}
}

func TestFromStatus(t *testing.T) {
	tests := []struct {
		status int
		class  Class
		text   string
	}{
		{503, Transient, "503 Service Unavailable from the tax service"},
		{529, Transient, "529 Overloaded from the tax service"}, // HTT-05
		{502, Transient, "502 Bad Gateway from the tax service"},
		{500, Transient, "500 Internal Server Error from the tax service"},
		{599, Transient, "599 (unknown status) from the tax service"},
		{429, Transient, "429 Too Many Requests from the tax service"},
		{425, Transient, "425 Too Early from the tax service"},
		{408, Transient, "408 Request Timeout from the tax service"},
		{400, Permanent, "400 Bad Request from the tax service"},
		{401, Permanent, "401 Unauthorized from the tax service"},
		{403, Permanent, "403 Forbidden from the tax service"},
		{404, Permanent, "404 Not Found from the tax service"},
		{422, Permanent, "422 Unprocessable Entity from the tax service"},
		{302, Permanent, "302 Found from the tax service"},
		{600, Permanent, "600 (unknown status) from the tax service"},
		{0, Permanent, "0 (unknown status) from the tax service"},
	}
	for _, tt := range tests {
		header := http.Header{"Retry-After": {"7"}}
		got := FromStatus("tax service", tt.status, header, time.Now())
		wantAfter := time.Duration(0)
		if tt.class == Transient {
			wantAfter = 7 * time.Second
		}
		if got.Class != tt.class || got.Text != tt.text || got.Service != "tax service" || got.RetryAfter != wantAfter {
			t.Errorf("FromStatus(%d) = %+v, want %v %q after %v", tt.status, got, tt.class, tt.text, wantAfter)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 10, 21, 7, 26, 0, 0, time.UTC)
	tests := []struct {
		name, value string
		want        time.Duration
	}{
		{"HTT-01 date ahead", "Wed, 21 Oct 2026 07:28:00 GMT", 2 * time.Minute},
		{"HTT-01 date in the past", "Wed, 21 Oct 2026 07:25:00 GMT", 0},
		{"HTT-01 date now", "Wed, 21 Oct 2026 07:26:00 GMT", 0},
		{"old date format", "Wednesday, 21-Oct-26 07:27:00 GMT", time.Minute},
		{"date years ahead", "Wed, 21 Oct 2099 07:28:00 GMT", MaxRetryAfter},
		{"seconds", "120", 2 * time.Minute},
		{"seconds with blanks", " 3 ", 3 * time.Second},
		{"leading zeros", "0007", 7 * time.Second},
		{"HTT-02 overflows a Duration", "9999999999", MaxRetryAfter},
		{"HTT-02 overflows an int", strings.Repeat("9", 400), MaxRetryAfter},
		{"HTT-02 fraction", "1.5", 0},
		{"HTT-02 negative", "-3", 0},
		{"HTT-02 junk behind", "120junk", 0},
		{"HTT-02 zero", "0", 0},
		{"HTT-02 empty", "", 0},
		{"plus sign", "+5", 0},
		{"other digits", "\u0661\u0662", 0},
		{"text", "soon", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := FromStatus("tax service", 429, http.Header{"Retry-After": {tt.value}}, now)
			if got.RetryAfter != tt.want {
				t.Errorf("Retry-After %q = %v, want %v", tt.value, got.RetryAfter, tt.want)
			}
		})
	}
	if got := FromStatus("tax service", 429, nil, now); got.RetryAfter != 0 || got.Class != Transient {
		t.Errorf("HTT-03 without header = %+v, want transient without RetryAfter", got)
	}
}

func FuzzRetryAfter(f *testing.F) {
	for _, s := range []string{"120", "-3", "9999999999", "Wed, 21 Oct 2026 07:28:00 GMT", "1e9", "\x00"} {
		f.Add(s)
	}
	now := time.Date(2026, 10, 21, 7, 26, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, value string) {
		if got := retryAfter(value, now); got < 0 || got > MaxRetryAfter {
			t.Errorf("retryAfter(%q) = %v", value, got)
		}
	})
}
