package mcpserver

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"orderdesk/runstore"
	"orderdesk/runstore/runstoretest"
)

const loadClients = 64

// loader is one host under load: a session of the older protocol, or none.
type loader struct {
	url, token string
	http       *http.Client
	session    string
	modern     bool
	id         int
}

func (l *loader) send(method, body string, header ...string) (status int, h http.Header, answer string, err error) {
	r, err := http.NewRequestWithContext(context.Background(), method, l.url+"/mcp", strings.NewReader(body))
	if err != nil {
		return 0, nil, "", err
	}
	header = append(header, "Authorization: Bearer "+l.token, "Content-Type: application/json", "Accept: application/json, text/event-stream")
	if l.session != "" {
		header = append(header, "Mcp-Session-Id: "+l.session)
	}
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Set(name, value)
	}
	res, err := l.http.Do(r)
	if err != nil {
		return 0, nil, "", err
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	return res.StatusCode, res.Header, string(raw), err
}

// call makes one call and returns its answer.
func (l *loader) call(name, args string) (string, error) {
	l.id++
	body, header := toolCall(strconv.Itoa(l.id), name, args), []string(nil)
	if l.modern {
		body, header = modernCall(strconv.Itoa(l.id), name, args), modernHeaders(name)
	}
	status, _, answer, err := l.send(http.MethodPost, body, header...)
	if err == nil && (status != http.StatusOK || !strings.Contains(answer, fmt.Sprintf(`"id":%d,"result"`, l.id))) {
		err = fmt.Errorf("%s: %d %s", name, status, answer)
	}
	return answer, err
}

func (l *loader) open() error {
	if l.modern {
		return nil
	}
	status, h, body, err := l.send(http.MethodPost, initialize)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("initialize: %d %s", status, body)
	}
	l.session = h.Get("Mcp-Session-Id")
	return err
}

func (l *loader) leave() error {
	if l.session == "" {
		return nil
	}
	status, _, body, err := l.send(http.MethodDelete, "")
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("DELETE: %d %s", status, body)
	}
	return err
}

// work plans in a run of its own, and looks at it, until more says no. It
// returns the calls that count.
func (l *loader) work(more func(n int) bool) (run string, counted int, err error) {
	answer, err := l.call("run_start", "{}")
	if err != nil {
		return "", 0, err
	}
	run = anyRunID.FindString(answer)
	read := `{"sales_organization":"1010","run_id":"` + run + `"}`
	if answer, err = l.call(list, read); err != nil || strings.Contains(answer, `"isError":true`) {
		return run, 0, fmt.Errorf("%s: %w", answer, err)
	}
	for counted = 1; more(counted); counted++ {
		answer, err = l.call("plan_update", fmt.Sprintf(`{"items":[{"sales_order":"4711","status":"todo","note":"%d"}],"run_id":"%s"}`, counted, run))
		if err != nil || strings.Contains(answer, `"isError":true`) {
			return run, counted, fmt.Errorf("%s: %w", answer, err)
		}
		if counted%10 == 0 {
			if _, err = l.call("run_status", `{"run_id":"`+run+`"}`); err != nil {
				return run, counted, err
			}
		}
	}
	return run, counted, nil
}

// loadSite is a site over a store on disk, with budgets that load does not meet.
func loadSite(t testing.TB) (d *desk, url, token string, site *HTTP) {
	t.Helper()
	d = &desk{t: t, store: runstoretest.Dir(t, t.TempDir())}
	d.open()
	d.hosts = d.door(Options{Budget: runstore.Budget{ToolCalls: runstore.Limit{Max: 1_000_000, Set: true}}})
	agents := NewAgents(d.store)
	token, err := agents.Add(t.Context(), "load", "test")
	if err != nil {
		t.Fatal(err)
	}
	site, err = d.hosts.NewHTTP(agents)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(site)
	t.Cleanup(func() { srv.CloseClientConnections(); srv.Close() })
	return d, srv.URL, token, site
}

// TestLoad: 64 clients at once, half of them with sessions. No call fails, each
// run has counted exactly its calls, and when they have left neither sessions
// nor memory stay. ORDERDESK_TEST_LOAD is for how many seconds they work; a few
// calls each unless set.
func TestLoad(t *testing.T) {
	before := heapKiB() // of tests before this one
	d, url, token, site := loadSite(t)
	seconds, _ := strconv.Atoi(os.Getenv("ORDERDESK_TEST_LOAD"))
	const rounds = 4
	var calls atomic.Int64
	var heap []uint64
	for range rounds {
		until := time.Now().Add(time.Duration(seconds) * time.Second / time.Duration(rounds))
		more := func(n int) bool { calls.Add(1); return n < 12 || seconds > 0 && time.Now().Before(until) }
		client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: loadClients}}
		var wg sync.WaitGroup
		for n := range loadClients {
			wg.Go(func() {
				l := &loader{url: url, token: token, http: client, modern: n%2 == 0}
				err := l.open()
				var run string
				var counted int
				if err == nil {
					run, counted, err = l.work(more)
				}
				if err == nil {
					err = l.leave()
				}
				if err != nil {
					t.Error(err)
					return
				}
				if used := d.outcome(run).ToolCalls; used != counted {
					t.Errorf("run %s has counted %d calls, %d were made", run, used, counted)
				}
			})
		}
		wg.Wait()
		client.CloseIdleConnections()
		if n := d.hosts.presence.sessions(); n != 0 {
			t.Errorf("%d sessions stay", n)
		}
		if n := len(site.busy.pending); n != 0 {
			t.Errorf("%d requests stay under way", n)
		}
		heap = append(heap, heapKiB())
	}
	// The store holds tables of what was written, and lets go of them when it is
	// closed; what a call or a client had left with the door would stay.
	if err := d.store.Close(); err != nil {
		t.Fatal(err)
	}
	left := max(heapKiB(), before) - before
	runtime.KeepAlive(site)
	t.Logf("%d calls of %d clients in %d rounds; heap after each in KiB: %d, without the store's: %d", calls.Load(), loadClients, rounds, heap, left)
	if left > 12<<10 {
		t.Errorf("%d KiB stay with the door", left)
	}
}

// heapKiB is what is in use on the heap.
func heapKiB() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc >> 10
}

// TestLoadBudget: many clients on one run of a small budget: exactly the budget
// is used, and every other call is refused.
func TestLoadBudget(t *testing.T) {
	const budget = 100
	d, _, token, _ := loadSite(t)
	d.hosts = d.door(Options{Budget: runstore.Budget{ToolCalls: runstore.Limit{Max: budget, Set: true}}})
	agents := NewAgents(d.store)
	site, err := d.hosts.NewHTTP(agents)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(site)
	t.Cleanup(srv.Close)
	url := srv.URL
	first := &loader{url: url, token: token, http: srv.Client(), modern: true}
	answer, err := first.call("run_start", "{}")
	if err != nil {
		t.Fatal(err)
	}
	run := anyRunID.FindString(answer)
	if _, err = first.call(list, `{"sales_organization":"1010","run_id":"`+run+`"}`); err != nil {
		t.Fatal(err)
	}
	var made atomic.Int64
	var wg sync.WaitGroup
	for n := range loadClients {
		wg.Go(func() {
			l := &loader{url: url, token: token, http: srv.Client(), modern: true}
			for i := range 4 {
				answer, err := l.call("plan_update", fmt.Sprintf(`{"items":[{"sales_order":"4711","status":"todo","note":"%d of %d"}],"run_id":"%s"}`, i, n, run))
				if err != nil {
					t.Error(err)
				}
				if !strings.Contains(answer, `"isError":true`) {
					made.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if got := d.outcome(run); got.ToolCalls != budget || made.Load() != budget-1 || got.Status != runstore.Stopped {
		t.Errorf("%d counted, %d made, run %s; want %d, %d, stopped", got.ToolCalls, made.Load(), got.Status, budget, budget-1)
	}
}

// TestSessionsLapse: sessions that their host has just left are not kept.
func TestSessionsLapse(t *testing.T) {
	s := newSite(t)
	s.hosts = s.door(Options{SessionTTL: time.Millisecond})
	s.serve()
	for range 10 {
		if status, _, body := s.post("/mcp", initialize, "Authorization: Bearer "+s.annas); status != http.StatusOK {
			t.Fatal(body)
		}
	}
	for s.hosts.presence.sessions() > 0 { // until the library has swept
		s.request(http.MethodGet, "/healthz", "")
	}
}

// TestSessionsAreBounded: one caller cannot open any number of them.
func TestSessionsAreBounded(t *testing.T) {
	s := newSite(t)
	auth := "Authorization: Bearer " + s.annas
	for i := range maxSessions {
		if status, _, body := s.post("/mcp", initialize, auth); status != http.StatusOK {
			t.Fatalf("session %d: %d %s", i, status, body)
		}
	}
	status, header, body := s.post("/mcp", initialize, auth)
	if status != http.StatusTooManyRequests || header.Get("Retry-After") == "" {
		t.Errorf("one too many: %d %s", status, body)
	}
	if status, _, body := s.request(http.MethodGet, "/sse", "", auth); status != http.StatusTooManyRequests {
		t.Errorf("a stream: %d %s", status, body)
	}
	if status, _, body := s.post("/mcp", initialize, "Authorization: Bearer "+s.bens); status != http.StatusOK {
		t.Errorf("ben: %d %s", status, body)
	}
}
