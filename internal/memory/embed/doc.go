// Package embed finds texts by what they mean: a service turns texts into vectors, which are kept in a file and compared one by one.
//
//	c, err := embed.NewClient(embed.ClientOptions{URL: "http://127.0.0.1:11434/v1", Model: "nomic-embed-text"})
//	vectors, err := c.Embed(ctx, texts)               // one for each text, of unit length, a byte a dimension
//	err = f.Append(ctx, c.Model(), entries, nil)      // f is a File
//	seen, err := f.Scan(ctx, c.Model(), func(e embed.Entry) { … query.Cosine(e.Vector) … })
//
// Any server of POST /v1/embeddings will do. What leaves this machine is the texts of [Client.Embed]; redirects are not followed, and a key is
// sent over https or to this machine only. After three failures in a row a service rests, for half a minute up to ten ([ErrResting]). Eight
// bits are enough for a ranking: the cosine of two vectors of 384 dimensions is wrong by about 0.002.
//
// It is optional: package memory searches by words without it. A [Client] and a [File] may be used by many goroutines.
package embed
