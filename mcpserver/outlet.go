package mcpserver

import (
	"net/http"
	"strings"
	"sync"
	"time"
)

// outlet is where the library's answer to one request goes out, an answer or a
// stream of messages: ids are put back, and a stream that is quiet gets a
// comment now and then, so that nothing between us and the host takes it for a
// dead one.
type outlet struct {
	http.ResponseWriter
	restore func([]byte) []byte
	every   time.Duration // of the comments; 0: none
	sent    func([]byte)  // sees what goes out; nil: nobody does
	quit    chan struct{}
	beat    sync.WaitGroup

	mu     sync.Mutex
	status int // that was answered; 0: none yet
	stream bool
	id     string // of the session on /sse that this is the stream of
}

// session is the session whose messages go out here; "" if there is none.
func (o *outlet) session() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.id
}

// answered is the HTTP status that went out.
func (o *outlet) answered() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.status
}

// serves says whose messages go out here from now on.
func (o *outlet) serves(session string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.id = session
}

func (o *outlet) WriteHeader(status int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.status = status
	if status == http.StatusOK && !o.stream && strings.HasPrefix(o.Header().Get("Content-Type"), "text/event-stream") {
		o.Header().Set("X-Accel-Buffering", "no")
		o.stream = true
		if o.every > 0 {
			o.beat.Go(o.beats)
		}
	}
	o.ResponseWriter.WriteHeader(status)
}

func (o *outlet) Write(b []byte) (int, error) {
	out := o.restore(b)
	if o.sent != nil {
		o.sent(out)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, err := o.ResponseWriter.Write(out); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Flush sends what was written.
func (o *outlet) Flush() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.flush()
}

func (o *outlet) flush() {
	if f, ok := o.ResponseWriter.(http.Flusher); ok {
		f.Flush()
	}
}

// Unwrap is for [http.ResponseController].
func (o *outlet) Unwrap() http.ResponseWriter { return o.ResponseWriter }

func (o *outlet) beats() {
	t := time.NewTicker(o.every)
	defer t.Stop()
	for {
		select {
		case <-o.quit:
			return
		case <-t.C:
			o.mu.Lock()
			if _, err := o.ResponseWriter.Write([]byte(": keep-alive\n\n")); err == nil {
				o.flush()
			}
			o.mu.Unlock()
		}
	}
}

func (o *outlet) end() {
	close(o.quit)
	o.beat.Wait()
}
