// Package upstream makes calls to services that are not ours: it sorts their
// failures into classes, tries again where that helps, and stops trying for a
// while where it does not.
//
// # Classes
//
//	Transient  may pass on its own: HTTP 408, 425, 429 and 5xx, timeouts,
//	           refused and dropped connections
//	Permanent  will fail again: other HTTP statuses, a bad certificate, an
//	           unknown host, a canceled call, anything not known
//	Business   the service answered, and the answer is no: such an id does
//	           not exist, or does not fit the other one
//
// [FromStatus] reads the class off an HTTP status, [ClassOf] off any error. An
// [*Error] states its class itself.
//
// # Retry-After
//
// [FromStatus] takes whole seconds ("120") or an HTTP date, digits first. A
// date that has passed, a sign, a fraction, text and an empty value are as
// good as no header; more than [MaxRetryAfter] counts as MaxRetryAfter. A 429
// without the header (a spent quota has none) stays transient: the small
// number of attempts bounds what it can cost.
//
// # Attempts and waits
//
// [Client.Do] makes up to Policy.Attempts attempts (3), and only after
// transient failures. The wait after attempt n is
//
//	Base * 2^(n-1) + Jitter() * Base        (0.2 s, 0.4 s, each + [0, 0.2 s))
//
// or the failure's RetryAfter where that is longer, and never more than
// Policy.MaxWait (5 s). If this wait, or the whole RetryAfter, would pass the
// context's deadline there is no wait: the call ends at once with the failure
// it has. There is one layer of retries; what Do calls must not retry.
//
// # Breaker
//
// A call that used up its attempts on transient failures counts against its
// service; a success, a business or a permanent failure sets the count back to
// zero. After BreakAfter such calls in a row (3) further ones fail at once
// with an [*OpenError] and reach no service. When BreakFor (30 s) has passed,
// one call goes through as a probe, the others still fail at once: an answer
// closes the breaker, a transient failure keeps it open for BreakFor more.
// A call that its caller canceled or whose deadline came before its attempts
// were used up says nothing about the service and is not counted.
package upstream
