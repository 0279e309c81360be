package memory

import "context"

// Remove removes one record. Searches no longer find it, and its bytes leave the disk when its segment is next rewritten. Unlike with
// [Store.Forget] the same words may be added again, and records derived from it stay. An unknown id is an [ErrNotFound].
func (s *Store) Remove(ctx context.Context, id string) error {
	found, err := s.Get(ctx, id, 0)
	if err != nil {
		return err
	}
	return s.drop(ctx, &found[0])
}
