// Package spool keeps results of tools on disk and gives them out in pages.
//
//	s, err := spool.Open(spool.Options{Dir: dir})
//	w, err := s.Create(spool.Source{Principal: who, Server: "git", Tool: "log"})
//	io.Copy(w, text)
//	err = w.Complete(spool.Final{})
//
//	r, err := s.Read(who, w.Handle())
//	defer r.Close()
//	page, err := r.Page(ctx, 1, 0)
package spool
