package runstore

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// wal looks after Badger's write-ahead log, the newest *.mem file. Badger maps
// that file sparse and would die by SIGBUS when the disk is full under a page
// it touches. So the pages ahead of it are written here first: a full disk is
// then an error of write(2), and the sync of a commit has no blocks to
// allocate, which makes it a third faster. All methods are nil-safe: a nil wal
// syncs nothing.
type wal struct {
	dir   string
	fid   int
	file  *os.File
	next  int64 // Badger's write position is at most this
	ready int64 // pages before this are written
}

const (
	walHead  = 64        // where Badger's first entry is at most
	walAhead = 512 << 10 // bytes written ahead at a time
	walSize  = 2 * memTable
)

func openWAL(dir string) (*wal, error) {
	logs, err := logFiles(dir)
	if err != nil {
		return nil, err
	}
	if len(logs) == 0 {
		return nil, &DamagedError{Path: dir, What: "there is no write-ahead log"}
	}
	last := logs[len(logs)-1]
	w := &wal{dir: dir}
	return w, w.open(last, 0)
}

// logFiles are the numbers of Badger's write-ahead logs, the newest last.
func logFiles(dir string) ([]int, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.mem"))
	var ids []int
	for _, n := range names {
		if id, err := strconv.Atoi(strings.TrimSuffix(filepath.Base(n), ".mem")); err == nil {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids, err
}

func walName(dir string, fid int) string { return filepath.Join(dir, fmt.Sprintf("%05d.mem", fid)) }

// open turns to the log fid, of which used bytes may be written already.
func (w *wal) open(fid int, used int64) error {
	f, err := os.OpenFile(walName(w.dir, fid), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	w.close()
	w.fid, w.file, w.next = fid, f, walHead+used
	w.ready = w.next
	return syncDir(w.dir)
}

// prepare makes sure that Badger can write n more bytes; an error for want of
// space is recognised by [noSpace].
func (w *wal) prepare(n int64) error {
	if w == nil {
		return nil
	}
	want := min(w.next+n, walSize)
	w.ready = max(w.ready, w.next)
	for w.ready < want {
		to := min((w.ready/walAhead+1)*walAhead, walSize)
		if err := w.zero(w.ready, to); err != nil {
			return err
		}
		w.ready = to
	}
	return nil
}

// zero writes the bytes of a hole. It looks first, for here an error of ours
// would cost recorded steps.
func (w *wal) zero(from, to int64) error {
	b := make([]byte, to-from)
	if _, err := w.file.ReadAt(b, from); err != nil && err != io.EOF {
		return err
	}
	if used := len(bytes.TrimRight(b, "\x00")); used > 0 {
		return fmt.Errorf("log %s holds data at %d, where none should be", w.file.Name(), from+int64(used)-1)
	}
	_, err := w.file.WriteAt(b, from)
	return err
}

// wrote takes note that Badger wrote at most n bytes in one transaction, maybe
// as the first ones of a new log.
func (w *wal) wrote(n int64) error {
	if w == nil {
		return nil
	}
	w.next += n
	_, err := os.Stat(walName(w.dir, w.fid+1))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = w.sync()
	}
	if err != nil {
		return err
	}
	return w.open(w.fid+1, n)
}

// sync makes what Badger has written durable.
func (w *wal) sync() error {
	if w == nil {
		return nil
	}
	return dataSync(w.file)
}

func (w *wal) close() {
	if w != nil && w.file != nil {
		_ = w.file.Close() // every write was synced
		w.file = nil
	}
}

func noSpace(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
