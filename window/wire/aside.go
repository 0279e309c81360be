package wire

func ownCompaction(r *Request) Aside { return AsideNone }
