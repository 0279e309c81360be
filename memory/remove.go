package memory

import "context"

// Remove takes one record out of the memory. It is found no longer, and leaves the disk when its segment is next written anew. Unlike what was forgotten
// ([Store.Forget]) the same words may come again, and nothing derived from it goes. An id that is not there is an [ErrNotFound].
func (s *Store) Remove(ctx context.Context, id string) error {
	found, err := s.Get(ctx, id, 0)
	if err != nil {
		return err
	}
	return s.drop(ctx, &found[0])
}
