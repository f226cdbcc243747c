package upstream

import (
	"context"
	"errors"
	"time"
)

type attemptKey struct{}

func withAttempt(ctx context.Context, n int) context.Context {
	return context.WithValue(ctx, attemptKey{}, n)
}

// Attempt returns which attempt of [Client.Do] ctx belongs to, counted from 1;
// outside Do it is 1. It serves what stands in for a service; callers get
// the number from Do.
func Attempt(ctx context.Context) int {
	if n, ok := ctx.Value(attemptKey{}).(int); ok {
		return n
	}
	return 1
}

// retryAfterOf returns how long the service that failed with err asked to
// wait, 0 if it did not say.
func retryAfterOf(err error) time.Duration {
	var e *Error
	if errors.As(err, &e) {
		return max(e.RetryAfter, 0)
	}
	return 0
}
