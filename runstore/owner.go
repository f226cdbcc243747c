package runstore

import (
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
)

const (
	ownerName     = "owner.json"
	ownerLock     = "owner.lock"
	socketName    = "store.sock"
	instancesName = "instances"
	maxSocketPath = 100 // bytes; systems allow 104 or 108
)

// ownerNote is Dir/owner.json: how to reach the owner, and for people, who it
// is. Only the lock says whether it is still there.
type ownerNote struct {
	PID     int    `json:"pid"`
	Command string `json:"command"`
	Socket  string `json:"socket,omitempty"` // missing: the owner is still opening the store
}

func readOwner(dir string) ownerNote {
	var n ownerNote
	if raw, err := os.ReadFile(filepath.Join(dir, ownerName)); err == nil {
		_ = json.Unmarshal(raw, &n) // half of it is no worse than none
	}
	return n
}

func (n ownerNote) save(dir string) error {
	raw, err := json.Marshal(n)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, ownerName)
	if err := os.WriteFile(path+".tmp", raw, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".tmp", path) // need not survive a power loss
}

// host is the store in the process that owns it: engine, lock and server.
type host struct {
	*engine
	sentinel *sentinel
	lock     *flock.Flock
	note     ownerNote
	server   *server
}

// tryOwn makes this process the owner, or returns nil if another one is.
func tryOwn(o Options) (*host, error) {
	lock := flock.New(filepath.Join(o.Dir, ownerLock))
	ok, err := lock.TryLock()
	if err != nil {
		return nil, &DirError{Dir: o.Dir, Cause: err}
	}
	if !ok {
		return nil, nil
	}
	h := &host{lock: lock, note: ownerNote{PID: os.Getpid(), Command: o.Command}}
	if err := h.open(o); err != nil {
		_ = os.Remove(filepath.Join(o.Dir, ownerName))
		return nil, errors.Join(err, lock.Close())
	}
	return h, nil
}

func (h *host) open(o Options) error {
	if err := h.note.save(o.Dir); err != nil {
		return &DirError{Dir: o.Dir, Cause: err}
	}
	var err error
	if h.engine, h.sentinel, err = openOwned(o); err != nil {
		return err
	}
	if err = h.forgetLanes(); err == nil {
		err = h.serve(o)
	}
	if err != nil {
		return errors.Join(err, closeOwned(h.engine, h.sentinel))
	}
	return nil
}

// serve opens the socket other processes come through.
func (h *host) serve(o Options) error {
	path := filepath.Join(o.Dir, socketName)
	if len(path) > maxSocketPath {
		dir, err := os.MkdirTemp("", "runstore-")
		if err != nil {
			return err
		}
		path = filepath.Join(dir, socketName)
	}
	_ = os.Remove(path) // of an owner that was killed
	l, err := net.Listen("unix", path)
	if err != nil {
		return &DirError{Dir: o.Dir, Cause: err}
	}
	if err := os.Chmod(path, 0o600); err != nil { // whatever the umask: it takes any commit
		return errors.Join(err, l.Close())
	}
	h.server = newServer(h, l, o.limits)
	h.note.Socket = path
	return h.note.save(o.Dir)
}

// close ends the owner: no new work, the steps under way to their end, the
// connections, the database, and last the lock.
func (h *host) close() error {
	h.server.close()
	err := closeOwned(h.engine, h.sentinel)
	_ = os.Remove(filepath.Join(h.opts.Dir, ownerName))
	if dir := filepath.Dir(h.note.Socket); dir != h.opts.Dir {
		_ = os.Remove(dir)
	}
	return errors.Join(err, h.lock.Close())
}

func (h *host) owner() (int, string, bool) { return h.note.PID, h.note.Command, true }

// forgetLanes removes the commit numbers of processes that are gone.
func (h *host) forgetLanes() error {
	o := newOverlay(nil)
	inst := instances{filepath.Join(h.opts.Dir, instancesName)}
	txn := h.db.NewTransaction(false)
	defer txn.Discard()
	err := snapshot{txn}.scan(lanePrefix, lanePrefix, func(k string, _ func() ([]byte, error)) (bool, error) {
		if !inst.alive(laneInstance(k)) {
			o.put(k, nil)
		}
		if len(o.keys) < maxEntries/2 {
			return true, nil
		}
		full := o // as much as one transaction takes
		o = newOverlay(nil)
		return true, errors.Join(h.put(full), h.sync())
	})
	if err != nil || len(o.keys) == 0 {
		return err
	}
	return errors.Join(h.put(o), h.sync())
}
