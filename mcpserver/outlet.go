package mcpserver

import (
	"net/http"
	"strings"
	"sync"
	"time"
)

// keepStreamsAlive writes a comment into event streams now and then, so that
// nothing between us and the host takes a quiet stream for a dead one. The
// library does that on some of its streams only.
func keepStreamsAlive(every time.Duration, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		k := &keptAlive{ResponseWriter: w, every: every, quit: make(chan struct{})}
		defer k.end()
		next.ServeHTTP(k, r)
	})
}

// keptAlive is an answer that may turn out to be a stream.
type keptAlive struct {
	http.ResponseWriter
	every time.Duration
	quit  chan struct{}
	beat  sync.WaitGroup

	mu     sync.Mutex
	stream bool
}

func (k *keptAlive) WriteHeader(status int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if status == http.StatusOK && !k.stream && strings.HasPrefix(k.Header().Get("Content-Type"), "text/event-stream") {
		k.Header().Set("X-Accel-Buffering", "no")
		k.stream = true
		k.beat.Go(k.beats)
	}
	k.ResponseWriter.WriteHeader(status)
}

func (k *keptAlive) Write(b []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.ResponseWriter.Write(b)
}

// Flush sends what was written.
func (k *keptAlive) Flush() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.flush()
}

func (k *keptAlive) flush() {
	if f, ok := k.ResponseWriter.(http.Flusher); ok {
		f.Flush()
	}
}

// Unwrap is for [http.ResponseController].
func (k *keptAlive) Unwrap() http.ResponseWriter { return k.ResponseWriter }

func (k *keptAlive) beats() {
	t := time.NewTicker(k.every)
	defer t.Stop()
	for {
		select {
		case <-k.quit:
			return
		case <-t.C:
			k.mu.Lock()
			if _, err := k.ResponseWriter.Write([]byte(": keep-alive\n\n")); err == nil {
				k.flush()
			}
			k.mu.Unlock()
		}
	}
}

func (k *keptAlive) end() {
	close(k.quit)
	k.beat.Wait()
}
