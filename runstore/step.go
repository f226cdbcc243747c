package runstore

import "context"

// Step loads the run, calls fn, and saves the header together with whatever fn
// wrote: one durable commit, all or nothing. An error of fn undoes everything
// and is returned as it is. fn may run more than once and must depend on
// nothing but tx and run.
func (s *Store) Step(ctx context.Context, id string, fn func(*Tx, *Run) error) error {
	return s.Update(ctx, func(tx *Tx) error {
		run, err := tx.Run(id)
		if err != nil {
			return err
		}
		if err := fn(tx, run); err != nil {
			return err
		}
		return tx.PutRun(run)
	})
}

// Look calls fn with the run and one snapshot of the store.
func (s *Store) Look(ctx context.Context, id string, fn func(*Tx, *Run) error) error {
	return s.View(ctx, func(tx *Tx) error {
		run, err := tx.Run(id)
		if err != nil {
			return err
		}
		return fn(tx, run)
	})
}
