package runstore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"github.com/dgraph-io/badger/v4"
)

// engine is the open database with its committer. Steps take turns: each runs
// over the state that the steps before it left, durable or not, and joins the
// open batch. While one batch is on its way to disk the next one fills. There
// is no goroutine behind it: of the steps that wait, one leads and commits.
type engine struct {
	db    *badger.DB
	opts  Options
	wal   *wal // nil: nothing is synced
	clock clock
	users users

	turn     chan struct{} // held while a step runs or a batch changes hands
	lead     chan struct{} // held by the step that commits
	batch    *batch        // filling; nil: none
	inflight *batch        // being committed; nil: none
	failed   error         // why no more steps are taken
	unsynced bool          // the last transaction is not durable yet
	cache    cache         // what the database holds of the records met last

	mergeAt   int // log at which mergeSize was looked up
	mergeSize uint64

	// durable is held for writing while the database shows what is not synced
	// yet, so that no snapshot does.
	durable sync.RWMutex
	// good is the last durable state, once a commit has failed half-way: what
	// the database itself shows then may never become durable.
	good *badger.Txn
}

// batch is a group of steps that share a commit.
type batch struct {
	state *overlay      // what the next step sees
	txn   *badger.Txn   // the snapshot below state
	parts []*overlay    // its writes, each small enough for a Badger transaction or one step's
	done  chan struct{} // closed after the commit
	err   error         // its outcome
}

func newEngine(db *badger.DB, w *wal, o Options) (*engine, error) {
	e := &engine{db: db, wal: w, opts: o, turn: make(chan struct{}, 1), lead: make(chan struct{}, 1)}
	if err := e.finishRedo(); err != nil {
		return nil, err
	}
	txn := db.NewTransaction(false)
	defer txn.Discard()
	return e, e.clock.load(o.Clock, snapshot{txn})
}

// do gives run a turn and commits its writes if it returns nil.
func (e *engine) do(ctx context.Context, run func(*overlay, time.Time) error) error {
	if err := e.users.enter(); err != nil {
		return err
	}
	defer e.users.leave()
	select {
	case e.turn <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("nothing recorded: %w", context.Cause(ctx))
	}
	b, err := e.step(run)
	if b == nil {
		return err
	}
	if cerr := e.await(b); cerr != nil {
		return cerr
	}
	return err
}

// step runs one step over the open batch and gives the turn back. It returns
// the batch to wait for, nil if there is none: a step that failed or only read
// waits too, for it may rest on what is not durable yet.
func (e *engine) step(run func(*overlay, time.Time) error) (*batch, error) {
	defer func() { <-e.turn }()
	if e.failed != nil {
		return nil, e.failed
	}
	if e.batch == nil {
		e.batch = e.newBatch(nil)
	}
	w := newOverlay(e.batch.state)
	if err := run(w, e.clock.now()); err != nil || len(w.keys) == 0 {
		if len(e.batch.parts) > 0 {
			return e.batch, err
		}
		if e.inflight == nil {
			e.drop()
		}
		return e.inflight, err
	}
	e.batch.add(w)
	return e.batch, nil
}

// newBatch opens a batch over the database and, above that, what the batch
// before it is about to write.
func (e *engine) newBatch(before *batch) *batch {
	txn := e.db.NewTransaction(false)
	base := &overlay{base: recent{snapshot{txn}, &e.cache}}
	if before != nil {
		base.frames, base.keys = before.state.frames, before.state.keys
	}
	return &batch{state: newOverlay(base), txn: txn, done: make(chan struct{})}
}

// add joins the writes of one step.
func (b *batch) add(w *overlay) {
	b.state.absorb(w)
	if n := len(b.parts); n > 0 && fits(b.parts[n-1], w) {
		b.parts[n-1].absorb(w)
		return
	}
	b.parts = append(b.parts, w)
}

// drop forgets the open batch, which has no steps.
func (e *engine) drop() {
	e.batch.txn.Discard()
	e.batch = nil
}

// await returns the outcome of b; it commits b itself if nobody else does.
func (e *engine) await(b *batch) error {
	select {
	case <-b.done:
		return b.err
	case e.lead <- struct{}{}:
	}
	e.turn <- struct{}{} // behind the steps that wait for theirs
	if e.batch == b {
		e.flush()
	}
	<-e.turn
	<-e.lead
	<-b.done
	return b.err
}

// flush commits the open batch. Lead and turn are held; the turn is given away
// while the commit runs.
func (e *engine) flush() {
	b := e.batch
	e.inflight, e.batch = b, e.newBatch(b)
	<-e.turn
	b.err = e.commit(b)
	e.turn <- struct{}{}
	e.inflight = nil
	next := e.batch
	if b.err != nil { // what was built on it falls with it
		next.err, e.batch = b.err, nil
		close(next.done)
		next.txn.Discard()
	} else {
		for k, f := range b.state.frames {
			e.cache.put(k, f)
		}
		if len(next.parts) == 0 {
			e.drop()
		}
	}
	if b.err != nil && !isDiskFull(b.err) {
		e.failed = fmt.Errorf("%w: %w", ErrFailed, b.err)
	}
	b.txn.Discard()
	close(b.done)
}

func isDiskFull(err error) bool {
	var full *DiskFullError
	return errors.As(err, &full)
}

func (e *engine) commit(b *batch) error {
	if err := e.clock.save(b.parts[len(b.parts)-1]); err != nil {
		return err
	}
	if err := e.room(b); err != nil {
		return err
	}
	n := int(e.opts.commits.Load()) + 1
	if e.opts.OnCommit != nil {
		if err := e.opts.OnCommit(n); err != nil {
			return err
		}
	}
	if err := e.write(b); err != nil {
		return err
	}
	e.opts.commits.Add(1)
	if e.opts.AfterCommit != nil {
		return e.opts.AfterCommit(n)
	}
	return nil
}

// write makes b durable.
func (e *engine) write(b *batch) error {
	e.durable.Lock()
	defer e.durable.Unlock()
	before := e.db.NewTransaction(false)
	err := e.writeParts(b)
	if err != nil && e.unsynced && e.good == nil {
		e.good = before
		return err
	}
	before.Discard()
	return err
}

func (e *engine) writeParts(b *batch) error {
	for _, p := range b.parts {
		put := e.put
		if !fits(p, &overlay{}) {
			put = e.putLarge
		}
		if err := put(p); err != nil {
			return err
		}
		if err := e.sync(); err != nil {
			return err
		}
	}
	return nil
}

// read runs fn on one durable state of the store.
func (e *engine) read(ctx context.Context, fn func(reader, time.Time) error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := e.users.enter(); err != nil {
		return err
	}
	defer e.users.leave()
	e.durable.RLock()
	txn := e.good
	if txn == nil {
		txn = e.db.NewTransaction(false)
		defer txn.Discard()
	}
	e.durable.RUnlock()
	return fn(snapshot{txn}, e.clock.now())
}

func (e *engine) owner() (int, string, bool) { return os.Getpid(), e.opts.Command, true }

func (e *engine) lost() bool { return false }

// close refuses further steps, lets those taken finish and closes the database.
func (e *engine) close() error {
	if !e.users.end() {
		return nil
	}
	if e.good != nil {
		e.good.Discard()
	}
	if e.wal != nil {
		defer e.wal.close()
		// Badger turns its log into a table now, through a mapped file: on a
		// full disk it is left as it is, durable, for the next opening.
		if err := checkFree(e.opts.Dir, uint64(e.wal.next)+1<<20); err != nil {
			return err
		}
	}
	return e.db.Close()
}

// safely turns a panic of fn into its error.
func safely(fn func(*Tx) error, tx *Tx) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return fn(tx)
}
