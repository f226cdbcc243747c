package mcpserver

import (
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	strangerBurst = 20              // requests without a valid token that one address may send at once
	strangerEvery = 2 * time.Second // and then one each so often
	maxStrangers  = 10_000          // addresses remembered
)

// strangers counts requests without a valid token, by address. A valid token is
// never kept out, whatever others behind the same address do: tokens are not to
// be guessed; the bound is for the log and for the machine.
type strangers struct {
	now  func() time.Time
	mu   sync.Mutex
	from map[string]*rate.Limiter
}

func newStrangers() *strangers { return &strangers{now: time.Now, from: map[string]*rate.Limiter{}} }

// failed counts one and returns how long the address has to wait; 0: it is
// answered as usual.
func (s *strangers) failed(r *http.Request) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	addr := hostOf(r.RemoteAddr)
	l := s.from[addr]
	if l == nil {
		if len(s.from) >= maxStrangers {
			s.forget(now)
		}
		l = rate.NewLimiter(rate.Every(strangerEvery), strangerBurst)
		s.from[addr] = l
	}
	turn := l.ReserveN(now, 1)
	wait := turn.DelayFrom(now)
	if wait > 0 {
		turn.CancelAt(now)
	}
	return wait
}

// forget drops the addresses that have been quiet; all of them if none was.
func (s *strangers) forget(now time.Time) {
	for addr, l := range s.from {
		if l.TokensAt(now) >= strangerBurst {
			delete(s.from, addr)
		}
	}
	if len(s.from) >= maxStrangers {
		clear(s.from)
	}
}
