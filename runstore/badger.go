package runstore

import (
	"errors"
	"fmt"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"
)

const (
	memTable    = 8 << 20 // a log of this size is turned into a table: bounds memory, also that of merges, and the time to open
	maxPart     = 1 << 20 // bytes of one Badger transaction, below its limit of 15 % of memTable
	maxEntries  = 8192    // entries of one Badger transaction, below its limit
	level0      = 20      // tables from logs before they are merged: a merge takes a third of a long run's processor time
	entryOver   = 64      // bytes Badger adds to an entry, rounded up
	maxStep     = 64 << 20
	blockCache  = 8 << 20 // decompressed blocks; records take a third of the disk, and of the memory mapped from it
	valueInline = 1 << 20 // above every record: nothing goes to the value log
)

// openBadger opens or creates the database in dir; "" is one in memory. Badger
// itself does not sync: [wal] does.
func openBadger(dir string, magic uint16) (*badger.DB, error) {
	o := badger.DefaultOptions(dir).WithInMemory(dir == "").WithSyncWrites(false).WithLogger(nil)
	o = o.WithMemTableSize(memTable).WithNumMemtables(2).WithNumCompactors(2)
	o = o.WithNumLevelZeroTables(level0).WithNumLevelZeroTablesStall(2 * level0)
	o = o.WithValueThreshold(valueInline).WithValueLogFileSize(1 << 20)
	o = o.WithCompression(options.Snappy).WithBlockCacheSize(blockCache).WithIndexCacheSize(0)
	o = o.WithExternalMagic(magic).WithDetectConflicts(false).WithMetricsEnabled(false)
	return badger.Open(o)
}

// snapshot is a reader on one state of the database.
type snapshot struct{ txn *badger.Txn }

func (s snapshot) get(key string) (frame []byte, err error) {
	defer damage(key, &err)
	item, err := s.txn.Get([]byte(key))
	if errors.Is(err, badger.ErrKeyNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return present(item.ValueCopy(nil))
}

func (s snapshot) scan(prefix, after string, fn func(string, func() ([]byte, error)) (bool, error)) error {
	o := badger.DefaultIteratorOptions
	o.PrefetchValues, o.Prefix = false, []byte(prefix)
	it := s.txn.NewIterator(o)
	defer it.Close()
	move := func(by func()) (key string, err error) {
		defer damage(prefix, &err)
		if by(); it.Valid() {
			key = string(it.Item().Key())
		}
		return key, nil
	}
	key, err := move(func() { it.Seek([]byte(after)) })
	for ; err == nil && key != ""; key, err = move(it.Next) {
		if key == after {
			continue
		}
		more, err := fn(key, func() ([]byte, error) { return present(it.Item().ValueCopy(nil)) })
		if err != nil || !more {
			return err
		}
	}
	return err
}

// damage makes an error of the panic with which Badger answers damaged tables.
func damage(path string, err *error) {
	if v := recover(); v != nil {
		*err = &DamagedError{Path: path, What: fmt.Sprint("it cannot be read: ", v)}
	}
}

// recent is the snapshot below a batch with the frames met last kept at hand.
// Frames of the batch in flight lie above it, so that what it holds is never
// older than the snapshot. It is used by the step that has the turn.
type recent struct {
	snapshot
	cache *cache
}

type cache struct {
	frames map[string][]byte // nil: no record
	size   int
}

const maxCache = 8 << 20 // bytes

func (r recent) get(key string) ([]byte, error) {
	if f, ok := r.cache.frames[key]; ok {
		return f, nil
	}
	f, err := r.snapshot.get(key)
	if err == nil {
		r.cache.put(key, f)
	}
	return f, err
}

// put keeps a frame; a full cache is emptied first.
func (c *cache) put(key string, frame []byte) {
	if c.frames == nil || c.size > maxCache {
		c.frames, c.size = map[string][]byte{}, 0
	}
	c.size += len(key) + len(frame) + entryOver // a frame replaced counts on: it is a bound
	c.frames[key] = frame
}

// present keeps an empty value, which is damage, apart from no value.
func present(v []byte, err error) ([]byte, error) {
	if v == nil {
		v = []byte{}
	}
	return v, err
}

// fits reports whether the writes of both overlays go into one Badger
// transaction, with a little room for the store's own records.
func fits(a, b *overlay) bool {
	return logged(a)+logged(b) < maxPart-4096 && len(a.keys)+len(b.keys) < maxEntries-16
}

// logged is the most bytes the writes of o take in Badger's log.
func logged(o *overlay) int64 { return int64(o.size + entryOver*(len(o.keys)+1)) }

// put writes o in one Badger transaction. It is not durable before sync, and
// the next one waits for that: a power cut that tore two would look like
// damage.
func (e *engine) put(o *overlay) error {
	if e.unsynced {
		return errors.New("a transaction is not synced yet")
	}
	txn := e.db.NewTransaction(true)
	defer txn.Discard()
	for _, k := range o.keys {
		var err error
		if f := o.frames[k]; f == nil {
			err = txn.Delete([]byte(k))
		} else {
			err = txn.Set([]byte(k), f)
		}
		if err != nil {
			return unknown(err)
		}
	}
	if err := txn.Commit(); err != nil {
		return unknown(err)
	}
	e.unsynced = true
	return unknown(e.wal.wrote(logged(o)))
}

func (e *engine) sync() error {
	err := e.wal.sync()
	e.unsynced = err != nil
	return unknown(err)
}

func unknown(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("writing to the store failed, whether the step is recorded is not known: %w", err)
}

// room answers [*DiskFullError] unless b, and what Badger does behind it, find
// space on the disk.
func (e *engine) room(b *batch) error {
	if e.opts.InMemory {
		return nil
	}
	var need int64
	for _, p := range b.parts {
		need += logged(p)
		if !fits(p, &overlay{}) {
			need += 2 * logged(p)
		}
	}
	if err := checkFree(e.opts.Dir, uint64(need)+e.opts.MinFree+e.merging()); err != nil {
		return err
	}
	err := e.wal.prepare(need)
	if noSpace(err) {
		return &DiskFullError{Dir: e.opts.Dir}
	}
	return err // an I/O error: nothing recorded, but the store stops
}

// merging is what merging the tables that come from logs may take meanwhile,
// looked up once per log.
func (e *engine) merging() uint64 {
	if e.wal != nil && e.wal.fid != e.mergeAt {
		e.mergeAt, e.mergeSize = e.wal.fid, uint64(2*e.db.Levels()[0].Size)
	}
	return e.mergeSize
}

func checkFree(dir string, need uint64) error {
	free, err := freeBytes(dir)
	if err != nil {
		return &DirError{Dir: dir, Cause: err}
	}
	if free < need {
		return &DiskFullError{Dir: dir, Free: free}
	}
	return nil
}
