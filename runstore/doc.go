// Package runstore is what is remembered: runs with their plan, facts, budgets,
// actions, notes and trace, and the store-wide audit log.
//
// # Steps
//
// All writing is done in steps ([Store.Update], [Store.Step]). A step is all or
// nothing, and durable when it returns. Steps take turns, so that each reads
// what the one before it wrote and none can conflict; their commits are
// shared: while one group of steps is synced to disk the next one forms.
// Readers ([Store.View]) see one state in which everything is durable.
//
// # Directory
//
//	store.json   sentinel: format, store id, whether the database was there once
//	db/          the database (Badger); never without its sentinel
//	owner.lock   locked by the process that has the database open
//	owner.json   who that is, for people, and where it listens
//	store.sock   where it listens (in the system's temporary directory if the
//	             path would be too long for a socket)
//	instances/   a locked file for every open store, see [Store.Alive]
//	backup-v1-.../  the store as it was before it was migrated from format 1
//
// Locks are the system's (flock): they end with their process however it ends,
// and no file is ever to be deleted by hand. They do not work on network
// volumes, which are not supported.
//
// # Records
//
// A key is kind/part/part..., of checked ids only, see [NewKey]. A value is a
// frame:
//
//	1 byte   record version, 1
//	4 bytes  length of the payload, big endian
//	         payload, JSON, at most 64 KiB
//	4 bytes  CRC-32C over key, version, length and payload, big endian
//
// The kind "store" is the store's own: store/id, store/clock (the highest time
// given out), store/lane/... (the last commit of every connection), and
// store/redo/... (a step too large for one Badger transaction, on its way).
//
// # Durability
//
// A commit is one synced write of Badger's log. Badger itself does not sync:
// its way costs half as much again. See wal.go. Values are far below the size
// at which Badger would put them into its value log, which therefore stays
// empty. Before each commit the disk must have the bytes of the commit and
// [Options.MinFree] to spare, for Badger writes through mapped files and would
// be killed on a full disk. After an I/O error in a commit the store takes no
// more steps ([ErrFailed]): whether that commit is there is seen when the store
// is opened again.
//
// # Damage
//
// Before Badger is let near it, the database is compared with what the
// sentinel says, and its MANIFEST, its tables and, after a crash, its log are
// verified, the tables in full up to 64 MiB of them and in a directory that was
// copied. What does not hold is refused as [*DamagedError] and all files are
// left as they are: Badger would open it without a word and delete what it no
// longer knows of. [Store.Check] reads everything. What it finds it reports;
// but Badger, which reads tables in the background, can end the process over a
// damaged one, so a command that checks does it in a child process.
//
// # Several processes
//
// The first process to open a directory owns the database. Others work through
// its socket and notice no difference: a view is a snapshot the owner holds for
// them, a step runs in their process and is applied by the owner if nothing it
// read has changed; a step that loses this race three times is given the
// owner's turn. A commit has a number, stored with it: when the owner dies
// before it answers, the next owner, one of the others, knows whether the
// commit is there, so that it is applied once. A process that stops within a
// snapshot loses it after half a minute, within a turn after a second.
package runstore
