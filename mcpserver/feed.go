package mcpserver

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"orderdesk/runstore"
	"orderdesk/tools"
)

const (
	lookEvery  = time.Second // at subscribed resources: other processes change them too
	maxWatched = 200         // subscriptions of one session
)

// feed tells subscribers that a resource of theirs has changed. It looks at the
// store, so that a change counts whichever process made it, and at once after a
// call of this one.
type feed struct {
	hosts *Hosts
	woken chan struct{}

	mu   sync.Mutex
	subs map[subscriber]map[string]*watched // by URI
	busy bool                               // the watcher runs
}

// subscriber is a session and, in the newest revision, the request whose
// stream takes the updates.
type subscriber struct {
	session server.ClientSession
	stream  string // the request's id; "" in older revisions
}

// watched is one subscription.
type watched struct {
	who  tools.Principal
	meta map[string]any // of the notifications
	seen string         // the state that the subscriber knows of
}

func newFeed(h *Hosts) *feed {
	return &feed{hosts: h, woken: make(chan struct{}, 1), subs: map[subscriber]map[string]*watched{}}
}

// addSubscriptions ties the feed to the two ways in which hosts subscribe. The
// library only acknowledges them.
func (h *Hosts) addSubscriptions(hooks *server.Hooks) {
	f := h.feed
	hooks.AddAfterSubscribe(func(ctx context.Context, _ any, r *mcp.SubscribeRequest, _ *mcp.EmptyResult) {
		f.add(ctx, subscriber{session: server.ClientSessionFromContext(ctx)}, r.Params.URI, nil)
	})
	hooks.AddAfterUnsubscribe(func(ctx context.Context, _ any, r *mcp.UnsubscribeRequest, _ *mcp.EmptyResult) {
		f.drop(subscriber{session: server.ClientSessionFromContext(ctx)}, r.Params.URI)
	})
	hooks.AddBeforeSubscriptionsListen(func(ctx context.Context, id any, r *mcp.SubscriptionsListenRequest) {
		s := subscriber{server.ClientSessionFromContext(ctx), fmt.Sprintf("%T %v", id, id)}
		for _, uri := range r.Params.Notifications.ResourceSubscriptions {
			f.add(ctx, s, uri, map[string]any{mcp.MetaKeySubscriptionID: id})
		}
		context.AfterFunc(ctx, func() { f.leave(s) })
	})
	hooks.AddOnUnregisterSession(func(_ context.Context, session server.ClientSession) { f.end(session) })
}

// add subscribes the caller to a resource. Nothing is ever said of one that is
// not the caller's, as of one that is not there.
func (f *feed) add(ctx context.Context, s subscriber, uri string, meta map[string]any) {
	who, ok := principalOf(ctx)
	if s.session == nil || !ok || uri != notesURI && !f.hosts.owns(ctx, uri) {
		return
	}
	w := &watched{who: who, meta: meta}
	w.seen, _ = f.state(ctx, who, uri) // unknown: the next look says it has changed
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.subs[s] == nil {
		f.subs[s] = map[string]*watched{}
	}
	if len(f.subs[s]) >= maxWatched {
		return
	}
	f.subs[s][uri] = w
	if !f.busy {
		f.busy = true
		go f.watch()
	}
}

func (f *feed) drop(s subscriber, uri string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.subs[s], uri)
	if len(f.subs[s]) == 0 {
		delete(f.subs, s)
	}
}

func (f *feed) leave(s subscriber) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.subs, s)
}

// end drops all that a session has subscribed to.
func (f *feed) end(session server.ClientSession) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for s := range f.subs {
		if s.session == session {
			delete(f.subs, s)
		}
	}
}

// kick has the watcher look at once.
func (f *feed) kick() {
	select {
	case f.woken <- struct{}{}:
	default:
	}
}

// watch looks for changes as long as there are subscribers.
func (f *feed) watch() {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for f.look(context.Background()) {
		select {
		case <-f.woken:
		case <-tick.C:
		}
	}
}

// subscription is one line of what the watcher goes through.
type subscription struct {
	subscriber
	uri string
	*watched
}

// look tells every subscriber whose resource has changed. It reports whether
// there are any subscribers left.
func (f *feed) look(ctx context.Context) bool {
	f.mu.Lock()
	var all []subscription
	for s, uris := range f.subs {
		for uri, w := range uris {
			all = append(all, subscription{s, uri, w})
		}
	}
	f.busy = len(all) > 0
	f.mu.Unlock()
	states := map[string]string{}
	for _, s := range all {
		key := s.who.Name + " " + s.uri
		state, known := states[key]
		if !known {
			var err error
			if state, err = f.state(ctx, s.who, s.uri); err != nil {
				continue // the next look may succeed
			}
			states[key] = state
		}
		if state != s.seen && s.tell() {
			s.seen = state
		}
	}
	return len(all) > 0
}

// tell puts a notification into the session's queue. It reports whether there
// was room; if not, it is tried again at the next look.
func (s subscription) tell() bool {
	n := mcp.JSONRPCNotification{JSONRPC: mcp.JSONRPC_VERSION, Notification: mcp.Notification{Method: mcp.MethodNotificationResourceUpdated,
		Params: mcp.NotificationParams{Meta: s.meta, AdditionalFields: map[string]any{"uri": s.uri}}}}
	select {
	case s.session.NotificationChannel() <- n:
		return true
	default:
		return false
	}
}

// state is a short text that is another one when the resource has changed.
func (f *feed) state(ctx context.Context, who tools.Principal, uri string) (string, error) {
	var state string
	err := f.hosts.store.View(ctx, func(tx *runstore.Tx) error {
		if uri == notesURI {
			var err error
			state, err = notesOf(tx, who)
			return err
		}
		run, err := own(tx, who, runOfURI(uri))
		if err == nil {
			state = fmt.Sprint(run.Updated.UnixNano(), run.TraceSeq)
		}
		return err
	})
	return state, err
}
